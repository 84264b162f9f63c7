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

template <class T>
void momentum_step(T* w, const T* gradient, T* change, Index n, double length, double factor) {
    const T eta = static_cast<T>(length), mu = static_cast<T>(factor);
    if (!change) {
#pragma omp simd
        for (Index i = 0; i < n; ++i) w[i] -= eta * gradient[i];
        return;
    }
#pragma omp simd
    for (Index i = 0; i < n; ++i) {
        const T next = change[i] = eta * gradient[i] + mu * change[i];
        w[i] -= next;
    }
}

template <class T>
void look_ahead(const Rule<T>& rule, const T* w, Range numbers, T* to) {
    const T mu = static_cast<T>(rule.factor);
#pragma omp simd
    for (Index i = numbers.begin; i < numbers.end; ++i) to[i] = w[i] - mu * rule.memory[i];
}

template <class T>
void take_step(const Rule<T>& rule, Index step, T* w, const T* gradient, Range numbers) {
    const Index k = numbers.begin, n = numbers.size();
    T* memory = rule.memory ? rule.memory + k : nullptr;
    if (!rule.square)
        return momentum_step(w + k, gradient + k, memory, n, rule.lengths[step], rule.factor);
    AdamNumbers adam = rule.adam;
    adam.length = rule.lengths[step];
    adam.steps += step + 1;
    adam_step(w + k, gradient + k, memory, rule.square + k, n, adam);
}

template void adam_step(float*, const float*, float*, float*, Index, const AdamNumbers&);
template void adam_step(double*, const double*, double*, double*, Index, const AdamNumbers&);
template void momentum_step(float*, const float*, float*, Index, double, double);
template void momentum_step(double*, const double*, double*, Index, double, double);
template void look_ahead(const Rule<float>&, const float*, Range, float*);
template void look_ahead(const Rule<double>&, const double*, Range, double*);
template void take_step(const Rule<float>&, Index, float*, const float*, Range);
template void take_step(const Rule<double>&, Index, double*, const double*, Range);

}  // namespace gapless
