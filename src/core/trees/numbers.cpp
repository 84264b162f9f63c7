#include "trees/numbers.hpp"

#include <bit>
#include <numeric>

namespace gapless::growing {

namespace {

// The finest power of two of which `bound` is less than 2⁶¹ times. Most nodes are small, so that
// calls of the math library would take as long as all their rows: exponents are read and written as
// bits.
double grid_step(double bound) {
    constexpr int mantissa = 52, bias = 1023;
    const int exponent = static_cast<int>(std::bit_cast<std::uint64_t>(bound) >> mantissa) - bias;
    const auto power = static_cast<std::uint64_t>(std::max(exponent - 60, -1000) + bias);
    return bound > 0 ? std::bit_cast<double>(power << mantissa) : 1.0;
}

// The sums of units and of targets over the rows that go left.
void sum_left(const std::uint32_t* codes, Index count, std::uint32_t last, std::uint32_t also,
              const std::int64_t* units, const std::int64_t* sum, std::int64_t* out) {
    std::int64_t weight = 0, total = 0;
    for (Index i = 0; i < count; ++i) {
        const bool is_left = (codes[i] <= last) | (codes[i] == also);
        weight += is_left ? units[i] : 0;
        total += is_left ? sum[i] : 0;
    }
    out[0] += weight;
    out[1] += total;
}

}  // namespace

// ---- numbers ----

Numbers::Numbers(const TreeData& data, const TreeSample& sample, Criterion criterion,
                 const WeightSummary& weights)
    : values_(data.values),
      weights_(sample.weights),
      outputs_(data.outputs),
      criterion_(criterion),
      are_whole_(weights.are_whole) {
    to_units(sample.weights, data.rows, weights, units_);
}

void Numbers::gather(const std::uint32_t* rows, Index count, Node& node) const {
    node.make_room(count, outputs_);
    std::int64_t weight = 0;
    for (Index i = 0; i < count; ++i) {
        const std::int64_t units = units_.of_row[rows[i]];
        node.units[i] = units;
        weight += units;
    }
    node.weight = weight;
    if (outputs_ == 1)
        gather_output<1>(rows, 0, node);
    else
        for (Index o = 0; o < outputs_; ++o) gather_output<0>(rows, o, node);
}

// `known` is the number of outputs if the compiler should know it, else 0.
template <Index known>
void Numbers::gather_output(const std::uint32_t* rows, Index o, Node& node) const {
    const Index outputs = known ? known : outputs_, count = node.count;
    double* raw = node.raw.data() + o;
    double low = values_[rows[0] * outputs + o], high = low;
    for (Index i = 0; i < count; ++i) {
        const double target = values_[rows[i] * outputs + o];
        raw[i * outputs] = target;
        low = std::min(low, target);
        high = std::max(high, target);
    }
    // Poisson needs the sums themselves, which must not be negative.
    const double center = criterion_ == Criterion::poisson ? 0.0 : low / 2 + high / 2;
    const double step = grid_step(real(node.weight) * std::max(high - center, center - low));
    const double per_step = 1 / step;  // a power of two, like the step
    std::int64_t total = 0;
    for (Index i = 0; i < count; ++i) {
        const double target = (raw[i * outputs] - center) * per_step;
        const std::int64_t units = node.units[i];
        const std::int64_t sum =
            are_whole_ ? units * std::llrint(target) : std::llrint(real(units) * target);
        node.sum[i * outputs + o] = sum;
        total += sum;
    }
    node.lowest[o] = low;
    node.highest[o] = high;
    node.center[o] = center;
    node.step[o] = step;
    node.total[o] = total;
}

void Numbers::add_left(const Node& node, const std::uint32_t* codes, Index count, LeftCodes left,
                       Cell* cells) const {
    if (outputs_ == 1) {
        const std::uint32_t also = left.missing_left ? left.missing : left.last;
        sum_left(codes, count, left.last, also, node.units.data(), node.sum.data(), cells);
        return;
    }
    with_adder(node, [=](auto add) {
        for (Index i = 0; i < count; ++i)
            if (left.has(codes[i])) add(i, cells);
    });
}

template <class Term>
double Numbers::grid_sum(const Node& node, Index o, double largest, Term term) const {
    const double step = grid_step(real(node.weight) * largest), per_step = 1 / step;
    std::int64_t sum = 0;
    for (Index i = 0; i < node.count; ++i) {
        double number = term(node.raw[i * outputs_ + o]) * per_step;
        sum += are_whole_ ? node.units[i] * std::llrint(number)
                          : std::llrint(real(node.units[i]) * number);
    }
    return static_cast<double>(sum) * step;
}

// ---- sums ----

double Sums::impurity(const Node& node) const {
    // Half of all nodes of a deep tree have one row.
    if (node.count == 1 && criterion_ == Criterion::squared_error) return 0;
    double sum = 0;
    for (Index o = 0; o < outputs_; ++o) {
        const double middle = mean(node, o, node.total[o], node.weight);
        if (criterion_ == Criterion::squared_error) {
            const auto square = [&](double y) { return (y - middle) * (y - middle); };
            // Rounding keeps the order: the largest square is that of one of the ends.
            const double largest = std::max(square(node.lowest[o]), square(node.highest[o]));
            sum += grid_sum(node, o, largest, square);
        } else if (middle > 0) {
            const auto deviance = [&](double y) { return y > 0 ? y * std::log(y / middle) : 0; };
            double largest = 0;
            for (Index i = 0; i < node.count; ++i)
                largest = std::max(largest, std::abs(deviance(node.raw[i * outputs_ + o])));
            sum += grid_sum(node, o, largest, deviance);
        }
    }
    return std::max(sum / (real(node.weight) * static_cast<double>(outputs_)), 0.0);
}

// ---- medians ----

void Medians::gather(const std::uint32_t* rows, Index count, Node& node) const {
    Numbers::gather(rows, count, node);
    node.rank.resize(count * outputs_);
    node.first.assign(1, 0);
    node.distinct.clear();
    node.centred.clear();
    std::vector<Index> order(count);
    for (Index o = 0; o < outputs_; ++o) {
        auto target = [&](Index i) { return node.raw[i * outputs_ + o]; };
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(),
                  [&](Index a, Index b) { return target(a) < target(b); });
        for (Index k = 0; k < count; ++k) {
            if (k == 0 || target(order[k]) != target(order[k - 1])) {
                node.distinct.push_back(target(order[k]));
                node.centred.push_back(target(order[k]) - node.center[o]);
            }
            node.rank[order[k] * outputs_ + o] = static_cast<std::uint32_t>(
                static_cast<Index>(node.distinct.size()) - 1 - node.first.back());
        }
        node.first.push_back(static_cast<Index>(node.distinct.size()));
    }
}

RankedSums Medians::ranked(const Node& node, Index o) const {
    RankedSums all;
    all.clear(node.first[o + 1] - node.first[o]);
    for (Index i = 0; i < node.count; ++i)
        all.add(node.rank[i * outputs_ + o], node.units[i], node.sum[i * outputs_ + o]);
    return all;
}

double Medians::median(const Node& node, Index o, const RankedSums& side,
                       std::int64_t units) const {
    RankedSums::Part part;
    double half = static_cast<double>(units) / 2;
    // If exactly half of the weight lies below, every number up to the next target is a median.
    Index low = side.below(half, part), high = side.below(half + 0.25, part);
    const double* distinct = node.distinct.data() + node.first[o];
    return distinct[low] / 2 + distinct[high] / 2;
}

double Medians::loss(const Node& node, Index o, const RankedSums& side, std::int64_t units,
                     std::int64_t sum) const {
    RankedSums::Part below;
    double middle = node.centred[node.first[o] + side.below(static_cast<double>(units) / 2, below)];
    return middle * real(2 * below.units - units) +
           static_cast<double>(sum - 2 * below.sum) * node.step[o];
}

double Medians::impurity(const Node& node) const {
    double sum = 0;
    for (Index o = 0; o < outputs_; ++o)
        sum += loss(node, o, ranked(node, o), node.weight, node.total[o]);
    return std::max(sum / (real(node.weight) * static_cast<double>(outputs_)), 0.0);
}

void Medians::Sides::start(const Medians& all, const Node& node) {
    all_ = &all;
    node_ = &node;
    units_left_ = 0;
    sum_left_.assign(all.outputs_, 0);
    left_.resize(all.outputs_);
    right_.resize(all.outputs_);
    for (Index o = 0; o < all.outputs_; ++o) {
        left_[o].clear(node.first[o + 1] - node.first[o]);
        right_[o] = all.ranked(node, o);
    }
}

void Medians::Sides::move(Index i) {
    std::int64_t units = node_->units[i];
    units_left_ += units;
    for (Index o = 0; o < all_->outputs_; ++o) {
        Index rank = node_->rank[i * all_->outputs_ + o];
        std::int64_t sum = node_->sum[i * all_->outputs_ + o];
        sum_left_[o] += sum;
        left_[o].add(rank, units, sum);
        right_[o].add(rank, -units, -sum);
    }
}

double Medians::Sides::score() const {
    double sum = 0;
    for (Index o = 0; o < all_->outputs_; ++o)
        sum += all_->loss(*node_, o, left_[o], units_left_, sum_left_[o]) +
               all_->loss(*node_, o, right_[o], node_->weight - units_left_,
                          node_->total[o] - sum_left_[o]);
    return -sum / static_cast<double>(all_->outputs_);
}

}  // namespace gapless::growing
