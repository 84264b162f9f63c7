// What a tree splits for: the targets of the rows of a node, and the score of parting them in two.
//
// Each kind has a Node, the targets gathered in the order of the node's rows, which the threads
// that search its columns share, and Sides, one thread's sums left and right of a candidate. The
// higher the score, the lower the impurity of the two sides: their weighted impurities add up to a
// number that is the same for all splits of a node, minus the score. A split's decrease of impurity
// is therefore its score minus the score of the undivided node.
//
// Sums are exact, as tree.hpp says: weights are whole numbers of a unit, a power of two.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "tree.hpp"
#include "tree_order.hpp"

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
    double total = 0;
    bool are_whole = true;
};

inline WeightSummary summary_of(const double* weights, Index rows) {
    WeightSummary summary;
    for (Index i = 0; i < rows; ++i) {
        summary.total += weights[i];
        summary.are_whole &= weights[i] == std::floor(weights[i]);
    }
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
        // A weight that vanishes beside the others is not none.
        double unit = weights[i] > 0 ? std::max(std::round(weights[i] * scale), 1.0) : 0.0;
        units.of_row[i] = static_cast<Unit>(unit);
    }
}

// ---- places ----

// The best place for a split so far: after which of the groups.
struct BestPlace {
    double score = -std::numeric_limits<double>::infinity();
    std::size_t place = 0;
    bool is_found = false;

    void offer(double candidate, std::size_t at) {
        if (!(candidate > score)) return;
        score = candidate;
        place = at;
        is_found = true;
    }
};

// ---- classes ----

// x log₂ x
inline double times_log(double x) { return x > 0 ? x * std::log2(x) : 0.0; }

// Unit is std::uint32_t where all weights are whole (then scores follow each row in O(1)), else
// std::int64_t.
template <class Unit>
class Classes {
public:
    using Cell = Unit;
    static constexpr bool has_cells = true;
    static constexpr bool is_whole = sizeof(Unit) == 4;
    // Up to this many units entropies are read from a table of fixed-point numbers.
    static constexpr double longest_table = 0x1.0p22;

    struct Node {
        std::vector<std::uint32_t> cell;  // rows × outputs: which count the row adds to
        std::vector<Unit> units;
        std::vector<Unit> total;  // outputs × classes
        Unit weight = 0;
    };

    Classes(const TreeData& data, const TreeSample& sample, Criterion criterion,
            const WeightSummary& weights)
        : labels_(data.labels),
          outputs_(data.outputs),
          classes_(data.classes),
          criterion_(criterion) {
        to_units(sample.weights, data.rows, weights, units_);
        if (is_whole && criterion != Criterion::gini) fill_table(weights.total);
    }

    Index cells() const { return outputs_ * classes_; }
    Index outputs() const { return outputs_; }
    double unit() const { return units_.size; }

    void gather(const std::uint32_t* rows, Index count, Node& node) const {
        node.cell.resize(count * outputs_);
        node.units.resize(count);
        node.total.assign(cells(), 0);
        node.weight = 0;
        if (outputs_ == 1) {
            for (Index i = 0; i < count; ++i) {
                Unit w = units_.of_row[rows[i]];
                std::uint32_t cell = labels_[rows[i]];
                node.units[i] = w;
                node.cell[i] = cell;
                node.total[cell] += w;
            }
            for (Unit w : node.total) node.weight += w;
            return;
        }
        for (Index i = 0; i < count; ++i) {
            Unit w = units_.of_row[rows[i]];
            node.units[i] = w;
            node.weight += w;
            for (Index o = 0; o < outputs_; ++o) {
                auto cell =
                    static_cast<std::uint32_t>(o * classes_ + labels_[rows[i] * outputs_ + o]);
                node.cell[i * outputs_ + o] = cell;
                node.total[cell] += w;
            }
        }
    }

    double weight(const Node& node) const { return node.weight * units_.size; }

    void value(const Node& node, double* out) const {
        for (Index c = 0; c < cells(); ++c)
            out[c] = static_cast<double>(node.total[c]) / static_cast<double>(node.weight);
    }

    // The number that monotonic constraints are about: the share of the second class.
    double center(const Node& node) const {
        return classes_ > 1 ? static_cast<double>(node.total[1]) / static_cast<double>(node.weight)
                            : 1.0;
    }
    void set_center(double center, double* value) const {
        value[0] = 1 - center;
        value[1] = center;
    }

    double impurity(const Node& node) const {
        double sum = 0;
        for (Index o = 0; o < outputs_; ++o) {
            double inner = 0;
            for (Index c = 0; c < classes_; ++c) {
                double share = static_cast<double>(node.total[o * classes_ + c]) /
                               static_cast<double>(node.weight);
                inner += criterion_ == Criterion::gini ? share * share : times_log(share);
            }
            sum += criterion_ == Criterion::gini ? 1 - inner : -inner;
        }
        return std::max(sum / static_cast<double>(outputs_), 0.0);
    }

    double own_score(const Node& node) const {
        double sum = 0;
        for (Index o = 0; o < outputs_; ++o)
            sum += side_score(node.total.data() + o * classes_, static_cast<double>(node.weight));
        return sum * units_.size / static_cast<double>(outputs_);
    }

    // −Σ of the two sides' shares times their logarithms, for the gain ratio.
    double split_information(double left, double right) const {
        double all = left + right;
        return -(times_log(left / all) + times_log(right / all));
    }

    // Adds a row to the counts of its code.
    struct Adder {
        const std::uint32_t* cell;
        const Unit* units;
        Index outputs;
        void operator()(Index i, Cell* cells) const {
            if (outputs == 1) {
                cells[cell[i]] += units[i];
                return;
            }
            for (Index o = 0; o < outputs; ++o) cells[cell[i * outputs + o]] += units[i];
        }
    };
    Adder adder(const Node& node) const { return {node.cell.data(), node.units.data(), outputs_}; }
    // All rows of the node, as cells.
    void total(const Node& node, Cell* cells) const {
        std::copy(node.total.begin(), node.total.end(), cells);
    }
    bool is_empty(const Cell* cells) const {
        Unit any = 0;
        for (Index c = 0; c < classes_; ++c) any |= cells[c];
        return any == 0;
    }
    // A group's weight and its class shares, by which categories are put in order.
    double profile(const Node&, const Cell* cells, double* shares) const {
        double weight = 0;
        for (Index c = 0; c < classes_; ++c) weight += static_cast<double>(cells[c]);
        for (Index c = 0; c < this->cells(); ++c)
            shares[c] = static_cast<double>(cells[c]) / weight;
        return weight;
    }
    // Shares add up to 1, so with two classes one of them says all.
    bool is_ordered_by_one() const { return outputs_ == 1 && classes_ <= 2; }
    Index deciding_cell() const { return classes_ > 1 ? 1 : 0; }

    class Sides {
    public:
        void start(const Classes& all, const Node& node) {
            all_ = &all;
            node_ = &node;
            left_.assign(node.total.size(), 0);
            right_ = node.total;
            weight_left_ = 0;
            weight_right_ = node.weight;
            if constexpr (is_whole) {
                sums_left_.assign(all.outputs_, 0);
                sums_right_.resize(all.outputs_);
                for (Index o = 0; o < all.outputs_; ++o) {
                    sums_right_[o] = 0;
                    for (Index c = 0; c < all.classes_; ++c)
                        sums_right_[o] += all.term(right_[o * all.classes_ + c]);
                }
            }
        }

        void move(Index i) {
            Unit w = node_->units[i];
            weight_left_ += w;
            weight_right_ -= w;
            for (Index o = 0; o < all_->outputs_; ++o)
                shift(o, node_->cell[i * all_->outputs_ + o], w);
        }
        void move_cells(const Cell* cells) {
            Unit moved = 0;
            for (Index c = 0; c < all_->classes_; ++c) {
                moved += cells[c];
                shift(0, c, cells[c]);
            }
            for (Index o = 1; o < all_->outputs_; ++o)
                for (Index c = o * all_->classes_; c < (o + 1) * all_->classes_; ++c)
                    shift(o, c, cells[c]);
            weight_left_ += moved;
            weight_right_ -= moved;
        }

        double score() const {
            double sum = 0;
            for (Index o = 0; o < all_->outputs_; ++o) sum += output_score(o);
            return sum * all_->units_.size / static_cast<double>(all_->outputs_);
        }

        // Move groups one after another, and find the best place after one of the first `places`.
        // Rows come in `order`, or as cells by code where that is null.
        bool can_scan() const { return is_whole && all_->outputs_ == 1; }
        void scan(const CodeGroup* groups, std::size_t places, const std::uint32_t* order,
                  const Cell* cells, BestPlace& best) {
            if (all_->criterion_ == Criterion::gini)
                scan_whole<true>(groups, places, order, cells, best);
            else
                scan_whole<false>(groups, places, order, cells, best);
        }

        double left_weight() const { return static_cast<double>(weight_left_) * all_->units_.size; }
        double right_weight() const {
            return static_cast<double>(weight_right_) * all_->units_.size;
        }
        double left_center() const {
            return static_cast<double>(left_[1]) / static_cast<double>(weight_left_);
        }
        double right_center() const {
            return static_cast<double>(right_[1]) / static_cast<double>(weight_right_);
        }

    private:
        double output_score(Index o) const {
            double left = static_cast<double>(weight_left_);
            double right = static_cast<double>(weight_right_);
            if constexpr (!is_whole)
                return all_->side_score(left_.data() + o * all_->classes_, left) +
                       all_->side_score(right_.data() + o * all_->classes_, right);
            auto sum_left = static_cast<std::int64_t>(sums_left_[o]);
            auto sum_right = static_cast<std::int64_t>(sums_right_[o]);
            return all_->criterion_ == Criterion::gini
                       ? gini_score(sum_left, left, sum_right, right)
                       : all_->entropy_score(sum_left, weight_left_, sum_right, weight_right_);
        }

        template <bool is_gini>
        void scan_whole(const CodeGroup* groups, std::size_t places, const std::uint32_t* order,
                        const Cell* cells, BestPlace& best);

        void shift(Index o, Index cell, Unit w) {
            Unit &left = left_[cell], &right = right_[cell];
            if constexpr (is_whole) {
                if (all_->criterion_ == Criterion::gini) {
                    std::uint64_t wide = w;
                    sums_left_[o] += wide * (2 * static_cast<std::uint64_t>(left) + wide);
                    sums_right_[o] -= wide * (2 * static_cast<std::uint64_t>(right) - wide);
                } else {
                    sums_left_[o] += all_->table_[left + w] - all_->table_[left];
                    sums_right_[o] -= all_->table_[right] - all_->table_[right - w];
                }
            }
            left += w;
            right -= w;
        }

        const Classes* all_ = nullptr;
        const Node* node_ = nullptr;
        std::vector<Unit> left_, right_;
        Unit weight_left_ = 0, weight_right_ = 0;
        // Per output Σ n² (Gini) or Σ n log n in fixed point, kept up to date row by row.
        std::vector<std::uint64_t> sums_left_, sums_right_;
    };

private:
    static constexpr double table_scale = 0x1.0p34;

    void fill_table(double total) {
        table_.resize(static_cast<std::size_t>(total) + 1);
        for (std::size_t n = 0; n < table_.size(); ++n)
            table_[n] = static_cast<std::uint64_t>(
                std::llround(times_log(static_cast<double>(n)) * table_scale));
    }

    // One class's part in the sums of a side.
    std::uint64_t term(Unit n) const {
        if (criterion_ == Criterion::gini) return static_cast<std::uint64_t>(n) * n;
        return table_[n];
    }

    // Σ n²/n₊ of both sides for Gini: one division, and the same bits with the sides exchanged.
    static double gini_score(double sum_left, double left, double sum_right, double right) {
        return (sum_left * right + sum_right * left) / (left * right);
    }
    // Σ n log n − n₊ log n₊ of both sides for entropy.
    double entropy_score(std::int64_t sum_left, Unit left, std::int64_t sum_right,
                         Unit right) const {
        return static_cast<double>(sum_left - static_cast<std::int64_t>(table_[left]) +
                                   (sum_right - static_cast<std::int64_t>(table_[right]))) /
               table_scale;
    }
    // The same for one side, of weights that are not whole.
    double side_score(const Unit* counts, double weight) const {
        double sum = 0;
        if (criterion_ == Criterion::gini) {
            for (Index c = 0; c < classes_; ++c) {
                auto n = static_cast<double>(counts[c]);
                sum += n * n;
            }
            return sum / weight;
        }
        for (Index c = 0; c < classes_; ++c)
            sum += counts[c] ? times_log(static_cast<double>(counts[c]) / weight) : 0.0;
        return sum * weight;
    }

    const std::int32_t* labels_;
    Index outputs_, classes_;
    Criterion criterion_;
    Units<Unit> units_;
    std::vector<std::uint64_t> table_;
};

// The same as move and score, with everything in registers: most of a tree's time is spent here.
template <class Unit>
template <bool is_gini>
void Classes<Unit>::Sides::scan_whole(const CodeGroup* groups, std::size_t places,
                                      const std::uint32_t* order, const Cell* cells,
                                      BestPlace& best) {
    if constexpr (is_whole) {
        Unit *left = left_.data(), *right = right_.data();
        const Unit* units = node_->units.data();
        const std::uint32_t* cell = node_->cell.data();
        const std::uint64_t* table = all_->table_.data();
        const Index classes = all_->classes_;
        std::uint64_t sum_left = sums_left_[0], sum_right = sums_right_[0];
        Unit weight_left = weight_left_, weight_right = weight_right_;
        auto shift = [&](Index c, Unit w) {
            std::uint64_t l = left[c], r = right[c], wide = w;
            if constexpr (is_gini) {
                sum_left += wide * (2 * l + wide);
                sum_right -= wide * (2 * r - wide);
            } else {
                sum_left += table[l + wide] - table[l];
                sum_right -= table[r] - table[r - wide];
            }
            left[c] += w;
            right[c] -= w;
            weight_left += w;
            weight_right -= w;
        };
        for (std::size_t place = 0; place < places; ++place) {
            const CodeGroup& group = groups[place];
            if (order)
                for (std::uint32_t k = group.begin; k < group.end; ++k)
                    shift(cell[order[k]], units[order[k]]);
            else
                for (Index c = 0; c < classes; ++c) shift(c, cells[group.code * classes + c]);
            auto signed_left = static_cast<std::int64_t>(sum_left);
            auto signed_right = static_cast<std::int64_t>(sum_right);
            if constexpr (is_gini)
                best.offer(gini_score(signed_left, weight_left, signed_right, weight_right), place);
            else
                best.offer(
                    all_->entropy_score(signed_left, weight_left, signed_right, weight_right),
                    place);
        }
        sums_left_[0] = sum_left;
        sums_right_[0] = sum_right;
        weight_left_ = weight_left;
        weight_right_ = weight_right;
    }
}

}  // namespace gapless::growing
