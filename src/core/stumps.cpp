#include "stumps.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "loops.hpp"

namespace gapless {
namespace {

// With so many codes or fewer a histogram is small, and its rows are read in their own order.
constexpr std::size_t few_codes = 256;
// Splits that are judged together, so that the loops over them run in vectors.
constexpr Index block = 512;
constexpr double infinity = std::numeric_limits<double>::infinity();

// Class weights left of each of `block` splits, for two classes.
struct LeftSums {
    double first[block], second[block];
};

// The prefix sums of signed weights, negative in the first class, in the order of a column.
GAPLESS_CLONES void add_signed(const std::uint32_t* order, const double* weights, Index n,
                               double& first, double& second, LeftSums& left) {
    for (Index i = 0; i < n; ++i) {
        double weight = weights[order[i] >> 1];
        first += std::max(-weight, 0.0);
        second += std::max(weight, 0.0);
        left.first[i] = first;
        left.second[i] = second;
    }
}

// The quality of the splits, and the best of those that the lowest bit of `mark` allows. Impurities
// come from the weights of the parts themselves and not from differences of squares: in boosting
// weights span many orders of magnitude. (The maximum is written out: GCC 12 loses lanes of a
// reduction by std::max, which returns a reference.)
GAPLESS_CLONES double judge_gini(const LeftSums& left, const std::uint32_t* mark, Index n,
                                 double first, double second, double* quality) {
    double best = -infinity;
#pragma omp simd reduction(max : best)
    for (Index i = 0; i < n; ++i) {
        double a = left.first[i], b = left.second[i];
        double c = std::max(first - a, 0.0), d = std::max(second - b, 0.0);
        double here = a + b, there = c + d;
        // A part without weight has no impurity: its products are 0, whatever divides them.
        double impurity = a * b / std::max(here, 1e-300) + c * d / std::max(there, 1e-300);
        double value = mark[i] & 1 ? -2 * impurity : -infinity;
        quality[i] = value;
        best = value > best ? value : best;
    }
    return best;
}

GAPLESS_CLONES double judge_accuracy(const LeftSums& left, const std::uint32_t* mark, Index n,
                                     double first, double second, double* quality) {
    double best = -infinity;
#pragma omp simd reduction(max : best)
    for (Index i = 0; i < n; ++i) {
        double a = left.first[i], b = left.second[i];
        double right = std::max(a, b) + std::max(first - a, second - b);
        double value = mark[i] & 1 ? right : -infinity;
        quality[i] = value;
        best = value > best ? value : best;
    }
    return best;
}

// Takes the splits of a column block by block and keeps the best; `code` counts the marked ones.
class BestOfTwo {
public:
    BestOfTwo(StumpCriterion criterion, double first, double second)
        : criterion_(criterion), first_(first), second_(second) {}

    void take(const LeftSums& left, const std::uint32_t* mark, Index n) {
        double quality[block];
        auto judge = criterion_ == StumpCriterion::gini ? judge_gini : judge_accuracy;
        double best = judge(left, mark, n, first_, second_, quality);
        if (best > split.quality) {
            Index at = std::find(quality, quality + n, best) - quality;
            split = {0, seen_ + marked(mark, at), best};
        }
        seen_ += marked(mark, n);
    }

    StumpSplit split{-1, 0, -infinity};

private:
    static Index marked(const std::uint32_t* mark, Index n) {
        Index count = 0;
        for (Index i = 0; i < n; ++i) count += mark[i] & 1;
        return count;
    }

    StumpCriterion criterion_;
    double first_, second_;
    Index seen_ = 0;
};

// The quality of a split of rows in many classes, given the class weights on its left and in all.
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
void StumpColumns::add(const Code* codes, Index levels) {
    std::vector<std::uint32_t> counts(levels, 0), position(levels, 0);
    for (Index i = 0; i < rows_; ++i) ++counts[codes[i]];
    Column column;
    for (Index code = 0; code < levels; ++code) {
        position[code] = static_cast<std::uint32_t>(column.present.size());
        if (counts[code]) column.present.push_back(static_cast<std::uint32_t>(code));
    }
    if (column.present.size() <= few_codes) {
        column.codes.resize(rows_);
        for (Index i = 0; i < rows_; ++i)
            column.codes[i] = static_cast<std::uint8_t>(position[codes[i]]);
    } else {
        std::vector<std::uint32_t> next(levels, 0);
        std::exclusive_scan(counts.begin(), counts.end(), next.begin(), std::uint32_t{0});
        column.order.resize(rows_);
        for (Index i = 0; i < rows_; ++i)
            column.order[next[codes[i]]++] = static_cast<std::uint32_t>(2 * i);
        for (std::uint32_t code : column.present) column.order[next[code] - 1] |= 1;
    }
    columns_.push_back(std::move(column));
}

StumpSplit StumpColumns::best_of_two(const Column& column, const Weighted& rows) const {
    BestOfTwo best(rows.criterion, rows.totals[0], rows.totals[1]);
    LeftSums left;
    double first = 0, second = 0;
    if (column.order.empty()) {
        static_assert(few_codes <= block);
        std::vector<double> of_code(2 * column.present.size(), 0.0);
        for (Index i = 0; i < rows_; ++i)
            of_code[2 * column.codes[i] + rows.classes[i]] += rows.weights[i];
        // All rows at or below the last code are no split.
        std::size_t count = column.present.size() - 1;
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
        add_signed(order, rows.sign.data(), n, first, second, left);
        best.take(left, order, n);
    }
    return best.split;
}

StumpSplit StumpColumns::best_of_many(const Column& column, const Weighted& rows) const {
    StumpSplit best{-1, 0, -infinity};
    const Index classes = static_cast<Index>(rows.totals.size());
    std::vector<double> left(classes, 0.0);
    Index splits = static_cast<Index>(column.present.size()) - 1, code = 0;
    auto end_code = [&] {
        double quality = many_quality(rows.criterion, left, rows.totals);
        if (quality > best.quality) best = {0, code, quality};
        ++code;
    };
    if (column.order.empty()) {
        std::vector<double> of_code(column.present.size() * classes, 0.0);
        for (Index i = 0; i < rows_; ++i)
            of_code[column.codes[i] * classes + rows.classes[i]] += rows.weights[i];
        while (code < splits) {
            for (Index c = 0; c < classes; ++c) left[c] += of_code[code * classes + c];
            end_code();
        }
    } else {
        for (Index i = 0; code < splits; ++i) {
            Index row = column.order[i] >> 1;
            left[rows.classes[row]] += rows.weights[row];
            if (column.order[i] & 1) end_code();
        }
    }
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
        if (column.present.size() < 2) return;
        found[j] = class_count == 2 ? best_of_two(column, rows) : best_of_many(column, rows);
        found[j].column = j;
        found[j].code = column.present[found[j].code];
    });
    StumpSplit best;
    for (const StumpSplit& split : found)
        if (split.column >= 0 && (best.column < 0 || split.quality > best.quality)) best = split;
    return best;
}

template void StumpColumns::add(const std::uint8_t*, Index);
template void StumpColumns::add(const std::uint16_t*, Index);
template void StumpColumns::add(const std::uint32_t*, Index);

}  // namespace gapless
