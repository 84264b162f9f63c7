// What a compact tree does not store, since its leaves tell it.
#pragma once

#include "trees/packed_trees.hpp"

namespace gapless {

enum class ClassImpurity { none, gini, entropy };

// Of every node: how many training rows reached it; with an impurity also the shares of the classes
// among them and their impurity, to the bit as a tree is grown that weighs each row once. Without,
// only leaves have a value, and impurities are 0. `value` is (nodes × outputs × classes).
struct NodeStatistics {
    std::int64_t* rows;
    double* impurity;
    double* value;
};

void find_statistics(const PackedNode* nodes, Index count, const double* table, Index outputs,
                     Index classes, ClassImpurity impurity, const NodeStatistics& out);

// What a tree was grown with, where `find_statistics` may find something else.
struct GrownStatistics {
    const std::int64_t* rows;
    const double *weight, *impurity, *value;
};

// Which of the four differ from what the leaves tell: bit 2k for inner nodes, bit 2k + 1 for
// leaves, k in the order of the struct. A weight follows from the rows.
unsigned find_differences(const PackedNode* nodes, Index count, const double* table, Index outputs,
                          Index classes, ClassImpurity impurity, const GrownStatistics& grown);

}  // namespace gapless
