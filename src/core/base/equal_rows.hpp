// Which rows are equal: a hash of each row in O(entries), then comparison of rows with equal
// hashes.
//
// Dense and sparse, float and double give the same hashes: entries that are 0 count for nothing,
// and the terms of the others add up in any order.
#pragma once

#include "base/products.hpp"

namespace gapless {

// A row is its entries in X and its targets y (n × outputs, stored by rows).
template <class Matrix>
struct Rows {
    Matrix x;  // Dense<X>, or Compressed<X> by rows
    const double* y;
    Index count, features, outputs;
};

// hashes[i] for each row i.
template <class Matrix>
void hash_rows(const Rows<Matrix>& rows, std::uint64_t* hashes, const Context& context);

// labels[i] = 0 … classes−1, the same for equal rows; returns the number of classes. Classes are
// numbered by hash, and by content where hashes collide, so the order of the rows does not matter.
template <class Matrix>
Index label_rows(const Rows<Matrix>& rows, const std::uint64_t* hashes, std::int64_t* labels,
                 const Context& context);

}  // namespace gapless
