// The search in projected rows: see projected_rows.hpp.
#include <atomic>
#include <bit>

#include "neighbors/float_rows.hpp"
#include "neighbors/projected_rows.hpp"
#include "neighbors/row_order.hpp"
#include "neighbors/tile_bounds.hpp"

namespace gapless {
namespace {

constexpr Index query_block = 252, fewest_queries = 18;
// Candidates of a tile that are measured before the next one, more of them in the first tiles; of
// many, those checked before the others; and those of a query that may wait.
constexpr std::size_t few_at_once = 2, more_at_first = 8;
constexpr Index most_waiting = 4096, first_tiles = 3, scouts = 16;
constexpr Index most_queries = 1 << 14;  // ordered together
constexpr double infinity = std::numeric_limits<double>::infinity();

// The smallest of each sixteen numbers.
void least_of_sixteens(const float* bounds, Index count, float* out) {
    for (Index begin = 0; begin < count; begin += 16) {
        float least = bounds[begin];
#pragma omp simd reduction(min : least)
        for (Index i = begin; i < begin + 16; ++i) least = std::min(least, bounds[i]);
        *out++ = least;
    }
}

}  // namespace

// What `find_bounds` found in a tile for a query.
struct Hits {
    const std::uint64_t* words;
    const float* bounds;
    Index begin, count;

    // Add the rows whose bound is above one number, and at most another.
    void gather(float above, float limit, std::vector<BoundedRow>& out) const {
        for (Index word = 0; word < tile_words; ++word)
            for (std::uint64_t rest = words[word]; rest; rest &= rest - 1) {
                const Index i = 64 * word + std::countr_zero(rest);
                if (i < count && bounds[i] > above && bounds[i] <= limit)
                    out.push_back({bounds[i], begin + i});
            }
    }
    // A bound that at least `some` of the rows are within, if there are many.
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
    // A bound that at least `some` rows of a whole tile are within, all of which were found, and
    // not many more. Of each few rows a stride apart the nearest one represents them.
    float cut_for_all(Index some) const {
        if (count < tile_rows || some > tile_rows / 4) return infinity;
        Index stride = 64;
        while (stride < 2 * some) stride *= 2;
        float least[tile_rows / 2];
        std::copy_n(bounds, stride, least);
        for (Index begin = stride; begin < tile_rows; begin += stride)
#pragma omp simd
            for (Index i = 0; i < stride; ++i) least[i] = std::min(least[i], bounds[begin + i]);
        std::nth_element(least, least + some - 1, least + stride);
        return least[some - 1];
    }
};

namespace {

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

// Without branches: which rows go is unpredictable.
void drop_beyond(float limit, std::vector<BoundedRow>& near) {
    std::size_t kept = 0;
    for (const BoundedRow& row : near) {
        const bool stays = row.bound <= limit;
        near[kept] = row;
        kept += stays;
    }
    near.resize(kept);
}

// Prefetch scattered memory before it is needed.
void prefetch(const void* memory, Index bytes) {
    constexpr Index line = 64;
    for (Index j = 0; j < bytes; j += line)
        __builtin_prefetch(static_cast<const char*>(memory) + j);
}

}  // namespace

template <class T>
template <class Collector>
void ProjectedRows<T>::set_limits(Question<Collector>& asked) const {
    const double most = std::min(asked.collector.limit() * scale_ * scale_, asked.most);
    asked.first_limit = static_cast<float>(limit(most, asked.square, asked.length));
    asked.second_limit =
        wide_width() ? rounded_up(wide_limit(most, asked.length)) : asked.first_limit;
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

// All waiting rows, in full. For a tile that is searched as a whole, their order does not matter.
template <class T>
template <class Collector>
Index ProjectedRows<T>::measure_waiting(Question<Collector>& asked) const {
    Index entries = 0;
    drop_beyond(asked.second_limit, asked.waiting);
    if (is_whole()) {
        for (std::size_t i = 0; i < asked.waiting.size(); ++i) {
            if (i + 1 < asked.waiting.size())
                prefetch(row_at(asked.waiting[i + 1].row), columns_ * sizeof(T));
            const Index place = asked.waiting[i].row;
            asked.collector.offer(
                {reduced(distance_, asked.x, row_at(place), columns_), order_[place]});
        }
        set_limits(asked);
        entries = std::ssize(asked.waiting) * columns_;
    } else {
        entries = measure(asked.waiting, asked.waiting.size(), asked);
    }
    asked.waiting.clear();
    return entries;
}

// Rule out waiting rows by those so near that k of them are nearer.
template <class T>
template <class Collector>
void ProjectedRows<T>::tighten(std::vector<float>& most, Question<Collector>& asked) const {
    most.resize(asked.waiting.size());
    for (std::size_t i = 0; i < most.size(); ++i)
        most[i] = asked.waiting[i].bound + spread_[asked.waiting[i].row];
    const auto last = most.begin() + asked.collector.wanted() - 1;
    std::nth_element(most.begin(), last, most.end());
    asked.most = std::min(asked.most, most_within(*last, asked.square, asked.length));
    set_limits(asked);
    drop_beyond(asked.first_limit, asked.waiting);
}

// Rows of a tile wait with the others, and show better how near the neighbours are.
template <class T>
template <class Collector>
Index ProjectedRows<T>::keep(const Hits& found, std::vector<float>& most,
                             Question<Collector>& asked) const {
    auto& waiting = asked.waiting;
    const Index wanted = asked.collector.wanted();
    auto add = [&](float above, float limit) {
        const Index old = std::ssize(waiting);
        found.gather(above, limit, waiting);
        if (asked.labels.of_query)
            waiting.erase(std::remove_if(waiting.begin() + old, waiting.end(),
                                         [&](const BoundedRow& row) {
                                             return asked.labels.hides(asked.number,
                                                                       order_[row.row]);
                                         }),
                          waiting.end());
        // About half of them go, which pays for checking all.
        if (std::ssize(waiting) / 2 >= wanted ||
            (asked.first_limit == infinity && std::ssize(waiting) >= wanted))
            tighten(most, asked);
    };
    if (asked.first_limit == infinity) {
        const float cut = found.cut_for_all(wanted);
        add(-beyond_all, cut);
        if (cut < infinity) add(cut, asked.first_limit);
    } else {
        add(-beyond_all, asked.first_limit);
    }
    const Index most_kept = most_waiting + (wanted < rows_ ? 2 * wanted : 0);
    return std::ssize(waiting) > most_kept ? measure_waiting(asked) : 0;
}

// Bounds along all directions: the first few candidates are measured, and the others wait for those
// of later tiles, which may rule them out.
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
    std::vector<float> most;
    Index entries = 0, seen = 0;
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
            if (is_whole()) {
                entries += keep(found, most, asked[q]);
                continue;
            }
            near.clear();
            found.gather(-beyond_all, limits[q], near);
            if (near.empty()) continue;
            if (std::ssize(near) > 4 * scouts) {
                // Of many rows, the most promising ones may rule out most of the others.
                const float cut = found.cut_for(scouts);
                near.clear();
                found.gather(-beyond_all, cut, near);
                entries += look_again(near, few, asked[q]);
                near.clear();
                found.gather(cut, asked[q].first_limit, near);
            }
            entries += look_again(near, few, asked[q]);
            if (std::ssize(asked[q].waiting) > most_waiting) entries += measure_waiting(asked[q]);
        }
    }
    for (Question<Collector>& one : asked) {
        checkpoint();
        if (is_whole() && std::ssize(one.waiting) > one.collector.wanted()) tighten(most, one);
        entries += measure_waiting(one);
    }
    return entries / std::max<Index>(columns_, 1);
}

// The tiles of rows, those near most of the queries first.
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
