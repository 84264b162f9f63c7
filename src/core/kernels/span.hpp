// The span rule of support vector machines, for many machines on one Gram matrix.
//
// Without a support vector i the free ones (strictly inside their bounds) keep their decision
// values and the bounded ones their θ, so that its own value falls from zᵢ to zᵢ − θᵢSᵢ², with Sᵢ
// the distance of xᵢ from the affine span of the other free vectors, weights adding up to 1. With
// C = K + lift on the free ones, c = C⁻¹1 and τ = 1ᵀc,
//
//     Sᵢ² = 1/(C⁻¹ − ccᵀ/τ)ᵢᵢ  if i is free,   Cᵢᵢ − kᵢᵀC⁻¹kᵢ + (1 − cᵀkᵢ)²/τ  if it is bounded.
//
// Reference: Vapnik and Chapelle (2000), Bounds on error expectation for support vector machines,
// Neural Computation 12.
#pragma once

#include "base/products.hpp"

namespace gapless {

// The role of a row in a machine: not a support vector, or one inside or at its bounds.
enum class Support : std::uint8_t { none = 0, free = 1, bounded = 2 };

// Machine p has the variables start[p] … start[p+1], each a row of the Gram matrix (n × n).
template <class T>
struct Machines {
    const T* gram;
    Index n, count;
    const std::int64_t* start;
    const std::int64_t* rows;
    const Support* support;
};

// spans[v] = S² of every support vector, and 0 for all others. Infinite for a vector without which
// no free one is left; for a whole machine without free vectors, the diagonal of the Gram matrix is
// the most a row can lose. `noise` is the error of the Gram matrix's entries, relative to its
// diagonal: it is added to the diagonal of C, which is then positive definite.
template <class T>
void spans(const Machines<T>& machines, double noise, double* spans, const Context& context);

}  // namespace gapless
