#include "base/loops.hpp"

#include "base/vectors.hpp"

namespace gapless {
namespace {

// Bodies are written once, and inlined into the functions at the end.

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

enum class Centering { none, by_row, by_column };

// The operation on an entry of a block before it is multiplied.
template <Centering centering, Entry entry, class V>
GAPLESS_BODY V prepared(V x, V row_center, const V* column_center, Index j) {
    if constexpr (centering == Centering::by_row) x -= row_center;
    if constexpr (centering == Centering::by_column) x -= column_center[j];
    return entry == Entry::square ? x * x : x;
}

// The loops over a block take four rows at a time, so that the vector is read a quarter as often.
// The four are a quarter of the block apart: one core reads several streams about twice as fast as
// a single one (27 against 14 GB/s where this was measured).

template <Centering centering, Entry entry, class X, class V>
GAPLESS_BODY void times_loop(const Block<X, V>& b, const V* v, V* out) {
    const Index quarter = b.rows / 4;
    const V *c = b.column_center, *row_center = b.row_center;
    auto center = [&](Index i) { return row_center ? row_center[i] : V(0); };
    for (Index i = 0; i < quarter; ++i) {
        const Index i1 = i + quarter, i2 = i1 + quarter, i3 = i2 + quarter;
        const X *x0 = b.x + i * b.stride, *x1 = b.x + i1 * b.stride, *x2 = b.x + i2 * b.stride,
                *x3 = b.x + i3 * b.stride;
        const V c0 = center(i), c1 = center(i1), c2 = center(i2), c3 = center(i3);
        V s0 = 0, s1 = 0, s2 = 0, s3 = 0;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
        for (Index j = 0; j < b.columns; ++j) {
            s0 += prepared<centering, entry>(static_cast<V>(x0[j]), c0, c, j) * v[j];
            s1 += prepared<centering, entry>(static_cast<V>(x1[j]), c1, c, j) * v[j];
            s2 += prepared<centering, entry>(static_cast<V>(x2[j]), c2, c, j) * v[j];
            s3 += prepared<centering, entry>(static_cast<V>(x3[j]), c3, c, j) * v[j];
        }
        out[i] += s0;
        out[i1] += s1;
        out[i2] += s2;
        out[i3] += s3;
    }
    for (Index i = 4 * quarter; i < b.rows; ++i) {
        const X* x = b.x + i * b.stride;
        const V ci = center(i);
        V s = 0;
#pragma omp simd reduction(+ : s)
        for (Index j = 0; j < b.columns; ++j)
            s += prepared<centering, entry>(static_cast<V>(x[j]), ci, c, j) * v[j];
        out[i] += s;
    }
}

template <Centering centering, Entry entry, class X, class V>
GAPLESS_BODY void transposed_loop(const Block<X, V>& b, const V* v, V* __restrict out) {
    // Eight rows here, because the sums are read and written for every group of rows.
    const Index eighth = b.rows / 8;
    const V *c = b.column_center, *row_center = b.row_center;
    auto center = [&](Index i) { return row_center ? row_center[i] : V(0); };
    auto row = [&](Index i) { return b.x + i * b.stride; };
    for (Index i = 0; i < eighth; ++i) {
        const Index i1 = i + eighth, i2 = i1 + eighth, i3 = i2 + eighth, i4 = i3 + eighth,
                    i5 = i4 + eighth, i6 = i5 + eighth, i7 = i6 + eighth;
        const X *x0 = row(i), *x1 = row(i1), *x2 = row(i2), *x3 = row(i3), *x4 = row(i4),
                *x5 = row(i5), *x6 = row(i6), *x7 = row(i7);
        const V c0 = center(i), c1 = center(i1), c2 = center(i2), c3 = center(i3), c4 = center(i4),
                c5 = center(i5), c6 = center(i6), c7 = center(i7);
        const V v0 = v[i], v1 = v[i1], v2 = v[i2], v3 = v[i3], v4 = v[i4], v5 = v[i5], v6 = v[i6],
                v7 = v[i7];
#pragma omp simd
        for (Index j = 0; j < b.columns; ++j)
            out[j] += ((v0 * prepared<centering, entry>(static_cast<V>(x0[j]), c0, c, j) +
                        v1 * prepared<centering, entry>(static_cast<V>(x1[j]), c1, c, j)) +
                       (v2 * prepared<centering, entry>(static_cast<V>(x2[j]), c2, c, j) +
                        v3 * prepared<centering, entry>(static_cast<V>(x3[j]), c3, c, j))) +
                      ((v4 * prepared<centering, entry>(static_cast<V>(x4[j]), c4, c, j) +
                        v5 * prepared<centering, entry>(static_cast<V>(x5[j]), c5, c, j)) +
                       (v6 * prepared<centering, entry>(static_cast<V>(x6[j]), c6, c, j) +
                        v7 * prepared<centering, entry>(static_cast<V>(x7[j]), c7, c, j)));
    }
    for (Index i = 8 * eighth; i < b.rows; ++i) {
        const X* x = b.x + i * b.stride;
        const V ci = center(i), vi = v[i];
#pragma omp simd
        for (Index j = 0; j < b.columns; ++j)
            out[j] += vi * prepared<centering, entry>(static_cast<V>(x[j]), ci, c, j);
    }
}

template <bool centered, bool scaled, class X, class V>
GAPLESS_BODY void copy_row(const X* x, V row_center, V row_scale, const V* column_center,
                           const V* column_scale, V* __restrict out, Index columns) {
#pragma omp simd
    for (Index j = 0; j < columns; ++j)
        out[j] = (static_cast<V>(x[j]) - (centered ? column_center[j] : row_center)) *
                 (scaled ? column_scale[j] : row_scale);
}

template <class X, class V>
GAPLESS_BODY void copy_loop(const Block<X, V>& b, const V* row_scale, const V* column_scale,
                            V* out) {
    const Index quarter = b.rows / 4;
    for (Index k = 0; k < b.rows; ++k) {
        const Index i = k < 4 * quarter ? k % 4 * quarter + k / 4 : k;  // four streams again
        const X* x = b.x + i * b.stride;
        const V center = b.row_center ? b.row_center[i] : V(0);
        const V scale = row_scale ? row_scale[i] : V(1);
        V* to = out + i * b.columns;
        if (b.column_center && column_scale)
            copy_row<true, true>(x, center, scale, b.column_center, column_scale, to, b.columns);
        else if (b.column_center)
            copy_row<true, false>(x, center, scale, b.column_center, column_scale, to, b.columns);
        else if (column_scale)
            copy_row<false, true>(x, center, scale, b.column_center, column_scale, to, b.columns);
        else
            copy_row<false, false>(x, center, scale, b.column_center, column_scale, to, b.columns);
    }
}

template <Entry entry, class X, class V>
GAPLESS_BODY void times_centered(const Block<X, V>& b, const V* v, V* out) {
    if (b.column_center)
        times_loop<Centering::by_column, entry>(b, v, out);
    else if (b.row_center)
        times_loop<Centering::by_row, entry>(b, v, out);
    else
        times_loop<Centering::none, entry>(b, v, out);
}

template <Entry entry, class X, class V>
GAPLESS_BODY void transposed_centered(const Block<X, V>& b, const V* v, V* out) {
    if (b.column_center)
        transposed_loop<Centering::by_column, entry>(b, v, out);
    else if (b.row_center)
        transposed_loop<Centering::by_row, entry>(b, v, out);
    else
        transposed_loop<Centering::none, entry>(b, v, out);
}

template <class X, class V>
GAPLESS_BODY void add_times_body(const Block<X, V>& b, Entry entry, const V* v, V* out) {
    if (entry == Entry::square)
        times_centered<Entry::square>(b, v, out);
    else
        times_centered<Entry::value>(b, v, out);
}

template <class X, class V>
GAPLESS_BODY void add_transposed_body(const Block<X, V>& b, Entry entry, const V* v, V* out) {
    if (entry == Entry::square)
        transposed_centered<Entry::square>(b, v, out);
    else
        transposed_centered<Entry::value>(b, v, out);
}

// The outputs k … k + width − 1 of one line, held in registers during the loop over its entries.
template <int width, class X, class V>
GAPLESS_BODY void line_times(const X* value, const std::int32_t* index, Index count, const V* w,
                             Index outputs, V* z) {
    V sum[width] = {};
    for (Index p = 0; p < count; ++p) {
        const V x = static_cast<V>(value[p]);
        const V* row = w + index[p] * outputs;
#pragma omp simd
        for (int k = 0; k < width; ++k) sum[k] += x * row[k];
    }
    for (int k = 0; k < width; ++k) z[k] = sum[k];
}

template <class X, class V>
GAPLESS_BODY void sparse_times_loop(const X* value, const std::int32_t* index,
                                    const std::int64_t* start, Index begin, Index end, const V* w,
                                    Index outputs, V* z) {
    for (Index line = begin; line < end; ++line) {
        const X* x = value + start[line];
        const std::int32_t* j = index + start[line];
        const Index count = start[line + 1] - start[line];
        V* to = z + line * outputs;
        Index k = 0;
        for (; k + 16 <= outputs; k += 16) line_times<16>(x, j, count, w + k, outputs, to + k);
        for (; k + 4 <= outputs; k += 4) line_times<4>(x, j, count, w + k, outputs, to + k);
        for (; k < outputs; ++k) line_times<1>(x, j, count, w + k, outputs, to + k);
    }
}

}  // namespace

double dot(const double* x, const double* v, Index n) { return dot_loop(x, v, n); }
double dot(const float* x, const double* v, Index n) { return dot_loop(x, v, n); }
float dot(const float* x, const float* v, Index n) { return dot_loop(x, v, n); }

void axpy(double scale, const double* x, double* y, Index n) { axpy_loop(scale, x, y, n); }
void axpy(double scale, const float* x, double* y, Index n) { axpy_loop(scale, x, y, n); }
void axpy(float scale, const float* x, float* y, Index n) { axpy_loop(scale, x, y, n); }

double square_sum(const double* x, const double* weights, Index n) {
    return square_sum_loop(x, weights, n);
}
double square_sum(const float* x, const double* weights, Index n) {
    return square_sum_loop(x, weights, n);
}

void add_times(const Block<double, double>& b, Entry entry, const double* v, double* out) {
    add_times_body(b, entry, v, out);
}
void add_times(const Block<float, double>& b, Entry entry, const double* v, double* out) {
    add_times_body(b, entry, v, out);
}
void add_times(const Block<float, float>& b, Entry entry, const float* v, float* out) {
    add_times_body(b, entry, v, out);
}

void add_transposed(const Block<double, double>& b, Entry entry, const double* v, double* out) {
    add_transposed_body(b, entry, v, out);
}
void add_transposed(const Block<float, double>& b, Entry entry, const double* v, double* out) {
    add_transposed_body(b, entry, v, out);
}
void add_transposed(const Block<float, float>& b, Entry entry, const float* v, float* out) {
    add_transposed_body(b, entry, v, out);
}

void copy(const Block<double, double>& b, const double* row_scale, const double* column_scale,
          double* out) {
    copy_loop(b, row_scale, column_scale, out);
}
void copy(const Block<float, double>& b, const double* row_scale, const double* column_scale,
          double* out) {
    copy_loop(b, row_scale, column_scale, out);
}
void copy(const Block<float, float>& b, const float* row_scale, const float* column_scale,
          float* out) {
    copy_loop(b, row_scale, column_scale, out);
}

void sparse_times(const double* value, const std::int32_t* index, const std::int64_t* start,
                  Index begin, Index end, const double* w, Index outputs, double* z) {
    sparse_times_loop(value, index, start, begin, end, w, outputs, z);
}
void sparse_times(const float* value, const std::int32_t* index, const std::int64_t* start,
                  Index begin, Index end, const double* w, Index outputs, double* z) {
    sparse_times_loop(value, index, start, begin, end, w, outputs, z);
}
void sparse_times(const float* value, const std::int32_t* index, const std::int64_t* start,
                  Index begin, Index end, const float* w, Index outputs, float* z) {
    sparse_times_loop(value, index, start, begin, end, w, outputs, z);
}

}  // namespace gapless
