// What searches that rule out rows in float share: units in which it does not overflow, and bounds
// on its rounding.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/products.hpp"

namespace gapless {

constexpr double float_unit = 0x1p-24;

// Rounding of a sum of n products, relative to the sum of their sizes (Higham 2002, Accuracy and
// Stability of Numerical Algorithms, section 3.1).
inline double rounding_of_sum(Index n, double unit) {
    const double nu = static_cast<double>(n) * unit;
    return nu / (1 - nu);
}

// In float, and not below, or not above.
inline float rounded_up(double value) {
    return static_cast<float>(value + 2 * float_unit * std::abs(value));
}
inline float rounded_down(double value) { return -rounded_up(-value); }

// Call work(first, count) for chunks of rows, on several threads.
template <class Work>
void for_blocks_of_rows(Index rows, const Context& context, Work&& work) {
    constexpr Index block = 128;
    parallel_for((rows + block - 1) / block, context.threads, context.poll,
                 [&](Index b) { work(b * block, std::min(block, rows - b * block)); });
}

// max |xⱼ − mⱼ|
double largest_difference(const float* x, const double* mean, Index n);
double largest_difference(const double* x, const double* mean, Index n);

// out = (x − m) · scale
void centre(const float* x, const double* mean, double scale, Index n, double* out);
void centre(const double* x, const double* mean, double scale, Index n, double* out);

// A power of 2 by which no row x − m is longer than 1, unless all are shorter than 1e-120.
template <class T>
double scale_to_float(const T* x, Index rows, Index columns, const double* mean,
                      const Context& context) {
    std::vector<double> largest(rows);
    for_blocks_of_rows(rows, context, [&](Index first, Index count) {
        for (Index i = first; i < first + count; ++i)
            largest[i] = largest_difference(x + i * columns, mean, columns);
    });
    double longest = 0;
    for (double entry : largest) longest = std::max(longest, entry);
    longest *= std::sqrt(static_cast<double>(columns));
    const int power = longest > 0 ? std::clamp(std::ilogb(longest), -401, 499) + 1 : 0;
    return std::ldexp(1.0, -power);
}

}  // namespace gapless
