#pragma once

#include <numeric>
#include <vector>

#include "base/loops.hpp"

namespace gapless {

// Sets of rows that are joined; paths are halved on the way (Tarjan and van Leeuwen 1984, JACM 31).
class DisjointSets {
public:
    explicit DisjointSets(Index count) : parent_(count) {
        std::iota(parent_.begin(), parent_.end(), Index{0});
    }
    Index find(Index i) {
        while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
        return i;
    }
    void join(Index child, Index parent) { parent_[child] = parent; }

private:
    std::vector<Index> parent_;
};

}  // namespace gapless
