// Rows as the codes by which packed trees know them.
#pragma once

#include <vector>

#include "base/array.hpp"
#include "trees/packed_trees.hpp"

namespace gapless::walking {

// Some rows of X as they are in memory.
template <class T>
struct RowBlock {
    const T* data;
    Index row_stride, column_stride;
    double at(Index i, Index j) const {
        return static_cast<double>(data[i * row_stride + j * column_stride]);
    }
};

template <class T>
RowBlock<T> rows_of(const Dense<T>& X, Index first) {
    if (X.order == Order::rows) return {X.data + first * X.columns, X.columns, 1};
    return {X.data + first, 1, X.rows};
}

// About how many steps down a tree it costs to code a row.
double coding_steps(const AskedColumns& asked);

// Whether every category that is split on fits in a byte.
bool are_levels_short(const AskedColumns& asked);

// The largest and the second largest byte, for missing values and for levels in no set.
constexpr int missing_level = 255, unknown_level = 254;

// Codes by columns, a byte each: out[v * rows + i].
template <class T>
void code_by_columns(const AskedColumns& asked, const RowBlock<T>& X, Index rows,
                     std::uint8_t* out);

// Codes by rows, of numbers alone: those of row i begin at word i · words_per_row(asked).
Index words_per_row(const AskedColumns& asked);
template <class T>
void code_by_rows(const AskedColumns& asked, const RowBlock<T>& X, Index rows, std::uint32_t* out);

}  // namespace gapless::walking
