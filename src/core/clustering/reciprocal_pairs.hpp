// Clusters that are each other's nearest, merged all at once.
//
// Single, complete and average linkage never bring a new cluster nearer to the others than the
// nearer of its parts was. So two that are each other's nearest become one at their distance,
// whatever is merged before (Bruynooghe 1977; Murtagh 1983, Computer Journal 26). A merge on its
// own writes to a distant place for each row of the triangle; of many merges, a single pass over it
// writes the rows one after another.
#pragma once

#include "base/products.hpp"
#include "clustering/linkage_rules.hpp"
#include "clustering/nearest_before.hpp"

namespace gapless {

// For each place the nearest of all others, from the lower triangle of their distances.
template <class T>
std::vector<NearestOf<T>> nearest_of_all(const T* triangle, Index places, const Context& context);

// A cluster to be: the places of its two parts, the first one before the second, or one place
// twice; and the share of the second in their weight.
template <class T>
struct Parts {
    Index first, second;
    T share;
};

// The distances of new clusters, in the order of their first places, which cover all places. They
// take the beginning of the triangle.
template <class T>
void merge_parts(MatrixMethod method, T* triangle, const std::vector<Parts<T>>& clusters,
                 const Context& context);

}  // namespace gapless
