// Distances of a row to the 16 rows of a panel, side by side, and of two rows in double.
#pragma once

#include "base/vectors.hpp"
#include "clustering/float_panels.hpp"

namespace gapless {

namespace detail {

constexpr int vectors_in_panel = static_cast<int>(FloatPanels::lanes) / lanes_of<float>;
using FloatVector = Vector<float>;

// Whether any lane of x is at most its limit.
GAPLESS_BODY bool any_within(const FloatVector* x, const float* limits) {
    auto within = x[0] <= load(limits);
    for (int v = 1; v < vectors_in_panel; ++v) within |= x[v] <= load(limits + v * lanes_of<float>);
    std::uint64_t parts[vector_bytes / 8], any = 0;
    std::memcpy(parts, &within, sizeof parts);
    for (const std::uint64_t part : parts) any |= part;
    return any != 0;
}

}  // namespace detail

// sums[l] = the squared distance of a row to each one of a panel; false, and no sums, if all are
// beyond their limits.
GAPLESS_BODY bool measure_panel(const float* row, const float* panel, Index columns,
                                const float* limits, float* sums) {
    using detail::FloatVector, detail::vectors_in_panel;
    constexpr Index width = lanes_of<float>, at_once = 8;
    FloatVector sum[vectors_in_panel] = {};
    for (Index j = 0; j < columns;) {
        const Index end = j + at_once < columns ? j + at_once : columns;
        for (; j < end; ++j)
            for (int v = 0; v < vectors_in_panel; ++v) {
                const FloatVector t = row[j] - load(panel + j * FloatPanels::lanes + v * width);
                sum[v] += t * t;
            }
        if (!detail::any_within(sum, limits)) return false;
    }
    std::memcpy(sums, sum, sizeof sum);
    return true;
}

// The squared distances of a row to all of a panel.
GAPLESS_BODY void measure_panel(const float* row, const float* panel, Index columns, float* sums) {
    using detail::FloatVector, detail::vectors_in_panel;
    constexpr Index width = lanes_of<float>;
    FloatVector sum[vectors_in_panel] = {};
    for (Index j = 0; j < columns; ++j)
        for (int v = 0; v < vectors_in_panel; ++v) {
            const FloatVector t = row[j] - load(panel + j * FloatPanels::lanes + v * width);
            sum[v] += t * t;
        }
    std::memcpy(sums, sum, sizeof sum);
}

// ‖x − z‖² in double.
inline double squared_distance(const double* x, const double* z, Index columns) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (Index j = 0; j < columns; ++j) sum += (x[j] - z[j]) * (x[j] - z[j]);
    return sum;
}

}  // namespace gapless
