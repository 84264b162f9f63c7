#include "networks/rows.hpp"

#include <algorithm>

#include "base/pieces.hpp"
#include "base/vectors.hpp"

namespace gapless {
namespace {

// Zeros are skipped by so many columns at a time.
constexpr Index stretch = 16;

// Call each(first unit) with the number of vectors as a constant, two or one, until all units are
// covered. The last vector begins early enough to be full, so a few units may be met twice.
template <class T, class Each>
void for_units(Index units, Each&& each) {
    constexpr Index lanes = lanes_of<T>;
    Index first = 0;
    for (; first + 2 * lanes <= units; first += 2 * lanes)
        each(first, std::integral_constant<int, 2>());
    for (; first < units; first += lanes)
        each(std::min(first, units - lanes), std::integral_constant<int, 1>());
}

// Rows of y, or as many as there are, = a group times some columns of W.
template <int vectors, class T>
GAPLESS_BODY void multiply_group(const std::int32_t* index, const T* value, Index count,
                                 const Vector<T>* w, T* y, Index units, Index rows) {
    Vector<T> sum[rows_together][vectors] = {};
    for (Index p = 0; p < count; ++p, value += rows_together) {
        const Vector<T>* row = w + index[p] * vectors;
#pragma GCC unroll 4
        for (int r = 0; r < rows_together; ++r)
#pragma GCC unroll 2
            for (int v = 0; v < vectors; ++v) sum[r][v] += value[r] * row[v];
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows_together; ++r)
        if (r < rows) std::memcpy(y + r * units, sum[r], sizeof sum[r]);
}

// sums += a group, transposed, times some columns of the rows of R.
template <int vectors, class T>
GAPLESS_BODY void add_group(const std::int32_t* index, const T* value, Index count, const T* from,
                            Index units, Index rows, Vector<T>* sums) {
    Vector<T> right[rows_together][vectors] = {};
#pragma GCC unroll 4
    for (int r = 0; r < rows_together; ++r)
        if (r < rows) std::memcpy(right[r], from + r * units, sizeof right[r]);
    for (Index p = 0; p < count; ++p, value += rows_together) {
        Vector<T>* to = sums + index[p] * vectors;
#pragma GCC unroll 2
        for (int v = 0; v < vectors; ++v) {
            // Two sums, because one would wait for its own additions.
            const Vector<T> even = to[v] + value[0] * right[0][v] + value[2] * right[2][v];
            const Vector<T> odd = value[1] * right[1][v] + value[3] * right[3][v];
            to[v] = even + odd;
        }
    }
}

}  // namespace

template <class T>
bool collect_columns(const T* x, Index n, Index d, Index most, std::int64_t* start,
                     std::int32_t* index, T* value) {
    Index count = 0;
    start[0] = 0;
    for (Index i = 0; i < n; i += rows_together, x += rows_together * d) {
        const T* row[rows_together];
        for (Index r = 0; r < rows_together; ++r) row[r] = x + std::min(r, n - 1 - i) * d;
        for (Index begin = 0; begin < d; begin += stretch) {
            const Index end = std::min(d, begin + stretch);
            int others = 0;
#pragma omp simd reduction(+ : others)
            for (Index j = begin; j < end; ++j)
                others += (row[0][j] != 0) | (row[1][j] != 0) | (row[2][j] != 0) | (row[3][j] != 0);
            if (others == 0) continue;
            if (count + stretch > most) return false;
            for (Index j = begin; j < end; ++j) {
                // Written and then counted if it matters, so there is nothing to predict.
                bool is_other = false;
                index[count] = static_cast<std::int32_t>(j);
                for (Index r = 0; r < rows_together; ++r) {
                    value[count * rows_together + r] = row[r][j];
                    is_other |= row[r][j] != 0;
                }
                count += is_other;
            }
        }
        start[i / rows_together + 1] = count;
    }
    return true;
}

// Some columns of a matrix are copied: where rows are a power of two apart, they would compete for
// the same few places of the first cache.
template <class T>
void columns_times(const Columns4<T>& x, const T* w, Index units, T* y) {
    const auto copy = uninitialized<Vector<T>>(2 * x.d);
    for_units<T>(units, [&](Index first, auto vectors) {
        constexpr Index width = vectors() * lanes_of<T>;
        for (Index j = 0; j < x.d; ++j)
            std::memcpy(&copy[j * vectors()], w + j * units + first, width * sizeof(T));
        for (Index g = 0; g < x.groups(); ++g) {
            const Index i = g * rows_together, p = x.start[g];
            multiply_group<vectors()>(x.index + p, x.value + p * rows_together, x.start[g + 1] - p,
                                      copy.get(), y + i * units + first, units, x.n - i);
        }
    });
}

template <class T>
void columns_transposed_times(const Columns4<T>& x, const T* r, Index units, T* g) {
    const auto sums = uninitialized<Vector<T>>(2 * x.d);
    for_units<T>(units, [&](Index first, auto vectors) {
        constexpr Index width = vectors() * lanes_of<T>;
        std::fill_n(sums.get(), x.d * vectors(), Vector<T>{});
        for (Index k = 0; k < x.groups(); ++k) {
            const Index i = k * rows_together, p = x.start[k];
            add_group<vectors()>(x.index + p, x.value + p * rows_together, x.start[k + 1] - p,
                                 r + i * units + first, units, x.n - i, sums.get());
        }
        for (Index j = 0; j < x.d; ++j)
            std::memcpy(g + j * units + first, &sums[j * vectors()], width * sizeof(T));
    });
}

template <class T>
Index least_units() {
    return lanes_of<T>;
}

template <class T>
void add_bias(T* y, Index n, Index units, const T* bias, bool is_bent) {
    for (Index i = 0; i < n; ++i, y += units) {
        if (is_bent) {
#pragma omp simd
            for (Index k = 0; k < units; ++k) {
                const T sum = y[k] + bias[k];
                // A NaN stays one, as it does in NumPy.
                y[k] = sum < 0 ? T(0) : sum;
            }
        } else {
#pragma omp simd
            for (Index k = 0; k < units; ++k) y[k] += bias[k];
        }
    }
}

template <class T>
void bend_back(const T* dy, const T* y, Index n, Index units, T* dz, T* db) {
    std::fill_n(db, units, T(0));
    for (Index i = 0; i < n; ++i, dy += units, y += units, dz += units)
#pragma omp simd
        for (Index k = 0; k < units; ++k) {
            const T slope = y[k] > 0 ? dy[k] : T(0);
            dz[k] = slope;
            db[k] += slope;
        }
}

template bool collect_columns(const float*, Index, Index, Index, std::int64_t*, std::int32_t*,
                              float*);
template bool collect_columns(const double*, Index, Index, Index, std::int64_t*, std::int32_t*,
                              double*);
template void columns_times(const Columns4<float>&, const float*, Index, float*);
template void columns_times(const Columns4<double>&, const double*, Index, double*);
template void columns_transposed_times(const Columns4<float>&, const float*, Index, float*);
template void columns_transposed_times(const Columns4<double>&, const double*, Index, double*);
template Index least_units<float>();
template Index least_units<double>();
template void add_bias(float*, Index, Index, const float*, bool);
template void add_bias(double*, Index, Index, const double*, bool);
template void bend_back(const float*, const float*, Index, Index, float*, float*);
template void bend_back(const double*, const double*, Index, Index, double*, double*);

}  // namespace gapless
