#include "loops.hpp"

namespace gapless {
namespace {

// The bodies are written once; they are inlined into the functions below, of which the compiler
// makes one clone per instruction set (target_clones does not apply to templates).

template <class X, class V>
[[gnu::always_inline]] inline V dot_loop(const X* x, const V* v, Index n) {
    V sum = 0;
#pragma omp simd reduction(+ : sum)
    for (Index i = 0; i < n; ++i) sum += static_cast<V>(x[i]) * v[i];
    return sum;
}

template <class X, class V>
[[gnu::always_inline]] inline void axpy_loop(V scale, const X* x, V* y, Index n) {
#pragma omp simd
    for (Index i = 0; i < n; ++i) y[i] += scale * static_cast<V>(x[i]);
}

template <class X>
[[gnu::always_inline]] inline double square_sum_loop(const X* x, const double* weights,
                                                     double center, Index n) {
    double sum = 0;
    if (weights) {
#pragma omp simd reduction(+ : sum)
        for (Index i = 0; i < n; ++i) {
            double t = static_cast<double>(x[i]) - center;
            sum += weights[i] * t * t;
        }
    } else {
#pragma omp simd reduction(+ : sum)
        for (Index i = 0; i < n; ++i) {
            double t = static_cast<double>(x[i]) - center;
            sum += t * t;
        }
    }
    return sum;
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

GAPLESS_CLONES double square_sum(const double* x, const double* weights, double center, Index n) {
    return square_sum_loop(x, weights, center, n);
}
GAPLESS_CLONES double square_sum(const float* x, const double* weights, double center, Index n) {
    return square_sum_loop(x, weights, center, n);
}

}  // namespace gapless
