// A BLAS of plain loops, so that the core is tested without any other library.
#pragma once

#include "base/blas.hpp"

namespace gapless {

template <class T>
void naive_gemm(char* ta, char* tb, int* m, int* n, int* k, T* alpha, T* a, int* lda, T* b,
                int* ldb, T* beta, T* c, int* ldc) {
    auto at = [](T* x, int ld, char t, long i, long j) {
        return t == 'N' ? x[i + j * ld] : x[j + i * ld];
    };
    for (long j = 0; j < *n; ++j)
        for (long i = 0; i < *m; ++i) {
            T sum = 0;
            for (long l = 0; l < *k; ++l) sum += at(a, *lda, *ta, i, l) * at(b, *ldb, *tb, l, j);
            T& to = c[i + j * *ldc];
            to = *alpha * sum + (*beta == 0 ? T(0) : *beta * to);
        }
}

template <class T>
void naive_syrk(char* uplo, char* ta, int* n, int* k, T* alpha, T* a, int* lda, T* beta, T* c,
                int* ldc) {
    for (long j = 0; j < *n; ++j)
        for (long i = *uplo == 'U' ? 0 : j; i < (*uplo == 'U' ? j + 1 : *n); ++i) {
            T sum = 0;
            for (long l = 0; l < *k; ++l)
                sum += *ta == 'N' ? a[i + l * *lda] * a[j + l * *lda]
                                  : a[l + i * *lda] * a[l + j * *lda];
            T& to = c[i + j * *ldc];
            to = *alpha * sum + (*beta == 0 ? T(0) : *beta * to);
        }
}

inline const Blas blas{naive_gemm<float>, naive_gemm<double>, naive_syrk<float>,
                       naive_syrk<double>};

}  // namespace gapless
