#include "networks/steps.hpp"

#include <cmath>

namespace gapless {

template <class T>
void adam_step(T* w, const T* gradient, T* mean, T* square, Index n, const AdamNumbers& numbers) {
    const double first = 1 - std::pow(numbers.beta_1, static_cast<double>(numbers.steps));
    const double second = 1 - std::pow(numbers.beta_2, static_cast<double>(numbers.steps));
    const T beta_1 = static_cast<T>(numbers.beta_1), beta_2 = static_cast<T>(numbers.beta_2);
    const T rest_1 = static_cast<T>(1 - numbers.beta_1),
            rest_2 = static_cast<T>(1 - numbers.beta_2);
    const T length = static_cast<T>(numbers.length / first);
    const T spread = static_cast<T>(1 / std::sqrt(second)),
            epsilon = static_cast<T>(numbers.epsilon);
    const T shrink = static_cast<T>(numbers.length * numbers.decay);
#pragma omp simd
    for (Index i = 0; i < n; ++i) {
        const T g = gradient[i];
        const T m = mean[i] = beta_1 * mean[i] + rest_1 * g;
        const T v = square[i] = beta_2 * square[i] + rest_2 * g * g;
        w[i] -= length * m / (std::sqrt(v) * spread + epsilon) + shrink * w[i];
    }
}

template void adam_step(float*, const float*, float*, float*, Index, const AdamNumbers&);
template void adam_step(double*, const double*, double*, double*, Index, const AdamNumbers&);

}  // namespace gapless
