// The exponential function, for loops over whole arrays.
#pragma once

#include <bit>
#include <cstdint>
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
// loops over it vectorise.
template <class T>
GAPLESS_BODY T exp_of(T x) {
    constexpr bool single = std::is_same_v<T, float>;
    using Bits = std::conditional_t<single, std::uint32_t, std::uint64_t>;
    constexpr int mantissa = single ? 23 : 52, degree = single ? 7 : 13;
    constexpr Bits bias = single ? 127 : 1023;
    constexpr T ones = single ? 0x1.8p23 : 0x1.8p52, lowest = single ? -87 : -708;
    // log 2 in two parts; the first times k is exact.
    constexpr T log_2 = single ? 0x1.62e4p-1 : 0x1.62e42fefa3800p-1;
    constexpr T log_2_rest = single ? 0x1.7f7d1cp-20 : 0x1.ef35793c76730p-45;
    const T rounded = x * static_cast<T>(0x1.71547652b82fep0) + ones, k = rounded - ones;
    const T r = (x - k * log_2) - k * log_2_rest;
    const T power = std::bit_cast<T>((std::bit_cast<Bits>(rounded) + bias) << mantissa);
    return x < lowest ? T(0) : taylor<0, degree>(r) * power;
}

}  // namespace gapless
