// One hinge for all classes: the dual of ½ Σₖ ‖wₖ‖² + Σᵢ ℓ(yᵢ, zᵢ) with a score zₖ for each of K
// classes, on a kernel matrix, one row of multipliers at a time.
//
//   min ½ Σₖ θₖᵀKθₖ − Σᵢₖ linearᵢₖ θᵢₖ,   lower ≤ θ ≤ upper,   Σₖ θᵢₖ = 0 for every row i
//
// and Σᵢ θᵢₖ = 0 for every class k, since its bias bₖ is free. A step minimises over the K
// multipliers of a row, exactly: its Hessian is kᵢᵢ times the identity, so that the minimiser is
// the nearest point of the box with sum 0 (Crammer and Singer 2001; Keerthi, Sundararajan, Chang,
// Hsieh and Lin 2008). The sums over rows are handled by an augmented Lagrangian (Rockafellar
// 1976), as if the kernel were larger by ρ: bₖ, their multipliers, move by ρ·Σᵢ θᵢₖ whenever the
// rows are nearly solved for.
#pragma once

#include "base/array.hpp"
#include "base/parallel.hpp"

namespace gapless {

// K and the terms of the objective that separate over rows: n × classes, row after row.
template <class T>
struct ClassProblem {
    const T* gram;
    Index n, classes;
    const double *linear, *lower, *upper;
};

// The state of the descent, kept by the caller: θ (n × classes), the products Kθₖ (classes × n),
// the biases, the largest violation that the next biases wait for, and ρ, the curvature lent to
// them: more if the rows are soon solved and the sums stay, less if the rows take long.
struct ClassIterate {
    double *theta, *products, *b;
    double accuracy, rho;
};

// When to stop: when no row violates its conditions by more than `tol` and no sum over rows exceeds
// `sum`, or after `sweeps` sweeps.
struct ClassLimits {
    double tol, sum;
    Index sweeps;
};

// The result of a descent: the largest violation in its last sweep, the largest sum over rows, and
// the number of sweeps.
struct ClassProgress {
    double violation, sum;
    Index sweeps;
};

template <class T>
ClassProgress descend_classes(const ClassProblem<T>& problem, ClassIterate& iterate,
                              const ClassLimits& limits, Checkpoint& checkpoint);

}  // namespace gapless
