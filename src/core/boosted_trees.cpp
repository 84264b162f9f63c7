#include "boosted_trees.hpp"

#include <algorithm>
#include <memory>
#include <numeric>

namespace gapless {
namespace {

// Whole numbers below this add up without a word overflowing.
constexpr int most_bits = 62;
// With fewer bits left for a curvature the cells have three words.
constexpr int few_bits = 24;

int bits_of(double count) { return std::ilogb(std::max(count, 1.0)) + 1; }

// Gains below this part of what the node has already gained are rounding.
constexpr double rounding = 1e-14;
// Fewer rows are not worth sharing.
constexpr Index rows_per_piece = 8192;

// Splitmix64 (Steele, Lea and Flood 2014): one step, as a hash.
std::uint64_t mixed(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

// The weight of all rows, and how many they stand for.
struct Totals {
    double weight = 0, rows = 0;

    Totals(const double* weights, const double* repeats, Index n) {
        if (!weights) weight = static_cast<double>(n);
        if (!repeats) rows = static_cast<double>(n);
        for (Index i = 0; i < n && weights; ++i) weight += weights[i];
        for (Index i = 0; i < n && repeats; ++i) rows += std::ceil(repeats[i]);
    }
};

// The value as a whole number of units; a whole weight multiplies it exactly, so that weight 2 is
// the row twice to the last bit.
std::int64_t whole(double value, double weight, double per_unit) {
    const std::int64_t once = std::llrint(value * per_unit);
    const std::int64_t times = std::llrint(weight);
    return weight == static_cast<double>(times) ? once * times
                                                : std::llrint(static_cast<double>(once) * weight);
}

GAPLESS_CLONES double largest(const double* values, Index n) {
    double most = 0;
#pragma omp simd reduction(max : most)
    for (Index i = 0; i < n; ++i) most = std::max(most, std::abs(values[i]));
    return most;
}
GAPLESS_CLONES double largest(const float* values, Index n) {
    float most = 0;
#pragma omp simd reduction(max : most)
    for (Index i = 0; i < n; ++i) most = std::max(most, std::abs(values[i]));
    return most;
}

// Units of the power of two that lets sums over all rows fit into so many bits.
double per_unit(double most, double weight, int bits) {
    if (!(most > 0)) return 1;
    return std::ldexp(1.0, bits - bits_of(std::ceil(weight)) - std::ilogb(most) - 1);
}

struct GrowingNode {
    Index begin, end, depth, slot;
    NodeSums sums;
    Split split;
    double own;  // how much the node as a leaf lowers the objective, twice
    Index left = -1, right = -1;
    std::vector<std::uint8_t> groups;  // which groups of columns may still meet here
};

template <class T, class Layout>
class Grower {
public:
    using Cell = typename Layout::Cell;

    Grower(const BoostingRound<T>& round, Index tree, const GrowthLimits& limits,
           const Layout& layout, const Units& units, Team& team, Checkpoint& checkpoint)
        : round_(round),
          tree_(tree),
          limits_(limits),
          layout_(layout),
          units_(units),
          search_(layout, round.columns, round.bins, limits, units),
          parts_(parts_of(round.bins.width, team.size())),
          team_(team),
          checkpoint_(checkpoint) {}

    void grow(const GrownTrees& out) {
        const Index n = round_.bins.rows;
        rows_ = std::make_unique_for_overwrite<std::uint32_t[]>(n);
        spare_rows_ = std::make_unique_for_overwrite<std::uint32_t[]>(n);
        std::iota(rows_.get(), rows_.get() + n, 0u);
        const Sums total = enter_rows();
        nodes_.push_back(root(total));
        sort_columns();
        look_at({&nodes_[0], nullptr});
        Index leaves = 1;
        std::vector<Index> heap;
        const auto worse = [&](Index a, Index b) {
            const double f = excess(nodes_[a]), g = excess(nodes_[b]);
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
        write(out);
    }

private:
    static double excess(const GrowingNode& node) { return node.split.gain - node.own; }

    // Each row as a cell, and their sum.
    Sums enter_rows() {
        const Index n = round_.bins.rows;
        const T* gradient = round_.gradient + tree_ * n;
        const T* curvature = round_.curvature ? round_.curvature + tree_ * n : nullptr;
        entries_ = std::make_unique_for_overwrite<Cell[]>(n);
        const Index pieces = std::clamp<Index>(n / rows_per_piece, 1, team_.size());
        std::vector<Sums> totals(pieces);
        const double per_g = 1 / units_.gradient, per_h = 1 / units_.curvature;
        team_.each(pieces, [&](Index p) {
            for (Index i = n * p / pieces; i < n * (p + 1) / pieces; ++i) {
                const double s = round_.weights ? round_.weights[i] : 1;
                const double g = gradient[i], h = curvature ? curvature[i] : 1;
                const double repeats = round_.repeats ? std::ceil(round_.repeats[i]) : 1;
                const Sums one{whole(g, s, per_g), whole(std::max(h, 0.0), s, per_h),
                               static_cast<std::int64_t>(repeats)};
                entries_[i] = layout_.pack(one);
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
        histograms_.emplace_back(round_.bins.cells());
        return static_cast<Index>(histograms_.size()) - 1;
    }

    Cell* histogram(const GrowingNode& node) { return histograms_[node.slot].data(); }

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

    // Whether a group that may still meet here has the column.
    bool is_open(const GrowingNode& node, Index j) const {
        bool is_open = !round_.groups;
        for (Index k = 0; k < round_.group_count && !is_open; ++k)
            is_open = node.groups[k] && round_.groups[k * round_.column_count + j];
        return is_open;
    }

    // Some of the columns that this node may be split by, drawn among those not constant here.
    std::vector<std::uint8_t> drawn_columns(const GrowingNode& node) {
        std::vector<Index> columns;
        for (Index j = 0; j < round_.column_count; ++j)
            if (is_open(node, j)) columns.push_back(j);
        const auto number = static_cast<std::uint64_t>(&node - nodes_.data());
        std::uint64_t state = mixed(round_.seed ^ mixed(tree_ + 1) ^ mixed(~number));
        std::vector<std::uint8_t> is_drawn(round_.column_count, 0);
        Index left = limits_.max_columns;
        for (std::size_t i = 0; i < columns.size() && left > 0; ++i) {
            state = mixed(state);
            std::swap(columns[i], columns[i + state % (columns.size() - i)]);
            if (search_.is_constant(histogram(node), columns[i], node.sums)) continue;
            is_drawn[columns[i]] = 1;
            --left;
        }
        return is_drawn;
    }

    // A node whose rows are counted, and its sibling, whose histogram is what the parent's has
    // more; null for none.
    struct Family {
        GrowingNode* counted;
        GrowingNode* rest;
    };

    // Fill the histograms of one or two nodes and find their best splits. Threads share the
    // columns, and before that the rows where there are many.
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

    // Into how many pieces the rows of a node are cut, each with a histogram of its own: 1 where
    // adding those up would cost as much as is saved, or where columns alone keep all threads busy.
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
            of_piece_.emplace_back(round_.bins.cells());
        team_.each(pieces, [&](Index p) {
            const Index first = count * p / pieces, last = count * (p + 1) / pieces;
            fill_histogram(round_.bins, {0, round_.bins.width}, entries_.get(),
                           rows_.get() + node.begin + first, last - first,
                           p ? of_piece_[p - 1].data() : histogram(node));
        });
    }

    void fill_part(const Family& family, const Part& part, Index pieces) {
        const GrowingNode& node = *family.counted;
        const Index first = round_.bins.start[part.first], last = round_.bins.start[part.last];
        Cell* counted = histogram(node);
        if (pieces == 1)
            fill_histogram(round_.bins, part, entries_.get(), rows_.get() + node.begin,
                           node.end - node.begin, counted);
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

    // The lowest column where two splits are equal.
    static void take_better(const Split& found, GrowingNode& node) {
        const Split& now = node.split;
        if (found.column < 0) return;
        if (now.column < 0 || found.gain > now.gain ||
            (found.gain == now.gain && found.column < now.column))
            node.split = found;
    }

    // Which bins of the split's bundle go left.
    std::array<std::uint8_t, most_codes> sides(const Split& split) const {
        const BinnedColumn& column = round_.columns[split.column];
        const auto goes_left = [&](std::int32_t c) {
            if (column.is_categorical) return split.holds(c);
            const bool is_missing = column.has_missing && c == column.codes - 1;
            return is_missing ? split.missing_left : c <= split.code;
        };
        std::array<std::uint8_t, most_codes> left;
        // A bin of another column of the bundle means the most frequent code of this one.
        left.fill(column.frequent >= 0 && goes_left(column.frequent));
        for (std::int32_t c = 0; c < column.codes; ++c)
            if (c != column.frequent) left[column.bin(c)] = goes_left(c);
        return left;
    }

    // Puts the rows that go left before the others, all in their order; returns how many.
    Index partition(const GrowingNode& node) {
        const auto left = sides(node.split);
        const std::uint8_t* code = round_.bins.code + round_.columns[node.split.column].bundle;
        const Index width = round_.bins.width, count = node.end - node.begin;
        const Index pieces = std::clamp<Index>(count / rows_per_piece, 1, team_.size());
        std::uint32_t* rows = rows_.get() + node.begin;
        std::uint32_t* spare = spare_rows_.get() + node.begin;
        std::vector<Index> lefts(pieces);
        const auto first = [&](Index p) { return count * p / pieces; };
        team_.each(pieces, [&](Index p) {
            std::uint32_t *to = rows + first(p), *away = spare + first(p);
            for (Index i = first(p); i < first(p + 1); ++i) {
                const std::uint32_t row = rows[i];
                const bool goes_left = left[code[row * width]];
                *to = row, to += goes_left;
                *away = row, away += !goes_left;
            }
            lefts[p] = to - (rows + first(p));
        });
        Index total = lefts[0];
        for (Index p = 1; p < pieces; ++p) {
            std::copy_n(rows + first(p), lefts[p], rows + total);
            total += lefts[p];
        }
        for (Index p = 0, at = total; p < pieces; ++p) {
            const Index rights = first(p + 1) - first(p) - lefts[p];
            std::copy_n(spare + first(p), rights, rows + at);
            at += rights;
        }
        return total;
    }

    void split(Index i, bool is_last) {
        const Index middle = nodes_[i].begin + partition(nodes_[i]);
        const Index left = static_cast<Index>(nodes_.size());
        nodes_.push_back(child(nodes_[i], nodes_[i].begin, middle, nodes_[i].split.left_sums));
        nodes_.push_back(child(nodes_[i], middle, nodes_[i].end,
                               nodes_[i].sums.sums - nodes_[i].split.left_sums));
        nodes_[i].left = left, nodes_[i].right = left + 1;
        bound_children(nodes_[i], nodes_[left], nodes_[left + 1]);
        GrowingNode &a = nodes_[left], &b = nodes_[left + 1];
        appraise(a), appraise(b);
        // Nobody asks for the splits of the last two leaves.
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

    void write(const GrownTrees& out) {
        const Index base = tree_ * out.capacity;
        Index next = 0;
        // Pairs of a node and the written node whose right child it is, −1 for none.
        std::vector<std::pair<Index, Index>> open{{0, -1}};
        while (!open.empty()) {
            const auto [i, parent] = open.back();
            open.pop_back();
            const GrowingNode& node = nodes_[i];
            const Index at = base + next;
            if (parent >= 0) out.right[base + parent] = static_cast<std::int32_t>(next);
            out.value[at] = node.sums.value;
            out.curvature[at] = node.sums.sums.curvature * units_.curvature;
            out.rows[at] = static_cast<std::int32_t>(node.sums.sums.rows);
            out.lower[at] = node.sums.range.lower, out.upper[at] = node.sums.range.upper;
            if (node.left < 0)
                write_leaf(out, node, at, next);
            else {
                write_split(out, node, at, next);
                open.push_back({node.right, next});
                open.push_back({node.left, -1});
            }
            ++next;
        }
        out.count[tree_] = static_cast<std::int32_t>(next);
    }

    void write_leaf(const GrownTrees& out, const GrowingNode& node, Index at, Index number) {
        out.column[at] = out.code[at] = out.left[at] = out.right[at] = -1;
        out.gain[at] = 0, out.missing_left[at] = 0;
        std::int32_t* leaf = out.leaf + tree_ * round_.bins.rows;
        for (Index i = node.begin; i < node.end; ++i)
            leaf[rows_[i]] = static_cast<std::int32_t>(number);
    }

    void write_split(const GrownTrees& out, const GrowingNode& node, Index at, Index number) {
        out.column[at] = static_cast<std::int32_t>(node.split.column);
        out.code[at] = node.split.code;
        out.left[at] = static_cast<std::int32_t>(number) + 1;
        out.gain[at] = excess(node);
        out.missing_left[at] = node.split.missing_left;
        for (std::size_t w = 0; w < node.split.left.size(); ++w)
            out.levels[4 * at + w] = node.split.left[w];
    }

    const BoostingRound<T>& round_;
    const Index tree_;
    const GrowthLimits& limits_;
    const Layout layout_;
    const Units units_;
    const SplitSearch<Layout> search_;
    const std::vector<Part> parts_;
    Team& team_;
    Checkpoint& checkpoint_;
    std::unique_ptr<Cell[]> entries_;
    std::vector<std::vector<Index>> columns_of_;
    std::unique_ptr<std::uint32_t[]> rows_, spare_rows_;
    std::vector<GrowingNode> nodes_;
    std::vector<std::vector<Cell>> histograms_, of_piece_;
    std::vector<Index> free_;
};

template <class T>
void grow_one(const BoostingRound<T>& round, Index tree, const GrowthLimits& limits,
              const Totals& totals, const GrownTrees& out, Team& team, Checkpoint& checkpoint) {
    const Index n = round.bins.rows;
    const double most_g = largest(round.gradient + tree * n, n);
    const double most_h = round.curvature ? largest(round.curvature + tree * n, n) : 1;
    const int shift = bits_of(totals.rows) + 1;
    const int left = most_bits - shift;
    const double per_g = per_unit(most_g, totals.weight, most_bits);
    if (left - bits_of(totals.weight) >= few_bits) {
        const Units units{1 / per_g, 1 / per_unit(most_h, totals.weight, left)};
        Grower<T, Packed>(round, tree, limits, Packed{shift}, units, team, checkpoint).grow(out);
    } else {
        const Units units{1 / per_g, 1 / per_unit(most_h, totals.weight, most_bits)};
        Grower<T, Wide>(round, tree, limits, Wide{}, units, team, checkpoint).grow(out);
    }
}

}  // namespace

template <class T>
void grow_boosted(const BoostingRound<T>& round, const GrowthLimits& limits, const GrownTrees& out,
                  const Context& context) {
    const Totals totals(round.weights, round.repeats, round.bins.rows);
    if (round.trees >= context.threads) {
        parallel_for(round.trees, context.threads, context.poll,
                     [&](Index tree, Checkpoint& checkpoint) {
                         Team alone(1);
                         grow_one(round, tree, limits, totals, out, alone, checkpoint);
                     });
        return;
    }
    const double work = static_cast<double>(round.bins.rows) * round.bins.width;
    Team team(useful_threads(work, context.threads));
    Checkpoint checkpoint(context.poll);
    for (Index tree = 0; tree < round.trees; ++tree)
        grow_one(round, tree, limits, totals, out, team, checkpoint);
}

template <class T>
void add_leaf_values(const std::int32_t* leaf, Index rows, Index trees, const double* values,
                     Index capacity, T* scores, const Context& context) {
    constexpr Index chunk = 16384;
    const Index chunks = (rows + chunk - 1) / chunk;
    const int threads = useful_threads(static_cast<double>(rows) * trees, context.threads);
    parallel_for(chunks * trees, threads, context.poll, [&](Index c) {
        const Index k = c / chunks, first = (c % chunks) * chunk;
        const double* own = values + k * capacity;
        for (Index i = k * rows + first; i < k * rows + std::min(rows, first + chunk); ++i)
            scores[i] += static_cast<T>(own[leaf[i]]);
    });
}

template void grow_boosted(const BoostingRound<float>&, const GrowthLimits&, const GrownTrees&,
                           const Context&);
template void grow_boosted(const BoostingRound<double>&, const GrowthLimits&, const GrownTrees&,
                           const Context&);
template void add_leaf_values(const std::int32_t*, Index, Index, const double*, Index, float*,
                              const Context&);
template void add_leaf_values(const std::int32_t*, Index, Index, const double*, Index, double*,
                              const Context&);

}  // namespace gapless
