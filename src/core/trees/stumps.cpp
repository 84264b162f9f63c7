#include "trees/stumps.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/loops.hpp"

namespace gapless {
namespace {

// With at most this many codes a histogram is small, and its rows are read in their own order.
constexpr std::size_t few_codes = 256;
// Splits of a column are evaluated in blocks, so that loops over them vectorise. The sums of a
// block are computed in strands side by side, since one would wait for its own additions.
constexpr Index strands = 4, strand = 128, block = strands * strand;
constexpr double infinity = std::numeric_limits<double>::infinity();

// Class weights left of each split of a block, for two classes: left of the block, and from there
// on.
struct LeftSums {
    double first[block], second[block];
};

// The sums of signed weights, negative in the first class, in the order of a column.
void sum_strands(const std::uint32_t* order, const double* weights, LeftSums& left) {
    double first[strands] = {}, second[strands] = {};
    for (Index i = 0; i < strand; ++i)
        for (Index s = 0; s < strands; ++s) {
            Index at = s * strand + i;
            double weight = weights[order[at] >> 1];
            left.first[at] = first[s] += std::max(-weight, 0.0);
            left.second[at] = second[s] += std::max(weight, 0.0);
        }
    for (Index s = 1; s < strands; ++s)
        for (Index i = 0; i < strand; ++i) {
            left.first[s * strand + i] += left.first[s * strand - 1];
            left.second[s * strand + i] += left.second[s * strand - 1];
        }
}

// The same for the last splits, fewer than a block.
void sum_rest(const std::uint32_t* order, const double* weights, Index n, LeftSums& left) {
    double first = 0, second = 0;
    for (Index i = 0; i < n; ++i) {
        double weight = weights[order[i] >> 1];
        left.first[i] = first += std::max(-weight, 0.0);
        left.second[i] = second += std::max(weight, 0.0);
    }
}

// The class weights of all rows, and of those before a block.
struct TwoSums {
    double first = 0, second = 0;
};

// Both parts of a split. Impurities come from the weights of the parts themselves and not from
// differences of squares: in boosting weights span many orders of magnitude.
struct Parts {
    double a, b, c, d;  // first and second class on the left, then on the right

    Parts(const TwoSums& all, const TwoSums& before, double first, double second)
        : a(before.first + first),
          b(before.second + second),
          c(std::max(all.first - a, 0.0)),
          d(std::max(all.second - b, 0.0)) {}

    double quality(StumpCriterion criterion) const {
        if (criterion == StumpCriterion::accuracy) return std::max(a, b) + std::max(c, d);
        // A part without weight has no impurity: its products are 0, whatever divides them.
        return -2 * (a * b / std::max(a + b, 1e-300) + c * d / std::max(c + d, 1e-300));
    }
};

// Whether a split of the block may be better than `best`; for the impurity without a division,
// which takes longer than all the rest. Counted in doubles, so that no lane changes its width.
bool may_improve_gini(const LeftSums& left, Index n, const TwoSums& all, const TwoSums& before,
                      double best) {
    double found = 0;
#pragma omp simd reduction(+ : found)
    for (Index i = 0; i < n; ++i) {
        Parts p(all, before, left.first[i], left.second[i]);
        double here = p.a + p.b, there = p.c + p.d;
        bool is_less = -2 * (p.a * p.b * there + p.c * p.d * here) < best * (here * there);
        found += is_less ? 0.0 : 1.0;
    }
    return found > 0;
}

bool may_improve_accuracy(const LeftSums& left, Index n, const TwoSums& all, const TwoSums& before,
                          double best) {
    double found = 0;
#pragma omp simd reduction(+ : found)
    for (Index i = 0; i < n; ++i) {
        Parts p(all, before, left.first[i], left.second[i]);
        found += std::max(p.a, p.b) + std::max(p.c, p.d) > best ? 1.0 : 0.0;
    }
    return found > 0;
}

// Evaluates the splits of a column block by block and keeps the best.
class BestOfTwo {
public:
    BestOfTwo(StumpCriterion criterion, const std::vector<double>& totals)
        : criterion_(criterion), all_{totals[0], totals[1]} {}

    // The lowest bit of `mark` shows where a code ends, and only there is a split.
    void take(const LeftSums& left, const std::uint32_t* mark, Index n) {
        bool is_gini = criterion_ == StumpCriterion::gini;
        auto may_improve = is_gini ? may_improve_gini : may_improve_accuracy;
        if (may_improve(left, n, all_, before_, split.quality)) judge(left, mark, n);
        for (Index i = 0; i < n; ++i) code_ += mark[i] & 1;
        before_.first += left.first[n - 1];
        before_.second += left.second[n - 1];
    }

    StumpSplit split{-1, 0, 0, -infinity, {}};

private:
    void judge(const LeftSums& left, const std::uint32_t* mark, Index n) {
        Index code = code_;
        for (Index i = 0; i < n; ++i) {
            if (!(mark[i] & 1)) continue;
            Parts parts(all_, before_, left.first[i], left.second[i]);
            double quality = parts.quality(criterion_);
            if (quality > split.quality) split = {0, code, 0, quality, {parts.a, parts.b}};
            ++code;
        }
    }

    StumpCriterion criterion_;
    TwoSums all_, before_;
    Index code_ = 0;  // the number of codes that ended before the block
};

// The quality of a split of rows in many classes, given the class weights on its left and overall.
double many_quality(StumpCriterion criterion, const std::vector<double>& left,
                    const std::vector<double>& all) {
    double weights[2] = {0, 0}, squares[2] = {0, 0}, largest[2] = {0, 0};
    for (std::size_t c = 0; c < all.size(); ++c) {
        double sides[2] = {left[c], std::max(all[c] - left[c], 0.0)};
        for (int side : {0, 1}) {
            weights[side] += sides[side];
            squares[side] += sides[side] * sides[side];
            largest[side] = std::max(largest[side], sides[side]);
        }
    }
    if (criterion == StumpCriterion::accuracy) return largest[0] + largest[1];
    double quality = 0;
    for (int side : {0, 1})
        if (weights[side] > 0) quality += squares[side] / weights[side] - weights[side];
    return quality;
}

// For any number of classes.
double quality_of(StumpCriterion criterion, const std::vector<double>& left,
                  const std::vector<double>& all) {
    if (all.size() != 2) return many_quality(criterion, left, all);
    return Parts({all[0], all[1]}, {}, left[0], left[1]).quality(criterion);
}

// Levels by the share of the second class, given the weights of both in each. Stable: equal levels
// stay in their own order.
void order_by_share(const std::vector<double>& weights, std::vector<Index>& levels) {
    auto share = [&](Index k) {
        return weights[2 * k + 1] / std::max(weights[2 * k] + weights[2 * k + 1], 1e-300);
    };
    std::stable_sort(levels.begin(), levels.end(),
                     [&](Index a, Index b) { return share(a) < share(b); });
}

}  // namespace

// The rows of one search.
struct StumpColumns::Weighted {
    StumpCriterion criterion;
    const double* weights;
    const std::int32_t* classes;
    std::vector<double> totals;  // of each class
    std::vector<double> sign;    // the weights, negative in the first class; for two classes
};

template <class Code>
void StumpColumns::add(const Code* codes, Index levels, bool is_category) {
    std::vector<std::uint32_t> counts(levels + 1, 0), position(levels + 1, 0);
    for (Index i = 0; i < rows_; ++i) ++counts[codes[i]];
    Column column;
    column.is_category = is_category;
    column.has_missing = counts[levels] > 0;
    for (Index code = 0; code <= levels; ++code) {
        position[code] = static_cast<std::uint32_t>(column.present.size());
        if (counts[code] && code < levels)
            column.present.push_back(static_cast<std::uint32_t>(code));
    }
    if (is_category || column.has_missing) {
        column.groups.resize(rows_);
        for (Index i = 0; i < rows_; ++i) column.groups[i] = position[codes[i]];
    } else if (column.present.size() <= few_codes) {
        column.codes.resize(rows_);
        for (Index i = 0; i < rows_; ++i)
            column.codes[i] = static_cast<std::uint8_t>(position[codes[i]]);
    } else {
        std::vector<std::uint32_t> next(levels + 1, 0);
        std::exclusive_scan(counts.begin(), counts.end(), next.begin(), std::uint32_t{0});
        column.order.resize(rows_);
        for (Index i = 0; i < rows_; ++i)
            column.order[next[codes[i]]++] = static_cast<std::uint32_t>(2 * i);
        for (std::uint32_t code : column.present) column.order[next[code] - 1] |= 1;
    }
    columns_.push_back(std::move(column));
}

// The weights of each code and class, for a column of few codes. Rows alternate between copies of
// the sums: consecutive rows of the same code would wait for each other's additions.
std::vector<double> StumpColumns::weights_by_code(const Column& column,
                                                  const Weighted& rows) const {
    const auto classes = rows.totals.size(), cells = column.present.size() * classes;
    std::vector<double> sums(strands * cells, 0.0);
    auto take = [&](Index i, Index s) {
        sums[s * cells + column.codes[i] * classes + rows.classes[i]] += rows.weights[i];
    };
    Index i = 0;
    for (; i + strands <= rows_; i += strands)
        for (Index s = 0; s < strands; ++s) take(i + s, s);
    for (; i < rows_; ++i) take(i, 0);
    for (Index s = 1; s < strands; ++s)
        for (std::size_t c = 0; c < cells; ++c) sums[c] += sums[s * cells + c];
    sums.resize(cells);
    return sums;
}

StumpSplit StumpColumns::best_of_two(const Column& column, const Weighted& rows) const {
    BestOfTwo best(rows.criterion, rows.totals);
    LeftSums left;
    if (column.order.empty()) {
        static_assert(few_codes <= block);
        const std::vector<double> of_code = weights_by_code(column, rows);
        // All rows at or below the last code are not a split.
        std::size_t count = column.present.size() - 1;
        double first = 0, second = 0;
        for (std::size_t k = 0; k < count; ++k) {
            left.first[k] = first += of_code[2 * k];
            left.second[k] = second += of_code[2 * k + 1];
        }
        std::vector<std::uint32_t> all_marked(count, 1);
        best.take(left, all_marked.data(), static_cast<Index>(count));
        return best.split;
    }
    Index end = rows_ - 1;
    while (!(column.order[end - 1] & 1)) --end;  // the last code again
    for (Index begin = 0; begin < end; begin += block) {
        Index n = std::min(block, end - begin);
        const std::uint32_t* order = column.order.data() + begin;
        if (n == block)
            sum_strands(order, rows.sign.data(), left);
        else
            sum_rest(order, rows.sign.data(), n, left);
        best.take(left, order, n);
    }
    return best.split;
}

StumpSplit StumpColumns::best_of_many(const Column& column, const Weighted& rows) const {
    StumpSplit best{-1, 0, 0, -infinity, {}};
    const Index classes = static_cast<Index>(rows.totals.size());
    std::vector<double> left(classes, 0.0);
    Index splits = static_cast<Index>(column.present.size()) - 1, code = 0;
    auto end_code = [&] {
        double quality = many_quality(rows.criterion, left, rows.totals);
        if (quality > best.quality) best = {0, code, 0, quality, left};
        ++code;
    };
    if (column.order.empty()) {
        const std::vector<double> of_code = weights_by_code(column, rows);
        while (code < splits) {
            for (Index c = 0; c < classes; ++c) left[c] += of_code[code * classes + c];
            end_code();
        }
    } else {
        const std::uint32_t* next = column.order.data();
        while (code < splits) {
            left[rows.classes[*next >> 1]] += rows.weights[*next >> 1];
            if (*next++ & 1) end_code();
        }
    }
    return best;
}

StumpSplit StumpColumns::best_of_groups(const Column& column, const Weighted& rows) const {
    const Index classes = static_cast<Index>(rows.totals.size());
    const Index groups = static_cast<Index>(column.present.size());
    std::vector<double> of_group((groups + 1) * classes, 0.0);
    for (Index i = 0; i < rows_; ++i)
        of_group[column.groups[i] * classes + rows.classes[i]] += rows.weights[i];
    std::vector<Index> order(groups);
    std::iota(order.begin(), order.end(), Index{0});
    if (column.is_category) order_by_share(of_group, order);
    StumpSplit best{-1, 0, 0, -infinity, {}};
    for (bool missing_left : {false, true}) {
        if (missing_left && !column.has_missing) break;
        std::vector<double> left(classes, 0.0);
        auto move = [&](Index group) {
            for (Index c = 0; c < classes; ++c) left[c] += of_group[group * classes + c];
        };
        if (missing_left) move(groups);
        // All values against the missing ones is a split too.
        Index places = column.has_missing && !missing_left ? groups : groups - 1;
        for (Index place = 0; place < places; ++place) {
            move(order[place]);
            double quality = quality_of(rows.criterion, left, rows.totals);
            if (quality > best.quality) best = {0, place, 0, quality, left, missing_left, {}};
        }
    }
    if (column.is_category)
        for (Index place = 0; place <= best.code; ++place)
            best.levels.push_back(column.present[order[place]]);
    return best;
}

StumpSplit StumpColumns::best(const double* weights, const std::int32_t* classes, Index class_count,
                              StumpCriterion criterion, const Context& context) const {
    Weighted rows{criterion, weights, classes, std::vector<double>(class_count, 0.0), {}};
    for (Index i = 0; i < rows_; ++i) rows.totals[classes[i]] += weights[i];
    if (class_count == 2) {
        rows.sign.resize(rows_);
        for (Index i = 0; i < rows_; ++i) rows.sign[i] = classes[i] ? weights[i] : -weights[i];
    }
    std::vector<StumpSplit> found(columns_.size());
    int threads = useful_threads(4.0 * double(rows_) * double(count()), context.threads);
    parallel_for(count(), threads, context.poll, [&](Index j) {
        const Column& column = columns_[j];
        const Index codes = static_cast<Index>(column.present.size());
        if (codes == 0 || codes + column.has_missing < 2) return;
        found[j] = !column.groups.empty() ? best_of_groups(column, rows)
                   : class_count == 2     ? best_of_two(column, rows)
                                          : best_of_many(column, rows);
        Index code = found[j].code;
        found[j].column = j;
        found[j].code = column.present[code];
        found[j].above = code + 1 < codes ? Index{column.present[code + 1]} : Index{-1};
    });
    StumpSplit best;
    for (const StumpSplit& split : found)
        if (split.column >= 0 && (best.column < 0 || split.quality > best.quality)) best = split;
    return best;
}

template void StumpColumns::add(const std::uint8_t*, Index, bool);
template void StumpColumns::add(const std::uint16_t*, Index, bool);
template void StumpColumns::add(const std::uint32_t*, Index, bool);

}  // namespace gapless
