#include "neighbors/float_rows.hpp"

namespace gapless {
namespace {

template <class T>
[[gnu::always_inline]] inline double largest(const T* x, const double* mean, Index n) {
    double most = 0;
#pragma omp simd reduction(max : most)
    for (Index j = 0; j < n; ++j)
        most = std::max(most, std::abs(static_cast<double>(x[j]) - mean[j]));
    return most;
}

template <class T>
[[gnu::always_inline]] inline void move(const T* x, const double* mean, double scale, Index n,
                                        double* out) {
#pragma omp simd
    for (Index j = 0; j < n; ++j) out[j] = (static_cast<double>(x[j]) - mean[j]) * scale;
}

}  // namespace

double largest_difference(const float* x, const double* mean, Index n) {
    return largest(x, mean, n);
}
double largest_difference(const double* x, const double* mean, Index n) {
    return largest(x, mean, n);
}
void centre(const float* x, const double* mean, double scale, Index n, double* out) {
    move(x, mean, scale, n, out);
}
void centre(const double* x, const double* mean, double scale, Index n, double* out) {
    move(x, mean, scale, n, out);
}

}  // namespace gapless
