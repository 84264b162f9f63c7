// Sums of gradients, curvatures and rows by bins, for growing trees on binned columns.
//
// A row's gradient and curvature are whole numbers of small units, so that sums are exact: they do
// not depend on the order of the rows or on the number of threads, and the histogram of one child
// is that of its parent minus that of the other. One row is one SIMD addition for each column
// (Ke et al. 2017, LightGBM; Shi et al. 2022 on whole numbers).
#pragma once

#include <bit>
#include <cmath>
#include <cstring>

#include "array.hpp"
#include "team.hpp"

namespace gapless {

// Rows as trees see them: `width` bins of one byte for each row, row after row. Several columns of
// which at most one differs from its most frequent value in any row share a bin (a bundle).
struct Bins {
    const std::uint8_t* code;
    Index rows, width;
    const std::int32_t* start;  // of each bundle's cells in a histogram, and their number in all

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

// All three apart, for so many rows that two of them would not leave digits enough.
struct Wide {
    using Cell = Sums;

    Cell pack(const Sums& s) const { return s; }
    Sums sums(const Cell& c) const { return c; }
    static bool is_empty(const Cell& c) { return c.rows == 0; }
};

// How large the whole numbers are: value = whole · unit.
struct Units {
    double gradient, curvature;
};

// histogram += the given rows.
template <class Cell>
void add_rows(const Bins& bins, const Cell* entries, const std::uint32_t* rows, Index count,
              Cell* out) {
    constexpr Index ahead = 16;
    const std::int32_t* start = bins.start;
    const Index width = bins.width;
    for (Index i = 0; i < count; ++i) {
        if (i + ahead < count) {
            __builtin_prefetch(bins.code + rows[i + ahead] * width);
            __builtin_prefetch(entries + rows[i + ahead]);
        }
        const std::uint8_t* code = bins.code + rows[i] * width;
        const Cell entry = entries[rows[i]];
        for (Index b = 0; b < width; ++b) out[start[b] + code[b]] += entry;
    }
}

// Fewer rows are not worth sharing.
constexpr Index rows_per_piece = 2048;

// out = the histogram of the given rows, in pieces that the team shares; `spare` is for theirs.
template <class Cell>
void fill_histogram(const Bins& bins, const Cell* entries, const std::uint32_t* rows, Index count,
                    Cell* out, std::vector<Cell>& spare, Team& team) {
    const Index cells = bins.cells();
    const Index pieces =
        std::clamp<Index>(count / rows_per_piece, 1, static_cast<Index>(team.size()));
    spare.resize((pieces - 1) * cells);
    team.each(pieces, [&](Index p) {
        Cell* part = p == 0 ? out : spare.data() + (p - 1) * cells;
        std::memset(static_cast<void*>(part), 0, cells * sizeof(Cell));
        const Index first = count * p / pieces, last = count * (p + 1) / pieces;
        add_rows(bins, entries, rows + first, last - first, part);
    });
    for (Index p = 1; p < pieces; ++p) {
        const Cell* part = spare.data() + (p - 1) * cells;
        for (Index c = 0; c < cells; ++c) out[c] += part[c];
    }
}

}  // namespace gapless
