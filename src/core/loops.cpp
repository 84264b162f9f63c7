#include "loops.hpp"

#include <algorithm>

namespace gapless {
namespace {

// The bodies are written once; they are inlined into the functions at the end, of which the
// compiler makes one clone per instruction set (target_clones does not apply to templates).
#define GAPLESS_BODY [[gnu::always_inline]] inline

template <class X, class V>
GAPLESS_BODY V dot_loop(const X* x, const V* v, Index n) {
    V sum = 0;
#pragma omp simd reduction(+ : sum)
    for (Index i = 0; i < n; ++i) sum += static_cast<V>(x[i]) * v[i];
    return sum;
}

template <class X, class V>
GAPLESS_BODY void axpy_loop(V scale, const X* x, V* y, Index n) {
#pragma omp simd
    for (Index i = 0; i < n; ++i) y[i] += scale * static_cast<V>(x[i]);
}

template <class X>
GAPLESS_BODY double square_sum_loop(const X* x, const double* weights, Index n) {
    double sum = 0;
    if (weights) {
#pragma omp simd reduction(+ : sum)
        for (Index i = 0; i < n; ++i)
            sum += weights[i] * (static_cast<double>(x[i]) * static_cast<double>(x[i]));
    } else {
#pragma omp simd reduction(+ : sum)
        for (Index i = 0; i < n; ++i) sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    }
    return sum;
}

template <bool square, class V>
GAPLESS_BODY V entry_of(V x) {
    return square ? x * x : x;
}

// Four rows at a time, so that the vectors are read a quarter as often and four sums run abreast.
constexpr Index group = 4;

template <bool square, class X, class V>
GAPLESS_BODY void times_loop(const Block<X, V>& b, const V* v, V* out) {
    const V *c = b.column_center(), *row_center = b.row_center();
    for (Index i = 0; i < b.rows; i += group) {
        // A short last group repeats its last row and drops the repeated sums.
        auto row = [&](Index k) { return std::min(i + k, b.rows - 1); };
        const X *x0 = b.x + row(0) * b.stride, *x1 = b.x + row(1) * b.stride,
                *x2 = b.x + row(2) * b.stride, *x3 = b.x + row(3) * b.stride;
        V s0 = 0, s1 = 0, s2 = 0, s3 = 0;
        if (c) {
#pragma omp simd reduction(+ : s0, s1, s2, s3)
            for (Index j = 0; j < b.columns; ++j) {
                s0 += entry_of<square>(static_cast<V>(x0[j]) - c[j]) * v[j];
                s1 += entry_of<square>(static_cast<V>(x1[j]) - c[j]) * v[j];
                s2 += entry_of<square>(static_cast<V>(x2[j]) - c[j]) * v[j];
                s3 += entry_of<square>(static_cast<V>(x3[j]) - c[j]) * v[j];
            }
        } else {
            auto center = [&](Index k) { return row_center ? row_center[row(k)] : V(0); };
            V c0 = center(0), c1 = center(1), c2 = center(2), c3 = center(3);
#pragma omp simd reduction(+ : s0, s1, s2, s3)
            for (Index j = 0; j < b.columns; ++j) {
                s0 += entry_of<square>(static_cast<V>(x0[j]) - c0) * v[j];
                s1 += entry_of<square>(static_cast<V>(x1[j]) - c1) * v[j];
                s2 += entry_of<square>(static_cast<V>(x2[j]) - c2) * v[j];
                s3 += entry_of<square>(static_cast<V>(x3[j]) - c3) * v[j];
            }
        }
        V sums[group] = {s0, s1, s2, s3};
        for (Index k = 0; k < std::min(group, b.rows - i); ++k) out[i + k] += sums[k];
    }
}

template <bool square, class X, class V>
GAPLESS_BODY void transposed_loop(const Block<X, V>& b, const V* v, V* __restrict out) {
    const V *c = b.column_center(), *row_center = b.row_center();
    auto center = [&](Index i) { return row_center ? row_center[i] : V(0); };
    Index i = 0;
    for (; i + group <= b.rows; i += group) {
        const X *x0 = b.x + i * b.stride, *x1 = x0 + b.stride, *x2 = x1 + b.stride,
                *x3 = x2 + b.stride;
        V f0 = v[i], f1 = v[i + 1], f2 = v[i + 2], f3 = v[i + 3];
        if (c) {
#pragma omp simd
            for (Index j = 0; j < b.columns; ++j)
                out[j] += (f0 * entry_of<square>(static_cast<V>(x0[j]) - c[j]) +
                           f1 * entry_of<square>(static_cast<V>(x1[j]) - c[j])) +
                          (f2 * entry_of<square>(static_cast<V>(x2[j]) - c[j]) +
                           f3 * entry_of<square>(static_cast<V>(x3[j]) - c[j]));
        } else {
            V c0 = center(i), c1 = center(i + 1), c2 = center(i + 2), c3 = center(i + 3);
#pragma omp simd
            for (Index j = 0; j < b.columns; ++j)
                out[j] += (f0 * entry_of<square>(static_cast<V>(x0[j]) - c0) +
                           f1 * entry_of<square>(static_cast<V>(x1[j]) - c1)) +
                          (f2 * entry_of<square>(static_cast<V>(x2[j]) - c2) +
                           f3 * entry_of<square>(static_cast<V>(x3[j]) - c3));
        }
    }
    for (; i < b.rows; ++i) {
        const X* x = b.x + i * b.stride;
        V f = v[i], ci = center(i);
#pragma omp simd
        for (Index j = 0; j < b.columns; ++j)
            out[j] += f * entry_of<square>(static_cast<V>(x[j]) - (c ? c[j] : ci));
    }
}

template <class X, class V>
GAPLESS_BODY void copy_loop(const Block<X, V>& b, const V* scale, V* __restrict out) {
    for (Index i = 0; i < b.rows; ++i) {
        const X* x = b.x + i * b.stride;
        V* to = out + i * b.columns;
        if (b.features == Features::columns) {
            V s = scale ? scale[i] : V(1);
            if (const V* c = b.center) {
#pragma omp simd
                for (Index j = 0; j < b.columns; ++j) to[j] = (static_cast<V>(x[j]) - c[j]) * s;
            } else {
#pragma omp simd
                for (Index j = 0; j < b.columns; ++j) to[j] = static_cast<V>(x[j]) * s;
            }
        } else {
            V c = b.center ? b.center[i] : V(0);
            if (scale) {
#pragma omp simd
                for (Index j = 0; j < b.columns; ++j) to[j] = (static_cast<V>(x[j]) - c) * scale[j];
            } else {
#pragma omp simd
                for (Index j = 0; j < b.columns; ++j) to[j] = static_cast<V>(x[j]) - c;
            }
        }
    }
}

template <class X, class V>
GAPLESS_BODY void add_times_body(const Block<X, V>& b, Entry entry, const V* v, V* out) {
    if (entry == Entry::square)
        times_loop<true>(b, v, out);
    else
        times_loop<false>(b, v, out);
}

template <class X, class V>
GAPLESS_BODY void add_transposed_body(const Block<X, V>& b, Entry entry, const V* v, V* out) {
    if (entry == Entry::square)
        transposed_loop<true>(b, v, out);
    else
        transposed_loop<false>(b, v, out);
}

}  // namespace

GAPLESS_CLONES double dot(const double* x, const double* v, Index n) { return dot_loop(x, v, n); }
GAPLESS_CLONES double dot(const float* x, const double* v, Index n) { return dot_loop(x, v, n); }
GAPLESS_CLONES float dot(const float* x, const float* v, Index n) { return dot_loop(x, v, n); }

GAPLESS_CLONES void axpy(double scale, const double* x, double* y, Index n) {
    axpy_loop(scale, x, y, n);
}
GAPLESS_CLONES void axpy(double scale, const float* x, double* y, Index n) {
    axpy_loop(scale, x, y, n);
}
GAPLESS_CLONES void axpy(float scale, const float* x, float* y, Index n) {
    axpy_loop(scale, x, y, n);
}

GAPLESS_CLONES double square_sum(const double* x, const double* weights, Index n) {
    return square_sum_loop(x, weights, n);
}
GAPLESS_CLONES double square_sum(const float* x, const double* weights, Index n) {
    return square_sum_loop(x, weights, n);
}

GAPLESS_CLONES void add_times(const Block<double, double>& b, Entry entry, const double* v,
                              double* out) {
    add_times_body(b, entry, v, out);
}
GAPLESS_CLONES void add_times(const Block<float, double>& b, Entry entry, const double* v,
                              double* out) {
    add_times_body(b, entry, v, out);
}
GAPLESS_CLONES void add_times(const Block<float, float>& b, Entry entry, const float* v,
                              float* out) {
    add_times_body(b, entry, v, out);
}

GAPLESS_CLONES void add_transposed(const Block<double, double>& b, Entry entry, const double* v,
                                   double* out) {
    add_transposed_body(b, entry, v, out);
}
GAPLESS_CLONES void add_transposed(const Block<float, double>& b, Entry entry, const double* v,
                                   double* out) {
    add_transposed_body(b, entry, v, out);
}
GAPLESS_CLONES void add_transposed(const Block<float, float>& b, Entry entry, const float* v,
                                   float* out) {
    add_transposed_body(b, entry, v, out);
}

GAPLESS_CLONES void copy(const Block<double, double>& b, const double* scale, double* out) {
    copy_loop(b, scale, out);
}
GAPLESS_CLONES void copy(const Block<float, double>& b, const double* scale, double* out) {
    copy_loop(b, scale, out);
}
GAPLESS_CLONES void copy(const Block<float, float>& b, const float* scale, float* out) {
    copy_loop(b, scale, out);
}

}  // namespace gapless
