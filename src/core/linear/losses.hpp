// Losses that take an exponential, with their derivatives, many rows at a time. Equal rows get the
// same bits, wherever they are.
#pragma once

#include "base/array.hpp"
#include "base/parallel.hpp"

namespace gapless {

// For each row: log(1 + exp(−yz)), its derivative in z, and the second one; y is −1 or 1.
void logistic_derivatives(const double* y, const double* z, Index n, double* value,
                          double* gradient, double* curvature);

// The same for exp(z) − yz + y log y − y, half the Poisson deviance of a count y ≥ 0.
void poisson_derivatives(const double* y, const double* z, Index n, double* value, double* gradient,
                         double* curvature);

// The same for z + y exp(−z) − 1 − log y, half the gamma deviance of an amount y > 0.
void gamma_derivatives(const double* y, const double* z, Index n, double* value, double* gradient,
                       double* curvature);

// The same for half the Tweedie deviance of an amount y ≥ 0, 1 < power < 2: with a = 2 − power and
// b = power − 1, y^a times (exp(at) − 1)/a + (exp(−bt) − 1)/b at t = z − log y; exp(az)/a for 0.
void tweedie_derivatives(double power, const double* y, const double* z, Index n, double* value,
                         double* gradient, double* curvature);

// p log p − p − y log y + y with p = u + y, the conjugate of the Poisson loss; ∞ where p < 0.
void poisson_conjugate(const double* y, const double* u, Index n, double* value);

// p log p + u(1 + log y) with p = 1 − u, that of the gamma loss; ∞ where p < 0.
void gamma_conjugate(const double* y, const double* u, Index n, double* value);

// That of the Tweedie loss, by Newton's method in each row; ∞ where u < 0 = y.
void tweedie_conjugate(double power, const double* y, const double* u, Index n, double* value);

// Rows, a model of them, and what is computed from both while each row is in the cache.
template <class X>
struct LossPass {
    Dense<X> x;            // n × d, by rows
    const double* center;  // d, subtracted from the rows, or null
    const double* w;       // d
    double b;
    const double* y;
    const double* weights;                 // n, or null for ones
    double* scores;                        // n: x w, without b
    double *value, *gradient, *curvature;  // n: of the loss at x w + b, without weights; value may
                                           // be null
    double* product;                       // d: Xᵀ times weights · gradient
    double* sums;                          // 2: of weights · value, and of weights · gradient
};

// The losses that a pass over the rows knows; only the Tweedie loss has a power.
enum class LossKind { logistic, poisson, gamma, tweedie };
struct SmoothLoss {
    LossKind kind;
    double power = 0;
};

// The derivatives of all rows and the gradient in w by one pass over X instead of two.
template <class X>
void loss_pass(SmoothLoss loss, const LossPass<X>& pass, int threads, const Poll& poll);

}  // namespace gapless
