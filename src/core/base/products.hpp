// Products with the data matrix X (n samples × d features): X W, Xᵀ R, Xᵀ D X, X Xᵀ, and sums of
// squares, with X − 1 centerᵀ in place of X if a centre is given.
//
// Sums have the type V of the vectors: float data with double vectors is converted block by block.
// A dense X is centred entry by entry, before anything is multiplied, so that a large mean costs no
// digits. Each call is cut into tasks whose number and sums depend on the shape alone.
#pragma once

#include "base/array.hpp"
#include "base/blas.hpp"
#include "base/parallel.hpp"

namespace gapless {

// How a call runs, as opposed to what it computes.
struct Context {
    const Blas& blas;
    int threads;
    const Poll& poll;
};

// z (n × outputs) = X w, with w (d × outputs); all vectors are stored by rows.
template <class X, class V>
void times(const Dense<X>& x, const double* center, const V* w, Index outputs, V* z,
           const Context& context);

// Some columns of a matrix, or all of them when `index` is null.
struct Columns {
    const std::int64_t* index;
    Index count;
};

// g (count × outputs) = Xᵀ r of the chosen columns, with r (n × outputs).
template <class X, class V>
void transposed_times(const Dense<X>& x, const double* center, Columns columns, const V* r,
                      Index outputs, V* g, const Context& context);

// The Hessian of each row in its scores, diag(aᵢ) − fᵢfᵢᵀ; a and f (n × outputs), f null for none.
template <class V>
struct RowHessians {
    const V* a;
    const V* f;
    Index outputs;
};

// w (d × outputs) = Xᵀ C and b (outputs) = 1ᵀ C, where row i of C is the Hessian of that row times
// xᵢᵀ v + shift: one pass over X instead of two.
template <class X>
void hessian_times(const Dense<X>& x, const double* center, const RowHessians<X>& h, const X* v,
                   const X* shift, X* w, double* b, const Context& context);

// out[j] = Σᵢ weightsᵢ (xᵢⱼ − centerⱼ)², weights of length n or null.
template <class X>
void column_square_sums(const Dense<X>& x, const double* center, const double* weights, double* out,
                        const Context& context);

// out[i] = Σⱼ weightsⱼ (xᵢⱼ − centerⱼ)², weights of length d.
template <class X>
void row_square_sums(const Dense<X>& x, const double* center, const double* weights, double* out,
                     const Context& context);

// out (count × count) = Xᵀ D X of the chosen columns; D = diag(weights) ≥ 0, or null for the
// identity. Samples of weight 0 are not even read.
template <class X, class V>
void gram(const Dense<X>& x, const double* center, const double* weights, Columns columns, V* out,
          const Context& context);

// out (n × n) = X diag(weights) Xᵀ with weights ≥ 0 of the features, or null.
template <class X>
void outer_gram(const Dense<X>& x, const double* center, const double* weights, double* out,
                const Context& context);

// Complete a symmetric n × n matrix of which the lower triangle (by rows) is known.
template <class V>
void mirror_lower(V* out, Index n, const Context& context);

// z (lines × outputs) = A w for a sparse A: X w from the rows of X, Xᵀ r from its columns.
template <class X, class V>
void times(const Compressed<X>& a, const V* w, Index outputs, V* z, const Context& context);

// g (d) = Xᵀ r from the rows of a sparse X; those with rᵢ = 0 are not read. On one thread, since it
// is meant for an r with few nonzero entries: otherwise `times` of the columns is faster.
template <class X, class V>
void transposed_times(const Compressed<X>& rows, const V* r, V* g, const Context& context);

// The sums of squares for a sparse X; for columns the caller supplies Σ weights (or n).
template <class X>
void column_square_sums(const Compressed<X>& columns, const double* center, const double* weights,
                        double total_weight, double* out, const Context& context);

template <class X>
void row_square_sums(const Compressed<X>& rows, const double* center, const double* weights,
                     double* out, const Context& context);

// out (d × d) = Xᵀ D X of a sparse X given by its columns and by its rows, uncentred.
template <class X>
void gram(const Compressed<X>& columns, const Compressed<X>& rows, const double* weights,
          double* out, const Context& context);

// The same for some columns: d is then columns.count. Works on a copy of those columns alone.
template <class X>
void gram(const Compressed<X>& columns, Columns chosen, const double* weights, double* out,
          const Context& context);

}  // namespace gapless
