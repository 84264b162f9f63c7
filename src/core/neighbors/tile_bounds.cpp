#include "neighbors/tile_bounds.hpp"

#include <algorithm>
#include <cstring>

#include "base/vectors.hpp"

namespace gapless {
namespace {

#define GAPLESS_UNROLL _Pragma("GCC unroll 8")

// Sums of `vectors` vectors of rows times `group` queries, which fit in the registers.
template <int vectors, int group>
struct Kernel {
    using Floats = Vector<float>;
    using Bits = Vector<std::uint32_t>;
    static constexpr int lanes = lanes_of<float>, rows = lanes * vectors;
    static_assert(panel_rows == rows && rows % 16 == 0 && query_group % group == 0);
    using Sums = Floats[group][vectors];

    // A bit for each lane that is within the limit.
    GAPLESS_BODY static std::uint64_t within(const Floats& bounds, float limit) {
        Bits lane;
        for (int l = 0; l < lanes; ++l) lane[l] = std::uint32_t{1} << l;
        const Bits set = bounds <= Floats{} + limit ? lane : Bits{};
        std::uint64_t pairs[lanes / 2], all = 0;
        std::memcpy(pairs, &set, sizeof set);
        for (std::uint64_t pair : pairs) all |= pair;
        return static_cast<std::uint32_t>(all | all >> 32);
    }

    GAPLESS_BODY static void multiply(const float* u, const float* v, Index w, Sums& sums) {
        for (Index k = 0; k < w; ++k, u += panel_rows) {
            Floats x[vectors];
            GAPLESS_UNROLL
            for (int i = 0; i < vectors; ++i) x[i] = load(u + i * lanes);
            GAPLESS_UNROLL
            for (int q = 0; q < group; ++q) {
                const float y = v[q * w + k];
                GAPLESS_UNROLL
                for (int i = 0; i < vectors; ++i) sums[q][i] += x[i] * y;
            }
        }
    }

    // The smallest bound of a query.
    GAPLESS_BODY static Floats nearest(const Floats (&bounds)[vectors]) {
        Floats near = bounds[0];
        GAPLESS_UNROLL
        for (int i = 1; i < vectors; ++i) near = smaller(near, bounds[i]);
        return near;
    }

    // Rows from `begin` on, and queries from `first` on.
    GAPLESS_BODY static void find(const Tile& tile, Index begin, const Asked& asked, Index first,
                                  float* bounds, std::uint64_t* hits) {
        Sums sums = {};
        multiply(tile.values + begin * tile.w, asked.values + first * tile.w, tile.w, sums);
        // Whether any is within its limit, for all at once: mostly none is.
        Floats over = Floats{} + beyond_all;
        GAPLESS_UNROLL
        for (int q = 0; q < group; ++q) {
            GAPLESS_UNROLL
            for (int i = 0; i < vectors; ++i)
                sums[q][i] = load(tile.halves + begin + i * lanes) - sums[q][i];
            over = smaller(over, nearest(sums[q]) - asked.limits[first + q]);
        }
        if (smallest_of(over)[0] > 0) return;
        GAPLESS_UNROLL
        for (int q = 0; q < group; ++q) {
            if (smallest_of(nearest(sums[q]))[0] > asked.limits[first + q]) continue;
            std::uint64_t set = 0;
            GAPLESS_UNROLL
            for (int i = 0; i < vectors; ++i)
                set |= within(sums[q][i], asked.limits[first + q]) << (i * lanes);
            hits[(first + q) * tile_words + begin / 64] |= set << (begin % 64);
            std::memcpy(bounds + (first + q) * tile_rows + begin, sums[q], sizeof sums[q]);
        }
    }

    // A panel stays in the cache while all queries pass.
    GAPLESS_BODY static void find_all(const Tile& tile, const Asked& asked, float* bounds,
                                      std::uint64_t* hits) {
        for (Index begin = 0; begin < tile.rows; begin += rows)
            for (Index first = 0; first < asked.count; first += group)
                find(tile, begin, asked, first, bounds, hits);
    }
};

// As many sums as there are registers.
#if defined(__AVX512F__)
using Best = Kernel<4, 6>;
#elif defined(__AVX2__)
using Best = Kernel<2, 6>;
#else
using Best = Kernel<4, 2>;
#endif

}  // namespace

void find_bounds(const Tile& tile, const Asked& asked, float* bounds, std::uint64_t* hits) {
    std::fill_n(hits, asked.count * tile_words, std::uint64_t{0});
    Best::find_all(tile, asked, bounds, hits);
}

}  // namespace gapless
