// The nodes of a tree while it grows, and how they are written.
#pragma once

#include <vector>

#include "base/team.hpp"
#include "boosting/trees.hpp"

namespace gapless {

struct GrowingNode {
    Index begin, end, depth, slot;
    NodeSums sums;
    Split split;
    double own;  // how much the node as a leaf lowers the objective, twice
    Index left = -1, right = -1;
    std::vector<std::uint8_t> groups;  // which groups of columns are still allowed here

    double excess() const { return split.gain - own; }
};

// Writes a tree in preorder, and the leaf of each row; `rows` has the rows of each node together.
void write_nodes(const std::vector<GrowingNode>& nodes, Index tree, const Units& units,
                 const std::uint32_t* rows, Index count, const GrownTrees& out, Team& team);

}  // namespace gapless
