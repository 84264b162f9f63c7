#include "linear/class_moments.hpp"

#include <algorithm>
#include <vector>

namespace gapless {
namespace {

#define GAPLESS_BODY [[gnu::always_inline]] inline

// Rows are divided into at most this many chunks, each with its own sums, and with at least this
// many rows for each class, since the sums of chunks must be added.
constexpr Index most_stretches = 16;
constexpr Index rows_per_class = 16;
// Check the clock every `some_rows` rows; copy as many at a time if X is stored by columns.
constexpr Index some_rows = 64;
// Rows of a task that measures distances, and how many of them are taken side by side, so that the
// data of the classes are read once for all of these.
constexpr Index tile_rows = 64;
constexpr Index together = 4;

// ---- one row of one class ----

template <class X>
GAPLESS_BODY void present_loop(double weight, const X* x, double* sums, double* counts, Index n) {
#pragma omp simd
    for (Index j = 0; j < n; ++j) {
        const bool is_there = x[j] == x[j];
        sums[j] += is_there ? weight * static_cast<double>(x[j]) : 0.0;
        counts[j] += is_there ? weight : 0.0;
    }
}
void add_present(double weight, const double* x, double* sums, double* counts, Index n) {
    present_loop(weight, x, sums, counts, n);
}
void add_present(double weight, const float* x, double* sums, double* counts, Index n) {
    present_loop(weight, x, sums, counts, n);
}

template <class X>
GAPLESS_BODY void square_loop(double weight, const X* x, const double* mean, double* squares,
                              double* rests, Index n) {
#pragma omp simd
    for (Index j = 0; j < n; ++j) {
        const double from = static_cast<double>(x[j]) - mean[j];
        const double rest = from == from ? from : 0.0;
        squares[j] += weight * rest * rest;
        rests[j] += weight * rest;
    }
}
void add_squares(double weight, const double* x, const double* mean, double* squares, double* rests,
                 Index n) {
    square_loop(weight, x, mean, squares, rests, n);
}
void add_squares(double weight, const float* x, const double* mean, double* squares, double* rests,
                 Index n) {
    square_loop(weight, x, mean, squares, rests, n);
}

// ---- all rows ----

// The rows [begin, end) one after another, copied only if X is stored by columns.
template <class X>
const X* tile_of(const Dense<X>& x, Index begin, Index end, std::vector<X>& memory) {
    if (x.order == Order::rows) return x.data + begin * x.columns;
    memory.resize((end - begin) * x.columns);
    for (Index j = 0; j < x.columns; ++j)
        for (Index i = begin; i < end; ++i)
            memory[(i - begin) * x.columns + j] = x.data[j * x.rows + i];
    return memory.data();
}

// Call add(row, x, sums) for all rows with weight, on all threads; `sums` start at 0, and those of
// all chunks of rows are added to `out` in order.
template <class X, class Add>
void sum_rows(const ClassRows<X>& rows, Index count, double* out, const Context& context,
              Add&& add) {
    const Dense<X>& x = rows.x;
    const Index stretches =
        std::clamp<Index>(x.rows / (rows_per_class * rows.classes), 1, most_stretches);
    const Index size = (x.rows + stretches - 1) / stretches;
    const int threads = useful_threads(static_cast<double>(x.rows) * x.columns, context.threads);
    std::vector<std::vector<double>> found(stretches);
    parallel_for(stretches, threads, context.poll, [&](Index task, Checkpoint& checkpoint) {
        std::vector<double>& sums = found[task];
        sums.assign(count, 0.0);
        std::vector<X> memory;
        const Index last = std::min((task + 1) * size, x.rows);
        for (Index begin = task * size; begin < last; begin += some_rows) {
            checkpoint();
            const Index end = std::min(begin + some_rows, last);
            const X* tile = tile_of(x, begin, end, memory);
            for (Index i = begin; i < end; ++i)
                if (rows.weights[i] != 0) add(i, tile + (i - begin) * x.columns, sums.data());
        }
    });
    std::fill_n(out, count, 0.0);
    for (const auto& sums : found) axpy(1.0, sums.data(), out, count);
}

// ---- distances ----

// Sums over the columns for `together` rows at once, each in its own order.
template <bool has_missing, class X>
GAPLESS_BODY void distance_loop(const X* const* x, const double* mean, const double* precision,
                                const double* offset, Index d, double* out) {
    const X *x0 = x[0], *x1 = x[1], *x2 = x[2], *x3 = x[3];
    double a = 0, b = 0, c = 0, e = 0;
    auto term = [&](const X* row, Index j) {
        const double from = static_cast<double>(row[j]) - mean[j];
        const double square = precision[j] * from * from;
        if constexpr (!has_missing) return square;
        return from == from ? square + offset[j] : 0.0;
    };
#pragma omp simd reduction(+ : a, b, c, e)
    for (Index j = 0; j < d; ++j) {
        a += term(x0, j);
        b += term(x1, j);
        c += term(x2, j);
        e += term(x3, j);
    }
    out[0] = a, out[1] = b, out[2] = c, out[3] = e;
}
template <class X>
GAPLESS_BODY void some_distances(const X* const* x, const double* mean, const double* precision,
                                 const double* offset, Index d, double* out) {
    if (offset)
        distance_loop<true>(x, mean, precision, offset, d, out);
    else
        distance_loop<false>(x, mean, precision, offset, d, out);
}
void distances(const double* const* x, const double* mean, const double* precision,
               const double* offset, Index d, double* out) {
    some_distances(x, mean, precision, offset, d, out);
}
void distances(const float* const* x, const double* mean, const double* precision,
               const double* offset, Index d, double* out) {
    some_distances(x, mean, precision, offset, d, out);
}

}  // namespace

template <class X>
void class_sums(const ClassRows<X>& rows, double* sums, double* counts, const Context& context) {
    const Index d = rows.x.columns, cells = rows.classes * d;
    if (!counts) {
        sum_rows(rows, cells, sums, context, [&](Index i, const X* x, double* to) {
            axpy(rows.weights[i], x, to + rows.y[i] * d, d);
        });
        return;
    }
    std::vector<double> both(2 * cells);
    sum_rows(rows, 2 * cells, both.data(), context, [&](Index i, const X* x, double* to) {
        to += rows.y[i] * d;
        add_present(rows.weights[i], x, to, to + cells, d);
    });
    std::copy_n(both.data(), cells, sums);
    std::copy_n(both.data() + cells, cells, counts);
}

template <class X>
void class_squares(const ClassRows<X>& rows, const double* means, double* squares, double* rests,
                   const Context& context) {
    const Index d = rows.x.columns, cells = rows.classes * d;
    std::vector<double> both(2 * cells);
    sum_rows(rows, 2 * cells, both.data(), context, [&](Index i, const X* x, double* to) {
        const Index at = rows.y[i] * d;
        add_squares(rows.weights[i], x, means + at, to + at, to + cells + at, d);
    });
    std::copy_n(both.data(), cells, squares);
    std::copy_n(both.data() + cells, cells, rests);
}

template <class X>
void class_counts(const Compressed<X>& x, const std::int32_t* y, const double* weights,
                  Index classes, double* counts, const Context& context) {
    // The rows of each class one after another, so that a task has one class and its sums to
    // itself.
    std::vector<Index> start(classes + 1, 0), order(x.lines);
    for (Index i = 0; i < x.lines; ++i) ++start[y[i] + 1];
    for (Index k = 0; k < classes; ++k) start[k + 1] += start[k];
    std::vector<Index> next(start.begin(), start.end() - 1);
    for (Index i = 0; i < x.lines; ++i) order[next[y[i]]++] = i;
    const double work = static_cast<double>(x.start[x.lines] + classes * x.length);
    const int threads = useful_threads(work, context.threads);
    parallel_for(classes, threads, context.poll, [&](Index k, Checkpoint& checkpoint) {
        double* sums = counts + k * x.length;
        std::fill_n(sums, x.length, 0.0);
        for (Index p = start[k]; p < start[k + 1]; ++p) {
            if ((p - start[k]) % some_rows == 0) checkpoint();
            const Index i = order[p], first = x.start[i];
            if (weights[i] == 0) continue;
            sparse_axpy(weights[i], x.value + first, x.index + first, sums, x.start[i + 1] - first);
        }
    });
}

template <class X>
void class_distances(const Dense<X>& x, const ClassShapes& shapes, double* out,
                     const Context& context) {
    const Index d = x.columns, classes = shapes.classes;
    const double work = static_cast<double>(x.rows) * d * classes;
    const Index tasks = (x.rows + tile_rows - 1) / tile_rows;
    const int threads = useful_threads(work, context.threads);
    parallel_for(tasks, threads, context.poll, [&](Index task, Checkpoint& checkpoint) {
        const Index begin = task * tile_rows, end = std::min(begin + tile_rows, x.rows);
        std::vector<X> memory;
        const X* tile = tile_of(x, begin, end, memory);
        for (Index i = begin; i < end; i += together) {
            checkpoint();
            // The last row fills in if there are fewer.
            const X* chosen[together];
            for (Index r = 0; r < together; ++r)
                chosen[r] = tile + (std::min(i + r, end - 1) - begin) * d;
            double found[together];
            for (Index k = 0; k < classes; ++k) {
                const double* offset = shapes.offsets ? shapes.offsets + k * d : nullptr;
                distances(chosen, shapes.means + k * d, shapes.precisions + k * d, offset, d,
                          found);
                for (Index r = 0; r < std::min(together, end - i); ++r)
                    out[(i + r) * classes + k] = found[r];
            }
        }
    });
}

template void class_sums(const ClassRows<float>&, double*, double*, const Context&);
template void class_sums(const ClassRows<double>&, double*, double*, const Context&);
template void class_squares(const ClassRows<float>&, const double*, double*, double*,
                            const Context&);
template void class_squares(const ClassRows<double>&, const double*, double*, double*,
                            const Context&);
template void class_counts(const Compressed<float>&, const std::int32_t*, const double*, Index,
                           double*, const Context&);
template void class_counts(const Compressed<double>&, const std::int32_t*, const double*, Index,
                           double*, const Context&);
template void class_distances(const Dense<float>&, const ClassShapes&, double*, const Context&);
template void class_distances(const Dense<double>&, const ClassShapes&, double*, const Context&);

}  // namespace gapless
