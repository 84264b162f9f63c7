// Trees of gradient boosting, grown best first on binned columns.
//
// Each tree lowers  Σᵢ gᵢ f(xᵢ) + ½hᵢ f(xᵢ)²  + ½λ Σ_leaves value², the second-order model of an
// objective whose gradients g and curvatures h the caller has computed for all rows (Friedman 2001;
// Chen and Guestrin 2016). Losses stay outside.
#pragma once

#include <cstdint>

#include "base/products.hpp"
#include "boosting/space.hpp"
#include "boosting/splits.hpp"

namespace gapless {

// What the trees of one round are grown from: rows, and one gradient and curvature for each tree
// and row (trees × rows, by rows). `curvature` null is 1 everywhere, as are `weights` and
// `repeats`; a row of weight 0 takes part in no sum, yet ends in a leaf. A row stands for ⌈repeats⌉
// rows.
template <class T>
struct BoostingRound {
    Bins bins;
    const BinnedColumn* columns;
    Index column_count, trees;
    const T* gradient;
    const T* curvature;
    const double* weights;
    const double* repeats;
    // Groups of columns allowed together on one path, one after another; null if all are.
    const std::uint8_t* groups;
    Index group_count;
    std::uint64_t seed;
};

// The output: for each tree `capacity` nodes in preorder. A leaf has column −1.
struct GrownTrees {
    Index capacity;
    std::int32_t* count;  // nodes of each tree
    std::int32_t* column;
    std::int32_t* code;
    std::int32_t* left;
    std::int32_t* right;
    std::int32_t* missing_left;
    double* value;
    double* gain;
    double* curvature;
    double* lower;  // values between which the node must stay
    double* upper;
    double* rows;           // the number of rows it stands for
    std::uint64_t* levels;  // 4 words for each node
    std::int32_t* leaf;     // trees × rows: the node where each row ends
};

template <class T>
void grow_boosted(const BoostingRound<T>& round, const GrowthLimits& limits, const GrownTrees& out,
                  GrowingSpace& space, const Context& context);

// scores[k, i] += value of the leaf of row i in tree k; values (trees × capacity).
template <class T>
void add_leaf_values(const std::int32_t* leaf, Index rows, Index trees, const double* values,
                     Index capacity, T* scores, const Context& context);

}  // namespace gapless
