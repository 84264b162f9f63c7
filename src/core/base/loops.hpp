// The innermost loops over contiguous memory. Sums have the type of the vector: double unless
// everything is float.
#pragma once

#include <cstdint>

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

// Σ weightsᵢ xᵢ²; weights may be null.
double square_sum(const double* x, const double* weights, Index n);
double square_sum(const float* x, const double* weights, Index n);

// A block of a matrix. `stride` is the distance between its rows in memory; a centre, one number
// per row or one per column (at most one of them non-null), is subtracted while the block is read.
template <class X, class V>
struct Block {
    const X* x;
    Index stride, rows, columns;
    const V* row_center;
    const V* column_center;
};

// Whether a product is taken with the entries of a block or with their squares.
enum class Entry { value, square };

// out[i] += Σⱼ entryᵢⱼ vⱼ
void add_times(const Block<double, double>& block, Entry entry, const double* v, double* out);
void add_times(const Block<float, double>& block, Entry entry, const double* v, double* out);
void add_times(const Block<float, float>& block, Entry entry, const float* v, float* out);

// out[j] += Σᵢ entryᵢⱼ vᵢ
void add_transposed(const Block<double, double>& block, Entry entry, const double* v, double* out);
void add_transposed(const Block<float, double>& block, Entry entry, const double* v, double* out);
void add_transposed(const Block<float, float>& block, Entry entry, const float* v, float* out);

// out = the block, centred and then multiplied by one number per row and one per column (if
// non-null), row after row without gaps.
void copy(const Block<double, double>& block, const double* row_scale, const double* column_scale,
          double* out);
void copy(const Block<float, double>& block, const double* row_scale, const double* column_scale,
          double* out);
void copy(const Block<float, float>& block, const float* row_scale, const float* column_scale,
          float* out);

// z[line, :] = Σₚ valueₚ w[indexₚ, :] over the entries p of each line in [begin, end) of a
// compressed matrix, for w and z of `outputs` columns stored by rows.
void sparse_times(const double* value, const std::int32_t* index, const std::int64_t* start,
                  Index begin, Index end, const double* w, Index outputs, double* z);
void sparse_times(const float* value, const std::int32_t* index, const std::int64_t* start,
                  Index begin, Index end, const double* w, Index outputs, double* z);
void sparse_times(const float* value, const std::int32_t* index, const std::int64_t* start,
                  Index begin, Index end, const float* w, Index outputs, float* z);

// Σ xᵢ v[indexᵢ]
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

// y[indexᵢ] += scale · xᵢ
template <class X, class V>
inline void sparse_axpy(V scale, const X* x, const std::int32_t* index, V* y, Index n) {
    for (Index i = 0; i < n; ++i) y[index[i]] += scale * static_cast<V>(x[i]);
}

}  // namespace gapless
