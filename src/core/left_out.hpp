// Scores of rows by kernel machines that are solved again without them, from where they were: the
// problems of smo.hpp with one sum, solved, and one variable for each row.
#pragma once

#include <vector>

#include "products.hpp"
#include "smo.hpp"

namespace gapless {

// One variable of one problem that is left out.
struct LeftOut {
    Index problem, variable;
};

// scores[c] = (Kθ)ᵢ + b of the problem of case c without its variable i; NaN where the others
// cannot take over its part of the sum. The problems stay as they are.
template <class T>
void leave_out(const GramRows<T>& kernel, const std::vector<SumProblem>& problems,
               const std::vector<LeftOut>& cases, double tol, Index steps, double* scores,
               const Context& context);

}  // namespace gapless
