// Coordinate descent on a quadratic in a box: the dual of a linear model with the penalty
// ½ Σ l2ⱼ wⱼ² (Hsieh, Chang, Lin, Keerthi and Sundararajan 2008; Ho and Lin 2012 for |θ|).
//
//   min ½ Σⱼ (Xᵀθ)ⱼ² / l2ⱼ + Σᵢ linearᵢ θᵢ + absolute |θᵢ| + ½ quadraticᵢ θᵢ²,  lowerᵢ ≤ θᵢ ≤
//   upperᵢ
//
// and Σᵢ θᵢ = 0 if the model has a free bias. That constraint is handled by an augmented Lagrangian
// (Rockafellar 1976): b, its multiplier, moves by σ·δ with every step δ of a coordinate, as if X
// had one more column √σ, and by another σ·Σθ when the inner problem is nearly solved.
#pragma once

#include "base/array.hpp"
#include "base/parallel.hpp"

namespace gapless {

// The terms of the objective that separate over the samples, n entries each.
struct BoxTerms {
    const double *linear, *quadratic, *lower, *upper;
    double absolute;
};

// The state of the descent: θ (n entries) and w = (Xᵀθ)ⱼ / l2ⱼ (d entries), kept by the caller.
struct BoxIterate {
    double *theta, *w;
    double b;      // 0 without a bias
    double sigma;  // the curvature lent to the bias; 0 without one
    // Coordinates whose gradient points out of their box by more than this are left out
    // (shrinking); the largest violation of the last epoch, ∞ at the start.
    double threshold;
};

// When to stop: when the duality gap is about `gap`, or after `epochs` epochs or `visits` visits of
// a sample.
struct BoxLimits {
    double gap;
    Index epochs;
    std::uint64_t seed;  // of the order in which samples are visited
    std::uint64_t visits = std::uint64_t{1} << 62;
};

// The result of a descent: an estimate of the duality gap over all samples, made while they were
// visited; the number of epochs; and how many coordinates the last one left in play.
struct BoxProgress {
    double gap;
    Index epochs, active;
};

// `inverse` is 1/l2ⱼ for each feature. X is given by its samples: C order, or the rows of a CSR.
template <class X>
BoxProgress descend_box(const Dense<X>& x, const double* inverse, const BoxTerms& terms,
                        BoxIterate& iterate, const BoxLimits& limits, Checkpoint& checkpoint);
template <class X>
BoxProgress descend_box(const Compressed<X>& x, const double* inverse, const BoxTerms& terms,
                        BoxIterate& iterate, const BoxLimits& limits, Checkpoint& checkpoint);

}  // namespace gapless
