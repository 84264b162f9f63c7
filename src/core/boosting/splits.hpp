// The best split of one node, from its histogram.
#pragma once

#include <array>
#include <limits>
#include <vector>

#include "boosting/histograms.hpp"
#include "boosting/units.hpp"

namespace gapless {

constexpr Index most_codes = 256;

// One column among the bins. Codes 0 … codes−1 are ranks of values or levels; the last one is that
// of missing values, if any. In a bundle all codes except the most frequent have a bin, starting
// with `first`; alone (`frequent` = −1), code and bin are the same.
struct BinnedColumn {
    std::int32_t bundle, first, codes, frequent;
    std::uint8_t has_missing, is_categorical;
    std::int8_t monotone;  // +1, −1, or 0

    std::int32_t bin(std::int32_t code) const {
        return frequent < 0 ? code : first + code - (code > frequent);
    }
};

// The limits of a tree. Curvatures are in the units of the data, not of the integers.
struct GrowthLimits {
    Index max_leaves, max_depth, min_leaf_rows, min_split_rows, max_columns;
    double min_leaf_curvature, min_gain, l2;

    // The same for weights that are multiplied by a factor.
    GrowthLimits of_weights(double factor) const {
        GrowthLimits scaled = *this;
        for (double* part : {&scaled.min_leaf_curvature, &scaled.min_gain, &scaled.l2})
            *part *= factor;
        return scaled;
    }
};

// The values between which a leaf must stay, so that monotone columns stay monotone.
struct Range {
    double lower = -std::numeric_limits<double>::infinity();
    double upper = std::numeric_limits<double>::infinity();

    double clip(double value) const { return std::clamp(value, lower, upper); }
    bool is_free() const { return std::isinf(lower) && std::isinf(upper); }
};

using CodeSet = std::array<std::uint64_t, most_codes / 64>;

// Rows whose code of `column` is in `left` go left.
struct Split {
    Index column = -1;
    std::int32_t code = -1;  // the largest on the left, for numbers
    CodeSet left{};
    bool missing_left = false;
    double gain = 0;
    Sums left_sums;

    bool holds(std::int32_t c) const { return left[c / 64] >> (c % 64) & 1; }
};

// A node that may be split.
struct NodeSums {
    Sums sums;
    Range range;
    double value;
};

template <class Layout>
class SplitSearch {
public:
    using Cell = typename Layout::Cell;

    SplitSearch(const Layout& layout, const BinnedColumn* columns, const Bins& bins,
                const GrowthLimits& limits, const Units& units)
        : layout_(layout), columns_(columns), bins_(bins), limits_(limits), units_(units) {}

    // The better of `best` and the best split by column j; ties go to the first found.
    void improve(const Cell* histogram, Index j, const NodeSums& node, Split& best) const;

    // Whether all rows of the node have the same code.
    bool is_constant(const Cell* histogram, Index j, const NodeSums& node) const;

    double value(const Sums& sums, const Range& range) const {
        const double curvature = sums.curvature * units_.curvature + limits_.l2;
        return curvature > 0 ? range.clip(-sums.gradient * units_.gradient / curvature) : 0;
    }

private:
    struct Codes {
        std::array<Sums, most_codes> of;
        std::int32_t count, numbers;  // all codes, and those without the missing one
    };

    void read(const Cell* histogram, const BinnedColumn& column, const Sums& total,
              Codes& codes) const;
    void by_number(const Codes& codes, const BinnedColumn& column, const NodeSums& node, Index j,
                   Split& best) const;
    void by_level(const Codes& codes, const NodeSums& node, Index j, Split& best) const;
    bool is_allowed(const Sums& part) const {
        return part.rows >= limits_.min_leaf_rows &&
               part.curvature * units_.curvature >= limits_.min_leaf_curvature;
    }
    // How much a split lowers the objective, times two; below 0 if it breaks monotonicity.
    double gain(const Sums& left, const Sums& right, const NodeSums& node,
                const BinnedColumn& column) const;
    // Whether the gain without bounds can exceed `least`, up to rounding and without a division,
    // which most splits thus avoid.
    bool may_gain(const Sums& left, const Sums& right, double least) const;

    const Layout layout_;
    const BinnedColumn* columns_;
    const Bins bins_;
    const GrowthLimits limits_;
    const Units units_;
};

}  // namespace gapless
