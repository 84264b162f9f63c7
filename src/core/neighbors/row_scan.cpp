#include "neighbors/row_scan.hpp"

namespace gapless {
namespace {

// Entries of the rows that stay in the cache while a few queries pass by.
constexpr Index tile_entries = 1 << 15;
constexpr Index few_queries = 16;

}  // namespace

template <class T, class Collector>
void scan_rows(const Distance& distance, const T* x, Index rows, Index columns, const T* queries,
               std::vector<Collector>& collectors, const Labels& labels, const Context& context) {
    const Index count = static_cast<Index>(collectors.size());
    const Index tile = std::max<Index>(tile_entries / std::max<Index>(columns, 1), 1);
    parallel_for((count + few_queries - 1) / few_queries, context.threads, context.poll,
                 [&](Index task, Checkpoint& checkpoint) {
                     const Index first = few_queries * task,
                                 last = std::min(first + few_queries, count);
                     for (Index begin = 0; begin < rows; begin += tile) {
                         const Index end = std::min(begin + tile, rows);
                         for (Index q = first; q < last; ++q) {
                             checkpoint();
                             Collector& collector = collectors[q];
                             for (Index i = begin; i < end; ++i) {
                                 const double found = reduced(distance, queries + q * columns,
                                                              x + i * columns, columns);
                                 if (found <= collector.limit() && !labels.hides(q, i))
                                     collector.offer({found, i});
                             }
                         }
                     }
                 });
}

#define GAPLESS_SCAN(T, Collector)                                             \
    template void scan_rows(const Distance&, const T*, Index, Index, const T*, \
                            std::vector<Collector>&, const Labels&, const Context&);
GAPLESS_SCAN(float, Nearest)
GAPLESS_SCAN(float, Within)
GAPLESS_SCAN(double, Nearest)
GAPLESS_SCAN(double, Within)

}  // namespace gapless
