// Coordinate descent for a quadratic plus a separable or block-separable penalty:
//
//     min over w, b of  Σ slopeⱼ(wⱼ − tⱼ) + ½‖A(w − t) + 1(b − b₀)‖²_H + R(w)
//
// t is the point at which the slopes were taken, H the curvature of each row. Either H enters
// through a Gram matrix AᵀHA, or through the columns of A. No loss is known here.
//
// References: Friedman, Hastie and Tibshirani (2010), J. Stat. Software 33(1), for cycling over the
// active set; Yuan, Ho and Lin (2012), JMLR 13, for coordinate descent inside Newton's method.
#pragma once

#include "linear/quadratics.hpp"

namespace gapless {

// R on the features of one call. elastic_box uses the first four arrays, one entry per feature;
// folded `strength`, `knee` and `width`, powers `strength` and `power`, likewise; block_norm the
// others: block b is the features start[b] … start[b + 1] − 1.
struct SeparablePenalty {
    PenaltyKind kind;
    const double *l1, *l2, *lower, *upper;
    Index blocks;
    const Index* start;
    const double *strength, *knee, *width;
    double power;
};

// When to stop: when a sweep over all blocks gains at most `tolerance` times the gain of all sweeps
// so far, or after `sweeps` sweeps.
struct Effort {
    double tolerance;
    Index sweeps;
};

struct Descended {
    Index sweeps;  // made, counting those over the active blocks only
    bool converged;
};

// On a Gram matrix (features × features) that all outputs share. `slope` and `w` are features ×
// outputs, row after row; w holds t on entry and the minimiser on return.
Descended descend_on_gram(const double* gram, Index features, Index outputs, const double* slope,
                          const SeparablePenalty& penalty, Effort effort, const Poll& poll,
                          double* w);

// On columns, without any Gram matrix: the chosen ones are copied once. `bias_step` receives
// b − b₀, one per output, if there is a free bias.
template <class Matrix>  // Dense<T>, or Compressed<T> whose lines are columns
Descended descend_on_columns(const Matrix& data, const ColumnChoice& choice,
                             const RowCurvature& curvature, const double* slope,
                             const SeparablePenalty& penalty, Effort effort, const Poll& poll,
                             double* w, double* bias_step);

// out (rows × outputs) += Σ xⱼ stepⱼ over the chosen columns of the data, not centred.
template <class Matrix>
void times_columns(const Matrix& data, const ColumnChoice& choice, const double* step,
                   Index outputs, const Poll& poll, double* out);

}  // namespace gapless
