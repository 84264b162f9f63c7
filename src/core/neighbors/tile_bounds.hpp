// Bounds on the distances between a tile of rows and some queries: a matrix product of which only
// the small enough entries are kept.
#pragma once

#include <cstdint>

#include "base/loops.hpp"

namespace gapless {

// Rows stored together, by columns: those of one product, so that they lie side by side in the
// cache, as many as there are registers.
#if defined(__AVX512F__)
constexpr Index panel_rows = 64;
#else
constexpr Index panel_rows = 16;
#endif
constexpr Index tile_rows = 1024;  // rows compared before the next ones
constexpr Index tile_words = tile_rows / 64;
constexpr Index query_group = 6;  // queries compared together
// More than any bound: used in place of a missing row.
constexpr float beyond_all = 1e38f;

// Rows rounded up to whole panels, and queries to whole groups.
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

// Queries v (count × w, by rows, in whole groups) and the limits of their bounds.
struct Asked {
    const float* values;
    const float* limits;
    Index count;
};

// Row i of a tile has bit i % 64 of word i / 64 of a query set, of its tile_words words, if
// halfᵢ − ⟨uᵢ, v_q⟩ is within the limit. That number is then in bounds[q · tile_rows + i], as are
// those of the other rows of the same sixteen.
void find_bounds(const Tile& tile, const Asked& asked, float* bounds, std::uint64_t* hits);

}  // namespace gapless
