// Prediction by trees: rows walk down packed nodes in blocks, so that a tree stays in the cache
// while many rows pass it.
#pragma once

#include <cstdint>

#include "parallel.hpp"
#include "products.hpp"

namespace gapless {

// A node in 16 bytes. Nodes of a tree are in preorder: the left child is the next one.
struct PackedNode {
    double content;       // threshold; or where the levels of a category are; or a leaf's value
    std::int32_t column;  // of the split, with flags above; negative for leaves, by kind
    std::int32_t right;   // the right child; or a leaf's class, or its row in the table
};

// What a leaf adds to the sums of a row.
enum LeafKind : std::int32_t {
    one_value = -1,  // `content`, to the only sum
    one_class = -2,  // 1, to the sum of class `right`
    table_row = -3,  // row `right` of the table
};

// The arrays of a tree, as a fitted tree stores them; `category_start` and what follows may be
// null. `values` are `width` numbers per node.
struct TreeArrays {
    Index nodes;
    const std::int64_t *feature, *left, *right;
    const double* threshold;
    const std::uint8_t* missing_left;
    const std::int64_t* category_start;  // nodes + 1 offsets into the words of its categories
    const double* values;
    Index width;
};

// How many rows of the table the leaves of a tree need.
Index table_rows(const TreeArrays& tree);

// Pack a tree into `nodes`, its table rows into `table`, which the forest numbers from `first_row`
// on; its words of categories begin at `first_word`. False if the nodes are not in preorder.
bool pack_tree(const TreeArrays& tree, Index first_row, Index first_word, PackedNode* nodes,
               double* table);

// Trees one after another: tree t has the nodes start[t] … start[t+1] − 1.
struct PackedTrees {
    const PackedNode* nodes;
    const std::int64_t* start;
    Index count;
    const double* table;
    Index width;
    const std::uint32_t* words;  // bit `level` of a node's words: that level goes left
    bool has_categories;
};

// out[i, t] = the leaf of tree t in which row i ends, counted from the tree's root.
template <class T>
void find_leaves(const PackedTrees& trees, const Dense<T>& X, std::int64_t* out,
                 const Context& context);

// out[i, :] = Σₜ value of the leaf of tree t in which row i ends, in the order of the trees. With
// `left_out`, bits (count, ⌈n/8⌉) by rows, only over trees whose bit i is 0; `used` then has their
// number for each row.
template <class T>
void sum_leaves(const PackedTrees& trees, const Dense<T>& X, const std::uint8_t* left_out,
                double* out, std::int64_t* used, const Context& context);

}  // namespace gapless
