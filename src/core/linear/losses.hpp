// Losses that take an exponential, with their derivatives, many rows at a time. Equal rows get the
// same bits, wherever they are.
#pragma once

#include "base/loops.hpp"

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

// p log p − p − y log y + y with p = u + y, the conjugate of the Poisson loss; ∞ where p < 0.
void poisson_conjugate(const double* y, const double* u, Index n, double* value);

// p log p + u(1 + log y) with p = 1 − u, that of the gamma loss; ∞ where p < 0.
void gamma_conjugate(const double* y, const double* u, Index n, double* value);

}  // namespace gapless
