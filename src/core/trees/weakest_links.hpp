// The nested sequence of pruned trees: repeatedly the split that saves the least per leaf becomes a
// leaf (Breiman et al. 1984, section 3.3).
#pragma once

#include <cstdint>
#include <vector>

#include "base/parallel.hpp"

namespace gapless {

// A tree by the number of each node's parent, −1 for the root; the cost of each node as a leaf, and
// the summed cost and the number of the leaves below it. The last two change as it is pruned.
struct PrunedTree {
    Index nodes;
    const std::int64_t* parent;
    const double* cost;
    double* below;
    std::int64_t* leaves;
};

// The prices of a leaf, the first being 0, at which splits in turn become leaves. `steps` (one per
// node, 0 at first) says when each does: 1, 2, …; those below it then go with it. Of equal prices
// the node of the smaller number is first. Costs O(depth · log) per split.
std::vector<double> weakest_links(const PrunedTree& tree, std::int64_t* steps,
                                  Checkpoint& checkpoint);

}  // namespace gapless
