#include "boosting/splits.hpp"

#include <algorithm>

namespace gapless {

namespace {

// Levels with fewer rows get no side of their own, and as many rows of the mean curvature are added
// to each level before levels are ordered (Ke et al. 2017).
constexpr Index min_level_rows = 10;

double reduction(double gradient, double curvature) {
    return curvature > 0 ? gradient * gradient / curvature : 0;
}

}  // namespace

template <class Layout>
double SplitSearch<Layout>::gain(const Sums& left, const Sums& right, const NodeSums& node,
                                 const BinnedColumn& column) const {
    if (node.range.is_free() && column.monotone == 0) {
        // One division instead of two.
        const double a = left.curvature * units_.curvature + limits_.l2;
        const double b = right.curvature * units_.curvature + limits_.l2;
        const double f = left.gradient * units_.gradient, g = right.gradient * units_.gradient;
        return a > 0 && b > 0 ? (f * f * b + g * g * a) / (a * b)
                              : reduction(f, a) + reduction(g, b);
    }
    const double low = value(left, node.range), high = value(right, node.range);
    if (column.monotone * (high - low) < 0) return -1;
    const auto fall = [&](const Sums& part, double v) {
        const double curvature = part.curvature * units_.curvature + limits_.l2;
        return -v * (2 * part.gradient * units_.gradient + curvature * v);
    };
    return fall(left, low) + fall(right, high);
}

template <class Layout>
bool SplitSearch<Layout>::may_gain(const Sums& left, const Sums& right, double least) const {
    constexpr double rounding = 1e-14;
    const double a = left.curvature * units_.curvature + limits_.l2;
    const double b = right.curvature * units_.curvature + limits_.l2;
    const double f = left.gradient * units_.gradient, g = right.gradient * units_.gradient;
    return !(a > 0 && b > 0 && f * f * b + g * g * a <= (1 - rounding) * least * (a * b));
}

template <class Layout>
void SplitSearch<Layout>::read(const Cell* histogram, const BinnedColumn& column, const Sums& total,
                               Codes& codes) const {
    const Cell* cells = histogram + bins_.start[column.bundle];
    codes.count = column.codes;
    codes.numbers = column.codes - column.has_missing;
    if (column.frequent < 0) {
        for (std::int32_t c = 0; c < column.codes; ++c) codes.of[c] = layout_.sums(cells[c]);
        return;
    }
    Sums rest = total;
    for (std::int32_t c = 0; c < column.codes; ++c) {
        if (c == column.frequent) continue;
        codes.of[c] = layout_.sums(cells[column.bin(c)]);
        rest = rest - codes.of[c];
    }
    codes.of[column.frequent] = rest;
}

template <class Layout>
bool SplitSearch<Layout>::is_constant(const Cell* histogram, Index j, const NodeSums& node) const {
    const BinnedColumn& column = columns_[j];
    const Cell* cells = histogram + bins_.start[column.bundle];
    Index seen = 0, rows = 0;
    for (std::int32_t c = 0; c < column.codes && seen < 2; ++c) {
        if (c == column.frequent) continue;
        const Cell& cell = cells[column.bin(c)];
        seen += !Layout::is_empty(cell);
        rows += layout_.sums(cell).rows;
    }
    return seen == 0 || (seen == 1 && rows == node.sums.rows);
}

template <class Layout>
void SplitSearch<Layout>::by_number(const Codes& codes, const BinnedColumn& column,
                                    const NodeSums& node, Index j, Split& best) const {
    const bool has_missing = column.has_missing && codes.of[codes.numbers].rows > 0;
    const bool is_free = node.range.is_free() && column.monotone == 0;
    // Missing values go right first, then left.
    for (int side = 0; side < 1 + has_missing; ++side) {
        Sums left = side ? codes.of[codes.numbers] : Sums{};
        const std::int32_t last = codes.numbers - (side || !has_missing);
        for (std::int32_t c = 0; c < last; ++c) {
            if (codes.of[c].rows == 0) continue;
            left += codes.of[c];
            if (!is_allowed(left)) continue;
            const Sums right = node.sums - left;
            if (!is_allowed(right)) break;
            if (is_free && !may_gain(left, right, best.gain)) continue;
            const double found = gain(left, right, node, column);
            if (found <= best.gain) continue;
            best.gain = found, best.column = j, best.code = c, best.left_sums = left;
            best.missing_left = has_missing ? side == 1 : left.rows > right.rows;
        }
    }
}

template <class Layout>
void SplitSearch<Layout>::by_level(const Codes& codes, const NodeSums& node, Index j,
                                   Split& best) const {
    std::array<std::int32_t, most_codes> order;
    std::array<double, most_codes> slope;
    Index used = 0;
    const double smooth = static_cast<double>(min_level_rows) * node.sums.curvature /
                          std::max<Index>(node.sums.rows, 1);
    for (std::int32_t c = 0; c < codes.count; ++c) {
        if (codes.of[c].rows < min_level_rows) continue;
        slope[c] = codes.of[c].gradient / (codes.of[c].curvature + smooth);
        order[used++] = c;
    }
    if (used < 2 && node.sums.rows == (used ? codes.of[order[0]].rows : 0)) return;
    std::sort(order.begin(), order.begin() + used, [&](std::int32_t a, std::int32_t b) {
        return slope[a] < slope[b] || (slope[a] == slope[b] && a < b);
    });
    // From each end: the levels left out are on the other side.
    const Index most = (used + 1) / 2;
    for (int end = 0; end < 2; ++end) {
        Sums left;
        for (Index k = 0; k < most; ++k) {
            left += codes.of[order[end ? used - 1 - k : k]];
            if (!is_allowed(left)) continue;
            const Sums right = node.sums - left;
            if (!is_allowed(right)) break;
            const double found = gain(left, right, node, columns_[j]);
            if (found <= best.gain) continue;
            best.gain = found, best.column = j, best.code = -1, best.left_sums = left;
            best.left = {};
            for (Index i = 0; i <= k; ++i) {
                const std::int32_t c = order[end ? used - 1 - i : i];
                best.left[c / 64] |= std::uint64_t{1} << (c % 64);
            }
            const bool is_there = columns_[j].has_missing && codes.of[codes.count - 1].rows > 0;
            best.missing_left = is_there ? best.holds(codes.count - 1) : left.rows > right.rows;
        }
    }
}

template <class Layout>
void SplitSearch<Layout>::improve(const Cell* histogram, Index j, const NodeSums& node,
                                  Split& best) const {
    const BinnedColumn& column = columns_[j];
    Codes codes;
    read(histogram, column, node.sums, codes);
    if (column.is_categorical)
        by_level(codes, node, j, best);
    else
        by_number(codes, column, node, j, best);
}

template class SplitSearch<Packed>;
template class SplitSearch<Wide>;

}  // namespace gapless
