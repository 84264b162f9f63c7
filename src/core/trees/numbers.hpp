// Numbers as targets of a tree: squared error and Poisson deviance by sums, absolute error by
// medians. See targets.hpp for what a kind of target is.
#pragma once

#include "trees/order.hpp"
#include "trees/targets.hpp"

namespace gapless::growing {

// Targets of a node on their own grid: centred, and as fine as sums below 2⁶¹ allow.
struct GridTargets {
    Index count = 0;                   // rows; the capacity may be larger
    std::vector<double> raw;           // rows × outputs
    std::vector<std::int64_t> units;   // weights
    std::vector<std::int64_t> sum;     // rows × outputs: weight times target
    std::vector<std::int64_t> total;   // outputs
    std::vector<double> center, step;  // per output: target = center + step · number
    std::vector<double> lowest, highest;
    std::int64_t weight = 0;
    // For medians alone: the rank of each row's target among the distinct ones of its output, and
    // those distinct numbers, one output after another.
    std::vector<std::uint32_t> rank;
    std::vector<double> distinct, centred;  // the second minus the centre
    std::vector<Index> first;

    // The capacity only grows, because nodes of all sizes follow each other.
    void make_room(Index rows, Index outputs) {
        count = rows;
        if (static_cast<Index>(units.size()) < rows) {
            raw.resize(rows * outputs);
            units.resize(rows);
            sum.resize(rows * outputs);
        }
        if (!total.empty()) return;
        total.resize(outputs);
        for (auto* numbers : {&center, &step, &lowest, &highest}) numbers->resize(outputs);
    }
};

// What all of them share: gathering, means, and cells of a weight and the sums of the outputs.
class Numbers {
public:
    using Cell = std::int64_t;
    using Node = GridTargets;

    Numbers(const TreeData& data, const TreeSample& sample, Criterion criterion,
            const WeightSummary& weights);

    Index cells() const { return outputs_ + 1; }
    double weight(const Node& node) const { return static_cast<double>(node.weight) * units_.size; }
    double split_information(double, double) const { return 1; }

    void gather(const std::uint32_t* rows, Index count, Node& node) const;

    // Call work(add), where add(i, cells) adds row i to the cells of its code.
    template <class Work>
    void with_adder(const Node& node, Work&& work) const {
        const std::int64_t *units = node.units.data(), *sum = node.sum.data();
        if (outputs_ == 1) {
            work([units, sum](Index i, Cell* cells) {
                cells[0] += units[i];
                cells[1] += sum[i];
            });
            return;
        }
        work([units, sum, outputs = outputs_](Index i, Cell* cells) {
            cells[0] += units[i];
            for (Index o = 0; o < outputs; ++o) cells[o + 1] += sum[i * outputs + o];
        });
    }
    // Add the rows that go left to cells.
    void add_left(const Node& node, const std::uint32_t* codes, Index count, LeftCodes left,
                  Cell* cells) const;
    void total(const Node& node, Cell* cells) const {
        cells[0] = node.weight;
        std::copy(node.total.begin(), node.total.end(), cells + 1);
    }
    bool is_empty(const Cell* cells) const { return cells[0] == 0; }

    // A group's weight and its means, which determine the order of categories.
    double profile(const Node& node, const Cell* cells, double* means) const {
        means[0] = 0;
        for (Index o = 0; o < outputs_; ++o)
            means[o + 1] =
                static_cast<double>(cells[o + 1]) * node.step[o] / static_cast<double>(cells[0]);
        return static_cast<double>(cells[0]);
    }
    bool is_ordered_by_one() const { return outputs_ == 1; }
    Index deciding_cell() const { return 1; }
    void set_center(double center, double* value) const { value[0] = center; }

protected:
    // The weight of a sum of units, and the mean of targets whose grid numbers add up to `sum`.
    double real(std::int64_t units) const { return static_cast<double>(units) * units_.size; }
    double mean(const Node& node, Index o, std::int64_t sum, std::int64_t units) const {
        return node.center[o] + static_cast<double>(sum) * node.step[o] / real(units);
    }
    // Σ of weight × term(target) over the rows, also on a grid, so that it does not depend on the
    // order of the rows. No |term| exceeds `largest`.
    template <class Term>
    double grid_sum(const Node& node, Index o, double largest, Term term) const;
    template <Index known>
    void gather_output(const std::uint32_t* rows, Index o, Node& node) const;

    const double* values_;
    const double* weights_;
    Index outputs_;
    Criterion criterion_;
    bool are_whole_;
    Units<std::int64_t> units_;
};

// Squared error, and Poisson deviance.
class Sums : public Numbers {
public:
    using Numbers::Numbers;
    static constexpr bool has_cells = true;
    bool can_scan() const { return outputs_ == 1; }

    void value(const Node& node, double* out) const {
        for (Index o = 0; o < outputs_; ++o) out[o] = mean(node, o, node.total[o], node.weight);
    }
    double center(const Node& node) const { return mean(node, 0, node.total[0], node.weight); }
    double impurity(const Node& node) const;
    double own_score(const Node& node) const {
        double sum = 0;
        for (Index o = 0; o < outputs_; ++o)
            sum += side_score(node, o, node.total[o], real(node.weight));
        return sum / static_cast<double>(outputs_);
    }

    class Sides {
    public:
        void start(const Sums& all, const Node& node) {
            all_ = &all;
            node_ = &node;
            units_left_ = 0;
            left_.assign(node.total.size(), 0);
        }
        void move(Index i) {
            units_left_ += node_->units[i];
            for (Index o = 0; o < all_->outputs_; ++o)
                left_[o] += node_->sum[i * all_->outputs_ + o];
        }
        void move_cells(const Cell* cells) {
            units_left_ += cells[0];
            for (Index o = 0; o < all_->outputs_; ++o) left_[o] += cells[o + 1];
        }
        double score() const {
            double sum = 0, left = left_weight(), right = right_weight();
            for (Index o = 0; o < all_->outputs_; ++o)
                sum += all_->side_score(*node_, o, left_[o], left) +
                       all_->side_score(*node_, o, node_->total[o] - left_[o], right);
            return sum / static_cast<double>(all_->outputs_);
        }
        void start_scan(const Sums& all, const Node& node) {
            all_ = &all;
            node_ = &node;
        }
        template <class Sorted>
        void scan_rows(const Sorted& sorted, BestPlace& best) const {
            const std::int64_t *units = node_->units.data(), *sums = node_->sum.data();
            scan(best, [=](auto offer) {
                std::int64_t left = 0, sum = 0;
                for (Index k = 0; k + 1 < sorted.count; ++k) {
                    const std::uint32_t i = sorted.position(k);
                    left += units[i];
                    sum += sums[i];
                    if (sorted.code(k) != sorted.code(k + 1)) offer(left, sum, k);
                }
            });
        }
        void scan_cells(const std::vector<CodeGroup>& groups, const Cell* cells,
                        BestPlace& best) const {
            scan(best, [&](auto offer) {
                std::int64_t left = 0, sum = 0;
                for (Index g = 0; g + 1 < static_cast<Index>(groups.size()); ++g) {
                    left += cells[2 * groups[g].code];
                    sum += cells[2 * groups[g].code + 1];
                    offer(left, sum, g);
                }
            });
        }
        double left_weight() const { return all_->real(units_left_); }
        double right_weight() const { return all_->real(node_->weight - units_left_); }
        double left_center() const { return all_->mean(*node_, 0, left_[0], units_left_); }
        double right_center() const {
            return all_->mean(*node_, 0, node_->total[0] - left_[0], node_->weight - units_left_);
        }

    private:
        // Call work(offer), where offer(weight left, sum left, place) compares a place with the
        // best one. What all places share is read once.
        template <class Work>
        void scan(BestPlace& best, Work&& work) const {
            const std::int64_t weight = node_->weight, total = node_->total[0];
            const double step = node_->step[0], unit = all_->units_.size;
            BestPlace found = best;
            const auto scan_by = [&](auto score) {
                work([&](std::int64_t left, std::int64_t sum, Index place) {
                    const double lower = static_cast<double>(sum) * step,
                                 upper = static_cast<double>(total - sum) * step;
                    found.offer(score(lower, static_cast<double>(left) * unit) +
                                    score(upper, static_cast<double>(weight - left) * unit),
                                place);
                });
            };
            if (all_->criterion_ == Criterion::squared_error)
                scan_by([](double sum, double weight) { return square_score(sum, weight); });
            else
                scan_by([](double sum, double weight) { return poisson_score(sum, weight); });
            best = found;
        }

        const Sums* all_ = nullptr;
        const Node* node_ = nullptr;
        std::int64_t units_left_ = 0;
        std::vector<std::int64_t> left_;
    };

private:
    // S²/W for squared error, S log(S/W) for Poisson.
    static double square_score(double sum, double weight) { return sum * sum / weight; }
    static double poisson_score(double sum, double weight) {
        // A mean of 0 has no logarithm: such a side predicts that nothing ever happens.
        if (sum <= std::numeric_limits<double>::epsilon())
            return -std::numeric_limits<double>::infinity();
        return sum * std::log(sum / weight);
    }
    double side_score(const Node& node, Index o, std::int64_t sum, double weight) const {
        const double centred = static_cast<double>(sum) * node.step[o];
        return criterion_ == Criterion::squared_error ? square_score(centred, weight)
                                                      : poisson_score(centred, weight);
    }
};

// Weights and sums of targets by rank of the target, added up as a Fenwick tree (Fenwick 1994).
class RankedSums {
public:
    struct Part {
        std::int64_t units = 0, sum = 0;
    };
    void clear(Index ranks) { parts_.assign(ranks + 1, {}); }
    void add(Index rank, std::int64_t units, std::int64_t sum) {
        for (Index k = rank + 1; k < static_cast<Index>(parts_.size()); k += k & -k) {
            parts_[k].units += units;
            parts_[k].sum += sum;
        }
    }
    // The largest number of first ranks whose weight is below `units`, and their sum.
    Index below(double units, Part& part) const {
        auto size = static_cast<Index>(parts_.size());
        Index k = 0, bit = 1;
        while (2 * bit < size) bit *= 2;
        part = {};
        for (; bit; bit /= 2) {
            if (k + bit >= size) continue;
            const Part& next = parts_[k + bit];
            if (static_cast<double>(part.units + next.units) >= units) continue;
            k += bit;
            part.units += next.units;
            part.sum += next.sum;
        }
        return k;
    }

private:
    std::vector<Part> parts_;
};

// Absolute error: each side costs its distance to its weighted median.
class Medians : public Numbers {
public:
    using Numbers::Numbers;
    static constexpr bool has_cells = false;
    bool can_scan() const { return false; }

    void gather(const std::uint32_t* rows, Index count, Node& node) const;
    void value(const Node& node, double* out) const {
        for (Index o = 0; o < outputs_; ++o) out[o] = median(node, o, ranked(node, o), node.weight);
    }
    double center(const Node& node) const { return median(node, 0, ranked(node, 0), node.weight); }
    double impurity(const Node& node) const;
    double own_score(const Node& node) const { return -impurity(node) * real(node.weight); }

    class Sides {
    public:
        void start(const Medians& all, const Node& node);
        void move(Index i);
        void move_cells(const Cell*) {}
        void start_scan(const Medians&, const Node&) {}
        template <class Sorted>
        void scan_rows(const Sorted&, BestPlace&) {}
        void scan_cells(const std::vector<CodeGroup>&, const Cell*, BestPlace&) {}
        double score() const;
        double left_weight() const { return all_->real(units_left_); }
        double right_weight() const { return all_->real(node_->weight - units_left_); }
        double left_center() const { return all_->median(*node_, 0, left_[0], units_left_); }
        double right_center() const {
            return all_->median(*node_, 0, right_[0], node_->weight - units_left_);
        }

    private:
        const Medians* all_ = nullptr;
        const Node* node_ = nullptr;
        std::int64_t units_left_ = 0;
        std::vector<std::int64_t> sum_left_;
        std::vector<RankedSums> left_, right_;
    };

private:
    // All rows of a node, by rank of an output's target.
    RankedSums ranked(const Node& node, Index o) const;
    double median(const Node& node, Index o, const RankedSums& side, std::int64_t units) const;
    // Σ weight · |target − median| of a side.
    double loss(const Node& node, Index o, const RankedSums& side, std::int64_t units,
                std::int64_t sum) const;
};

}  // namespace gapless::growing
