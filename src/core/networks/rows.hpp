// Dense layers: rows with many zeros times a matrix, and what follows a product.
//
// A batch of images or of counts is mostly zeros. Of four rows at a time, the columns where any of
// them is not 0 are collected once, and both products of a layer, with its weights and, transposed,
// with its derivatives, go over these alone.
#pragma once

#include "base/loops.hpp"

namespace gapless {

constexpr Index rows_together = 4;

// The columns of each four rows of a batch (n × d) where one of them is not 0: in `index`, with the
// four numbers in `value`, from `start` on. What the last group lacks is filled up and not used.
template <class T>
struct Columns4 {
    Index n, d;
    const std::int64_t* start;  // a number for each group, and one more
    const std::int32_t* index;
    const T* value;

    Index groups() const { return (n + rows_together - 1) / rows_together; }
};

// Collect them. Returns whether there are at most `most`, as many as `index` can hold.
template <class T>
bool collect_columns(const T* x, Index n, Index d, Index most, std::int64_t* start,
                     std::int32_t* index, T* value);

// y (n × units) = x W, for W (d × units) of at least as many units as a vector has numbers.
template <class T>
void columns_times(const Columns4<T>& x, const T* w, Index units, T* y);

// g (d × units) = xᵀ R, for R (n × units), likewise.
template <class T>
void columns_transposed_times(const Columns4<T>& x, const T* r, Index units, T* g);

// The fewest units for the two products.
template <class T>
Index least_units();

// y (n × units) ← y + b, or max(0, y + b) if it is bent.
template <class T>
void add_bias(T* y, Index n, Index units, const T* bias, bool is_bent);

// dz = dy where y > 0 and 0 elsewhere, and db = the sum of its rows.
template <class T>
void bend_back(const T* dy, const T* y, Index n, Index units, T* dz, T* db);

}  // namespace gapless
