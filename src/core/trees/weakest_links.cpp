#include "trees/weakest_links.hpp"

#include <algorithm>
#include <functional>
#include <queue>

namespace gapless {
namespace {

// A split and its price when it entered the queue; outdated once its version differs.
struct Link {
    double price;
    std::int64_t node, version;

    bool operator>(const Link& other) const {
        return price != other.price ? price > other.price : node > other.node;
    }
};

// (R(t) − R(T_t)) / (|T_t| − 1)
double price_of(const PrunedTree& tree, std::int64_t t) {
    return (tree.cost[t] - tree.below[t]) / static_cast<double>(tree.leaves[t] - 1);
}

bool is_gone(const PrunedTree& tree, const std::int64_t* steps, std::int64_t t) {
    for (std::int64_t a = tree.parent[t]; a >= 0; a = tree.parent[a])
        if (steps[a]) return true;
    return false;
}

}  // namespace

std::vector<double> weakest_links(const PrunedTree& tree, std::int64_t* steps,
                                  Checkpoint& checkpoint) {
    std::vector<Link> first;
    for (std::int64_t t = 0; t < tree.nodes; ++t)
        if (tree.leaves[t] > 1) first.push_back({price_of(tree, t), t, 0});
    std::priority_queue<Link, std::vector<Link>, std::greater<>> queue({}, std::move(first));
    std::vector<std::int64_t> versions(static_cast<std::size_t>(tree.nodes), 0);
    std::vector<double> prices{0.0};
    while (!queue.empty()) {
        checkpoint();
        auto [price, t, version] = queue.top();
        queue.pop();
        if (version != versions[t] || tree.leaves[t] == 1 || is_gone(tree, steps, t)) continue;
        prices.push_back(std::max(price, prices.back()));
        steps[t] = static_cast<std::int64_t>(prices.size()) - 1;
        std::int64_t fewer = tree.leaves[t] - 1;
        double more = tree.cost[t] - tree.below[t];
        for (std::int64_t a = t; a >= 0; a = tree.parent[a]) {
            tree.leaves[a] -= fewer;
            tree.below[a] += more;
            ++versions[a];
            if (tree.leaves[a] > 1) queue.push({price_of(tree, a), a, versions[a]});
        }
    }
    return prices;
}

}  // namespace gapless
