#include "projected_rows.hpp"

#include <atomic>

#include "float_rows.hpp"
#include "row_order.hpp"

namespace gapless {
namespace {

constexpr Index row_tile = 1024, query_block = 256, fewest_queries = 16;
// Candidates of a tile that are looked at before the next one, more of them in the first tiles; and
// of a query that may wait.
constexpr std::size_t few_at_once = 2, more_at_first = 8, most_waiting = 4096;
constexpr Index first_tiles = 3;
constexpr std::size_t ahead = 4;         // candidates whose memory is asked for
constexpr Index strip = 64;              // bounds that are looked at together
constexpr Index most_first = 47;         // directions along which products are taken
constexpr Index most_queries = 1 << 14;  // that are put in order together
constexpr double double_unit = 0x1p-53;
// What underflow in float may add to a product with the farthest query that is compared so.
constexpr double underflow = 1e-30;
// Queries beyond this squared length, in units of the longest row, are compared in full.
constexpr double far_away = 1e24;
constexpr double infinity = std::numeric_limits<double>::infinity();

// The least bound of each strip.
GAPLESS_CLONES void least_of_strips(const float* halves, const float* products, Index count,
                                    float* out) {
    for (Index begin = 0; begin < count; begin += strip) {
        const Index end = std::min(begin + strip, count);
        float least = std::numeric_limits<float>::infinity();
#pragma omp simd reduction(min : least)
        for (Index j = begin; j < end; ++j) least = std::min(least, halves[j] - products[j]);
        *out++ = least;
    }
}

GAPLESS_CLONES float squared_distance(const float* u, const float* v, Index n) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (Index j = 0; j < n; ++j) sum += (u[j] - v[j]) * (u[j] - v[j]);
    return sum;
}

// In float, and not below, or not above.
float rounded_up(double value) {
    return static_cast<float>(value + 2 * float_unit * std::abs(value));
}
float rounded_down(double value) { return -rounded_up(-value); }

// The rows of a tile whose bound is within the limit.
void gather(const float* halves, const float* products, Index begin, Index count, float limit,
            std::vector<BoundedRow>& out) {
    float least[row_tile / strip];
    least_of_strips(halves, products, count, least);
    out.clear();
    for (Index j = 0; j < count; j += strip) {
        if (!(least[j / strip] <= limit)) continue;
        for (Index i = j; i < std::min(j + strip, count); ++i) {
            const float bound = halves[i] - products[i];
            if (bound <= limit) out.push_back({bound, begin + i});
        }
    }
}

// Ask for memory that is far apart before it is needed.
void prefetch(const void* memory, Index bytes) {
    constexpr Index line = 64;
    for (Index j = 0; j < bytes; j += line)
        __builtin_prefetch(static_cast<const char*>(memory) + j);
}

}  // namespace

// ---- projecting ----

template <class T>
ProjectedRows<T>::ProjectedRows(const T* x, Index rows, Index columns, const Frame& frame,
                                const Context& context)
    : x_(x),
      rows_(rows),
      columns_(columns),
      mean_(frame.mean, frame.mean + columns),
      size_(frame.size),
      halves_(rows) {
    if (frame.basis) basis_.assign(frame.basis, frame.basis + frame.size * columns);
    // Errors as parts of the length of x − m: of the projection in double; of the length of what is
    // left over, whose square is a difference, so that √|a² − b²| ≥ |a − b| bounds it; of float.
    const double projecting =
        std::sqrt(static_cast<double>(size_)) * rounding_of_sum(columns + 2, double_unit) +
        frame.defect;
    const double rest =
        std::sqrt(2 * rounding_of_sum(columns + size_ + 4, double_unit) + 3 * projecting);
    error_ = (basis_.empty() ? 2 * double_unit : projecting + rest) + 2 * float_unit;
    slack_ = slack();
    summed_ = summed();

    scale_ = scale_to_float(x, rows, columns, frame.mean, context);

    Projection all = room_for(rows);
    for_blocks_of_rows(rows, context, [&](Index first, Index count) {
        project(x + first * columns, first, count, context.blas, all);
    });
    order_ = grouped(all.values, width(), rows, row_tile);
    Projection sorted = room_for(rows);
    for_blocks_of_rows(rows, context, [&](Index first, Index count) {
        take_rows(all, order_.data(), first, count, sorted);
    });
    all = std::move(sorted);
    for (Index begin = 0; begin < rows; begin += row_tile) {
        const Index size = std::min(row_tile, rows - begin);
        const auto mean = mean_of(all.values.data() + begin * width(), size, width());
        tile_means_.insert(tile_means_.end(), mean.begin(), mean.end());
    }
    for (Index i = 0; i < rows; ++i)
        halves_[i] = static_cast<float>((all.squares[i] - slack_ * all.lengths[i]) / 2);
    values_ = tiles_by_columns(all.values, rows, width(), row_tile, context);
    wide_ = std::move(all.wide);
    if (wide_.empty()) return;
    wide_slack_.resize(rows);
    for (Index i = 0; i < rows; ++i)
        wide_slack_[i] = rounded_up(summed_ * moved() * all.lengths[i]);
}

template <class T>
Index ProjectedRows<T>::first_size() const {
    return basis_.empty() ? size_ : std::min(size_, most_first);
}

template <class T>
typename ProjectedRows<T>::Projection ProjectedRows<T>::room_for(Index count) const {
    return {std::vector<float>(count * width()), std::vector<float>(count * wide_width()),
            std::vector<double>(count), std::vector<double>(count)};
}

template <class T>
void ProjectedRows<T>::take_rows(const Projection& from, const Index* order, Index begin,
                                 Index count, Projection& to) const {
    take(from.values, order, begin, count, width(), to.values);
    take(from.wide, order, begin, count, wide_width(), to.wide);
    take(from.squares, order, begin, count, 1, to.squares);
    take(from.lengths, order, begin, count, 1, to.lengths);
}

// Rows x (count × columns) in the frame, as rows of `out` from `begin` on.
template <class T>
void ProjectedRows<T>::project(const T* x, Index begin, Index count, const Blas& blas,
                               Projection& out) const {
    const Index d = columns_, p = size_;
    std::vector<double> centred(count * d), along(basis_.empty() ? 0 : count * p);
    for (Index i = 0; i < count; ++i)
        centre(x + i * d, mean_.data(), scale_, d, centred.data() + i * d);
    if (!basis_.empty())
        gemm<double>(blas, p, count, d, {basis_.data(), d, Transpose::yes},
                     {centred.data(), d, Transpose::no}, 0.0, along.data(), p);
    const double* from = basis_.empty() ? centred.data() : along.data();
    for (Index i = 0; i < count; ++i)
        write(from + i * p, square_sum(centred.data() + i * d, nullptr, d), begin + i, out);
}

// A row, of this squared length, from its numbers along all directions.
template <class T>
void ProjectedRows<T>::write(const double* along, double length, Index row, Projection& out) const {
    auto put = [&](float* values, Index size) {
        for (Index j = 0; j < size; ++j) values[j] = static_cast<float>(along[j]);
        if (!basis_.empty())
            values[size] = static_cast<float>(
                std::sqrt(std::max(length - square_sum(along, nullptr, size), 0.0)));
    };
    float* values = out.values.data() + row * width();
    put(values, first_size());
    if (wide_width()) put(out.wide.data() + row * wide_width(), size_);
    out.squares[row] = square_sum(values, nullptr, width());
    out.lengths[row] = length;
}

// By what factor a sum in float over all directions may come out larger.
template <class T>
double ProjectedRows<T>::summed() const {
    return 1 + 2 * rounding_of_sum(wide_width() + 3, float_unit);
}

// With errors e‖x‖ and e‖z‖ of the projected rows, g‖x‖‖z‖ of their product, and τ = ‖x − z‖²,
//     ‖u − v‖² ≤ (√τ + e‖x‖ + e‖z‖)² ≤ τ(1 + 2e) + (e + 2e²)(‖x‖² + ‖z‖²),
// and 2g‖x‖‖z‖ ≤ g(‖x‖² + ‖z‖²): this returns what ‖x‖² + ‖z‖² is multiplied with, with the few
// roundings in float of what is compared at the end.
template <class T>
double ProjectedRows<T>::slack() const {
    return moved() + 1.01 * rounding_of_sum(width() + 1, float_unit) + 8 * float_unit;
}

// What ½‖v‖² − ½ slack ‖z‖² − ⟨u, v⟩ is at most for rows z within a reduced distance of x.
template <class T>
double ProjectedRows<T>::limit(double reduced, double square, double length) const {
    if (!(length <= far_away)) return infinity;
    const double twice = reduced * scale_ * scale_ * (1 + 3 * error_) + slack_ * length - square;
    return twice / 2 + float_unit * std::abs(twice) + underflow;
}

// What ‖u − v‖² along all directions, summed in float, is at most for rows z within a reduced
// distance of x, less what is due to the length of z. Squares of differences have one sign, so that
// rounding takes a part of the sum alone.
template <class T>
double ProjectedRows<T>::wide_limit(double reduced, double length) const {
    if (!(length <= far_away)) return infinity;
    const double most = reduced * scale_ * scale_ * (1 + 3 * error_) + moved() * length;
    return summed_ * most + underflow;
}

// ---- searching ----

// What the bounds of rows are at most that are of use to a query, by products and in all
// directions.
template <class T>
template <class Collector>
float ProjectedRows<T>::limit(const Question<Collector>& asked) const {
    return static_cast<float>(limit(asked.collector.limit(), asked.square, asked.length));
}
template <class T>
template <class Collector>
double ProjectedRows<T>::wide_limit(const Question<Collector>& asked) const {
    return wide_limit(asked.collector.limit(), asked.length);
}

// What the distance of a row along all directions is at least, rounding apart.
template <class T>
double ProjectedRows<T>::wide_bound(const float* wide, Index row) const {
    const float* other = wide_.data() + row * wide_width();
    return static_cast<double>(squared_distance(wide, other, wide_width())) - wide_slack_[row];
}

// Offer candidates whose bound is within most(), the most promising first: each may rule out
// others. The first `few` are looked at, and more until there is a limit; the others stay.
template <class T>
template <class Collector, class Limit>
Index ProjectedRows<T>::look_at(std::vector<BoundedRow>& near, std::size_t few,
                                const Question<Collector>& asked, Limit&& most) const {
    const Index d = columns_, w = wide_width();
    Collector& collector = asked.collector;
    std::make_heap(near.begin(), near.end());
    Index entries = 0;
    std::size_t looked = 0;
    while (!near.empty() && near.front().bound <= most()) {
        if (looked++ >= few && collector.limit() < infinity) break;
        const Index row = near.front().row;
        std::pop_heap(near.begin(), near.end());
        near.pop_back();
        const Index number = order_[row];
        if (asked.labels.hides(asked.number, number)) continue;
        entries += w;
        if (w && wide_bound(asked.wide, row) > wide_limit(asked)) continue;
        entries += d;
        collector.offer({reduced(distance_, asked.x, x_ + number * d, d), number});
    }
    return entries;
}

// Look at all candidates that waited, those first that are near along all directions.
template <class T>
template <class Collector>
Index ProjectedRows<T>::look_at_all(std::vector<BoundedRow>& waiting,
                                    const Question<Collector>& asked) const {
    const Index w = wide_width();
    const float most = limit(asked);
    std::erase_if(waiting, [&](const BoundedRow& row) { return !(row.bound <= most); });
    const std::size_t count = waiting.size();
    if (!w) return look_at(waiting, count, asked, [&] { return limit(asked); });
    for (std::size_t i = 0; i < count; ++i) {
        if (i + ahead < count)
            prefetch(wide_.data() + waiting[i + ahead].row * w, w * sizeof(float));
        waiting[i].bound = rounded_down(wide_bound(asked.wide, waiting[i].row));
    }
    const Index entries = static_cast<Index>(count) * w;
    return entries + look_at(waiting, count, asked, [&] { return wide_limit(asked); });
}

// The tiles of rows, those first that are near most of the queries.
template <class T>
std::vector<Index> ProjectedRows<T>::tiles_for(const Projection& queries) const {
    const Index w = width(), tiles = (rows_ + row_tile - 1) / row_tile;
    const auto mean = mean_of(queries.values.data(), std::ssize(queries.squares), w);
    std::vector<BoundedRow> far(tiles);
    for (Index i = 0; i < tiles; ++i)
        far[i] = {squared_distance(mean.data(), tile_means_.data() + i * w, w), i};
    std::stable_sort(far.begin(), far.end(),
                     [](const BoundedRow& a, const BoundedRow& b) { return b < a; });
    std::vector<Index> order(tiles);
    for (Index i = 0; i < tiles; ++i) order[i] = far[i].row;
    return order;
}

// A few candidates of each tile are looked at when they are found, and the others wait for those of
// the later tiles, which may rule them out.
template <class T>
template <class Collector>
Index ProjectedRows<T>::search_block(const Projection& block,
                                     const std::vector<Question<Collector>>& asked,
                                     const Blas& blas, Checkpoint& checkpoint) const {
    const Index count = std::ssize(asked), w = width();
    std::vector<float> products(count * row_tile);
    std::vector<BoundedRow> near;
    std::vector<std::vector<BoundedRow>> waiting(count);
    Index entries = 0, seen = 0;
    for (const Index tile : tiles_for(block)) {
        const std::size_t few = seen++ < first_tiles ? more_at_first : few_at_once;
        const Index begin = tile * row_tile, size = std::min(row_tile, rows_ - begin);
        gemm<float>(blas, size, count, w, {values_.data() + begin * w, size, Transpose::no},
                    {block.values.data(), w, Transpose::no}, 0.0f, products.data(), size);
        for (Index q = 0; q < count; ++q) {
            checkpoint();
            gather(halves_.data() + begin, products.data() + q * size, begin, size, limit(asked[q]),
                   near);
            entries += look_at(near, few, asked[q], [&] { return limit(asked[q]); });
            const float most = limit(asked[q]);
            for (const BoundedRow& candidate : near)
                if (candidate.bound <= most) waiting[q].push_back(candidate);
            if (waiting[q].size() <= most_waiting) continue;
            entries += look_at_all(waiting[q], asked[q]);
            waiting[q].clear();
        }
    }
    for (Index q = 0; q < count; ++q) {
        checkpoint();
        entries += look_at_all(waiting[q], asked[q]);
    }
    return entries / std::max<Index>(columns_, 1);
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
    for (Index q = 0; q < count; ++q)
        if (!(all.lengths[q] <= far_away)) std::fill_n(all.values.data() + q * w, w, 0.0f);
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
            }
            measured += search_block(block, asked, context.blas, checkpoint);
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

#define GAPLESS_PROJECTED_ROWS(T)                                                           \
    template class ProjectedRows<T>;                                                        \
    template Index ProjectedRows<T>::search(const T*, std::vector<Nearest>&, const Labels&, \
                                            const Context&) const;                          \
    template Index ProjectedRows<T>::search(const T*, std::vector<Within>&, const Labels&,  \
                                            const Context&) const;
GAPLESS_PROJECTED_ROWS(float)
GAPLESS_PROJECTED_ROWS(double)

}  // namespace gapless
