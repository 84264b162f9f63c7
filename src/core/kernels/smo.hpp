// Quadratic problems in a box with fixed sums, the duals of kernel machines with a bias:
//
//   min ½ θᵀKθ + linearᵀθ + absoluteᵀ|θ|,  lower ≤ θ ≤ upper,  Σθ of each group as it is
//
// K is symmetric; each variable belongs to a row of it, given by `rows`. Pairs of variables move on
// a working set (pair_steps.hpp); then the slopes of all variables are updated, by whole rows of K.
// What cannot move is left out until the rest is solved (shrinking), and checked again at the end
// (Joachims 1999; Fan, Chen and Lin 2005).
#pragma once

#include <vector>

#include "base/parallel.hpp"
#include "kernels/kernel_blocks.hpp"

namespace gapless {

// Rows of K, `stride` entries apart. Row r is the line slot[r]; −1: it is missing, and its
// variables do not move. Without slots every row is there, in its place.
template <class T>
struct GramRows {
    const T* data;
    Index stride;
    const Index* slot;

    bool has(Index r) const { return !slot || slot[r] >= 0; }
    const T* operator[](Index r) const { return data + (slot ? slot[r] : r) * stride; }
};

// Or a kernel and rows of features, few enough that a row of K is faster to compute than to read.
struct KernelSource {
    KernelForm form;  // of products or squared distances
    KernelRows<float> rows;
    const Blas& blas;
};

// Arrays with one entry per variable. `absolute` and `group` (labels 0, 1, …) may be null; `theta`
// and `gradient` = Kθ + linear are updated in place, and are consistent at every exit.
struct SumProblem {
    Index count;
    const Index* rows;       // null: variable i is row i
    const double* diagonal;  // K(x, x)
    const double *linear, *absolute, *lower, *upper;
    const Index* group;
    double *theta, *gradient;
};

// For the variables of a group: the smallest slope of one that may grow, the largest of one that
// may fall, and the mean of those that may do both at the same slope; NaN if there are none.
struct GroupSlopes {
    double rise, fall, free;
};

// The state of the variables of a problem; `absolute` and `group` may be null.
struct SumPoint {
    Index count;
    const double *theta, *gradient, *absolute, *lower, *upper;
    const Index* group;
};

// The slopes of each group.
void group_slopes(const SumPoint& point, std::vector<GroupSlopes>& out);

enum class SumStatus { optimal, stalled, limit, unbounded };

// The largest violation max fall − min rise within a group (the ε of LIBSVM) over the variables
// that may move; and the steps taken.
struct SumProgress {
    double violation;
    Index steps;
    SumStatus status;
};

// Move until the violation is at most `tol`, or for about `steps` steps.
template <class T>
SumProgress descend_sums(const GramRows<T>& kernel, const SumProblem& problem, double tol,
                         Index steps, int threads, Checkpoint& checkpoint);
SumProgress descend_sums(const KernelSource& source, const SumProblem& problem, double tol,
                         Index steps, int threads, Checkpoint& checkpoint);

}  // namespace gapless
