// The exact minimisers of "quadratic + penalty" for one coordinate or one block. A penalty enters
// coordinate descent here alone: a new kind is a case of PenaltyKind and a function.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/loops.hpp"

namespace gapless {

// elastic_box: Σⱼ l1ⱼ|wⱼ| + ½·l2ⱼwⱼ² on lowerⱼ ≤ wⱼ ≤ upperⱼ.   block_norm: Σ_b strength_b‖w_b‖₂.
// folded: Σⱼ strengthⱼ·ρ(|wⱼ|), where ρ′ is 1 up to a knee and falls linearly to 0 at a width (MCP,
// SCAD).   powers: Σⱼ strengthⱼ|wⱼ|^power with power < 1, and 0⁰ = 0. The last two are not convex.
enum class PenaltyKind { elastic_box, block_norm, folded, powers };

struct ElasticBox {
    double l1, l2, lower, upper;
};

// argmin over v of ½·curvature·(v − w)² + slope·(v − w) + l1|v| + ½·l2·v² on lower ≤ v ≤ upper. If
// there is no minimiser (no curvature, no bound, too small an l1), w stays.
inline double minimise(const ElasticBox& r, double w, double slope, double curvature) {
    const double total = curvature + r.l2;
    const double c = curvature * w - slope;
    const double excess = std::abs(c) - r.l1;
    if (total > 0)
        return std::clamp(excess > 0 ? std::copysign(excess, c) / total : 0.0, r.lower, r.upper);
    if (excess <= 0) return r.l1 > 0 ? std::clamp(0.0, r.lower, r.upper) : w;
    const double bound = c > 0 ? r.upper : r.lower;
    return std::isfinite(bound) ? bound : w;
}

struct Folded {
    double strength, knee, width;

    double value(double t) const {
        const double beyond = std::clamp(t, knee, width) - knee;
        return strength * (std::min(t, width) - beyond * (beyond / (2 * (width - knee))));
    }
};

struct Power {
    double strength, power;

    double value(double t) const { return t > 0 ? strength * std::pow(t, power) : 0.0; }
};

// argmin over v of ½·curvature·(v − w)² + slope·(v − w) + ρ(|v|): of the minimisers on the three
// pieces of ρ the best, and of equally good ones the smallest. Without curvature w stays.
inline double minimise(const Folded& r, double w, double slope, double curvature) {
    if (!(curvature > 0)) return w;
    const double c = curvature * w - slope, a = std::abs(c);
    const double bend = r.strength / (r.width - r.knee);
    const double bent = curvature - bend;
    const double middle =
        bent > 0 ? std::clamp((a - bend * r.width) / bent, r.knee, r.width) : r.width;
    double best = std::clamp((a - r.strength) / curvature, 0.0, r.knee);
    for (const double t : {middle, std::max(a / curvature, r.width)}) {
        const double gain =
            (best - t) * (0.5 * curvature * (best + t) - a) + r.value(best) - r.value(t);
        if (gain > 0) best = t;
    }
    return std::copysign(best, c);
}

// The same for strength·|v|^power: 0, or the larger root of curvature·t +
// strength·power·t^(power−1) = a, to which Newton's method decreases from a/curvature, as the
// left-hand side is convex.
inline double minimise(const Power& r, double w, double slope, double curvature) {
    if (!(curvature > 0)) return w;
    const double c = curvature * w - slope, a = std::abs(c), p = r.power;
    double t = a / curvature;
    if (p == 0 || r.strength == 0) return 0.5 * a * t > r.strength ? std::copysign(t, c) : 0.0;
    const double jump = std::pow(2 * (1 - p) * r.strength / curvature, 1 / (2 - p));
    if (a <= curvature * jump + r.strength * p * std::pow(jump, p - 1)) return 0.0;
    for (int step = 0; step < 100; ++step) {
        const double steep = r.strength * p * std::pow(t, p - 1);
        const double next = t - (curvature * t + steep - a) / (curvature + (p - 1) * (steep / t));
        const bool settled = std::abs(next - t) <= 1e-15 * t;
        t = next;
        if (settled) break;
    }
    return std::copysign(t, c);
}

// In place, A = LLᵀ with L in the lower triangle, rows one after another; false if A is not
// positive definite.
inline bool factorise(double* a, Index m) {
    for (Index i = 0; i < m; ++i) {
        double* row = a + i * m;
        for (Index j = 0; j < i; ++j) row[j] = (row[j] - dot(row, a + j * m, j)) / a[j * m + j];
        const double pivot = row[i] - dot(row, row, i);
        if (!(pivot > 0)) return false;
        row[i] = std::sqrt(pivot);
    }
    return true;
}

// x ← L⁻¹x
inline void solve_lower(const double* l, Index m, double* x) {
    for (Index i = 0; i < m; ++i) x[i] = (x[i] - dot(l + i * m, x, i)) / l[i * m + i];
}

// x ← L⁻ᵀx
inline void solve_upper(const double* l, Index m, double* x) {
    for (Index i = m; i-- > 0;) {
        x[i] /= l[i * m + i];
        axpy(-x[i], l + i * m, x, i);
    }
}

// argmin over v of ½(v − w)ᵀB(v − w) + slopeᵀ(v − w) + strength·‖v‖₂, for one block.
class BlockNorm {
public:
    // B = curvature·I.
    static void minimise(double curvature, double strength, const double* slope, const double* w,
                         Index m, double* v) {
        double square = 0;
        for (Index i = 0; i < m; ++i) {
            v[i] = curvature * w[i] - slope[i];
            square += v[i] * v[i];
        }
        const double norm = std::sqrt(square);
        if (norm <= strength) {
            std::fill(v, v + m, 0.0);
        } else if (curvature > 0) {
            const double scale = (1 - strength / norm) / curvature;
            for (Index i = 0; i < m; ++i) v[i] *= scale;
        } else {
            std::copy(w, w + m, v);
        }
    }

    // Any positive semi-definite B (m × m). With τ = strength/‖v‖ the minimiser is
    // v = w − (B + τI)⁻¹(slope + τw), so τ‖v‖ = strength is one equation for x = 1/τ; 1/(τ‖v‖) is
    // linear in x if B is a multiple of I, hence Newton's method on it needs few steps (the idea of
    // Moré and Sorensen 1983 for the trust region).
    void minimise(const double* B, double strength, const double* slope, const double* w, Index m,
                  double* v) {
        double square = 0, trace = 0, w_square = 0;
        for (Index i = 0; i < m; ++i) {
            const double c = slope[i] - dot(B + i * m, w, m);
            square += c * c;
            trace += B[i * m + i];
            w_square += w[i] * w[i];
        }
        const double norm = std::sqrt(square);
        if (norm <= strength) return std::fill(v, v + m, 0.0);
        if (!(trace > 0)) return std::copy(w, w + m, v), void();
        if (!(strength > 0)) return solve(B, 0.0, slope, w, m, v), void();
        // All eigenvalues of B lie between 0 and its trace.
        double low = (norm / strength - 1) / trace;
        // The units of the columns of a block may be twelve digits apart.
        double high = 1e12 / (std::numeric_limits<double>::epsilon() * trace);
        double x = std::clamp(std::sqrt(w_square) / strength, low, high);
        for (int step = 0; step < 60; ++step) {
            const double tau = 1 / x;
            const double slack = solve(B, tau, slope, w, m, v);
            const double length = std::sqrt(dot(v, v, m)), product = tau * length;
            if (std::abs(product - strength) <= 1e-14 * strength || high - low <= 1e-15 * high)
                break;
            (product > strength ? low : high) = x;
            const double slope_of_inverse =
                tau * tau * (length - tau * slack / length) / (product * product);
            const double next = x - (1 / product - 1 / strength) / slope_of_inverse;
            x = next > low && next < high ? next : low > 0 ? std::sqrt(low * high) : 0.5 * high;
        }
    }

private:
    // v = w − (B + τI)⁻¹(slope + τw); returns vᵀ(B + τI)⁻¹v. Written as a step from w, it keeps its
    // digits if the units of the columns are far apart. The diagonal is lifted, in its own units,
    // by the amount that rounding may make B indefinite.
    double solve(const double* B, double tau, const double* slope, const double* w, Index m,
                 double* v) {
        double lift = 4 * std::numeric_limits<double>::epsilon();
        do {
            l_.assign(B, B + m * m);
            for (Index i = 0; i < m; ++i) {
                l_[i * m + i] += tau + lift * l_[i * m + i];
                // A column of zeros stays where it is.
                if (!(l_[i * m + i] > 0)) l_[i * m + i] = 1;
            }
            lift *= 16;
        } while (!factorise(l_.data(), m) && lift < 1);
        for (Index i = 0; i < m; ++i) v[i] = -(slope[i] + tau * w[i]);
        solve_lower(l_.data(), m, v);
        solve_upper(l_.data(), m, v);
        for (Index i = 0; i < m; ++i) v[i] += w[i];
        copy_.assign(v, v + m);
        solve_lower(l_.data(), m, copy_.data());
        return dot(copy_.data(), copy_.data(), m);
    }

    std::vector<double> copy_, l_;
};

}  // namespace gapless
