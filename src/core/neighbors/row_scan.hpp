// Nearest rows for any of the distances, by measuring all of them.
#pragma once

#include "base/products.hpp"
#include "neighbors/distances.hpp"

namespace gapless {

// Every query (by rows, of d columns) offers all rows of x to its collector, a `Nearest` or a
// `Within`.
template <class T, class Collector>
void scan_rows(const Distance& distance, const T* x, Index rows, Index columns, const T* queries,
               std::vector<Collector>& collectors, const Labels& labels, const Context& context);

}  // namespace gapless
