// Rows of floats in an order that groups near ones, and the panels they then make.
//
// All rows are stored one after another, w numbers each.
#pragma once

#include <algorithm>
#include <vector>

#include "base/products.hpp"

namespace gapless {

// Numbers of rows in an order in which those of a group of `unit` are near each other: each half on
// its side of the median along the column of the largest spread, recursively.
std::vector<Index> grouped(const std::vector<float>& values, Index w, Index count, Index unit);

// Rows from `begin` on of `to`, from rows in another order.
template <class V>
void take(const std::vector<V>& from, const Index* order, Index begin, Index count, Index w,
          std::vector<V>& to) {
    for (Index i = begin; i < begin + count; ++i)
        std::copy_n(from.data() + order[i] * w, w, to.data() + i * w);
}

// Panels of `unit` rows, each by columns, the last one filled up with 0.
std::vector<float> panels_by_columns(const std::vector<float>& values, Index rows, Index w,
                                     Index unit, const Context& context);

// The mean of rows.
std::vector<float> mean_of(const float* values, Index count, Index w);

}  // namespace gapless
