// Dense layers: rows with many zeros times a matrix, and what follows a product.
//
// A batch of images or of counts is mostly zeros. Its entries are collected once, and both products
// of a layer, with its weights and, transposed, with its derivatives, go over these alone.
#pragma once

#include "base/array.hpp"

namespace gapless {

// Collect the entries of x (n × d) that are not 0, row by row, as a Compressed matrix; `start` has
// n + 1 numbers. Returns whether there are at most `most`, as many as `index` and `value` can hold.
template <class T>
bool collect_entries(const T* x, Index n, Index d, Index most, std::int64_t* start,
                     std::int32_t* index, T* value);

// y (lines × units) = A W, for W (length × units).
template <class T>
void entries_times(const Compressed<T>& a, const T* w, Index units, T* y);

// g (length × units) = Aᵀ R, for R (lines × units).
template <class T>
void entries_transposed_times(const Compressed<T>& a, const T* r, Index units, T* g);

// y (n × units) ← y + b, or max(0, y + b) if it is bent.
template <class T>
void add_bias(T* y, Index n, Index units, const T* bias, bool is_bent);

// dz = dy where y > 0 and 0 elsewhere, and db = the sum of its rows.
template <class T>
void bend_back(const T* dy, const T* y, Index n, Index units, T* dz, T* db);

}  // namespace gapless
