// Three ways down packed trees, which lead to the same leaves.
#pragma once

#include <memory>
#include <vector>

#include "trees/codes.hpp"

namespace gapless::walking {

// Which of them is fastest depends on the trees and the rows alone.
enum class Way {
    scattered,  // every row by itself, comparing numbers: for few trees, and any others
    by_level,   // coded rows, in vectors that gather their nodes: for large trees
    by_node,    // coded rows, all of them at every node: for small trees
};

Way way_down(const PackedTrees& trees, Index columns);

// How many rows go together: as many as make good use of a tree in the cache.
Index rows_together(Way way, Index rows, int threads);

// The rows of one block on their way through the trees.
template <class T>
class Passage {
public:
    Passage(const PackedTrees& trees, Way way, const RowBlock<T>& X, Index rows);

    // The nodes of tree t in which these rows end, by row; other rows are left unchanged.
    const std::vector<std::int32_t>& through(Index t, const std::vector<std::int32_t>& rows);

private:
    void walk_scattered(const PackedNode* nodes, const std::vector<std::int32_t>& rows);
    void walk_by_level(const PackedNode* nodes, Index size, const std::vector<std::int32_t>& rows);
    Index keep_moving(const PackedNode* nodes, Index active);
    void walk_by_node(Index t);

    const PackedTrees& trees_;
    const Way way_;
    const RowBlock<T> X_;
    const Index rows_;
    std::vector<std::uint32_t> codes_;
    std::vector<std::int32_t> node_;
    // Rows that still move: which, where their codes begin, and where they are.
    std::vector<std::int32_t> moving_, first_, at_;
    std::vector<std::uint8_t> place_;
};

}  // namespace gapless::walking
