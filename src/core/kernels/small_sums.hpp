// Many small problems of smo.hpp with one sum, each on its own kernel values: with all of them side
// by side in the cache, a step is a few passes over short vectors, and nothing need be postponed.
#pragma once

#include <vector>

#include "base/products.hpp"
#include "kernels/smo.hpp"

namespace gapless {

// Solve every problem, from its θ and gradient, until its violation is at most `tol`, or for
// `steps` steps.
template <class T>
void descend_small(const GramRows<T>& kernel, const std::vector<SumProblem>& problems, double tol,
                   Index steps, const Context& context);

// One variable of one problem that is left out.
struct LeftOut {
    Index problem, variable;
};

// For problems at their solution: scores[c] = (Kθ)ᵢ + b of the problem of case c without its
// variable i, NaN if the others cannot take over its part of the sum; taken[c] is the number of
// steps, `steps` if there was more to do. The problems are not changed. With `units`, a number for
// each row of the kernel, all variables whose rows have the number of i leave with it: they must
// have the same kernel values.
template <class T>
void leave_out(const GramRows<T>& kernel, const std::vector<SumProblem>& problems,
               const std::vector<LeftOut>& cases, const std::int64_t* units, double tol,
               Index steps, double* scores, Index* taken, const Context& context);

}  // namespace gapless
