// Gradients and curvatures as integer multiples of small units, whose sums are exact.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/loops.hpp"

namespace gapless {

// Integers below two to the power of this add up without overflow.
constexpr int most_bits = 62;
// With fewer bits left for the curvature of a row, histogram cells have three words.
constexpr int few_bits = 24;

inline int bits_of(double count) { return std::ilogb(std::max(count, 1.0)) + 1; }

// The totals of all rows.
class Totals {
public:
    Totals(const double* weights, const double* repeats, Index n)
        : most_repeats_(std::ldexp(1.0, most_bits - bits_of(static_cast<double>(n)))) {
        weight = weights ? 0 : static_cast<double>(n);
        rows = repeats ? 0 : static_cast<double>(n);
        for (Index i = 0; i < n && weights; ++i) weight += weights[i];
        // Weights of about 1 leave most digits to gradients; powers of two change none of them.
        const int size = weight > 0 ? std::ilogb(weight / static_cast<double>(n)) : 0;
        per_weight = std::abs(size) > most_size ? std::ldexp(1.0, -size) : 1;
        weight *= per_weight;
        for (Index i = 0; i < n && repeats; ++i)
            rows += static_cast<double>(whole_rows(repeats[i]));
    }

    // ⌈repeats⌉, or as much as can be counted.
    std::int64_t whole_rows(double repeats) const {
        return static_cast<std::int64_t>(std::min(std::ceil(repeats), most_repeats_));
    }

    // The weight of all rows, multiplied by `per_weight`, and how many rows they stand for.
    double weight, rows, per_weight;

private:
    static constexpr int most_size = 16;
    double most_repeats_;
};

// The value in whole units; an integer weight multiplies it exactly, so that weight 2 equals the
// row twice, to the last bit.
inline std::int64_t whole(double value, double weight, double per_unit) {
    const std::int64_t once = std::llrint(value * per_unit);
    const std::int64_t times = std::llrint(weight);
    return weight == static_cast<double>(times) ? once * times
                                                : std::llrint(static_cast<double>(once) * weight);
}

// Units of the power of two that lets sums over all rows fit into `bits` bits.
inline double per_unit(double most, double weight, int bits) {
    constexpr int largest_power = 1000;
    if (!(most > 0)) return 1;
    const int power = bits - bits_of(std::ceil(weight)) - std::ilogb(most) - 1;
    return std::ldexp(1.0, std::min(power, largest_power));
}

// The size of the integers: value = whole · unit, for weights multiplied by `per_weight`.
struct Units {
    double per_gradient, per_curvature, per_weight;
    double gradient = 1 / per_gradient;
    double curvature = 1 / per_curvature;
};

// max |valueᵢ|
double largest(const double* values, Index n);
double largest(const float* values, Index n);

}  // namespace gapless
