// Products with few outputs by register tiles: a block of the matrix is read where it is, or packed
// once, and only the narrow operand is kept in the caches. BLAS packs both operands for every call,
// which for 32 outputs takes as long as the product itself.
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/pieces.hpp"
#include "base/vectors.hpp"

namespace gapless {

// Written for vectors of 32 bytes, sixteen of which are registers, as the panels are.
constexpr bool has_narrow = vector_bytes == 32;

// A tile of sums in registers: `height` lines of `vectors` vectors.
template <int height, int vectors, class V>
struct SumTile {
    static constexpr Index width = vectors * lanes_of<V>;
    Vector<V> sums[height][vectors] = {};

    // Adds left[r] · right for each line r.
    template <class Left>
    GAPLESS_BODY void add(const Left& left, const V* right) {
        Vector<V> vector[vectors];
        for (int v = 0; v < vectors; ++v) vector[v] = load(right + v * lanes_of<V>);
#pragma GCC unroll 8
        for (int r = 0; r < height; ++r) {
            const V factor = left(r);
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v) sums[r][v] += factor * vector[v];
        }
    }

    // out = the sums, or += from the second piece on; `count` entries of each line.
    GAPLESS_BODY void write(V* out, Index stride, Index count, bool is_first) const {
        for (int r = 0; r < height; ++r) {
            V* to = out + r * stride;
            if (count == width) {
#pragma GCC unroll 4
                for (int v = 0; v < vectors; ++v) {
                    V* place = to + v * lanes_of<V>;
                    const Vector<V> sum = is_first ? sums[r][v] : load(place) + sums[r][v];
                    std::memcpy(place, &sum, sizeof sum);
                }
                continue;
            }
            V line[width];
            std::memcpy(line, sums[r], sizeof line);
            for (Index k = 0; k < count; ++k) to[k] = is_first ? line[k] : to[k] + line[k];
        }
    }
};

// Calls function(constant) with the constant n from 1 to `most`.
template <int most, class Function>
GAPLESS_BODY void with_constant(int n, const Function& function) {
    if constexpr (most > 1)
        if (n < most) return with_constant<most - 1>(n, function);
    function(std::integral_constant<int, most>());
}

// A W for W (inner × outputs, by rows) that is packed in panels of two vectors.
template <class V>
class NarrowRight {
public:
    static constexpr Index longest = 256;  // a panel of so many rows fits the first cache
    static constexpr Index width = 2 * lanes_of<V>;

    explicit NarrowRight(Index outputs)
        : outputs_(outputs),
          panels_(ceil_div(outputs, width)),
          packed_(uninitialized<V>(panels_ * longest * width)) {}

    // The rows w … of W, at most `longest`.
    void pack(const V* w, Index rows) {
        rows_ = rows;
        for (Index p = 0; p < panels_; ++p) {
            V* to = panel(p);
            const Index count = columns(p);
            for (Index j = 0; j < rows; ++j, to += width) {
                std::copy_n(w + j * outputs_ + p * width, count, to);
                std::fill(to + count, to + width, V(0));
            }
        }
    }

    // out (rows × outputs) = or += the rows of x, `stride` apart, times the packed rows of W.
    void multiply(const V* x, Index stride, Index rows, V* out, bool is_first) const {
        for (Index i = 0; i < rows; i += height)
            with_constant<height>(int(std::min<Index>(height, rows - i)), [&](auto lines) {
                for (Index p = 0; p < panels_; ++p)
                    tile<lines()>(x + i * stride, stride, p, out + i * outputs_ + p * width,
                                  is_first);
            });
    }

private:
    static constexpr int height = 6;

    V* panel(Index p) const { return packed_.get() + p * longest * width; }
    Index columns(Index p) const { return std::min(width, outputs_ - p * width); }

    template <int lines>
    void tile(const V* x, Index stride, Index p, V* out, bool is_first) const {
        SumTile<lines, 2, V> sums;
        const V* w = panel(p);
        for (Index j = 0; j < rows_; ++j, w += width)
            sums.add([&](int r) { return x[r * stride + j]; }, w);
        sums.write(out, outputs_, columns(p), is_first);
    }

    Index outputs_, panels_, rows_ = 0;
    std::unique_ptr<V[]> packed_;
};

// Aᵀ R for A (inner × columns, by rows) and R (inner × outputs, by rows), transposed: by columns of
// R. A piece of A is packed, row after row, into panels of three vectors.
template <class V>
class NarrowLeft {
public:
    static constexpr Index longest = 128;

    NarrowLeft() : packed_(uninitialized<V>(panels * longest * width)) {}

    // out (outputs × columns, lines `apart`) = or += RᵀA for at most `longest` rows.
    void multiply(const V* a, Index stride, Index rows, Index columns, const V* r, Index outputs,
                  V* out, Index apart, bool is_first) {
        for (Index j = 0; j < columns; j += panels * width) {
            const Index count = std::min(panels * width, columns - j);
            pack(a + j, stride, rows, count);
            for (Index p = 0; p * width < count; ++p)
                for (Index k = 0; k < outputs; k += height)
                    with_constant<height>(
                        int(std::min<Index>(height, outputs - k)), [&](auto lines) {
                            tile<lines()>(p, r + k, outputs, rows, out + k * apart + j + p * width,
                                          apart, std::min(width, count - p * width), is_first);
                        });
        }
    }

private:
    static constexpr int height = 4;
    static constexpr Index width = 3 * lanes_of<V>;
    static constexpr Index panels = 20;  // they fit the second cache

    V* panel(Index p) const { return packed_.get() + p * longest * width; }

    void pack(const V* a, Index stride, Index rows, Index count) {
        const Index full = count / width, rest = count - full * width;
        for (Index i = 0; i < rows; ++i, a += stride) {
            // Rows are too short for the processor to see that the next ones follow.
            if (i + 2 < rows)
                for (Index j = 0; j < count; j += 64 / static_cast<Index>(sizeof(V)))
                    __builtin_prefetch(a + 2 * stride + j);
            for (Index p = 0; p < full; ++p)
                std::memcpy(panel(p) + i * width, a + p * width, width * sizeof(V));
            if (!rest) continue;
            V* to = panel(full) + i * width;
            std::copy_n(a + full * width, rest, to);
            std::fill(to + rest, to + width, V(0));
        }
    }

    template <int lines>
    void tile(Index p, const V* r, Index outputs, Index rows, V* out, Index stride, Index count,
              bool is_first) const {
        SumTile<lines, 3, V> sums;
        const V* a = panel(p);
        for (Index i = 0; i < rows; ++i, a += width, r += outputs)
            sums.add([&](int k) { return r[k]; }, a);
        sums.write(out, stride, count, is_first);
    }

    std::unique_ptr<V[]> packed_;
};

}  // namespace gapless
