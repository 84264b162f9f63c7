// What follows from a split, whatever the targets: rows in two parts, levels as sets of bits; and
// branches put together again.
#pragma once

#include "trees/splits.hpp"

namespace gapless::growing {

// Put the rows that go left before the others, either in their order; returns how many go left.
Index part_rows(const CodedColumn& column, const Split& split, std::uint32_t* rows, Index count,
                std::vector<std::uint32_t>& buffer);

// Append the set of levels that go left to `sets`, and note in the node where it is. Levels that
// are not in the node go where missing values go.
void write_levels(const CodedColumn& column, const Split& split, const std::uint32_t* rows,
                  Index count, TreeNode& grown, std::vector<std::uint32_t>& sets);

// The nodes of all branches in one tree, in preorder. In `top`, child −2 − k is branch k; values
// are `width` numbers for each node.
GrownTree joined(const GrownTree& top, const std::vector<GrownTree>& branches, Index width);

}  // namespace gapless::growing
