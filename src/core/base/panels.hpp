// Gram matrices of few columns by register tiles: the rows of a piece are packed, centred and
// scaled, into panels of some columns, and the panels are multiplied in pairs. BLAS would copy its
// operands once more, and takes a third longer for 50 columns.
#pragma once

#include <algorithm>

#include "base/pieces.hpp"
#include "base/vectors.hpp"

namespace gapless {

// Written for vectors of 32 bytes, sixteen of which are registers. Elsewhere BLAS has kernels of
// its own that were not compared.
constexpr bool has_panels = vector_bytes == 32;

// The rows to pack: entry (i, j) is (x[row · stride + j] − centerⱼ) · scaleᵢ, where row is indexᵢ,
// or i without an index.
template <class X, class V>
struct PackedRows {
    const X* x;
    Index stride;
    const std::int64_t* index;  // may be null, and so may the others
    const V* center;
    const V* scale;
};

// The columns 0 … columns − 1 in panels of `vectors` vectors.
template <int vectors, class X, class V>
class Panels {
public:
    static constexpr Index width = vectors * lanes_of<V>;
    static constexpr Index longest = 128;  // rows of a piece: two panels fit the first cache

    explicit Panels(Index columns)
        : columns_(columns),
          count_(ceil_div(columns, width)),
          packed_(uninitialized<V>(count_ * longest * width)) {}

    // The order of the matrix of sums, which has a place for every column of every panel.
    Index side() const { return count_ * width; }

    // The last panel starts early enough to be full: some of its columns are also in the one
    // before.
    Index place(Index column) const {
        const Index p = column / width;
        return p * width + column - first(p);
    }

    // The lower triangle of sums = (or, from the second piece on, +=) Σ xᵢxᵢᵀ over a piece.
    void add(const PackedRows<X, V>& rows, Range piece, bool is_first, V* sums) {
        for (Index p = 0; p < count_; ++p) pack(rows, piece, first(p), panel(p));
        for (Index p = 0; p < count_; ++p)
            for (Index q = 0; q <= p; ++q)
                for (Index r = 0; r < width; r += height)
                    add_tile(panel(p) + r, panel(q), piece.size(), is_first,
                             sums + (p * width + r) * side() + q * width, side());
    }

private:
    static constexpr int height = 4;  // rows of a tile
    static_assert(width % height == 0);

    Index first(Index p) const { return std::min(p * width, columns_ - width); }
    V* panel(Index p) const { return packed_.get() + p * longest * width; }

    static void pack(const PackedRows<X, V>& rows, Range piece, Index column, V* out) {
        V center[width] = {};
        if (rows.center) std::copy_n(rows.center + column, width, center);
        for (Index i = piece.begin; i < piece.end; ++i, out += width) {
            const X* x = rows.x + (rows.index ? rows.index[i] : i) * rows.stride + column;
            const V scale = rows.scale ? rows.scale[i] : V(1);
#pragma omp simd
            for (Index j = 0; j < width; ++j) out[j] = (static_cast<V>(x[j]) - center[j]) * scale;
        }
    }

    // sums (height × width) = or += the first columns of panel a, transposed, times panel b
    static void add_tile(const V* a, const V* b, Index rows, bool is_first, V* sums, Index stride) {
        Vector<V> tile[height][vectors] = {};
        for (Index i = 0; i < rows; ++i, a += width, b += width) {
            Vector<V> right[vectors];
            for (int v = 0; v < vectors; ++v) right[v] = load(b + v * lanes_of<V>);
#pragma GCC unroll 4
            for (int r = 0; r < height; ++r)
#pragma GCC unroll 4
                for (int v = 0; v < vectors; ++v) tile[r][v] += a[r] * right[v];
        }
        for (int r = 0; r < height; ++r)
            for (int v = 0; v < vectors; ++v) {
                V* to = sums + r * stride + v * lanes_of<V>;
                const Vector<V> sum = is_first ? tile[r][v] : load(to) + tile[r][v];
                std::memcpy(to, &sum, sizeof sum);
            }
    }

    Index columns_, count_;
    std::unique_ptr<V[]> packed_;
};

}  // namespace gapless
