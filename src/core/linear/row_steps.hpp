// Stochastic gradient descent, one row at a time, on the loss of linear scores z = Wx + b plus
// l1‖w‖₁ + ½·l2‖w‖². All outputs take their steps on the same rows, so that each row is read once.
#pragma once

#include "base/array.hpp"
#include "base/parallel.hpp"

namespace gapless {

// The slope ℓ′(y, z) of each row and output. If ℓ* is linear·u + absolute·|u| + ½·quadratic·u² on
// [lower, upper], the slope is the u that maximises zu − ℓ*(u). With sigmoid = c > 0 it is
// −cy/(1 + exp(yz)) for y = linear.
struct RowLoss {
    const double* linear;  // one per row and output, row by row; so are lower and upper
    const double* lower;
    const double* upper;
    double absolute, quadratic, sigmoid;
    bool upper_at_ties;  // at a kink take the upper slope, otherwise the steeper one
};

struct RowSteps {
    const std::int64_t* order;  // the row of each step
    const double* length;       // the length η of each step
    const double* weight;       // the weight of each step's row
    Index count;
    // Passive-aggressive steps have the length min(longest, ℓ/(‖x‖² + slack)) if is_passive.
    bool is_passive;
    double longest, slack;
    double l1, l2;
    bool has_bias;
    Index first_averaged;  // the first step after which the coefficients are added to the sums
};

// What the steps change: coefficients (outputs × features) and biases, and the sums of both, which
// are null if nothing is averaged. For the L1 penalty, `owed` is the penalty that each coefficient
// could have received so far, and `received` what it did; null without one. `slopes` has the last
// slope of each row and output; to `losses` the weighted loss of each row and output is added.
struct RowState {
    double* w;
    double* b;
    double* w_sum;
    double* b_sum;
    double* received;
    double* owed;
    double* slopes;
    double* losses;
};

// Matrix is Dense<X> in C order, or Compressed<X> by rows.
template <class Matrix>
void row_steps(const Matrix& x, Index outputs, const RowLoss& loss, const RowSteps& steps,
               const RowState& state, const Poll& poll);

}  // namespace gapless
