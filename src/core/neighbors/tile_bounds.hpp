// Bounds of the distances between a tile of rows and some queries: a product of matrices of which
// only the entries are kept that are small enough.
#pragma once

#include <cstdint>

#include "base/loops.hpp"

namespace gapless {

// Rows that are stored together, by columns: those of one product, so that they lie side by side in
// the cache, as many as there are registers for.
#if defined(__AVX512F__)
constexpr Index panel_rows = 64;
#else
constexpr Index panel_rows = 16;
#endif
constexpr Index tile_rows = 1024;  // rows that are compared before the next ones
constexpr Index tile_words = tile_rows / 64;
constexpr Index query_group = 6;  // queries that are compared together
// More than any bound: what stands in the place of a row that is not there.
constexpr float beyond_all = 1e38f;

// Rows of panels that are whole, and queries of groups that are.
inline Index in_whole_panels(Index rows) {
    return (rows + panel_rows - 1) / panel_rows * panel_rows;
}
inline Index in_whole_groups(Index queries) {
    return (queries + query_group - 1) / query_group * query_group;
}

// Panels of rows u of w columns, and a number per row; `rows` counts whole panels.
struct Tile {
    const float* values;
    const float* halves;
    Index rows, w;
};

// Queries v (count × w, by rows, of whole groups) and what their bounds are at most.
struct Asked {
    const float* values;
    const float* limits;
    Index count;
};

// Row i of a tile has bit i % 64 of word i / 64 of a query set, of its tile_words words, if halfᵢ −
// ⟨uᵢ, v_q⟩ is within the limit. That number is then bounds[q · tile_rows + i], and so are those of
// the other rows of the same sixteen.
void find_bounds(const Tile& tile, const Asked& asked, float* bounds, std::uint64_t* hits);

}  // namespace gapless
