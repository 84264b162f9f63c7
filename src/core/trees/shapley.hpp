// Shapley values of sums of trees, exactly: what each column, or each group of columns, contributes
// to the prediction for a row, compared with background rows.
#pragma once

#include <cstdint>

#include "base/parallel.hpp"
#include "base/products.hpp"
#include "trees/packed_trees.hpp"

namespace gapless {

// The rows that predictions are compared with, each with its share of all, and whose column each
// column of X is: columns of one player change together.
struct ShapleyGame {
    Dense<double> background;     // by columns
    const double* shares;         // of the background rows; they sum to 1
    const std::int32_t* players;  // of the columns of X
    Index player_count;
};

// out[i, p, g, :] = Σ over the trees of group g of the Shapley value of player p in
//     v(S) = Σ_b share_b · tree(row i in the columns of S, background row b in all others).
// `out` (n × players × groups · width) must be 0.
template <class T>
void sum_shapley_values(const PackedTrees& trees, const Dense<T>& X, const ShapleyGame& game,
                        double* out, const Context& context);

}  // namespace gapless
