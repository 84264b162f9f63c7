#include "boosting/nodes.hpp"

#include <utility>

namespace gapless {
namespace {

void write_leaf(Index at, const GrownTrees& out) {
    out.column[at] = out.code[at] = out.left[at] = out.right[at] = -1;
    out.gain[at] = 0, out.missing_left[at] = 0;
}

void write_split(const GrowingNode& node, Index at, Index number, const Units& units,
                 const GrownTrees& out) {
    out.column[at] = static_cast<std::int32_t>(node.split.column);
    out.code[at] = node.split.code;
    out.left[at] = static_cast<std::int32_t>(number) + 1;
    out.gain[at] = node.excess() / units.per_weight;
    out.missing_left[at] = node.split.missing_left;
    for (std::size_t w = 0; w < node.split.left.size(); ++w)
        out.levels[4 * at + w] = node.split.left[w];
}

}  // namespace

void write_nodes(const std::vector<GrowingNode>& nodes, Index tree, const Units& units,
                 const std::uint32_t* rows, Index count, const GrownTrees& out, Team& team) {
    const Index base = tree * out.capacity;
    Index next = 0;
    std::vector<std::pair<Index, Index>> leaves;  // nodes, and their numbers as written
    // Pairs of a node and the written node whose right child it is, −1 for none.
    std::vector<std::pair<Index, Index>> open{{0, -1}};
    while (!open.empty()) {
        const auto [i, parent] = open.back();
        open.pop_back();
        const GrowingNode& node = nodes[i];
        const Index at = base + next;
        if (parent >= 0) out.right[base + parent] = static_cast<std::int32_t>(next);
        out.value[at] = node.sums.value;
        out.curvature[at] =
            static_cast<double>(node.sums.sums.curvature) * units.curvature / units.per_weight;
        out.rows[at] = static_cast<double>(node.sums.sums.rows);
        out.lower[at] = node.sums.range.lower, out.upper[at] = node.sums.range.upper;
        if (node.left < 0) {
            write_leaf(at, out);
            leaves.push_back({i, next});
        } else {
            write_split(node, at, next, units, out);
            open.push_back({node.right, next});
            open.push_back({node.left, -1});
        }
        ++next;
    }
    out.count[tree] = static_cast<std::int32_t>(next);
    std::int32_t* leaf = out.leaf + tree * count;
    team.each(static_cast<Index>(leaves.size()), [&](Index k) {
        const GrowingNode& node = nodes[leaves[k].first];
        for (Index i = node.begin; i < node.end; ++i)
            leaf[rows[i]] = static_cast<std::int32_t>(leaves[k].second);
    });
}

}  // namespace gapless
