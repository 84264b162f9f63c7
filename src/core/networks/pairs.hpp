// Rows that are mostly 0: of each row the pairs of neighbouring columns of which one is not 0, the
// same by columns, and products over those pairs alone. Pairs, because neighbours are often 0
// together, as pixels are, and because two products for each number that is read keep the
// multipliers busy.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#ifdef __AVX512VL__
#include <immintrin.h>
#endif

#include "base/pieces.hpp"
#include "base/vectors.hpp"

namespace gapless {

constexpr Index stretch = 16;      // zeros are skipped by so many columns at a time
constexpr Index most_vectors = 4;  // a panel is so many vectors wide, or less
constexpr Index line_bytes = 64;   // what a processor fetches at once
// Columns of X whose numbers in a panel, 24 KB, stay in the first cache.
constexpr Index block_columns = (Index(24) << 10) / (most_vectors * vector_bytes);
static_assert(block_columns % stretch == 0);

// The pairs of a stretch that count, by the bits of a mask: their places, and how many they are.
struct ChosenPairs {
    std::uint8_t place[stretch / 2] = {};
    std::uint8_t count = 0;
};
constexpr auto chosen_pairs = [] {
    std::array<ChosenPairs, 1 << stretch / 2> by_mask{};
    for (unsigned mask = 0; mask < by_mask.size(); ++mask)
        for (std::uint8_t k = 0; k < stretch / 2; ++k)
            if (mask >> k & 1) by_mask[mask].place[by_mask[mask].count++] = k;
    return by_mask;
}();
// The bit of each column of a stretch: that of its pair.
constexpr auto bit_of_column = [] {
    std::array<std::int32_t, stretch> bits{};
    for (Index j = 0; j < stretch; ++j) bits[j] = 1 << j / 2;
    return bits;
}();

template <class T>
struct Pairs {
    Index n, d;
    // Where the entries of a row begin in each block of columns, and where the last ones end.
    std::unique_ptr<Index[]> start;
    std::int32_t* index;  // of pairs, from the first of their block on
    T* value;             // two for each entry
    // The same by columns: where the entries of a pair begin, their rows and numbers.
    std::unique_ptr<Index[]> pair_start;
    std::int32_t* row;
    T* row_value;

    // With memory for twice `room()` numbers a row, of which an index takes half.
    Pairs(Index rows, Index columns, std::int32_t* indices, T* values)
        : n(rows),
          d(columns),
          start(uninitialized<Index>(n * (blocks() + 1))),
          index(indices),
          value(values),
          pair_start(uninitialized<Index>(pairs() + 1)),
          row(indices + n * room() / 2),
          row_value(values + n * room()) {}

    Index pairs() const { return ceil_div(d, 2); }
    Index blocks() const { return ceil_div(d, block_columns); }
    Index room() const { return ceil_div(d, stretch) * stretch; }
    Range entries(Index i, Index block) const {
        const Index* of_row = &start[i * (blocks() + 1) + block];
        return {of_row[0], of_row[1]};
    }
    Index count(Index i) const { return entries(i, blocks() - 1).end - entries(i, 0).begin; }

    // Write the entries of a row from `at` on, and return where they end. Meanwhile the row `next`
    // is fetched, which is anywhere in memory.
    template <class X>
    Index collect(Index i, Index at, const X* x, const X* next) {
        Index found = at;
        for (Index block = 0; block < blocks(); ++block) {
            const Index first = block * block_columns, last = std::min(d, first + block_columns);
            start[i * (blocks() + 1) + block] = found;
            for (Index begin = first; begin < last; begin += stretch) {
                const Index end = std::min(last, begin + stretch);
                for (Index j = begin; j < end; j += line_bytes / Index(sizeof(X)))
                    __builtin_prefetch(next + j);
                if (end - begin == stretch) {
                    found = put_stretch(found, (begin - first) / 2, x + begin);
                    continue;
                }
                for (Index j = begin; j + 1 < end; j += 2)
                    found = put(found, (j - first) / 2, x[j], x[j + 1]);
                if ((end - begin) % 2) found = put(found, (end - 1 - first) / 2, x[end - 1], X(0));
            }
        }
        start[i * (blocks() + 1) + blocks()] = found;
        return found;
    }

    // Write the entries of a stretch from its first pair on, and return where the next one belongs.
    // All places are written, and as many count as there are: so there is nothing to predict.
    template <class X>
    GAPLESS_BODY Index put_stretch(Index at, Index pair, const X* x) {
        // The compiler cannot know that what is written does not change where to write.
        std::int32_t* const to_index = index + at;
        T* const to_value = value + 2 * at;
#ifdef __AVX512VL__
        if constexpr (sizeof(T) == 4) {
            T line[stretch];
#pragma omp simd
            for (Index j = 0; j < stretch; ++j) line[j] = static_cast<T>(x[j]);
            const __m512i numbers = _mm512_loadu_si512(line);
            // All bits but the signs: a pair counts if one of its numbers is neither 0 nor −0.
            const __mmask8 mask =
                _mm512_test_epi64_mask(numbers, _mm512_set1_epi64(0x7fffffff7fffffff));
            const __m256i places = _mm256_add_epi32(_mm256_set1_epi32(static_cast<int>(pair)),
                                                    _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
            _mm512_storeu_si512(to_value, _mm512_maskz_compress_epi64(mask, numbers));
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(to_index),
                                _mm256_maskz_compress_epi32(mask, places));
            return at + __builtin_popcount(mask);
        }
#endif
        std::int32_t mask = 0;
#pragma omp simd reduction(| : mask)
        for (Index j = 0; j < stretch; ++j) mask |= x[j] != 0 ? bit_of_column[j] : 0;
        if (mask == 0) return at;
        const ChosenPairs& chosen = chosen_pairs[mask];
#pragma GCC unroll 8
        for (Index k = 0; k < stretch / 2; ++k)
            to_index[k] = static_cast<std::int32_t>(pair + chosen.place[k]);
#pragma GCC unroll 8
        for (Index k = 0; k < stretch / 2; ++k)
            copy_pair(x + 2 * Index(chosen.place[k]), to_value + 2 * k);
        return at + chosen.count;
    }

    template <class X>
    GAPLESS_BODY static void copy_pair(const X* from, T* to) {
        if constexpr (std::is_same_v<X, T>) {
            std::memcpy(to, from, 2 * sizeof(T));
        } else {
            to[0] = static_cast<T>(from[0]);
            to[1] = static_cast<T>(from[1]);
        }
    }

    // Write an entry, which counts if one of its numbers is not 0: so there is nothing to predict.
    // Returns where the next one belongs.
    template <class X>
    GAPLESS_BODY Index put(Index at, Index pair, X one, X other) {
        index[at] = static_cast<std::int32_t>(pair);
        value[2 * at] = static_cast<T>(one);
        value[2 * at + 1] = static_cast<T>(other);
        return at + ((one != 0) | (other != 0));
    }

    // The entries of a block by columns, in the order of the rows; those of earlier blocks come
    // before them.
    void transpose(Index block) {
        Index at = 0;
        for (Index i = 0; i < n; ++i) at += start[i * (blocks() + 1) + block] - entries(i, 0).begin;
        const Range columns = part(block, block_columns, d);
        const Index first = columns.begin / 2, count = ceil_div(columns.size(), 2);
        const auto next = std::make_unique<Index[]>(count);
        for (Index i = 0; i < n; ++i)
            for (Index p = entries(i, block).begin; p < entries(i, block).end; ++p)
                ++next[index[p]];
        for (Index c = 0; c < count; ++c) {
            pair_start[first + c] = at;
            at += std::exchange(next[c], at);
        }
        if (first + count == pairs()) pair_start[pairs()] = at;
        for (Index i = 0; i < n; ++i)
            for (Index p = entries(i, block).begin; p < entries(i, block).end; ++p) {
                const Index to = next[index[p]]++;
                row[to] = static_cast<std::int32_t>(i);
                copy_pair(value + 2 * p, row_value + 2 * to);
            }
    }
};

template <class T, int vectors>
struct PanelRow {
    Vector<T> part[vectors];
};

// Some columns of a matrix with rows of `units` numbers; missing ones are 0.
template <class T, int vectors>
void read_lines(const T* from, Index units, Index count, Index rows, PanelRow<T, vectors>* to) {
    for (Index j = 0; j < rows; ++j) {
        if (count == vectors * lanes_of<T>) {
            std::memcpy(&to[j], from + j * units, sizeof to[j]);
            continue;
        }
        to[j] = {};
        std::memcpy(&to[j], from + j * units, count * sizeof(T));
    }
}

// gradient = sums + strength w.
template <class T, int vectors>
GAPLESS_BODY void write_slopes(const PanelRow<T, vectors>& sums, const T* w, T strength,
                               Index count, T* gradient) {
    if (count == vectors * lanes_of<T>) {
#pragma GCC unroll 4
        for (int v = 0; v < vectors; ++v) {
            const Vector<T> slopes = sums.part[v] + strength * load(w + v * lanes_of<T>);
            std::memcpy(gradient + v * lanes_of<T>, &slopes, sizeof slopes);
        }
        return;
    }
    T line[vectors * lanes_of<T>];
    std::memcpy(line, &sums, sizeof line);
    for (Index k = 0; k < count; ++k) gradient[k] = line[k] + strength * w[k];
}

// `count` columns from `first` on of y = x W + b.
template <int vectors, class T>
void forward_panel(const Pairs<T>& x, const T* w, const T* b, Index units, Index first, Index count,
                   T* y) {
    using Numbers = PanelRow<T, vectors>;
    const auto copy = uninitialized<Numbers>(block_columns);
    const auto sums = uninitialized<Numbers>(x.n);
    Numbers bias;
    read_lines(b + first, units, count, 1, &bias);
    std::fill_n(sums.get(), x.n, bias);
    for (Index block = 0; block < x.blocks(); ++block) {
        const Range columns = part(block, block_columns, x.d);
        // The last pair may lack a column.
        if (columns.size() % 2) copy[columns.size()] = {};
        // A copy, because rows that are a power of two apart compete for few places of the cache.
        read_lines(w + columns.begin * units + first, units, count, columns.size(), copy.get());
        for (Index i = 0; i < x.n; ++i) {
            // Two sums, because one would wait for its own additions.
            Numbers sum = sums[i], more{};
            const Range entries = x.entries(i, block);
            for (Index p = entries.begin; p < entries.end; ++p) {
                const Numbers* pair = &copy[2 * x.index[p]];
                const T one = x.value[2 * p], other = x.value[2 * p + 1];
#pragma GCC unroll 4
                for (int v = 0; v < vectors; ++v) {
                    sum.part[v] += one * pair[0].part[v];
                    more.part[v] += other * pair[1].part[v];
                }
            }
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v) sum.part[v] += more.part[v];
            sums[i] = sum;
        }
    }
    for (Index i = 0; i < x.n; ++i) std::memcpy(y + i * units + first, &sums[i], count * sizeof(T));
}

// `count` columns from `first` on of g = xᵀ dz + strength W.
template <int vectors, class T>
void gradient_panel(const Pairs<T>& x, const T* dz, const T* w, T strength, Index units,
                    Index first, Index count, T* gradient) {
    using Numbers = PanelRow<T, vectors>;
    const auto right = uninitialized<Numbers>(x.n);
    read_lines(dz + first, units, count, x.n, right.get());
    for (Index c = 0; c < x.pairs(); ++c) {
        Numbers one{}, other{};
        for (Index p = x.pair_start[c]; p < x.pair_start[c + 1]; ++p) {
            const Numbers& row = right[x.row[p]];
            const T of_one = x.row_value[2 * p], of_other = x.row_value[2 * p + 1];
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v) {
                one.part[v] += of_one * row.part[v];
                other.part[v] += of_other * row.part[v];
            }
        }
        const Index at = 2 * c * units + first;
        write_slopes(one, w + at, strength, count, gradient + at);
        if (2 * c + 1 < x.d)
            write_slopes(other, w + at + units, strength, count, gradient + at + units);
    }
}

// The same for one block of columns of x, by rows, in the same order of additions: sums are stored
// for each entry, but nothing has to be transposed before.
template <int vectors, class T>
void gradient_by_rows(const Pairs<T>& x, const T* dz, const T* w, T strength, Index units,
                      Index first, Index count, Index block, T* gradient) {
    using Numbers = PanelRow<T, vectors>;
    const Range columns = part(block, block_columns, x.d);
    const auto sums = uninitialized<Numbers>(block_columns);
    std::fill_n(sums.get(), block_columns, Numbers{});
    for (Index i = 0; i < x.n; ++i) {
        Numbers right;
        read_lines(dz + i * units + first, units, count, 1, &right);
        const Range entries = x.entries(i, block);
        for (Index p = entries.begin; p < entries.end; ++p) {
            Numbers* pair = &sums[2 * x.index[p]];
            const T one = x.value[2 * p], other = x.value[2 * p + 1];
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v) {
                pair[0].part[v] += one * right.part[v];
                pair[1].part[v] += other * right.part[v];
            }
        }
    }
    for (Index j = 0; j < columns.size(); ++j) {
        const Index at = (columns.begin + j) * units + first;
        write_slopes(sums[j], w + at, strength, count, gradient + at);
    }
}

// The columns of a matrix in panels of about the same width.
template <class T>
struct UnitPanels {
    Index units;

    Index vectors() const { return ceil_div(units, lanes_of<T>); }
    Index size() const { return ceil_div(vectors(), most_vectors); }

    // Call call(first column, how many, how many vectors), of which the last is a constant.
    template <class Call>
    void visit(Index panel, Call&& call) const {
        const Index begin = vectors() * panel / size(), end = vectors() * (panel + 1) / size();
        const Index first = begin * lanes_of<T>, count = std::min(units, end * lanes_of<T>) - first;
        switch (end - begin) {
            case 1:
                return call(first, count, std::integral_constant<int, 1>());
            case 2:
                return call(first, count, std::integral_constant<int, 2>());
            case 3:
                return call(first, count, std::integral_constant<int, 3>());
            default:
                return call(first, count, std::integral_constant<int, 4>());
        }
    }
};

}  // namespace gapless
