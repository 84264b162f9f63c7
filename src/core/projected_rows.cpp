#include "projected_rows.hpp"

#include <atomic>

#include "float_rows.hpp"

namespace gapless {
namespace {

constexpr Index row_tile = 1024, query_block = 256, fewest_queries = 16;
constexpr Index strip = 64;  // bounds that are looked at together
constexpr double double_unit = 0x1p-53;
// What underflow in float may add to a product with the farthest query that is compared so.
constexpr double underflow = 1e-30;
// Queries beyond this squared length, in units of the longest row, are compared in full.
constexpr double far_away = 1e24;
constexpr double infinity = std::numeric_limits<double>::infinity();

GAPLESS_CLONES float least_of(const float* halves, const float* products, Index n) {
    float least = std::numeric_limits<float>::infinity();
#pragma omp simd reduction(min : least)
    for (Index j = 0; j < n; ++j) least = std::min(least, halves[j] - products[j]);
    return least;
}

// The rows of a tile whose bound is within the limit.
void gather(const float* halves, const float* products, Index begin, Index count, float limit,
            std::vector<BoundedRow>& out) {
    out.clear();
    for (Index j = 0; j < count; j += strip) {
        const Index size = std::min(strip, count - j);
        if (!(least_of(halves + j, products + j, size) <= limit)) continue;
        for (Index i = j; i < j + size; ++i) {
            const float bound = halves[i] - products[i];
            if (bound <= limit) out.push_back({bound, begin + i});
        }
    }
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
      values_(rows * (frame.size + (frame.basis ? 1 : 0))),
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

    scale_ = scale_to_float(x, rows, columns, frame.mean, context);

    std::vector<double> squares(rows), lengths(rows);
    for_blocks_of_rows(rows, context, [&](Index first, Index count) {
        project(x + first * columns, count, context.blas, values_.data() + first * width(),
                squares.data() + first, lengths.data() + first);
    });
    for (Index i = 0; i < rows; ++i)
        halves_[i] = static_cast<float>((squares[i] - slack() * lengths[i]) / 2);
}

// Rows (count × columns) in the frame: values (count × width), their squared lengths, and those of
// x − m.
template <class T>
void ProjectedRows<T>::project(const T* x, Index count, const Blas& blas, float* values,
                               double* squares, double* lengths) const {
    const Index d = columns_, p = size_, w = width();
    std::vector<double> centred(count * d), along(basis_.empty() ? 0 : count * p);
    for (Index i = 0; i < count; ++i)
        centre(x + i * d, mean_.data(), scale_, d, centred.data() + i * d);
    if (!basis_.empty())
        gemm<double>(blas, p, count, d, {basis_.data(), d, Transpose::yes},
                     {centred.data(), d, Transpose::no}, 0.0, along.data(), p);
    const double* from = basis_.empty() ? centred.data() : along.data();
    for (Index i = 0; i < count; ++i) {
        const double* row = from + i * p;
        lengths[i] = square_sum(centred.data() + i * d, nullptr, d);
        float* out = values + i * w;
        for (Index j = 0; j < p; ++j) out[j] = static_cast<float>(row[j]);
        if (!basis_.empty())
            out[p] = static_cast<float>(
                std::sqrt(std::max(lengths[i] - square_sum(row, nullptr, p), 0.0)));
        squares[i] = square_sum(out, nullptr, w);
    }
}

// With errors e‖x‖ and e‖z‖ of the projected rows, g‖x‖‖z‖ of their product, and τ = ‖x − z‖²,
//     ‖u − v‖² ≤ (√τ + e‖x‖ + e‖z‖)² ≤ τ(1 + 2e) + (e + 2e²)(‖x‖² + ‖z‖²),
// and 2g‖x‖‖z‖ ≤ g(‖x‖² + ‖z‖²): this returns what ‖x‖² + ‖z‖² is multiplied with, with the few
// roundings in float of what is compared at the end.
template <class T>
double ProjectedRows<T>::slack() const {
    return error_ + 2 * error_ * error_ + 1.01 * rounding_of_sum(width() + 1, float_unit) +
           8 * float_unit;
}

// What ½‖v‖² − ½ slack ‖z‖² − ⟨u, v⟩ is at most for rows z within a reduced distance of x.
template <class T>
double ProjectedRows<T>::limit(double reduced, double square, double length) const {
    if (!(length <= far_away)) return infinity;
    const double twice = reduced * scale_ * scale_ * (1 + 3 * error_) + slack() * length - square;
    return twice / 2 + float_unit * std::abs(twice) + underflow;
}

// ---- searching ----

// Ask for the memory of the first candidates, which is far apart, before it is needed.
template <class T>
void ProjectedRows<T>::prefetch(const std::vector<BoundedRow>& near) const {
    constexpr std::size_t most = 16;
    constexpr Index line = 64 / sizeof(T);
    for (std::size_t i = 0; i < std::min(near.size(), most); ++i)
        for (Index j = 0; j < columns_; j += line)
            __builtin_prefetch(x_ + near[i].row * columns_ + j);
}

template <class T>
template <class Collector>
Index ProjectedRows<T>::search_block(const T* queries, Index first, Index last,
                                     Collector* collectors, const Labels& labels, const Blas& blas,
                                     Checkpoint& checkpoint) const {
    const Index count = last - first, w = width(), d = columns_;
    std::vector<float> values(count * w), products(count * row_tile);
    std::vector<double> squares(count), lengths(count);
    project(queries + first * d, count, blas, values.data(), squares.data(), lengths.data());
    for (Index q = 0; q < count; ++q)
        if (!(lengths[q] <= far_away)) std::fill_n(values.data() + q * w, w, 0.0f);
    std::vector<BoundedRow> near;
    Index measured = 0;
    for (Index begin = 0; begin < rows_; begin += row_tile) {
        const Index size = std::min(row_tile, rows_ - begin);
        gemm<float>(blas, size, count, w, {values_.data() + begin * w, w, Transpose::yes},
                    {values.data(), w, Transpose::no}, 0.0f, products.data(), size);
        for (Index q = 0; q < count; ++q) {
            checkpoint();
            Collector& collector = collectors[first + q];
            auto most = [&] {
                return static_cast<float>(limit(collector.limit(), squares[q], lengths[q]));
            };
            gather(halves_.data() + begin, products.data() + q * size, begin, size, most(), near);
            // The most promising first: each may rule out the others.
            std::make_heap(near.begin(), near.end());
            prefetch(near);
            const T* x = queries + (first + q) * d;
            while (!near.empty() && near.front().bound <= most()) {
                const Index row = near.front().row;
                std::pop_heap(near.begin(), near.end());
                near.pop_back();
                if (labels.hides(first + q, row)) continue;
                ++measured;
                collector.offer({reduced(distance_, x, x_ + row * d, d), row});
            }
        }
    }
    return measured;
}

template <class T>
template <class Collector>
Index ProjectedRows<T>::search(const T* queries, std::vector<Collector>& collectors,
                               const Labels& labels, const Context& context) const {
    const Index count = static_cast<Index>(collectors.size());
    const Index block = std::clamp(count / 16, fewest_queries, query_block);
    std::atomic<Index> measured{0};
    parallel_for((count + block - 1) / block, context.threads, context.poll,
                 [&](Index task, Checkpoint& checkpoint) {
                     const Index last = std::min(block * (task + 1), count);
                     measured += search_block(queries, block * task, last, collectors.data(),
                                              labels, context.blas, checkpoint);
                 });
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
