// Growing binary trees on coded columns.
//
// A column is a code per row: the rank of its value among the distinct ones (exact trees) or its
// bin, or the level of a category. So exact and binned trees are one algorithm with two codings.
// All sums over rows are sums of integers (weights and targets lie on a grid), hence exact: the
// order of the rows, repeating a row instead of doubling its weight, and the number of threads
// cannot change a bit, and splits that divide the rows alike tie exactly. Ties go to the lowest
// column, then to the lowest threshold.
#pragma once

#include <cstdint>
#include <vector>

#include "base/products.hpp"

namespace gapless {

struct CodedColumn {
    const void* codes;    // one per row
    int width;            // bytes of a code: 1, 2 or 4
    std::uint32_t count;  // codes 0 … count−1 are values in increasing order; `count` is missing
    bool is_category;
    const double *lowest, *highest;  // the values of a code; null for categories
    std::int32_t bundle = -1;        // which bundle has the column, −1 for none
    std::uint32_t usual = 0;         // in a bundle: the code of most rows, and the bundle's code
    std::uint32_t first = 0;         // for the first code that is not the usual one
};

// Columns that never have an unusual code in the same row, such as the dummies of one category, as
// one column (exclusive feature bundling: Ke et al. 2017). Its code 0 means that all are usual. One
// pass over a bundle counts for all of its columns.
struct Bundle {
    const std::uint8_t* codes;
    std::uint32_t count;
};

enum class Criterion { gini, entropy, gain_ratio, squared_error, poisson, absolute_error };

struct TreeData {
    std::vector<CodedColumn> columns;
    std::vector<Bundle> bundles;
    Index rows, outputs;
    Index classes;               // largest number of classes of an output; 1 for regression
    const std::int32_t* labels;  // rows × outputs, null for regression
    const double* values;        // rows × outputs, null for classification
};

// What a tree is grown on: a row of weight 0 is absent; a count is how many rows it stands for.
struct TreeSample {
    const double* weights;
    const std::uint32_t* counts;
};

struct TreeOptions {
    Criterion criterion;
    bool random_thresholds;
    Index max_features;  // columns to search in a node, of those that are not constant there
    Index max_depth;
    Index max_leaf_nodes;  // 0: no limit, depth first; else best first
    Index min_samples_split, min_samples_leaf;
    double min_weight_leaf;
    double min_impurity_decrease;
    const std::int8_t* monotonic;  // per column −1, 0 or 1; null for none
};

struct TreeNode {
    std::int32_t feature = -1;  // −1 for a leaf
    std::int32_t left = -1, right = -1;
    bool missing_left = false, follows_majority = false;  // where missing values were not seen
    double threshold = 0;  // values up to it go left; NaN for a set of categories
    double impurity = 0, weight = 0;
    std::int64_t count = 0;
    std::int64_t set_begin = 0, set_end = 0;  // words of GrownTree::sets
};

struct GrownTree {
    std::vector<TreeNode> nodes;
    std::vector<double> values;       // nodes × outputs × classes: class shares, or means
    std::vector<std::uint32_t> sets;  // bit v of a node's words: level v goes left
};

GrownTree grow_tree(const TreeData& data, const TreeSample& sample, const TreeOptions& options,
                    std::uint64_t seed, const Context& context);

// Many trees, one per seed, each on one thread. With `draws` > 0 each tree sees that many rows
// drawn with replacement, with probabilities proportional to sample.counts' weights `chances`; a
// row's weight is then its number of draws times sample.weights.
struct Bootstrap {
    Index draws = 0;
    const double* cumulated = nullptr;  // Σ chances of the rows up to and with each one
};

void draw_rows(const Bootstrap& bootstrap, Index rows, std::uint64_t seed, std::uint32_t* counts);

std::vector<GrownTree> grow_forest(const TreeData& data, const TreeSample& sample,
                                   const Bootstrap& bootstrap, const TreeOptions& options,
                                   const std::vector<std::uint64_t>& seeds, const Context& context);

}  // namespace gapless
