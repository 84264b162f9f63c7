// The innermost loops over contiguous memory, compiled for several instruction sets and chosen when
// the library is loaded. Sums are accumulated in double unless everything is float.
#pragma once

#include <cstdint>

#if defined(__x86_64__) && defined(__ELF__) && defined(__GLIBC__) && !defined(GAPLESS_NO_CLONES)
#define GAPLESS_CLONES \
    __attribute__((target_clones("default", "arch=haswell", "arch=skylake-avx512")))
#else
#define GAPLESS_CLONES
#endif

namespace gapless {

using Index = std::int64_t;

// Σ xᵢ vᵢ
double dot(const double* x, const double* v, Index n);
double dot(const float* x, const double* v, Index n);
float dot(const float* x, const float* v, Index n);

// y += scale · x
void axpy(double scale, const double* x, double* y, Index n);
void axpy(double scale, const float* x, double* y, Index n);
void axpy(float scale, const float* x, float* y, Index n);

// Σ weightsᵢ (xᵢ − center)²; weights may be null.
double square_sum(const double* x, const double* weights, double center, Index n);
double square_sum(const float* x, const double* weights, double center, Index n);

// Σ xᵢ v[indexᵢ] and y[indexᵢ] += scale · xᵢ
template <class X, class V>
inline V sparse_dot(const X* x, const std::int32_t* index, const V* v, Index n) {
    // Two chains, because one would wait for its own addition.
    V even = 0, odd = 0;
    Index i = 0;
    for (; i + 1 < n; i += 2) {
        even += static_cast<V>(x[i]) * v[index[i]];
        odd += static_cast<V>(x[i + 1]) * v[index[i + 1]];
    }
    if (i < n) even += static_cast<V>(x[i]) * v[index[i]];
    return even + odd;
}

template <class X, class V>
inline void sparse_axpy(V scale, const X* x, const std::int32_t* index, V* y, Index n) {
    for (Index i = 0; i < n; ++i) y[index[i]] += scale * static_cast<V>(x[i]);
}

}  // namespace gapless
