// Prediction by packed trees: rows walk down in blocks, so that a tree stays in the cache while
// many rows pass it.
#pragma once

#include <cstdint>

#include "base/parallel.hpp"
#include "base/products.hpp"
#include "trees/packed_trees.hpp"

namespace gapless {

// out[i, t] = the leaf of tree t in which row i ends, counted from the tree's root.
template <class T>
void find_leaves(const PackedTrees& trees, const Dense<T>& X, std::int64_t* out,
                 const Context& context);

// out[i, g, :] = Σₜ value of the leaf of tree t in which row i ends, over the trees of group g, in
// their order. With `left_out`, bits (count, ⌈n/8⌉) by rows, only over trees whose bit i is 0;
// `used` then has their number for each row.
template <class T>
void sum_leaves(const PackedTrees& trees, const Dense<T>& X, const std::uint8_t* left_out,
                double* out, std::int64_t* used, const Context& context);

// Rows of `values` (rows × width) that are equal to the bit get the same number in `number`,
// counted from 0 in the order of first occurrence, listed in `first`; returns how many.
Index number_rows(const double* values, Index rows, Index width, std::int32_t* number,
                  std::int64_t* first);

}  // namespace gapless
