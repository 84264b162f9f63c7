#include "trees/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "trees/impurity.hpp"

namespace gapless {

void find_statistics(const PackedNode* nodes, Index count, const double* table, Index outputs,
                     Index classes, ClassImpurity impurity, const NodeStatistics& out) {
    const Index width = outputs * classes;
    const bool has_classes = impurity != ClassImpurity::none;
    // From the last node to the first, children come before their parents. Values are first counts
    // of rows, which are exact.
    for (Index i = count - 1; i >= 0; --i) {
        double* value = out.value + i * width;
        if (nodes[i].is_leaf()) {
            out.rows[i] = nodes[i].question;
            const double* share = table + nodes[i].row() * width;
            for (Index c = 0; c < width; ++c)
                value[c] = has_classes ? std::round(share[c] * nodes[i].question) : share[c];
            continue;
        }
        const Index right = nodes[i].next;
        out.rows[i] = out.rows[i + 1] + out.rows[right];
        for (Index c = 0; c < width; ++c)
            value[c] = has_classes ? value[width + c] + out.value[right * width + c] : 0.0;
    }
    if (!has_classes) {
        std::fill(out.impurity, out.impurity + count, 0.0);
        return;
    }
    for (Index i = 0; i < count; ++i) {
        double* value = out.value + i * width;
        // A tree grown on no row at all has nothing to divide.
        const double weight = std::max(static_cast<double>(out.rows[i]), 1.0);
        out.impurity[i] = growing::class_impurity(value, outputs, classes, weight,
                                                  impurity == ClassImpurity::gini);
        for (Index c = 0; c < width; ++c) value[c] /= weight;
    }
}

unsigned find_differences(const PackedNode* nodes, Index count, const double* table, Index outputs,
                          Index classes, ClassImpurity impurity, const GrownStatistics& grown) {
    const Index width = outputs * classes;
    std::vector<std::int64_t> rows(count);
    std::vector<double> impurities(count), value(count * width);
    find_statistics(nodes, count, table, outputs, classes, impurity,
                    {rows.data(), impurities.data(), value.data()});
    unsigned found = 0;
    for (Index i = 0; i < count; ++i) {
        unsigned here = 0;
        here |= rows[i] != grown.rows[i];
        here |= (static_cast<double>(rows[i]) != grown.weight[i]) << 2;
        here |= (impurities[i] != grown.impurity[i]) << 4;
        for (Index c = i * width; c < (i + 1) * width; ++c)
            here |= (value[c] != grown.value[c]) << 6;
        found |= here << nodes[i].is_leaf();
    }
    return found;
}

}  // namespace gapless
