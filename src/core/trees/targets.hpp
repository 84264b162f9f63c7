// What a tree splits for: the targets of the rows of a node, and the score of splitting them in
// two.
//
// Each kind has a Node, the targets gathered in the order of the node's rows, which the threads
// that search its columns share, and Sides, one thread's sums left and right of a candidate. The
// higher the score, the lower the impurity of the two sides: their weighted impurities add up to a
// constant of the node minus the score. A split's decrease of impurity is therefore its score minus
// the score of the unsplit node.
//
// Sums are exact, as tree.hpp explains: weights are integer multiples of a unit, a power of two.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "trees/tree.hpp"

namespace gapless::growing {

// ---- weights ----

// Weights in whole units. They stay below 2⁵³ units in total, so that sums are exact as doubles
// too.
template <class Unit>
struct Units {
    std::vector<Unit> of_row;
    double size = 1;
};

struct WeightSummary {
    double total = 0;  // to some nine digits, the same for any order of the rows
    bool are_whole = true;
};

inline WeightSummary summary_of(const double* weights, Index rows) {
    WeightSummary summary;
    double largest = 0;
    for (Index i = 0; i < rows; ++i) {
        largest = std::max(largest, weights[i]);
        summary.are_whole &= weights[i] == std::floor(weights[i]);
    }
    if (largest <= 0) return summary;
    const double unit = std::exp2(std::max(std::ilogb(largest) - 30, -1074));
    std::int64_t units = 0;
    for (Index i = 0; i < rows; ++i) units += std::llrint(weights[i] / unit);
    summary.total = static_cast<double>(units) * unit;
    summary.are_whole &= summary.total < 0x1.0p31;
    return summary;
}

template <class Unit>
void to_units(const double* weights, Index rows, const WeightSummary& summary, Units<Unit>& units) {
    units.of_row.resize(rows);
    double scale =
        summary.are_whole ? 1.0 : std::exp2(51 - std::ilogb(std::max(summary.total, 1e-290)));
    units.size = 1 / scale;
    for (Index i = 0; i < rows; ++i) {
        // A weight that vanishes beside the others is not zero.
        double unit = weights[i] > 0 ? std::max(std::round(weights[i] * scale), 1.0) : 0.0;
        units.of_row[i] = static_cast<Unit>(unit);
    }
}

// ---- places ----

// The best place for a split so far: after which of the groups, or of the rows in order.
struct BestPlace {
    double score = -std::numeric_limits<double>::infinity();
    Index place = -1;

    bool is_found() const { return place >= 0; }
    void offer(double candidate, Index at) {
        if (!(candidate > score)) return;
        score = candidate;
        place = at;
    }
};

// Which codes go left if a threshold was drawn.
struct LeftCodes {
    std::uint32_t last, missing;
    bool missing_left;

    bool has(std::uint32_t code) const {
        return (code <= last) | ((code == missing) & missing_left);
    }
};

}  // namespace gapless::growing
