// Steps of the update rules on long vectors of parameters, in one pass over memory.
#pragma once

#include "base/loops.hpp"
#include "base/pieces.hpp"

namespace gapless {

struct AdamNumbers {
    double length, beta_1, beta_2, epsilon, decay;
    Index steps;
};

// m ← β₁m + (1−β₁)∇,  v ← β₂v + (1−β₂)∇²,  w ← w − η(m̂/(√v̂ + ε) + δw), in place.
template <class T>
void adam_step(T* w, const T* gradient, T* mean, T* square, Index n, const AdamNumbers& numbers);

// Δ ← η∇ + μΔ, w ← w − Δ, in place; without a memory Δ, μ is 0.
template <class T>
void momentum_step(T* w, const T* gradient, T* change, Index n, double length, double factor);

// A rule of `solvers/updates.py` with what it remembers, and the lengths of the steps to come: Adam
// if `square` is not null, else momentum.
template <class T>
struct Rule {
    const double* lengths;
    T* memory;  // the mean of the gradients, or Δ; null for plain descent
    T* square;
    double factor;     // μ
    bool is_ahead;     // whether gradients are taken at w − μΔ (Nesterov)
    AdamNumbers adam;  // `length` is not used; `steps` were taken before these
};

// to ← w − μΔ for some of the numbers.
template <class T>
void look_ahead(const Rule<T>& rule, const T* w, Range numbers, T* to);

// Step 0, 1, … of those to come, for some of the numbers.
template <class T>
void take_step(const Rule<T>& rule, Index step, T* w, const T* gradient, Range numbers);

}  // namespace gapless
