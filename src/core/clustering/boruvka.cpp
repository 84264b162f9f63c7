#include "clustering/boruvka.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <tuple>

#include "clustering/disjoint_sets.hpp"
#include "clustering/panel_distances.hpp"

namespace gapless {
namespace {

using Tree = KdTree<double>;

constexpr double infinity = std::numeric_limits<double>::infinity();
// No row of the tree is longer than 1 in its units.
constexpr double lengths = 2;

// The smallest squared distance of a box to those of children, side by side.
void bound_boxes(const float* low, const float* high, const float* boxes, Index d, float* out) {
    float sum[Tree::children] = {};
    for (Index j = 0; j < d; ++j) {
        const float *lows = boxes + j * Tree::children, *highs = boxes + (d + j) * Tree::children;
#pragma omp simd
        for (Index l = 0; l < Tree::children; ++l) {
            const float outside = std::max(std::max(lows[l] - high[j], low[j] - highs[l]), 0.0f);
            sum[l] += outside * outside;
        }
    }
    std::copy_n(sum, Tree::children, out);
}

// Make the distances to rows of one component infinite; returns the least of the others.
float hide(std::int32_t component, const std::int32_t* components, float* found) {
    float least = std::numeric_limits<float>::infinity();
#pragma omp simd reduction(min : least)
    for (Index l = 0; l < Tree::leaf_rows; ++l) {
        const float kept =
            components[l] == component ? std::numeric_limits<float>::infinity() : found[l];
        found[l] = kept;
        least = kept < least ? kept : least;
    }
    return least;
}

Index count_within(float limit, const float* found) {
    std::int32_t count = 0;
#pragma omp simd reduction(+ : count)
    for (Index l = 0; l < Tree::leaf_rows; ++l) count += found[l] <= limit;
    return count;
}

// An edge between two places of the tree.
struct Edge {
    double square = infinity;
    Index one = -1, other = -1;
};

// Whether an edge comes before another, in the order of lengths and then of rows.
bool comes_before(const Tree& tree, const Edge& edge, const Edge& than) {
    if (edge.square != than.square || than.one < 0) return edge.square < than.square;
    const auto rows = [&](const Edge& e) {
        return std::minmax({tree.row_at(e.one), tree.row_at(e.other)});
    };
    return rows(edge) < rows(than);
}

}  // namespace

// The rows of a leaf that search.
struct BoruvkaTree::Searching {
    Index begin = 0, count = 0;   // the first place of the leaf, and how many
    Index looked_at = 0;          // leaves that one of them was compared with
    std::int32_t component = -1;  // of all of them, or −1
    float low[most_columns], high[most_columns];
    float values[Tree::leaf_rows][most_columns];
    Edge found[Tree::leaf_rows];
    double most[Tree::leaf_rows];  // longer edges are of no use
    float limit[Tree::leaf_rows];  // the same in float

    float widest() const { return *std::max_element(limit, limit + count); }
};

BoruvkaTree::BoruvkaTree(const double* x, Index rows, Index columns, const Context& context)
    : rows_(rows),
      columns_(columns),
      components_(rows),
      tree_(x, rows, columns, {Metric::euclidean}, context),
      values_(rows * columns),
      component_(rows + Tree::leaf_rows, -1),
      of_node_(tree_.nodes().size()),
      other_(rows, -1),
      nearest_(rows, 0.0) {
    for (Index p = 0; p < rows; ++p) {
        std::copy_n(x + tree_.row_at(p) * columns, columns, values_.data() + p * columns);
        component_[p] = static_cast<std::int32_t>(p);
    }
    for (Index i = 0; i < std::ssize(tree_.nodes()); ++i)
        if (!tree_.nodes()[i].count) leaves_.push_back(i);
    edges_.reserve(rows - 1);
}

void BoruvkaTree::start_round() {
    const auto& nodes = tree_.nodes();
    for (Index i = std::ssize(nodes) - 1; i >= 0; --i) {
        const auto& node = nodes[i];
        const std::int32_t* all =
            node.count ? of_node_.data() + node.first : component_.data() + node.begin;
        const Index count = node.count ? node.count : node.end - node.begin;
        const bool is_one = std::all_of(all, all + count, [&](auto c) { return c == all[0]; });
        of_node_[i] = is_one ? all[0] : -1;
    }
    most_.assign(components_, infinity);
    for (Index p = 0; p < rows_; ++p) {
        const std::int32_t own = component_[p];
        if (other_[p] >= 0 && component_[other_[p]] == own) other_[p] = -1;
        if (other_[p] >= 0) most_[own] = std::min(most_[own], nearest_[p]);
    }
}

// Compare one of the rows with those of a leaf.
void BoruvkaTree::look(const Tree::Node& leaf, Searching& rows, Index i) {
    float found[Tree::leaf_rows];
    ++rows.looked_at;
    if (measure_leaf(Metric::euclidean, rows.values[i], tree_.values(leaf), columns_, found) >
        rows.limit[i])
        return;
    const std::int32_t component = component_[rows.found[i].one];
    const float least = hide(component, component_.data() + leaf.begin, found);
    if (least > rows.limit[i] || std::isinf(least)) return;
    // The nearest one first, as it often rules out all others.
    const Index first = std::find(found, found + (leaf.end - leaf.begin), least) - found;
    measure(leaf.begin + first, rows, i);
    if (count_within(rows.limit[i], found) == 1) return;
    for (Index p = leaf.begin; p < leaf.end; ++p)
        if (found[p - leaf.begin] <= rows.limit[i] && !std::isinf(found[p - leaf.begin]))
            measure(p, rows, i);
}

void BoruvkaTree::measure(Index place, Searching& rows, Index i) {
    const Index d = columns_, own = rows.found[i].one;
    const Edge edge{squared_distance(values_.data() + own * d, values_.data() + place * d, d), own,
                    place};
    if (edge.square > rows.most[i] || !comes_before(tree_, edge, rows.found[i])) return;
    rows.found[i] = edge;
    if (edge.square == rows.most[i]) return;
    rows.most[i] = edge.square;
    rows.limit[i] = tree_.limit(edge.square, lengths);
    // Other rows of the component, on other threads too, need not look any farther.
    std::atomic_ref<double> most(most_[component_[own]]);
    for (double before = most.load(std::memory_order_relaxed);
         edge.square < before &&
         !most.compare_exchange_weak(before, edge.square, std::memory_order_relaxed);) {
    }
}

// Compare the rows with the leaves among the children of a node; the other children, as far as they
// are near enough, join those that wait, the nearest last.
void BoruvkaTree::look_at_children(Index number, Searching& rows,
                                   std::vector<std::pair<float, Index>>& waiting) {
    const auto& nodes = tree_.nodes();
    const auto& node = nodes[number];
    float bounds[Tree::children], own[Tree::children];
    bound_boxes(rows.low, rows.high, tree_.boxes(number), columns_, bounds);
    std::pair<float, Index> near[Tree::children];
    Index count = 0;
    const float widest = rows.widest();
    for (Index c = 0; c < node.count; ++c) {
        const std::int32_t component = of_node_[node.first + c];
        if (bounds[c] > widest || (component >= 0 && component == rows.component)) continue;
        Index at = count++;
        for (; at > 0 && near[at - 1].first > bounds[c]; --at) near[at] = near[at - 1];
        near[at] = {bounds[c], c};
    }
    bool has_leaves = false;
    for (Index k = count - 1; k >= 0; --k) {
        const Index child = node.first + near[k].second;
        if (nodes[child].count)
            waiting.push_back({near[k].first, child});
        else
            has_leaves = true;
    }
    if (!has_leaves) return;
    for (Index i = 0; i < rows.count; ++i) {
        const std::int32_t component = component_[rows.found[i].one];
        const double most =
            std::atomic_ref<double>(most_[component]).load(std::memory_order_relaxed);
        if (most < rows.most[i]) rows.most[i] = most, rows.limit[i] = tree_.limit(most, lengths);
        if (near[0].first > rows.limit[i]) continue;
        bound_children(Metric::euclidean, rows.values[i], tree_.boxes(number), columns_, own);
        for (Index k = 0; k < count; ++k) {
            const Index child = node.first + near[k].second;
            const auto& leaf = nodes[child];
            if (leaf.count || own[near[k].second] > rows.limit[i] || of_node_[child] == component ||
                leaf.begin == rows.begin)
                continue;
            look(leaf, rows, i);
        }
    }
}

Index BoruvkaTree::search_from(const Tree::Node& leaf) {
    const float* values = tree_.values(leaf);
    Searching rows;
    rows.begin = leaf.begin;
    for (Index p = leaf.begin; p < leaf.end; ++p) {
        const std::int32_t own = component_[p];
        const double most = std::atomic_ref<double>(most_[own]).load(std::memory_order_relaxed);
        if (other_[p] >= 0 || nearest_[p] > most) continue;
        const Index i = rows.count++;
        rows.component = i == 0 || own == rows.component ? own : -1;
        rows.found[i] = {infinity, p, -1};
        rows.most[i] = most, rows.limit[i] = tree_.limit(most, lengths);
        for (Index j = 0; j < columns_; ++j) {
            const float value = values[j * Tree::leaf_rows + p - leaf.begin];
            rows.values[i][j] = value;
            rows.low[j] = i ? std::min(rows.low[j], value) : value;
            rows.high[j] = i ? std::max(rows.high[j], value) : value;
        }
    }
    if (!rows.count) return 0;
    for (Index i = 0; i < rows.count; ++i) look(leaf, rows, i);
    std::vector<std::pair<float, Index>> waiting{{0.0f, 0}};
    while (!waiting.empty()) {
        const auto [bound, node] = waiting.back();
        waiting.pop_back();
        if (tree_.nodes()[node].count && !(bound > rows.widest()))
            look_at_children(node, rows, waiting);
    }
    for (Index i = 0; i < rows.count; ++i) {
        const Index p = rows.found[i].one;
        // What is not within `most` need not be the nearest: nearer ones may have been passed over.
        other_[p] = rows.found[i].square <= rows.most[i]
                        ? static_cast<std::int32_t>(rows.found[i].other)
                        : -1;
        nearest_[p] = rows.most[i];
    }
    return rows.looked_at;
}

double BoruvkaTree::share_compared() {
    constexpr Index tried = 16;
    start_round();
    const Index leaves = std::ssize(leaves_), step = std::max<Index>(leaves / tried, 1);
    double looked_at = 0, rows = 0;
    for (Index i = 0; i < leaves; i += step) {
        const auto& leaf = tree_.nodes()[leaves_[i]];
        looked_at += static_cast<double>(search_from(leaf));
        rows += static_cast<double>(leaf.end - leaf.begin);
    }
    return looked_at * Tree::leaf_rows / rows / static_cast<double>(rows_);
}

void BoruvkaTree::end_round() {
    std::vector<Edge> best(components_);
    for (Index p = 0; p < rows_; ++p) {
        if (other_[p] < 0) continue;
        const Edge edge{nearest_[p], p, other_[p]};
        Edge& least = best[component_[p]];
        if (comes_before(tree_, edge, least)) least = edge;
    }
    DisjointSets sets(components_);
    for (const Edge& edge : best) {
        const Index one = sets.find(component_[edge.one]),
                    other = sets.find(component_[edge.other]);
        if (one == other) continue;
        sets.join(std::max(one, other), std::min(one, other));
        edges_.push_back(
            {tree_.row_at(edge.one), tree_.row_at(edge.other), std::sqrt(edge.square)});
    }
    std::vector<std::int32_t> number(components_);
    Index count = 0;
    for (Index c = 0; c < components_; ++c)
        number[c] = sets.find(c) == c ? static_cast<std::int32_t>(count++) : number[sets.find(c)];
    for (Index p = 0; p < rows_; ++p) component_[p] = number[component_[p]];
    components_ = count;
}

void BoruvkaTree::advance(Index count, const Context& context) {
    const Index leaves = std::ssize(leaves_);
    for (const Index end = std::min(done() + count, all()); done() < end;) {
        start_round();
        parallel_for(leaves, useful_threads(1e3 * static_cast<double>(rows_), context.threads),
                     context.poll, [&](Index i, Checkpoint& checkpoint) {
                         checkpoint();
                         search_from(tree_.nodes()[leaves_[i]]);
                     });
        end_round();
    }
}

}  // namespace gapless
