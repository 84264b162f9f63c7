// Steps of the update rules on long vectors of parameters, in one pass over memory.
#pragma once

#include "base/loops.hpp"

namespace gapless {

struct AdamNumbers {
    double length, beta_1, beta_2, epsilon, decay;
    Index steps;
};

// m ← β₁m + (1−β₁)∇,  v ← β₂v + (1−β₂)∇²,  w ← w − η(m̂/(√v̂ + ε) + δw), in place.
template <class T>
void adam_step(T* w, const T* gradient, T* mean, T* square, Index n, const AdamNumbers& numbers);

}  // namespace gapless
