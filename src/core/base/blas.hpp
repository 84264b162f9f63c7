// The few BLAS routines the core calls, as a table of function pointers: the caller fills it (from
// SciPy's BLAS, see bindings.cpp), so the core links to no BLAS of its own. Matrices are stored by
// columns, as in Fortran. All calls must run on one thread of the BLAS; ours share the chunks.
#pragma once

#include <limits>
#include <stdexcept>

#include "base/loops.hpp"

namespace gapless {

template <class T>
using Gemm = void (*)(char*, char*, int*, int*, int*, T*, T*, int*, T*, int*, T*, T*, int*);
template <class T>
using Syrk = void (*)(char*, char*, int*, int*, T*, T*, int*, T*, T*, int*);

struct Blas {
    Gemm<float> sgemm;
    Gemm<double> dgemm;
    Syrk<float> ssyrk;
    Syrk<double> dsyrk;
};

// BLAS counts in 32 bits.
inline int blas_size(Index size) {
    if (size > std::numeric_limits<int>::max())
        throw std::length_error("a matrix side beyond 2147483647 is too long for BLAS");
    return static_cast<int>(size);
}

enum class Transpose : char { no = 'N', yes = 'T' };

// A matrix operand: memory, its leading dimension, and whether it is read transposed.
template <class T>
struct Operand {
    const T* data;
    Index stride;
    Transpose transpose;
};

template <class T>
Operand<T> transposed(Operand<T> a) {
    a.transpose = a.transpose == Transpose::no ? Transpose::yes : Transpose::no;
    return a;
}

// C (m × n) = op(A) op(B) + beta C, with k the inner size.
template <class T>
void gemm(const Blas& blas, Index m, Index n, Index k, Operand<T> a, Operand<T> b, T beta, T* c,
          Index c_stride) {
    // Fortran takes everything by pointer and BLAS only reads its inputs, hence the casts.
    char ta = static_cast<char>(a.transpose), tb = static_cast<char>(b.transpose);
    int im = blas_size(m), in = blas_size(n), ik = blas_size(k);
    int lda = blas_size(a.stride), ldb = blas_size(b.stride), ldc = blas_size(c_stride);
    T one = 1;
    auto call = [&](Gemm<T> routine) {
        routine(&ta, &tb, &im, &in, &ik, &one, const_cast<T*>(a.data), &lda, const_cast<T*>(b.data),
                &ldb, &beta, c, &ldc);
    };
    if constexpr (sizeof(T) == sizeof(float))
        call(blas.sgemm);
    else
        call(blas.dgemm);
}

// The upper triangle of C (n × n) = op(A) op(A)ᵀ + beta C, with k the inner size.
template <class T>
void syrk(const Blas& blas, Index n, Index k, Operand<T> a, T beta, T* c, Index c_stride) {
    char upper = 'U', ta = static_cast<char>(a.transpose);
    int in = blas_size(n), ik = blas_size(k), lda = blas_size(a.stride), ldc = blas_size(c_stride);
    T one = 1;
    auto call = [&](Syrk<T> routine) {
        routine(&upper, &ta, &in, &ik, &one, const_cast<T*>(a.data), &lda, &beta, c, &ldc);
    };
    if constexpr (sizeof(T) == sizeof(float))
        call(blas.ssyrk);
    else
        call(blas.dsyrk);
}

}  // namespace gapless
