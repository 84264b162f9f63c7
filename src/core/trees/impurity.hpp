// The impurity of counted classes.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/loops.hpp"

namespace gapless::growing {

// x log₂ x
inline double times_log(double x) { return x > 0 ? x * std::log2(x) : 0.0; }

// 1 − Σ shares², or −Σ shares log₂ shares, in the mean over the outputs; `totals` are outputs ×
// classes.
template <class Count>
double class_impurity(const Count* totals, Index outputs, Index classes, double weight,
                      bool is_gini) {
    double sum = 0;
    for (Index o = 0; o < outputs; ++o) {
        double inner = 0;
        for (Index c = 0; c < classes; ++c) {
            const double share = static_cast<double>(totals[o * classes + c]) / weight;
            inner += is_gini ? share * share : times_log(share);
        }
        sum += is_gini ? 1 - inner : -inner;
    }
    return std::max(sum / static_cast<double>(outputs), 0.0);
}

}  // namespace gapless::growing
