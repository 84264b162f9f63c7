// The exponential function and its inverse, for loops over whole arrays.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "base/vectors.hpp"

namespace gapless {

constexpr double factorial(int k) { return k == 0 ? 1.0 : k * factorial(k - 1); }

// Σ rⁱ⁻ᵏ/i! over i = k … degree
template <int k, int degree, class T>
GAPLESS_BODY T taylor(T r) {
    constexpr T term = static_cast<T>(1 / factorial(k));
    if constexpr (k == degree)
        return term;
    else
        return taylor<k + 1, degree>(r) * r + term;
}

// eˣ for x ≤ 0, and 0 if that is below the normal numbers. With x = k log 2 + r, |r| ≤ ½ log 2, k
// is rounded by adding a number whose last bit counts ones, eʳ is a Taylor polynomial whose
// remainder is below rounding, and 2ᵏ is assembled from its bits. No table and no branch, so that
// loops over it vectorise. The result is divided by 2^halvings.
template <class T, int halvings = 0>
GAPLESS_BODY T exp_of(T x) {
    constexpr bool single = std::is_same_v<T, float>;
    using Bits = std::conditional_t<single, std::uint32_t, std::uint64_t>;
    constexpr int mantissa = single ? 23 : 52, degree = single ? 7 : 13;
    constexpr Bits bias = (single ? 127 : 1023) - halvings;
    constexpr T ones = single ? 0x1.8p23 : 0x1.8p52, lowest = single ? -87 : -708;
    // log 2 in two parts; the first times k is exact.
    constexpr T log_2 = single ? 0x1.62e4p-1 : 0x1.62e42fefa3800p-1;
    constexpr T log_2_rest = single ? 0x1.7f7d1cp-20 : 0x1.ef35793c76730p-45;
    const T rounded = x * static_cast<T>(0x1.71547652b82fep0) + ones, k = rounded - ones;
    const T r = (x - k * log_2) - k * log_2_rest;
    const T power = std::bit_cast<T>((std::bit_cast<Bits>(rounded) + bias) << mantissa);
    return x < lowest ? T(0) : taylor<0, degree>(r) * power;
}

// eˣ for any x: 0 or ∞ if that is below or above the normal numbers.
GAPLESS_BODY double exp_of_any(double x) {
    // The power of 2 may be one too large for its bits; half of it is not.
    const double e = exp_of<double, 1>(x);
    return x > 709.79 ? std::numeric_limits<double>::infinity() : 2 * e;
}

// A polynomial in x; a loop over the coefficients would keep the loop over the rows from
// vectorising.
template <class... Coefficient>
GAPLESS_BODY double polynomial(double x, double highest, Coefficient... others) {
    ((highest = highest * x + others), ...);
    return highest;
}

// log(1 + f) for f in [√½ − 1, √2 − 1], to about two units in the last place: 2 artanh s with s =
// f / (2 + f).
GAPLESS_BODY double log_near_1(double f) {
    const double s = f / (2 + f), square = s * s;
    const double series = polynomial(square, 1.0 / 23, 1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15,
                                     1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3);
    return 2 * s + 2 * s * square * series;
}

// log x for finite x > 0: x = 2ᵏm with m in [√½, √2). The bits of the exponent become a number by
// adding them to 2⁵², which no vector unit lacks.
GAPLESS_BODY double log_of(double x) {
    constexpr double log_2 = 0x1.62e42fefa39efp-1, ones = 0x1p52;
    constexpr std::uint64_t root_bits = 0x3fe6a09e667f3bcdULL, one_bits = 0x3ff0000000000000ULL;
    const bool is_small = x < std::numeric_limits<double>::min();
    const auto bits =
        std::bit_cast<std::uint64_t>(is_small ? x * 0x1p54 : x) - root_bits + one_bits;
    const double m = std::bit_cast<double>((bits & 0x000fffffffffffffULL) + root_bits);
    const double biased = std::bit_cast<double>((bits >> 52) | std::bit_cast<std::uint64_t>(ones));
    const double k = biased - ones - (is_small ? 1023.0 + 54 : 1023.0);
    return k * log_2 + log_near_1(m - 1);
}

}  // namespace gapless
