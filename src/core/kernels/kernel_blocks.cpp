#include "kernels/kernel_blocks.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/exponential.hpp"
#include "base/pieces.hpp"

namespace gapless {
namespace {

// Bodies are inlined, including lambdas: a loop that calls one is not vectorised.
#define GAPLESS_LAMBDA __attribute__((always_inline))

// ---- the curves ----

template <class T, class Function>
GAPLESS_BODY void for_each(const T* from, T* to, Index n, Function&& function) {
#pragma omp simd
    for (Index j = 0; j < n; ++j) to[j] = function(from[j]);
}

template <class T>
GAPLESS_BODY void raise(const T* from, T* to, Index n, Index degree) {
    constexpr Index strip = 256;
    T base[strip];
    for (Index begin = 0; begin < n; begin += strip) {
        const Index size = std::min(strip, n - begin);
        std::copy_n(from + begin, size, base);
        std::fill_n(to + begin, size, T(1));
        for (Index left = degree; left > 0; left /= 2) {
            if (left % 2)
#pragma omp simd
                for (Index j = 0; j < size; ++j) to[begin + j] *= base[j];
            if (left > 1)
#pragma omp simd
                for (Index j = 0; j < size; ++j) base[j] *= base[j];
        }
    }
}

template <class T>
GAPLESS_BODY T tanh_of(T t) {
    const T e = exp_of(-2 * std::abs(t));
    return std::copysign((1 - e) / (1 + e), t);
}

template <class T>
GAPLESS_BODY void bend(const KernelForm& form, const T* from, T* to, Index n) {
    const T scale = static_cast<T>(form.scale), shift = static_cast<T>(form.shift);
    auto line = [=](T m) GAPLESS_LAMBDA { return scale * m + shift; };
    switch (form.curve) {
        case Curve::identity:
            return for_each(from, to, n, line);
        case Curve::power:
            for_each(from, to, n, line);
            return raise(to, to, n, form.degree);
        case Curve::exponential:
            return for_each(from, to, n, [=](T m) GAPLESS_LAMBDA { return exp_of(line(m)); });
        case Curve::tanh:
            return for_each(from, to, n, [=](T m) GAPLESS_LAMBDA { return tanh_of(line(m)); });
        case Curve::matern_1:
            return for_each(from, to, n,
                            [=](T m) GAPLESS_LAMBDA { return exp_of(-std::sqrt(line(m))); });
        case Curve::matern_3:
            return for_each(from, to, n, [=](T m) GAPLESS_LAMBDA {
                const T r = std::sqrt(line(m));
                return (1 + r) * exp_of(-r);
            });
        case Curve::matern_5:
            return for_each(from, to, n, [=](T m) GAPLESS_LAMBDA {
                const T r = std::sqrt(line(m));
                return (1 + r + r * r * T(1.0 / 3)) * exp_of(-r);
            });
    }
}

// One row of products ⟨x, zⱼ⟩ (or of another measure) as kernel values.
template <class T>
GAPLESS_BODY void finish_row(const KernelForm& form, T square, const T* squares, const T* from,
                             T* to, Index n) {
    if (form.measure == Measure::squared_distance) {
        // A value within the rounding of the product is the distance of equal rows: exactly 0.
        constexpr T rounding = 8 * std::numeric_limits<T>::epsilon();
#pragma omp simd
        for (Index j = 0; j < n; ++j) {
            const T sum = square + squares[j], distance = sum - 2 * from[j];
            to[j] = distance <= rounding * sum ? T(0) : distance;
        }
        bend(form, to, to, n);
    } else {
        bend(form, from, to, n);
    }
}

void finish(const KernelForm& form, float square, const float* squares, const float* from,
            float* to, Index n) {
    finish_row(form, square, squares, from, to, n);
}
void finish(const KernelForm& form, double square, const double* squares, const double* from,
            double* to, Index n) {
    finish_row(form, square, squares, from, to, n);
}

// ---- sums over entries ----

constexpr Index lanes = 32;  // rows of b taken side by side

// out[l] = Σⱼ d(xⱼ, turned[j, l]), held in registers during the loop over entries.
template <class T, class Distance>
GAPLESS_BODY void sum_entries(const T* x, const T* turned, Index columns, T* out, Distance&& d) {
    T sum[lanes] = {};
    for (Index j = 0; j < columns; ++j) {
        const T* z = turned + j * lanes;
#pragma omp simd
        for (Index l = 0; l < lanes; ++l) sum[l] += d(x[j], z[l]);
    }
    std::copy_n(sum, lanes, out);
}

template <class T>
GAPLESS_BODY void sum_by_measure(Measure measure, const T* x, const T* turned, Index columns,
                                 T* out) {
    if (measure == Measure::absolute_distance)
        sum_entries(x, turned, columns, out, [](T u, T v) { return std::abs(u - v); });
    else
        sum_entries(x, turned, columns, out, [](T u, T v) {
            const T sum = u + v;
            return sum == 0 ? T(0) : (u - v) * (u - v) / sum;
        });
}

void sum_measure(Measure measure, const float* x, const float* turned, Index columns, float* out) {
    sum_by_measure(measure, x, turned, columns, out);
}
void sum_measure(Measure measure, const double* x, const double* turned, Index columns,
                 double* out) {
    sum_by_measure(measure, x, turned, columns, out);
}

// ---- tiles ----

bool is_by_product(Measure measure) {
    return measure == Measure::product || measure == Measure::squared_distance;
}

// Sides of a tile: it stays in the second-level cache between the product and the curve, and takes
// milliseconds, so that a stop is noticed.
struct Sides {
    Index rows, columns;

    Sides(const KernelForm& form, Index features) : columns(256) {
        const Index slowness = is_by_product(form.measure) ? 1 : 16;
        const Index most = (Index(1) << 30) / (slowness * std::max<Index>(features, 1) * columns);
        rows = std::clamp<Index>(most, 32, 256);
    }
};

// The kernel's measure between rows i of a and j of b, as a tile without gaps.
template <class T>
void measure_tile(const KernelForm& form, const KernelRows<T>& a, Range i, const KernelRows<T>& b,
                  Range j, T* tile, const Context& context) {
    const Index d = a.columns;
    if (d == 0) {
        std::fill_n(tile, i.size() * j.size(), T(0));
        return;
    }
    if (is_by_product(form.measure)) {
        gemm<T>(context.blas, j.size(), i.size(), d, {b.row(j.begin), d, Transpose::yes},
                {a.row(i.begin), d, Transpose::no}, T(0), tile, j.size());
        return;
    }
    auto turned = uninitialized<T>(d * lanes);
    T sums[lanes];
    for (Index begin = j.begin; begin < j.end; begin += lanes) {
        const Index size = std::min(lanes, j.end - begin);
        std::fill_n(turned.get(), d * lanes, T(0));
        for (Index l = 0; l < size; ++l)
            for (Index k = 0; k < d; ++k) turned[k * lanes + l] = b.row(begin + l)[k];
        for (Index r = 0; r < i.size(); ++r) {
            sum_measure(form.measure, a.row(i.begin + r), turned.get(), d, sums);
            std::copy_n(sums, size, tile + r * j.size() + (begin - j.begin));
        }
    }
}

// The tile as kernel values, row r of it to `to + r * stride`.
template <class T>
void finish_tile(const KernelForm& form, const T* a_squares, const T* b_squares, Index rows,
                 Index columns, const T* tile, T* to, Index stride) {
    for (Index r = 0; r < rows; ++r)
        finish(form, a_squares[r], b_squares, tile + r * columns, to + r * stride, columns);
}

// The kernel at distance 0.
template <class T>
T value_of_equal_rows(const KernelForm& form) {
    const T zero = 0;
    T value;
    finish(form, zero, &zero, &zero, &value, 1);
    return value;
}

// to += scale · column j, only the first `end` rows.
template <class T>
void add_column(const Compressed<T>& columns, Index j, T scale, Index end, T* to) {
    for (Index p = columns.start[j]; p < columns.start[j + 1] && columns.index[p] < end; ++p)
        to[columns.index[p]] += scale * columns.value[p];
}

// Some rows, one after another.
template <class T>
class PickedRows {
public:
    PickedRows(const KernelRows<T>& from, Index count) : from_(from) {
        x_.reserve(count * from.columns);
        squares_.reserve(count);
    }

    void push(Index i) {
        x_.insert(x_.end(), from_.row(i), from_.row(i) + from_.columns);
        squares_.push_back(from_.squares[i]);
    }
    KernelRows<T> view() const {
        return {x_.data(), squares_.data(), static_cast<Index>(squares_.size()), from_.columns};
    }

private:
    const KernelRows<T>& from_;
    std::vector<T> x_, squares_;
};

template <class T>
double operations(const KernelRows<T>& a, const KernelRows<T>& b) {
    return double(a.rows) * double(b.rows) * double(a.columns + 8);
}

// to (columns × rows, with a stride) = from (rows × columns), by squares that fit the registers.
template <class T>
void turn(const T* from, Index rows, Index columns, T* to, Index stride) {
    constexpr Index side = 16;
    for (Index j0 = 0; j0 < columns; j0 += side)
        for (Index i0 = 0; i0 < rows; i0 += side)
            for (Index j = j0; j < std::min(j0 + side, columns); ++j)
                for (Index i = i0; i < std::min(i0 + side, rows); ++i)
                    to[j * stride + i] = from[i * columns + j];
}

// out += tile (rows × columns) · coef (columns × outputs)
template <class T>
void add_product(const T* tile, Index rows, Index columns, const double* coef, const T* typed_coef,
                 Index outputs, T* sums, double* out, const Context& context) {
    if (outputs == 1) {
        add_times(Block<T, double>{tile, columns, rows, columns, nullptr, nullptr}, Entry::value,
                  coef, out);
        return;
    }
    Operand<T> c{typed_coef, outputs, Transpose::no}, k{tile, columns, Transpose::no};
    gemm<T>(context.blas, outputs, rows, columns, c, k, T(0), sums, outputs);
    for (Index p = 0; p < rows * outputs; ++p) out[p] += static_cast<double>(sums[p]);
}

// Rows i of out (a.rows × outputs) += Σⱼ k(aᵢ, bⱼ) coefⱼ; `typed` is coef in T, of several outputs.
template <class T>
void add_times_of_rows(const KernelForm& form, const KernelRows<T>& a, Range i,
                       const KernelRows<T>& b, const double* coef, const T* typed, Index outputs,
                       double* out, const Context& context, Checkpoint& checkpoint) {
    const Index width = Sides(form, a.columns).columns;
    auto tile = uninitialized<T>(i.size() * std::min(width, b.rows));
    auto sums = uninitialized<T>(outputs > 1 ? i.size() * outputs : 0);
    for (Index begin = 0; begin < b.rows; begin += width) {
        checkpoint();
        Range j{begin, std::min(begin + width, b.rows)};
        measure_tile(form, a, i, b, j, tile.get(), context);
        finish_tile(form, a.squares + i.begin, b.squares + begin, i.size(), j.size(), tile.get(),
                    tile.get(), j.size());
        add_product(tile.get(), i.size(), j.size(), coef + begin * outputs,
                    outputs > 1 ? typed + begin * outputs : nullptr, outputs, sums.get(),
                    out + i.begin * outputs, context);
    }
}

}  // namespace

template <class T>
void kernel_block(const KernelForm& form, const KernelRows<T>& a, const KernelRows<T>& b, T* out,
                  const Context& context) {
    const Sides side(form, a.columns);
    const Index down = ceil_div(a.rows, side.rows), across = ceil_div(b.rows, side.columns);
    const int threads = useful_threads(operations(a, b), context.threads);
    parallel_for(down * across, threads, context.poll, [&](Index task) {
        Range i = part(task / across, side.rows, a.rows);
        Range j = part(task % across, side.columns, b.rows);
        auto tile = uninitialized<T>(i.size() * j.size());
        measure_tile(form, a, i, b, j, tile.get(), context);
        finish_tile(form, a.squares + i.begin, b.squares + j.begin, i.size(), j.size(), tile.get(),
                    out + i.begin * b.rows + j.begin, b.rows);
    });
}

template <class T>
void kernel_block(const KernelForm& form, const SparseKernelRows<T>& rows,
                  const SparseKernelRows<T>& columns, bool is_gram, T* out,
                  const Context& context) {
    constexpr Index height = 32;
    const Compressed<T>&a = rows.x, &b = columns.x;
    const Index n = a.lines, m = b.length;
    const T itself = value_of_equal_rows<T>(form);
    const int threads = useful_threads(double(n) * double(m), context.threads);
    parallel_for(ceil_div(n, height), threads, context.poll,
                 [&](Index task, Checkpoint& checkpoint) {
                     Range lines = part(task, height, n);
                     for (Index i = lines.begin; i < lines.end; ++i) {
                         checkpoint();
                         T* to = out + i * m;
                         const Index end = is_gram ? i + 1 : m;
                         std::fill_n(to, end, T(0));
                         for (Index p = a.start[i]; p < a.start[i + 1]; ++p)
                             add_column(b, a.index[p], a.value[p], end, to);
                         finish(form, rows.squares[i], columns.squares, to, to, end);
                         if (is_gram && form.measure != Measure::product) to[i] = itself;
                     }
                 });
    if (is_gram) mirror_lower(out, n, context);
}

template <class T>
void kernel_gram(const KernelForm& form, const KernelRows<T>& a, T* out, const Context& context) {
    const Index n = a.rows, side = Sides(form, a.columns).rows, sides = ceil_div(n, side);
    const int threads = useful_threads(operations(a, a) / 2, context.threads);
    const T itself = value_of_equal_rows<T>(form);
    parallel_for(sides * (sides + 1) / 2, threads, context.poll, [&](Index task) {
        TriangleTile at(task);
        Range i = part(at.row, side, n), j = part(at.column, side, n);
        auto tile = uninitialized<T>(i.size() * j.size());
        measure_tile(form, a, i, a, j, tile.get(), context);
        finish_tile(form, a.squares + i.begin, a.squares + j.begin, i.size(), j.size(), tile.get(),
                    tile.get(), j.size());
        if (i.begin == j.begin) {
            const Index m = i.size();
            for (Index r = 0; r < m; ++r) {
                if (form.measure != Measure::product) tile[r * m + r] = itself;
                for (Index c = 0; c < r; ++c) tile[c * m + r] = tile[r * m + c];
            }
        } else {
            turn(tile.get(), i.size(), j.size(), out + j.begin * n + i.begin, n);
        }
        for (Index r = 0; r < i.size(); ++r)
            std::copy_n(tile.get() + r * j.size(), j.size(), out + (i.begin + r) * n + j.begin);
    });
}

template <class T>
void kernel_times(const KernelForm& form, const KernelRows<T>& a, const KernelRows<T>& b,
                  const double* coef, Index outputs, double* out, const Context& context) {
    std::fill_n(out, a.rows * outputs, 0.0);
    if (outputs == 0 || b.rows == 0) return;
    // Few rows are cut finer, so that all threads have some.
    const Index most = Sides(form, a.columns).rows;
    const Index height = std::clamp<Index>(ceil_div(a.rows, 16), 16, most);
    std::vector<T> typed;
    if (outputs > 1) typed.assign(coef, coef + b.rows * outputs);
    const int threads = useful_threads(operations(a, b), context.threads);
    parallel_for(ceil_div(a.rows, height), threads, context.poll,
                 [&](Index task, Checkpoint& checkpoint) {
                     add_times_of_rows(form, a, part(task, height, a.rows), b, coef, typed.data(),
                                       outputs, out, context, checkpoint);
                 });
}

template <class T>
void kernel_times_each(const KernelForm& form, const KernelRows<T>& x,
                       const std::vector<OwnProduct>& products, const Context& context) {
    const Index height = Sides(form, x.columns).rows;
    std::vector<PickedRows<T>> used;
    std::vector<std::vector<double>> coef(products.size());
    std::vector<std::pair<Index, Range>> tasks;
    for (std::size_t p = 0; p < products.size(); ++p) {
        const OwnProduct& product = products[p];
        std::fill_n(product.out, product.count, 0.0);
        for (Index t = 0; t < ceil_div(product.count, height); ++t)
            tasks.push_back({static_cast<Index>(p), part(t, height, product.count)});
        used.emplace_back(
            x, product.count - std::count(product.coef, product.coef + product.count, 0.0));
        for (Index j = 0; j < product.count; ++j) {
            if (product.coef[j] == 0) continue;
            used[p].push(product.rows[j]);
            coef[p].push_back(product.coef[j]);
        }
    }
    parallel_for(static_cast<Index>(tasks.size()), context.threads, context.poll,
                 [&](Index t, Checkpoint& checkpoint) {
                     const auto& [p, range] = tasks[t];
                     PickedRows<T> some(x, range.size());
                     for (Index i = range.begin; i < range.end; ++i) some.push(products[p].rows[i]);
                     add_times_of_rows<T>(form, some.view(), {0, range.size()}, used[p].view(),
                                          coef[p].data(), nullptr, 1, products[p].out + range.begin,
                                          context, checkpoint);
                 });
}

template <class T>
void kernel_values(const KernelForm& form, const T* a_squares, const T* b_squares, Index rows,
                   Index columns, T* values, const Context& context) {
    constexpr Index height = 64;
    const int threads = useful_threads(8.0 * double(rows) * double(columns), context.threads);
    parallel_for(ceil_div(rows, height), threads, context.poll, [&](Index task) {
        Range i = part(task, height, rows);
        T* from = values + i.begin * columns;
        finish_tile(form, a_squares + i.begin, b_squares, i.size(), columns, from, from, columns);
    });
}

template void kernel_block(const KernelForm&, const KernelRows<float>&, const KernelRows<float>&,
                           float*, const Context&);
template void kernel_block(const KernelForm&, const KernelRows<double>&, const KernelRows<double>&,
                           double*, const Context&);
template void kernel_block(const KernelForm&, const SparseKernelRows<float>&,
                           const SparseKernelRows<float>&, bool, float*, const Context&);
template void kernel_block(const KernelForm&, const SparseKernelRows<double>&,
                           const SparseKernelRows<double>&, bool, double*, const Context&);
template void kernel_gram(const KernelForm&, const KernelRows<float>&, float*, const Context&);
template void kernel_gram(const KernelForm&, const KernelRows<double>&, double*, const Context&);
template void kernel_times(const KernelForm&, const KernelRows<float>&, const KernelRows<float>&,
                           const double*, Index, double*, const Context&);
template void kernel_times(const KernelForm&, const KernelRows<double>&, const KernelRows<double>&,
                           const double*, Index, double*, const Context&);
template void kernel_times_each(const KernelForm&, const KernelRows<float>&,
                                const std::vector<OwnProduct>&, const Context&);
template void kernel_times_each(const KernelForm&, const KernelRows<double>&,
                                const std::vector<OwnProduct>&, const Context&);
template void kernel_values(const KernelForm&, const float*, const float*, Index, Index, float*,
                            const Context&);
template void kernel_values(const KernelForm&, const double*, const double*, Index, Index, double*,
                            const Context&);

}  // namespace gapless
