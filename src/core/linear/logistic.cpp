#include "linear/logistic.hpp"

#include <algorithm>
#include <cmath>

#include "base/exponential.hpp"

namespace gapless {
namespace {

// A polynomial in x; a loop over the coefficients would keep the loop over the rows from
// vectorising.
template <class... Coefficient>
GAPLESS_BODY double polynomial(double x, double highest, Coefficient... others) {
    ((highest = highest * x + others), ...);
    return highest;
}

// log(1 + e) for e in [0, 1], to about two units in the last place: 2 artanh s with s = e /
// (2 + e), or for half of 1 + e if this is nearer to 1.
GAPLESS_BODY double log_1_plus(double e) {
    constexpr double root = 0x1.a827999fcef32p-2, log_2 = 0x1.62e42fefa39efp-1;
    const bool is_large = e > root;
    const double f = is_large ? (e - 1) * 0.5 : e, s = f / (2 + f), square = s * s;
    const double series = polynomial(square, 1.0 / 23, 1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15,
                                     1.0 / 13, 1.0 / 11, 1.0 / 9, 1.0 / 7, 1.0 / 5, 1.0 / 3);
    return (is_large ? log_2 : 0.0) + (2 * s + 2 * s * square * series);
}

// All rows go through these loops, so that equal rows are rounded equally.
constexpr Index stretch = 64;

void of_stretch(const double* y, const double* z, double* value, double* gradient,
                double* curvature) {
#pragma omp simd
    for (Index i = 0; i < stretch; ++i) {
        // exp(−|z|) is at most 1: nothing overflows.
        const double e = exp_of(-std::abs(z[i])), q = 1 / (1 + e), margin = y[i] * z[i];
        value[i] = log_1_plus(e) - std::min(margin, 0.0);
        gradient[i] = -y[i] * ((margin <= 0 ? 1.0 : e) * q);
        curvature[i] = e * q * q;
    }
}

}  // namespace

void logistic_derivatives(const double* y, const double* z, Index n, double* value,
                          double* gradient, double* curvature) {
    const Index whole = n / stretch * stretch, rest = n - whole;
    for (Index i = 0; i < whole; i += stretch)
        of_stretch(y + i, z + i, value + i, gradient + i, curvature + i);
    double last[5][stretch] = {};
    std::copy_n(y + whole, rest, last[0]);
    std::copy_n(z + whole, rest, last[1]);
    of_stretch(last[0], last[1], last[2], last[3], last[4]);
    std::copy_n(last[2], rest, value + whole);
    std::copy_n(last[3], rest, gradient + whole);
    std::copy_n(last[4], rest, curvature + whole);
}

}  // namespace gapless
