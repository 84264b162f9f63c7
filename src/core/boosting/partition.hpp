// Dividing the rows of a node between its children.
#pragma once

#include "base/team.hpp"
#include "boosting/splits.hpp"

namespace gapless {

// For each bin of a bundle 1 where its rows go left.
using Sides = std::array<std::uint8_t, most_codes>;

Sides sides(const BinnedColumn& column, const Split& split);

// The rows of a node, and room for as many.
struct NodeRows {
    std::uint32_t* rows;
    std::uint32_t* spare;
    Index count;
};

// Puts the rows that go left before the others, all in their order; returns how many. `code` has
// the bin of each row of the data.
Index divide_rows(const std::uint8_t* code, const Sides& left, const NodeRows& node, Team& team);

}  // namespace gapless
