// One tree of gradient boosting, grown best first.
#pragma once

#include <algorithm>
#include <numeric>

#include "boosting/nodes.hpp"
#include "boosting/partition.hpp"
#include "boosting/trees.hpp"
#include "boosting/units.hpp"
#include "trees/random.hpp"

namespace gapless {

using growing::KeyedRandom;

// Gains below this part of what the node has already gained are rounding.
constexpr double rounding = 1e-14;

template <class T, class Layout>
class Grower {
public:
    using Cell = typename Layout::Cell;

    Grower(const BoostingRound<T>& round, Index tree, const GrowthLimits& limits,
           const Totals& totals, const Layout& layout, const Units& units, TreeSpace& space,
           Team& team, Checkpoint& checkpoint)
        : round_(round),
          tree_(tree),
          limits_(limits),
          totals_(totals),
          layout_(layout),
          units_(units),
          search_(layout, round.columns, round.bins, limits, units),
          parts_(parts_of(round.bins.width, team.size())),
          space_(space),
          team_(team),
          checkpoint_(checkpoint),
          entries_(space.entries.of<Cell>(round.bins.rows)),
          rows_(space.rows.of<std::uint32_t>(round.bins.rows)),
          spare_rows_(space.spare_rows.of<std::uint32_t>(round.bins.rows)) {}

    void grow(const GrownTrees& out) {
        const Sums total = enter_rows();
        nodes_.push_back(root(total));
        sort_columns();
        look_at({&nodes_[0], nullptr});
        Index leaves = 1;
        std::vector<Index> heap;
        const auto worse = [&](Index a, Index b) {
            const double f = nodes_[a].excess(), g = nodes_[b].excess();
            return f < g || (f == g && a > b);
        };
        const auto offer = [&](Index i) {
            if (nodes_[i].split.column < 0) return;
            heap.push_back(i);
            std::push_heap(heap.begin(), heap.end(), worse);
        };
        offer(0);
        while (!heap.empty() && leaves < limits_.max_leaves) {
            checkpoint_();
            std::pop_heap(heap.begin(), heap.end(), worse);
            const Index i = heap.back();
            heap.pop_back();
            const bool is_last = ++leaves == limits_.max_leaves;
            split(i, is_last);
            offer(nodes_[i].left);
            offer(nodes_[i].right);
        }
        write_nodes(nodes_, tree_, units_, rows_, round_.bins.rows, out, team_);
    }

private:
    // Each row as a cell, and their sum.
    Sums enter_rows() {
        const Index n = round_.bins.rows;
        const T* gradient = round_.gradient + tree_ * n;
        const T* curvature = round_.curvature ? round_.curvature + tree_ * n : nullptr;
        const Index pieces = std::clamp<Index>(n / rows_per_piece, 1, team_.size());
        std::vector<Sums> totals(pieces);
        const double per_g = units_.per_gradient, per_h = units_.per_curvature;
        team_.each(pieces, [&](Index p) {
            for (Index i = n * p / pieces; i < n * (p + 1) / pieces; ++i) {
                const double s = round_.weights ? round_.weights[i] * units_.per_weight : 1;
                const double g = gradient[i], h = curvature ? curvature[i] : 1;
                const Sums one{whole(g, s, per_g), whole(std::max(h, 0.0), s, per_h),
                               round_.repeats ? totals_.whole_rows(round_.repeats[i]) : 1};
                entries_[i] = layout_.pack(one);
                rows_[i] = static_cast<std::uint32_t>(i);
                totals[p] += one;
            }
        });
        return std::accumulate(totals.begin(), totals.end(), Sums{}, [](Sums a, const Sums& b) {
            a += b;
            return a;
        });
    }

    GrowingNode root(const Sums& total) {
        GrowingNode node{0, round_.bins.rows, 0, new_slot(), {total, {}, 0}, {}, 0, -1, -1, {}};
        node.groups.assign(round_.group_count, 1);
        appraise(node);
        return node;
    }

    void appraise(GrowingNode& node) {
        node.sums.value = search_.value(node.sums.sums, node.sums.range);
        const double g = node.sums.sums.gradient * units_.gradient;
        const double h = node.sums.sums.curvature * units_.curvature + limits_.l2;
        node.own = -node.sums.value * (2 * g + h * node.sums.value);
    }

    Index new_slot() {
        if (!free_.empty()) {
            const Index slot = free_.back();
            free_.pop_back();
            return slot;
        }
        histograms_.push_back(room_for_cells(space_.histograms, histograms_.size()));
        return static_cast<Index>(histograms_.size()) - 1;
    }

    Cell* histogram(const GrowingNode& node) { return histograms_[node.slot]; }

    Cell* room_for_cells(std::vector<Room>& rooms, std::size_t k) {
        if (k == rooms.size()) rooms.emplace_back();
        return rooms[k].template of<Cell>(round_.bins.cells());
    }

    bool may_split(const GrowingNode& node) const {
        return node.depth < limits_.max_depth &&
               node.sums.sums.rows >= std::max(limits_.min_split_rows, 2 * limits_.min_leaf_rows);
    }

    // The columns of each part, in order.
    void sort_columns() {
        columns_of_.resize(parts_.size());
        for (std::size_t p = 0; p < parts_.size(); ++p)
            for (Index j = 0; j < round_.column_count; ++j)
                if (parts_[p].first <= round_.columns[j].bundle &&
                    round_.columns[j].bundle < parts_[p].last)
                    columns_of_[p].push_back(j);
    }

    bool draws_columns() const { return limits_.max_columns < round_.column_count; }

    // Whether a group that is still allowed here has the column.
    bool is_open(const GrowingNode& node, Index j) const {
        bool is_open = !round_.groups;
        for (Index k = 0; k < round_.group_count && !is_open; ++k)
            is_open = node.groups[k] && round_.groups[k * round_.column_count + j];
        return is_open;
    }

    // Some of the columns that may split this node, drawn among those not constant here.
    std::vector<std::uint8_t> drawn_columns(const GrowingNode& node) {
        std::vector<Index> columns;
        for (Index j = 0; j < round_.column_count; ++j)
            if (is_open(node, j)) columns.push_back(j);
        const auto number = static_cast<std::uint64_t>(&node - nodes_.data());
        KeyedRandom random(KeyedRandom::key(KeyedRandom::key(round_.seed, tree_), number));
        std::vector<std::uint8_t> is_drawn(round_.column_count, 0);
        Index left = limits_.max_columns;
        for (std::size_t i = 0; i < columns.size() && left > 0; ++i) {
            std::swap(columns[i], columns[i + random.below(columns.size() - i)]);
            if (search_.is_constant(histogram(node), columns[i], node.sums)) continue;
            is_drawn[columns[i]] = 1;
            --left;
        }
        return is_drawn;
    }

    // A node whose rows are counted, and its sibling (null for none), whose histogram is the
    // parent's minus the node's.
    struct Family {
        GrowingNode* counted;
        GrowingNode* rest;
    };

    // Fill the histograms of one or two nodes and find their best splits. Threads share the columns
    // and, if there are many, first the rows.
    void look_at(const Family& family) {
        GrowingNode* nodes[2] = {family.counted, family.rest};
        const Index parts = static_cast<Index>(parts_.size());
        const Index pieces = pieces_of(*family.counted);
        if (pieces > 1) fill_pieces(*family.counted, pieces);
        std::vector<Split> best(2 * parts);
        const bool is_drawing = draws_columns();
        team_.each(parts, [&](Index p) {
            fill_part(family, parts_[p], pieces);
            if (is_drawing) return;
            for (int k = 0; k < 2; ++k)
                if (nodes[k] && may_split(*nodes[k]))
                    search_part(*nodes[k], p, nullptr, best[2 * p + k]);
        });
        for (int k = 0; k < 2 && is_drawing; ++k) {
            if (!nodes[k] || !may_split(*nodes[k])) continue;
            const std::vector<std::uint8_t> is_drawn = drawn_columns(*nodes[k]);
            for (Index p = 0; p < parts; ++p)
                search_part(*nodes[k], p, is_drawn.data(), best[2 * p + k]);
        }
        for (int k = 0; k < 2; ++k)
            for (Index p = 0; p < parts && nodes[k]; ++p) take_better(best[2 * p + k], *nodes[k]);
    }

    // The number of pieces into which the rows of a node are cut, each with its own histogram: 1 if
    // adding those up would cost as much as it saves, or if columns alone keep all threads busy.
    Index pieces_of(const GrowingNode& node) const {
        constexpr Index worth = 4;
        const Index width = round_.bins.width, threads = team_.size();
        if (width >= most_bundles * threads) return 1;
        const Index work = (node.end - node.begin) * width;
        return std::clamp<Index>(work / (worth * std::max<Index>(round_.bins.cells(), 1)), 1,
                                 threads);
    }

    // The first piece of the rows is counted in the node's own histogram.
    void fill_pieces(const GrowingNode& node, Index pieces) {
        const Index count = node.end - node.begin;
        while (static_cast<Index>(of_piece_.size()) < pieces - 1)
            of_piece_.push_back(room_for_cells(space_.of_piece, of_piece_.size()));
        team_.each(pieces, [&](Index p) {
            const Index first = count * p / pieces, last = count * (p + 1) / pieces;
            for (const Part& part : parts_of(round_.bins.width, 1))
                fill_histogram(round_.bins, part, entries_, rows_ + node.begin + first,
                               last - first, p ? of_piece_[p - 1] : histogram(node));
        });
    }

    void fill_part(const Family& family, const Part& part, Index pieces) {
        const GrowingNode& node = *family.counted;
        const Index first = round_.bins.start[part.first], last = round_.bins.start[part.last];
        Cell* counted = histogram(node);
        if (pieces == 1)
            fill_histogram(round_.bins, part, entries_, rows_ + node.begin, node.end - node.begin,
                           counted);
        for (Index p = 1; p < pieces; ++p)
            for (Index c = first; c < last; ++c) counted[c] += of_piece_[p - 1][c];
        if (!family.rest) return;
        Cell* rest = histogram(*family.rest);
        for (Index c = first; c < last; ++c) rest[c] -= counted[c];
    }

    void search_part(const GrowingNode& node, Index p, const std::uint8_t* is_drawn, Split& best) {
        best.gain = node.own + limits_.min_gain + rounding * std::abs(node.own);
        for (Index j : columns_of_[p])
            if (is_drawn ? is_drawn[j] : is_open(node, j))
                search_.improve(histogram(node), j, node.sums, best);
    }

    // Ties go to the lowest column.
    static void take_better(const Split& found, GrowingNode& node) {
        const Split& now = node.split;
        if (found.column < 0) return;
        if (now.column < 0 || found.gain > now.gain ||
            (found.gain == now.gain && found.column < now.column))
            node.split = found;
    }

    // Puts the rows that go left before the others; returns how many.
    Index divide(const GrowingNode& node) {
        const BinnedColumn& column = round_.columns[node.split.column];
        return divide_rows(round_.bins.bundle(column.bundle), sides(column, node.split),
                           {rows_ + node.begin, spare_rows_ + node.begin, node.end - node.begin},
                           team_);
    }

    void split(Index i, bool is_last) {
        const Index middle = nodes_[i].begin + divide(nodes_[i]);
        const Index left = static_cast<Index>(nodes_.size());
        nodes_.push_back(child(nodes_[i], nodes_[i].begin, middle, nodes_[i].split.left_sums));
        nodes_.push_back(child(nodes_[i], middle, nodes_[i].end,
                               nodes_[i].sums.sums - nodes_[i].split.left_sums));
        nodes_[i].left = left, nodes_[i].right = left + 1;
        bound_children(nodes_[i], nodes_[left], nodes_[left + 1]);
        GrowingNode &a = nodes_[left], &b = nodes_[left + 1];
        appraise(a), appraise(b);
        // The splits of the last two leaves are not needed.
        if (is_last || (!may_split(a) && !may_split(b))) {
            free_.push_back(nodes_[i].slot);
            return;
        }
        GrowingNode& small = a.end - a.begin <= b.end - b.begin ? a : b;
        GrowingNode& large = &small == &a ? b : a;
        small.slot = new_slot();
        large.slot = nodes_[i].slot;
        look_at({&small, &large});
        for (GrowingNode* node : {&a, &b})
            if (node->split.column < 0) free_.push_back(node->slot);
    }

    GrowingNode child(const GrowingNode& parent, Index begin, Index end, const Sums& sums) {
        GrowingNode node{begin, end, parent.depth + 1, -1, {sums, parent.sums.range, 0}, {}, 0,
                         -1,    -1,  parent.groups};
        const Index d = round_.column_count;
        for (Index k = 0; k < round_.group_count; ++k)
            node.groups[k] &= round_.groups[k * d + parent.split.column];
        return node;
    }

    // The value halfway between the children separates all that will be below them.
    void bound_children(const GrowingNode& parent, GrowingNode& left, GrowingNode& right) {
        const int monotone = round_.columns[parent.split.column].monotone;
        if (monotone == 0) return;
        const Range& range = parent.sums.range;
        const double middle =
            0.5 * (search_.value(left.sums.sums, range) + search_.value(right.sums.sums, range));
        (monotone > 0 ? left : right).sums.range.upper = middle;
        (monotone > 0 ? right : left).sums.range.lower = middle;
    }

    const BoostingRound<T>& round_;
    const Index tree_;
    const GrowthLimits& limits_;
    const Totals& totals_;
    const Layout layout_;
    const Units units_;
    const SplitSearch<Layout> search_;
    const std::vector<Part> parts_;
    TreeSpace& space_;
    Team& team_;
    Checkpoint& checkpoint_;
    Cell* const entries_;
    std::uint32_t *const rows_, *const spare_rows_;
    std::vector<std::vector<Index>> columns_of_;
    std::vector<GrowingNode> nodes_;
    std::vector<Cell*> histograms_, of_piece_;
    std::vector<Index> free_;  // histograms that no node needs any longer
};

}  // namespace gapless
