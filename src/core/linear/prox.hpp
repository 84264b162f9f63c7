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
enum class PenaltyKind { elastic_box, block_norm };

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
