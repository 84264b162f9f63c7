// Numbers as ranks: the columns as trees see them.
#pragma once

#include "base/products.hpp"

namespace gapless {

// For each column of x (stored by columns): ranks[j, i] of entry i among the distinct values, which
// go to distinct[j, :] in increasing order, counts[j] of them. The rank of NaN is counts[j].
template <class X>
void rank_columns(const X* x, Index rows, Index columns, std::uint32_t* ranks, double* distinct,
                  std::int64_t* counts, const Context& context);

}  // namespace gapless
