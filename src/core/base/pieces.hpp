// Work cut into pieces: ranges of equal length, the tiles of a triangle, and memory for them.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/loops.hpp"

namespace gapless {

inline Index ceil_div(Index a, Index b) { return (a + b - 1) / b; }

struct Range {
    Index begin, end;
    Index size() const { return end - begin; }
};

// The i-th of the ranges of length `step` that make up 0 … end − 1.
inline Range part(Index i, Index step, Index end) {
    return {std::min(i * step, end), std::min((i + 1) * step, end)};
}

// A tile of a lower triangle, of which task = row (row + 1) / 2 + column, column ≤ row.
struct TriangleTile {
    Index row, column;

    explicit TriangleTile(Index task) {
        row = static_cast<Index>((std::sqrt(8.0 * double(task) + 1) - 1) / 2);
        while (row * (row + 1) / 2 > task) --row;
        while ((row + 1) * (row + 2) / 2 <= task) ++row;
        column = task - row * (row + 1) / 2;
    }
};

// Memory that is written before it is read, so that it need not be cleared.
template <class T>
std::unique_ptr<T[]> uninitialized(Index size) {
    return std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(std::max<Index>(size, 1)));
}

}  // namespace gapless
