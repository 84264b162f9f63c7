// Sums of gradients, curvatures and rows per bin, for growing trees on binned columns.
//
// A row's gradient and curvature are integer multiples of small units, so that sums are exact: they
// do not depend on the order of the rows or on the number of threads, and the histogram of one
// child is that of its parent minus that of the other. One row is one SIMD addition for each column
// (Ke et al. 2017, LightGBM; Shi et al. 2022 on integers).
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/array.hpp"
#include "base/team.hpp"

namespace gapless {

// Rows as trees see them: `width` bins of one byte for each row, row after row for histograms, and
// again bundle after bundle for dividing rows. Several columns of which at most one differs from
// its most frequent value in any row share a bin (a bundle).
struct Bins {
    const std::uint8_t* code;
    const std::uint8_t* by_bundle;
    Index rows, width;
    const std::int32_t* start;  // of each bundle's cells in a histogram, and their total number

    const std::uint8_t* bundle(Index b) const { return by_bundle + b * rows; }
    Index cells() const { return start[width]; }
};

// Sums over rows. The curvature and the number of rows are never negative.
struct Sums {
    std::int64_t gradient = 0, curvature = 0, rows = 0;

    Sums& operator+=(const Sums& other) {
        gradient += other.gradient, curvature += other.curvature, rows += other.rows;
        return *this;
    }
    Sums& operator-=(const Sums& other) {
        gradient -= other.gradient, curvature -= other.curvature, rows -= other.rows;
        return *this;
    }
    friend Sums operator-(const Sums& a, const Sums& b) {
        return {a.gradient - b.gradient, a.curvature - b.curvature, a.rows - b.rows};
    }
};

using Two = std::int64_t __attribute__((vector_size(16)));

// The gradient, and the curvature with the number of rows in its lowest bits.
struct Packed {
    using Cell = Two;
    int shift;

    Cell pack(const Sums& s) const { return Cell{s.gradient, (s.curvature << shift) | s.rows}; }
    Sums sums(const Cell& c) const {
        return {c[0], c[1] >> shift, c[1] & ((std::int64_t{1} << shift) - 1)};
    }
    static bool is_empty(const Cell& c) { return c[1] == 0; }
};

// All three separately, for so many rows that two of them would not leave enough digits.
struct Wide {
    using Cell = Sums;

    Cell pack(const Sums& s) const { return s; }
    Sums sums(const Cell& c) const { return c; }
    static bool is_empty(const Cell& c) { return c.rows == 0; }
};

// A range of bundles whose columns one thread processes: its cells stay in its cache.
struct Part {
    Index first, last;
};

constexpr Index most_bundles = 16;  // of a part
// Fewer rows are not worth sharing.
constexpr Index rows_per_piece = 8192;

// Parts of a few bundles each, and enough of them for all threads.
inline std::vector<Part> parts_of(Index width, int threads) {
    Index count = std::max<Index>((width + most_bundles - 1) / most_bundles, threads);
    count = std::clamp<Index>(count, 1, std::max<Index>(width, 1));
    std::vector<Part> parts;
    for (Index p = 0; p < count; ++p) parts.push_back({width * p / count, width * (p + 1) / count});
    return parts;
}

// histogram = sums over the given rows, for the bundles of a part.
template <class Cell>
void fill_histogram(const Bins& bins, const Part& part, const Cell* entries,
                    const std::uint32_t* rows, Index count, Cell* histogram) {
    constexpr Index ahead = 16;
    const std::int32_t* start = bins.start + part.first;
    const Index width = bins.width, own = part.last - part.first;
    const std::uint8_t* codes = bins.code + part.first;
    std::memset(static_cast<void*>(histogram + start[0]), 0,
                (start[own] - start[0]) * sizeof(Cell));
    std::array<Cell*, most_bundles> cells;
    for (Index b = 0; b < own; ++b) cells[b] = histogram + start[b];
    for (Index i = 0; i < count; ++i) {
        if (i + ahead < count) {
            __builtin_prefetch(codes + rows[i + ahead] * width);
            __builtin_prefetch(entries + rows[i + ahead]);
        }
        const std::uint8_t* code = codes + rows[i] * width;
        const Cell entry = entries[rows[i]];
        Index b = 0;
        for (; b + 4 <= own; b += 4) {  // by hand: the compiler does not
            cells[b][code[b]] += entry;
            cells[b + 1][code[b + 1]] += entry;
            cells[b + 2][code[b + 2]] += entry;
            cells[b + 3][code[b + 3]] += entry;
        }
        for (; b < own; ++b) cells[b][code[b]] += entry;
    }
}

}  // namespace gapless
