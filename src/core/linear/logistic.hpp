// The logistic loss of two classes with its derivatives, many rows at a time.
#pragma once

#include "base/loops.hpp"

namespace gapless {

// For each row: log(1 + exp(−yz)), its derivative in z, and the second one; y is −1 or 1. Equal
// rows get the same bits, wherever they are.
void logistic_derivatives(const double* y, const double* z, Index n, double* value,
                          double* gradient, double* curvature);

}  // namespace gapless
