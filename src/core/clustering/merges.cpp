#include "clustering/merges.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "clustering/disjoint_sets.hpp"

namespace gapless {

void number_merges(const Index* pairs, const double* heights, Index merges, Index rows,
                   double* table) {
    DisjointSets sets(rows);
    std::vector<Index> number(rows), size(rows, 1);
    std::iota(number.begin(), number.end(), Index{0});
    for (Index t = 0; t < merges; ++t) {
        Index one = sets.find(pairs[2 * t]), other = sets.find(pairs[2 * t + 1]);
        if (number[one] > number[other]) std::swap(one, other);
        double* row = table + 4 * t;
        row[0] = static_cast<double>(number[one]);
        row[1] = static_cast<double>(number[other]);
        row[2] = heights[t];
        // The larger set becomes the root, so that paths stay short.
        const Index total = size[one] + size[other];
        const Index root = size[one] >= size[other] ? one : other;
        sets.join(root == one ? other : one, root);
        row[3] = static_cast<double>(total);
        size[root] = total;
        number[root] = rows + t;
    }
}

void label_clusters(const double* table, const bool* is_used, Index merges, Index rows,
                    Index* labels) {
    DisjointSets sets(rows);
    // A row of each cluster by its number.
    std::vector<Index> row(rows + merges);
    std::iota(row.begin(), row.begin() + rows, Index{0});
    for (Index t = 0; t < merges; ++t) {
        const Index one = row[static_cast<Index>(table[4 * t])],
                    other = row[static_cast<Index>(table[4 * t + 1])];
        row[rows + t] = one;
        if (!is_used[t]) continue;
        const Index first = sets.find(one), second = sets.find(other);
        // The set is named by its first row.
        sets.join(std::max(first, second), std::min(first, second));
    }
    Index count = 0;
    for (Index i = 0; i < rows; ++i) {
        const Index root = sets.find(i);
        labels[i] = root == i ? count++ : labels[root];
    }
}

}  // namespace gapless
