// Classes as targets of a tree: Gini, entropy and gain ratio by counts. See targets.hpp for what a
// kind of target is.
#pragma once

#include "trees/impurity.hpp"
#include "trees/order.hpp"
#include "trees/targets.hpp"

namespace gapless::growing {

// A row of one output: which count it adds to, and how much.
template <class Unit>
struct RowClass {
    std::uint32_t cell;
    Unit units;
};

// Unit is std::uint32_t if all weights are integers (then scores are updated in O(1) per row), else
// std::int64_t.
template <class Unit>
class Classes {
public:
    using Cell = Unit;
    static constexpr bool has_cells = true;
    static constexpr bool is_whole = sizeof(Unit) == 4;
    // Up to this many units, entropies are read from a table of fixed-point numbers.
    static constexpr double longest_table = 0x1.0p22;

    struct Node {
        std::vector<RowClass<Unit>> row;
        std::vector<std::uint32_t> more;  // rows × outputs, the same for several outputs
        std::vector<Unit> total;          // outputs × classes
        Unit weight = 0;
    };

    Classes(const TreeData& data, const TreeSample& sample, Criterion criterion,
            const WeightSummary& weights)
        : labels_(data.labels),
          outputs_(data.outputs),
          classes_(data.classes),
          criterion_(criterion) {
        Units<Unit> units;
        to_units(sample.weights, data.rows, weights, units);
        unit_ = units.size;
        rows_.resize(data.rows);
        for (Index i = 0; i < data.rows; ++i)
            rows_[i] = {static_cast<std::uint32_t>(labels_[i * outputs_]), units.of_row[i]};
        if (is_whole && criterion != Criterion::gini) fill_table(weights.total);
    }

    Index cells() const { return outputs_ * classes_; }
    // Whether Sides can find the best place in one go.
    bool can_scan() const { return is_whole && outputs_ == 1; }
    Index outputs() const { return outputs_; }
    double unit() const { return unit_; }

    void gather(const std::uint32_t* rows, Index count, Node& node) const {
        if (static_cast<Index>(node.row.size()) < count) node.row.resize(count);
        node.total.assign(cells(), 0);
        node.weight = 0;
        for (Index i = 0; i < count; ++i) {
            RowClass<Unit> row = rows_[rows[i]];
            node.row[i] = row;
            node.total[row.cell] += row.units;
        }
        for (Index c = 0; c < classes_; ++c) node.weight += node.total[c];
        if (outputs_ == 1) return;
        node.more.resize(count * outputs_);
        for (Index i = 0; i < count; ++i)
            for (Index o = 0; o < outputs_; ++o) {
                auto cell =
                    static_cast<std::uint32_t>(o * classes_ + labels_[rows[i] * outputs_ + o]);
                node.more[i * outputs_ + o] = cell;
                if (o > 0) node.total[cell] += node.row[i].units;
            }
    }

    double weight(const Node& node) const { return node.weight * unit_; }

    void value(const Node& node, double* out) const {
        for (Index c = 0; c < cells(); ++c)
            out[c] = static_cast<double>(node.total[c]) / static_cast<double>(node.weight);
    }

    // The number that monotonic constraints concern: the share of the second class.
    double center(const Node& node) const {
        return classes_ > 1 ? static_cast<double>(node.total[1]) / static_cast<double>(node.weight)
                            : 1.0;
    }
    void set_center(double center, double* value) const {
        value[0] = 1 - center;
        value[1] = center;
    }

    double impurity(const Node& node) const {
        return class_impurity(node.total.data(), outputs_, classes_,
                              static_cast<double>(node.weight), criterion_ == Criterion::gini);
    }

    double own_score(const Node& node) const {
        double sum = 0;
        for (Index o = 0; o < outputs_; ++o)
            sum += side_score(node.total.data() + o * classes_, static_cast<double>(node.weight));
        return sum * unit_ / static_cast<double>(outputs_);
    }

    // −Σ of the two sides' shares times their logarithms, for the gain ratio.
    double split_information(double left, double right) const {
        double all = left + right;
        return -(times_log(left / all) + times_log(right / all));
    }

    // Call work(add), where add(i, cells) adds row i to the cells of its code.
    template <class Work>
    void with_adder(const Node& node, Work&& work) const {
        const RowClass<Unit>* row = node.row.data();
        if (outputs_ == 1) {
            work([row](Index i, Cell* cells) { cells[row[i].cell] += row[i].units; });
            return;
        }
        const std::uint32_t* more = node.more.data();
        work([row, more, outputs = outputs_](Index i, Cell* cells) {
            for (Index o = 0; o < outputs; ++o) cells[more[i * outputs + o]] += row[i].units;
        });
    }
    // Add the rows that go left to cells. A row that adds to the cell of the row before it would
    // wait for that sum: few classes are kept in four copies, which the rows use in turn.
    void add_left(const Node& node, const std::uint32_t* codes, Index count, LeftCodes left,
                  Cell* cells) const {
        constexpr Index few = 32, copies = 4;
        const RowClass<Unit>* row = node.row.data();
        if (outputs_ > 1 || classes_ > few || count < copies) {
            with_adder(node, [=](auto add) {
                for (Index i = 0; i < count; ++i)
                    if (left.has(codes[i])) add(i, cells);
            });
            return;
        }
        Unit sums[copies][few] = {};
        auto units = [=](Index i) { return left.has(codes[i]) ? row[i].units : Unit{0}; };
        Index i = 0;
        for (; i + copies <= count; i += copies)
            for (Index k = 0; k < copies; ++k) sums[k][row[i + k].cell] += units(i + k);
        for (; i < count; ++i) sums[0][row[i].cell] += units(i);
        for (Index k = 0; k < copies; ++k)
            for (Index c = 0; c < classes_; ++c) cells[c] += sums[k][c];
    }
    // All rows of the node, as cells.
    void total(const Node& node, Cell* cells) const {
        std::copy(node.total.begin(), node.total.end(), cells);
    }
    bool is_empty(const Cell* cells) const {
        Unit any = 0;
        for (Index c = 0; c < classes_; ++c) any |= cells[c];
        return any == 0;
    }
    // A group's weight and its class shares, which determine the order of categories.
    double profile(const Node&, const Cell* cells, double* shares) const {
        double weight = 0;
        for (Index c = 0; c < classes_; ++c) weight += static_cast<double>(cells[c]);
        for (Index c = 0; c < this->cells(); ++c)
            shares[c] = static_cast<double>(cells[c]) / weight;
        return weight;
    }
    // Shares add up to 1, so with two classes one of them is enough.
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
            RowClass<Unit> row = node_->row[i];
            weight_left_ += row.units;
            weight_right_ -= row.units;
            if (all_->outputs_ == 1) {
                shift(0, row.cell, row.units);
                return;
            }
            for (Index o = 0; o < all_->outputs_; ++o)
                shift(o, node_->more[i * all_->outputs_ + o], row.units);
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
            return sum * all_->unit_ / static_cast<double>(all_->outputs_);
        }

        void start_scan(const Classes& all, const Node& node) {
            all_ = &all;
            node_ = &node;
            left_.assign(node.total.size(), 0);
        }
        // Move everything from right to left, and find the best place: rows in the order of their
        // codes, or the cells of groups. Like move and score, but with the sums in registers: most
        // of a tree's time is spent here.
        template <class Sorted>
        void scan_rows(const Sorted& sorted, BestPlace& best) {
            if (all_->criterion_ == Criterion::gini)
                scan_rows_by<true>(sorted, best);
            else
                scan_rows_by<false>(sorted, best);
        }
        void scan_cells(const std::vector<CodeGroup>& groups, const Cell* cells, BestPlace& best) {
            if (all_->criterion_ == Criterion::gini)
                scan_cells_by<true>(groups, cells, best);
            else
                scan_cells_by<false>(groups, cells, best);
        }

        double left_weight() const { return static_cast<double>(weight_left_) * all_->unit_; }
        double right_weight() const { return static_cast<double>(weight_right_) * all_->unit_; }
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

        template <bool is_gini, class Sorted>
        void scan_rows_by(const Sorted& sorted, BestPlace& best);
        template <bool is_gini>
        void scan_cells_by(const std::vector<CodeGroup>& groups, const Cell* cells,
                           BestPlace& best);

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
        // Per output Σ n² (Gini) or Σ n log n in fixed point, updated row by row.
        std::vector<std::uint64_t> sums_left_, sums_right_;
    };

private:
    template <bool is_gini>
    struct Registers;

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

    // Σ n²/n₊ of both sides for Gini: one division, and the same bits if the sides are exchanged.
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
    // The same for one side, for non-integer weights.
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
    double unit_ = 1;
    std::vector<RowClass<Unit>> rows_;
    std::vector<std::uint64_t> table_;
};

// The sums of both sides of one output, in registers. For Gini, Σ r² of the right side follows from
// r = n − l: it is Σ n² − 2 Σ n l + Σ l².
template <class Unit>
template <bool is_gini>
struct Classes<Unit>::Registers {
    Registers(const Classes& all, const Node& node, Unit* left)
        : all(all), total(node.total.data()), table(all.table_.data()), left(left) {
        weight = node.weight;
        for (Unit n : node.total) sum_all += all.term(n);
        sum_right = sum_all;
    }

    void shift(std::uint32_t cell, Unit units) {
        std::uint64_t l = left[cell], n = total[cell], wide = units;
        if constexpr (is_gini) {
            sum_left += wide * (2 * l + wide);
            mixed += wide * n;
        } else {
            sum_left += table[l + wide] - table[l];
            sum_right -= table[n - l] - table[n - l - wide];
        }
        left[cell] = static_cast<Unit>(l + wide);
        weight_left += units;
    }

    // Offer the place if it is one. The branch is hardly ever taken, and there is no division
    // before it: a score that is certainly lower than the best needs none.
    void offer(bool is_place, Index place, BestPlace& best) const {
        Unit weight_right = weight - weight_left;
        auto signed_left = static_cast<std::int64_t>(sum_left);
        if constexpr (is_gini) {
            auto signed_right = static_cast<std::int64_t>(sum_all - 2 * mixed + sum_left);
            double in_left = weight_left, in_right = weight_right;
            double top = static_cast<double>(signed_left) * in_right +
                         static_cast<double>(signed_right) * in_left;
            double bottom = in_left * in_right;
            constexpr double almost = 1 - 0x1.0p-50;
            if (is_place && top > best.score * almost * bottom) best.offer(top / bottom, place);
        } else if (is_place) {
            auto signed_right = static_cast<std::int64_t>(sum_right);
            best.offer(all.entropy_score(signed_left, weight_left, signed_right, weight_right),
                       place);
        }
    }

    const Classes& all;
    const Unit* total;
    const std::uint64_t* table;
    Unit* left;
    std::uint64_t sum_all = 0, sum_left = 0, sum_right = 0, mixed = 0;
    Unit weight = 0, weight_left = 0;
};

template <class Unit>
template <bool is_gini, class Sorted>
void Classes<Unit>::Sides::scan_rows_by(const Sorted& sorted, BestPlace& best) {
    if constexpr (is_whole) {
        Registers<is_gini> sums(*all_, *node_, left_.data());
        const RowClass<Unit>* rows = node_->row.data();
        for (Index k = 0; k + 1 < sorted.count; ++k) {
            RowClass<Unit> row = rows[sorted.position(k)];
            sums.shift(row.cell, row.units);
            sums.offer(sorted.code(k) != sorted.code(k + 1), k, best);
        }
    }
}

template <class Unit>
template <bool is_gini>
void Classes<Unit>::Sides::scan_cells_by(const std::vector<CodeGroup>& groups, const Cell* cells,
                                         BestPlace& best) {
    if constexpr (is_whole) {
        Registers<is_gini> sums(*all_, *node_, left_.data());
        auto classes = static_cast<std::uint32_t>(all_->classes_);
        for (Index g = 0; g + 1 < static_cast<Index>(groups.size()); ++g) {
            for (std::uint32_t c = 0; c < classes; ++c)
                sums.shift(c, cells[groups[g].code * classes + c]);
            sums.offer(true, g, best);
        }
    }
}

}  // namespace gapless::growing
