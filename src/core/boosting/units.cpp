#include "boosting/units.hpp"

namespace gapless {

double largest(const double* values, Index n) {
    double most = 0;
#pragma omp simd reduction(max : most)
    for (Index i = 0; i < n; ++i) most = std::max(most, std::abs(values[i]));
    return most;
}
double largest(const float* values, Index n) {
    float most = 0;
#pragma omp simd reduction(max : most)
    for (Index i = 0; i < n; ++i) most = std::max(most, std::abs(values[i]));
    return most;
}

}  // namespace gapless
