#include "class_moments.hpp"

#include <algorithm>
#include <vector>

namespace gapless {
namespace {

#define GAPLESS_BODY [[gnu::always_inline]] inline

// A task takes so many columns over all rows: their sums stay in the first-level cache, and no
// sums of different tasks need to be added. It looks at the clock every so many rows.
constexpr Index some_columns = 64;
constexpr Index some_rows = 1024;
// Rows of a task that measures distances, and how many of them are taken side by side, so that what
// belongs to the classes is read once for all of these.
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
GAPLESS_CLONES void add_present(double weight, const double* x, double* sums, double* counts,
                                Index n) {
    present_loop(weight, x, sums, counts, n);
}
GAPLESS_CLONES void add_present(double weight, const float* x, double* sums, double* counts,
                                Index n) {
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
GAPLESS_CLONES void add_squares(double weight, const double* x, const double* mean, double* squares,
                                double* rests, Index n) {
    square_loop(weight, x, mean, squares, rests, n);
}
GAPLESS_CLONES void add_squares(double weight, const float* x, const double* mean, double* squares,
                                double* rests, Index n) {
    square_loop(weight, x, mean, squares, rests, n);
}

// ---- all rows ----

// Call add(row, x, first) for all rows of some weight, x being `count` entries of it from column
// `first` on.
template <class X, class Add>
void for_rows(const ClassRows<X>& rows, Index first, Index count, Checkpoint& checkpoint,
              Add&& add) {
    const Dense<X>& x = rows.x;
    std::vector<X> turned;
    if (x.order == Order::columns) turned.resize(std::min(some_rows, x.rows) * count);
    for (Index begin = 0; begin < x.rows; begin += some_rows) {
        checkpoint();
        const Index end = std::min(begin + some_rows, x.rows);
        if (x.order == Order::columns)
            for (Index j = 0; j < count; ++j)
                for (Index i = begin; i < end; ++i)
                    turned[(i - begin) * count + j] = x.data[(first + j) * x.rows + i];
        for (Index i = begin; i < end; ++i) {
            if (rows.weights[i] == 0) continue;
            add(i, x.order == Order::columns ? turned.data() + (i - begin) * count
                                             : x.data + i * x.columns + first);
        }
    }
}

// The same for all columns, some at a time and on all threads: add(row, x, first, count).
template <class X, class Add>
void for_columns(const ClassRows<X>& rows, const Context& context, Add&& add) {
    const Index d = rows.x.columns, tasks = (d + some_columns - 1) / some_columns;
    const int threads = useful_threads(static_cast<double>(rows.x.rows) * d, context.threads);
    parallel_for(tasks, threads, context.poll, [&](Index task, Checkpoint& checkpoint) {
        const Index first = task * some_columns, count = std::min(some_columns, d - first);
        for_rows(rows, first, count, checkpoint,
                 [&](Index i, const X* x) { add(i, x, first, count); });
    });
}

// ---- distances ----

// Sums over the columns for `together` rows at once, each in an order of its own.
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
GAPLESS_CLONES void distances(const double* const* x, const double* mean, const double* precision,
                              const double* offset, Index d, double* out) {
    some_distances(x, mean, precision, offset, d, out);
}
GAPLESS_CLONES void distances(const float* const* x, const double* mean, const double* precision,
                              const double* offset, Index d, double* out) {
    some_distances(x, mean, precision, offset, d, out);
}

// The rows [begin, end) one after the other, copied only if X has its columns one after the other.
template <class X>
const X* tile_of(const Dense<X>& x, Index begin, Index end, std::vector<X>& memory) {
    if (x.order == Order::rows) return x.data + begin * x.columns;
    memory.resize((end - begin) * x.columns);
    for (Index j = 0; j < x.columns; ++j)
        for (Index i = begin; i < end; ++i)
            memory[(i - begin) * x.columns + j] = x.data[j * x.rows + i];
    return memory.data();
}

}  // namespace

template <class X>
void class_sums(const ClassRows<X>& rows, double* sums, double* counts, const Context& context) {
    const Index d = rows.x.columns;
    std::fill_n(sums, rows.classes * d, 0.0);
    if (counts) std::fill_n(counts, rows.classes * d, 0.0);
    for_columns(rows, context, [&](Index i, const X* x, Index first, Index count) {
        const Index at = rows.y[i] * d + first;
        if (counts)
            add_present(rows.weights[i], x, sums + at, counts + at, count);
        else
            axpy(rows.weights[i], x, sums + at, count);
    });
}

template <class X>
void class_squares(const ClassRows<X>& rows, const double* means, double* squares, double* rests,
                   const Context& context) {
    const Index d = rows.x.columns;
    std::fill_n(squares, rows.classes * d, 0.0);
    std::fill_n(rests, rows.classes * d, 0.0);
    for_columns(rows, context, [&](Index i, const X* x, Index first, Index count) {
        const Index at = rows.y[i] * d + first;
        add_squares(rows.weights[i], x, means + at, squares + at, rests + at, count);
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
            // The last row stands in where there are fewer.
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
template void class_distances(const Dense<float>&, const ClassShapes&, double*, const Context&);
template void class_distances(const Dense<double>&, const ClassShapes&, double*, const Context&);

}  // namespace gapless
