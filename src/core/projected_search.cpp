// How projected rows are searched: see projected_rows.hpp.
#include <atomic>
#include <bit>

#include "float_rows.hpp"
#include "projected_rows.hpp"
#include "row_order.hpp"
#include "tile_bounds.hpp"

namespace gapless {
namespace {

constexpr Index query_block = 252, fewest_queries = 18;
// Candidates of a tile that are measured before the next one, more of them in the first tiles; of
// many those that are looked at before the others; and of a query that may wait.
constexpr std::size_t few_at_once = 2, more_at_first = 8, most_waiting = 4096;
constexpr Index first_tiles = 3, scouts = 16;
constexpr Index most_queries = 1 << 14;  // that are put in order together
constexpr double infinity = std::numeric_limits<double>::infinity();

// The least of each sixteen numbers.
void least_of_sixteens(const float* bounds, Index count, float* out) {
    for (Index begin = 0; begin < count; begin += 16) {
        float least = bounds[begin];
#pragma omp simd reduction(min : least)
        for (Index i = begin; i < begin + 16; ++i) least = std::min(least, bounds[i]);
        *out++ = least;
    }
}

// What `find_bounds` found in a tile for a query.
struct Hits {
    const std::uint64_t* words;
    const float* bounds;
    Index begin, count;

    // The rows whose bound is above one number, and at most another.
    void gather(float above, float limit, std::vector<BoundedRow>& out) const {
        out.clear();
        for (Index word = 0; word < tile_words; ++word)
            for (std::uint64_t rest = words[word]; rest; rest &= rest - 1) {
                const Index i = 64 * word + std::countr_zero(rest);
                if (i < count && bounds[i] > above && bounds[i] <= limit)
                    out.push_back({bounds[i], begin + i});
            }
    }
    // What at least some of the rows are within, if there are many.
    float cut_for(Index some) const {
        float all[tile_rows / 16], least[tile_rows / 16];
        least_of_sixteens(bounds, tile_rows, all);
        Index found = 0;
        for (Index i = 0; i < count / 16; ++i)
            if (words[i / 4] >> (i % 4 * 16) & 0xffff) least[found++] = all[i];
        if (found <= some) return std::numeric_limits<float>::infinity();
        std::nth_element(least, least + some, least + found);
        return least[some];
    }
};

// Squared distances of u to some of the rows, of w columns, in place of their bounds.
void measure_along(const float* u, const float* rows, Index w, BoundedRow* near, Index count) {
    for (Index i = 0; i < count; ++i) {
        const float* v = rows + near[i].row * w;
        float sum = 0;
#pragma omp simd reduction(+ : sum)
        for (Index j = 0; j < w; ++j) sum += (u[j] - v[j]) * (u[j] - v[j]);
        near[i].bound = sum;
    }
}

void drop_beyond(float limit, std::vector<BoundedRow>& near) {
    std::erase_if(near, [&](const BoundedRow& row) { return !(row.bound <= limit); });
}

// Ask for memory that is far apart before it is needed.
void prefetch(const void* memory, Index bytes) {
    constexpr Index line = 64;
    for (Index j = 0; j < bytes; j += line)
        __builtin_prefetch(static_cast<const char*>(memory) + j);
}

}  // namespace

template <class T>
template <class Collector>
void ProjectedRows<T>::set_limits(Question<Collector>& asked) const {
    const double reduced = asked.collector.limit();
    asked.first_limit = static_cast<float>(limit(reduced, asked.square, asked.length));
    asked.second_limit =
        wide_width() ? rounded_up(wide_limit(reduced, asked.length)) : asked.first_limit;
}

// Offer the first few, by their bounds, and more until there is a limit; the others stay.
template <class T>
template <class Collector>
Index ProjectedRows<T>::measure(std::vector<BoundedRow>& near, std::size_t few,
                                Question<Collector>& asked) const {
    const Index d = columns_;
    std::sort(near.begin(), near.end());
    std::size_t i = 0;
    Index measured = 0;
    for (; i < near.size() && near[i].bound <= asked.second_limit; ++i) {
        if (i >= few && asked.collector.limit() < infinity) break;
        if (i + 1 < near.size()) prefetch(x_ + order_[near[i + 1].row] * d, d * sizeof(T));
        const Index number = order_[near[i].row];
        if (asked.labels.hides(asked.number, number)) continue;
        asked.collector.offer({reduced(distance_, asked.x, x_ + number * d, d), number});
        set_limits(asked);
        ++measured;
    }
    near.erase(near.begin(), near.begin() + i);
    return measured * d;
}

// Bounds along all directions: the first few candidates are measured, and the others wait for those
// of the later tiles, which may rule them out.
template <class T>
template <class Collector>
Index ProjectedRows<T>::look_again(std::vector<BoundedRow>& near, std::size_t few,
                                   Question<Collector>& asked) const {
    const Index w = wide_width(), entries = std::ssize(near) * w;
    if (w) {
        measure_along(asked.wide, wide_.data(), w, near.data(), std::ssize(near));
        for (BoundedRow& row : near)
            row.bound = rounded_down(static_cast<double>(row.bound) - wide_slack_[row.row]);
    }
    drop_beyond(asked.second_limit, near);
    const Index measured = measure(near, few, asked);
    drop_beyond(asked.second_limit, near);
    asked.waiting.insert(asked.waiting.end(), near.begin(), near.end());
    return entries + measured;
}

template <class T>
template <class Collector>
Index ProjectedRows<T>::search_block(const Projection& block,
                                     std::vector<Question<Collector>>& asked,
                                     Checkpoint& checkpoint) const {
    const Index count = std::ssize(asked), padded = in_whole_groups(count), w = width();
    std::vector<float> values = block.values, limits(padded, -beyond_all);
    values.resize(padded * w);
    std::vector<float> bounds(padded * tile_rows);
    std::vector<std::uint64_t> hits(padded * tile_words);
    std::vector<BoundedRow> near;
    Index entries = 0, seen = 0;
    auto measure_waiting = [&](Question<Collector>& one) {
        drop_beyond(one.second_limit, one.waiting);
        entries += measure(one.waiting, one.waiting.size(), one);
        one.waiting.clear();
    };
    for (const Index tile : tiles_for(block)) {
        const std::size_t few = seen++ < first_tiles ? more_at_first : few_at_once;
        const Index begin = tile * tile_rows, size = std::min(tile_rows, rows_ - begin);
        for (Index q = 0; q < count; ++q) limits[q] = asked[q].first_limit;
        find_bounds({values_.data() + begin * w, halves_.data() + begin, in_whole_panels(size), w},
                    {values.data(), limits.data(), padded}, bounds.data(), hits.data());
        for (Index q = 0; q < count; ++q) {
            checkpoint();
            const Hits found{hits.data() + q * tile_words, bounds.data() + q * tile_rows, begin,
                             size};
            found.gather(-beyond_all, limits[q], near);
            if (near.empty()) continue;
            if (std::ssize(near) > 4 * scouts) {
                // Of many rows, the most promising ones may rule out most of the others.
                const float cut = found.cut_for(scouts);
                found.gather(-beyond_all, cut, near);
                entries += look_again(near, few, asked[q]);
                found.gather(cut, asked[q].first_limit, near);
            }
            entries += look_again(near, few, asked[q]);
            if (asked[q].waiting.size() > most_waiting) measure_waiting(asked[q]);
        }
    }
    for (Question<Collector>& one : asked) {
        checkpoint();
        measure_waiting(one);
    }
    return entries / std::max<Index>(columns_, 1);
}

// The tiles of rows, those first that are near most of the queries.
template <class T>
std::vector<Index> ProjectedRows<T>::tiles_for(const Projection& queries) const {
    const Index w = width(), tiles = (rows_ + tile_rows - 1) / tile_rows;
    const auto mean = mean_of(queries.values.data(), std::ssize(queries.squares), w);
    std::vector<BoundedRow> far(tiles);
    for (Index i = 0; i < tiles; ++i) far[i].row = i;
    measure_along(mean.data(), tile_means_.data(), w, far.data(), tiles);
    std::stable_sort(far.begin(), far.end());
    std::vector<Index> order(tiles);
    for (Index i = 0; i < tiles; ++i) order[i] = far[i].row;
    return order;
}

// Queries from first to last, blocks of near ones together.
template <class T>
template <class Collector>
Index ProjectedRows<T>::search_some(const T* queries, Index first, Index last,
                                    Collector* collectors, const Labels& labels,
                                    const Context& context) const {
    const Index count = last - first, d = columns_, w = width();
    const Index size = std::clamp(count / 16, fewest_queries, query_block);
    Projection all = room_for(count);
    for_blocks_of_rows(count, context, [&](Index begin, Index some) {
        project(queries + (first + begin) * d, begin, some, context.blas, all);
    });
    const std::vector<Index> order = grouped(all.values, w, count, size);
    std::atomic<Index> measured{0};
    parallel_for(
        (count + size - 1) / size, context.threads, context.poll,
        [&](Index task, Checkpoint& checkpoint) {
            const Index begin = size * task, some = std::min(size, count - begin);
            Projection block = room_for(some);
            take_rows(all, order.data() + begin, 0, some, block);
            std::vector<Question<Collector>> asked;
            for (Index q = 0; q < some; ++q) {
                const Index number = first + order[begin + q];
                asked.push_back({queries + number * d, number, block.wide.data() + q * wide_width(),
                                 block.squares[q], block.lengths[q], collectors[number], labels});
                set_limits(asked.back());
            }
            measured += search_block(block, asked, checkpoint);
        });
    return measured;
}

template <class T>
template <class Collector>
Index ProjectedRows<T>::search(const T* queries, std::vector<Collector>& collectors,
                               const Labels& labels, const Context& context) const {
    const Index count = std::ssize(collectors);
    Index measured = 0;
    for (Index first = 0; first < count; first += most_queries)
        measured += search_some(queries, first, std::min(first + most_queries, count),
                                collectors.data(), labels, context);
    return measured;
}

#define GAPLESS_PROJECTED_SEARCH(T)                                                         \
    template Index ProjectedRows<T>::search(const T*, std::vector<Nearest>&, const Labels&, \
                                            const Context&) const;                          \
    template Index ProjectedRows<T>::search(const T*, std::vector<Within>&, const Labels&,  \
                                            const Context&) const;
GAPLESS_PROJECTED_SEARCH(float)
GAPLESS_PROJECTED_SEARCH(double)

}  // namespace gapless
