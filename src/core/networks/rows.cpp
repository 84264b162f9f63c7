#include "networks/rows.hpp"

#include <algorithm>
#include <vector>

#include "base/vectors.hpp"

namespace gapless {
namespace {

// So many vectors of outputs are held in registers, and so many numbers of the matrix, part of its
// rows by these outputs, stay in the first cache while all lines go over them.
constexpr int most_vectors = 8;
constexpr Index numbers_at_once = 4096;
// Zeros are skipped by so many at a time.
constexpr Index stretch = 16;

// Outputs from `first` on, in some vectors. The last one begins early enough to be full; its first
// `skipped` outputs belong to others.
struct Outputs {
    Index first, last;
    int skipped;
};

template <int vectors, class T>
GAPLESS_BODY void add_line(const std::int32_t* index, const T* value, Index count, const T* w,
                           Index units, Outputs outputs, bool is_first, T* y) {
    constexpr int lanes = lanes_of<T>;
    Vector<T> sum[vectors] = {};
    for (Index p = 0; p < count; ++p) {
        const T* row = w + index[p] * units;
        const T x = value[p];
#pragma GCC unroll 8
        for (int v = 0; v + 1 < vectors; ++v) sum[v] += x * load(row + outputs.first + v * lanes);
        sum[vectors - 1] += x * load(row + outputs.last);
    }
    T* to = y + outputs.first;
#pragma GCC unroll 8
    for (int v = 0; v + 1 < vectors; ++v, to += lanes) {
        const Vector<T> total = is_first ? sum[v] : load(to) + sum[v];
        std::memcpy(to, &total, sizeof total);
    }
    to = y + outputs.last;
    const Vector<T> total = is_first ? sum[vectors - 1] : load(to) + sum[vectors - 1];
    // A vector whose entries are taken one by one would be kept in memory from its beginning.
    T last[lanes];
    std::memcpy(last, &total, sizeof total);
    std::copy(last + outputs.skipped, last + lanes, to + outputs.skipped);
}

// The entries of all lines whose index is below `end`, from where the last call for them stopped.
struct Stretches {
    std::vector<Index> begin, end;

    template <class T>
    explicit Stretches(const Compressed<T>& a) : begin(a.start, a.start + a.lines), end(begin) {}

    template <class T>
    void advance(const Compressed<T>& a, Index below) {
        for (Index i = 0; i < a.lines; ++i) {
            Index p = begin[i] = end[i];
            while (p < a.start[i + 1] && a.index[p] < below) ++p;
            end[i] = p;
        }
    }
};

template <int vectors, class T>
void add_lines(const Compressed<T>& a, const Stretches& parts, const T* w, Index units,
               Outputs outputs, bool is_first, T* y) {
    if constexpr (vectors > 0) {
        for (Index i = 0; i < a.lines; ++i) {
            const Index p = parts.begin[i];
            add_line<vectors>(a.index + p, a.value + p, parts.end[i] - p, w, units, outputs,
                              is_first, y + i * units);
        }
    }
}

template <class T>
void add_lines_of(int vectors, const Compressed<T>& a, const Stretches& parts, const T* w,
                  Index units, Outputs outputs, bool is_first, T* y) {
    static_assert(most_vectors == 8);
    const auto call = [&]<int n>() { add_lines<n>(a, parts, w, units, outputs, is_first, y); };
    switch (vectors) {
        case 1: return call.template operator()<1>();
        case 2: return call.template operator()<2>();
        case 3: return call.template operator()<3>();
        case 4: return call.template operator()<4>();
        case 5: return call.template operator()<5>();
        case 6: return call.template operator()<6>();
        case 7: return call.template operator()<7>();
        default: return call.template operator()<8>();
    }
}

// The transposed matrix, line by line.
template <class T>
struct Transposed {
    std::vector<std::int64_t> start;
    std::vector<std::int32_t> index;
    std::vector<T> value;

    explicit Transposed(const Compressed<T>& a)
        : start(a.length + 1, 0), index(a.start[a.lines]), value(index.size()) {
        for (Index p = 0; p < a.start[a.lines]; ++p) ++start[a.index[p] + 1];
        for (Index j = 0; j < a.length; ++j) start[j + 1] += start[j];
        std::vector<std::int64_t> at(start.begin(), start.end() - 1);
        for (Index i = 0; i < a.lines; ++i)
            for (Index p = a.start[i]; p < a.start[i + 1]; ++p) {
                const Index to = at[a.index[p]]++;
                index[to] = static_cast<std::int32_t>(i);
                value[to] = a.value[p];
            }
    }
};

}  // namespace

template <class T>
bool collect_entries(const T* x, Index n, Index d, Index most, std::int64_t* start,
                     std::int32_t* index, T* value) {
    Index count = 0;
    for (Index i = 0; i < n; ++i, x += d) {
        start[i] = count;
        for (Index begin = 0; begin < d; begin += stretch) {
            const Index end = std::min(d, begin + stretch);
            int others = 0;
#pragma omp simd reduction(+ : others)
            for (Index j = begin; j < end; ++j) others += x[j] != 0;
            if (others == 0) continue;
            // Each is written and then counted if it is not 0, so there is nothing to predict.
            if (count + stretch > most) return false;
            for (Index j = begin; j < end; ++j) {
                index[count] = static_cast<std::int32_t>(j);
                value[count] = x[j];
                count += x[j] != 0;
            }
        }
    }
    start[n] = count;
    return true;
}

template <class T>
void entries_times(const Compressed<T>& a, const T* w, Index units, T* y) {
    constexpr Index lanes = lanes_of<T>;
    if (units < lanes) {
        for (Index i = 0; i < a.lines; ++i, y += units) {
            std::fill_n(y, units, T(0));
            for (Index p = a.start[i]; p < a.start[i + 1]; ++p)
                for (Index k = 0; k < units; ++k) y[k] += a.value[p] * w[a.index[p] * units + k];
        }
        return;
    }
    const Index vectors = (units + lanes - 1) / lanes;
    const Index at_once = std::min<Index>(vectors, most_vectors);
    const Index rows = std::max<Index>(1, numbers_at_once / (at_once * lanes));
    Stretches parts(a);
    for (Index from = 0; from == 0 || from < a.length; from += rows) {
        parts.advance(a, from + rows);
        for (Index v = 0; v < vectors; v += at_once) {
            const Index count = std::min(at_once, vectors - v), first = v * lanes;
            const Index last = std::min(first + (count - 1) * lanes, units - lanes);
            const auto skipped = static_cast<int>(first + (count - 1) * lanes - last);
            add_lines_of(static_cast<int>(count), a, parts, w, units, {first, last, skipped},
                         from == 0, y);
        }
    }
}

template <class T>
void entries_transposed_times(const Compressed<T>& a, const T* r, Index units, T* g) {
    const Transposed<T> t(a);
    entries_times<T>({a.length, a.lines, t.start.data(), t.index.data(), t.value.data()}, r, units,
                     g);
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

template bool collect_entries(const float*, Index, Index, Index, std::int64_t*, std::int32_t*,
                              float*);
template bool collect_entries(const double*, Index, Index, Index, std::int64_t*, std::int32_t*,
                              double*);
template void entries_times(const Compressed<float>&, const float*, Index, float*);
template void entries_times(const Compressed<double>&, const double*, Index, double*);
template void entries_transposed_times(const Compressed<float>&, const float*, Index, float*);
template void entries_transposed_times(const Compressed<double>&, const double*, Index, double*);
template void add_bias(float*, Index, Index, const float*, bool);
template void add_bias(double*, Index, Index, const double*, bool);
template void bend_back(const float*, const float*, Index, Index, float*, float*);
template void bend_back(const double*, const double*, Index, Index, double*, double*);

}  // namespace gapless
