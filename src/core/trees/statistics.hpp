// What a compact tree does not store, since it follows from its leaves.
#pragma once

#include "trees/packed_trees.hpp"

namespace gapless {

enum class ClassImpurity { none, gini, entropy };

// For every node: how many training rows reached it; with an impurity also the class shares among
// them and their impurity, to the bit as in a tree that weights each row once. Without, only leaves
// have a value, and impurities are 0. `value` is (nodes × outputs × classes).
struct NodeStatistics {
    std::int64_t* rows;
    double* impurity;
    double* value;
};

void find_statistics(const PackedNode* nodes, Index count, const double* table, Index outputs,
                     Index classes, ClassImpurity impurity, const NodeStatistics& out);

// The statistics a tree was grown with, which may differ from those of `find_statistics`.
struct GrownStatistics {
    const std::int64_t* rows;
    const double *weight, *impurity, *value;
};

// Which of the four differ from those derived from the leaves: bit 2k for inner nodes, bit 2k + 1
// for leaves, k in the order of the struct. A weight follows from the rows.
unsigned find_differences(const PackedNode* nodes, Index count, const double* table, Index outputs,
                          Index classes, ClassImpurity impurity, const GrownStatistics& grown);

}  // namespace gapless
