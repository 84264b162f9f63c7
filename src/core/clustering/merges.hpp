// What agglomeration produces: merges of clusters, each named by one of its rows, and their table.
#pragma once

#include <cstdint>
#include <vector>

#include "base/loops.hpp"

namespace gapless {

// Two clusters, each named by one of its rows, and their distance.
struct Merge {
    Index one, other;
    double height;
};

// The merges of `rows` rows in the format of SciPy: row t of `table` (merges × 4) holds the numbers
// of two clusters, the smaller first, their distance, and how many rows the new cluster has, whose
// number is rows + t.
void number_merges(const Index* pairs, const double* heights, Index merges, Index rows,
                   double* table);

// The clusters that some merges of such a table leave, those with `is_used`: labels from 0 on, in
// the order of the first row of each cluster.
void label_clusters(const double* table, const bool* is_used, Index merges, Index rows,
                    Index* labels);

}  // namespace gapless
