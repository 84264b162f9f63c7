#include "clustering/nearest_before.hpp"

namespace gapless {

template <class T>
T least_of(const T* x, Index n) {
    T least = std::numeric_limits<T>::infinity();
#pragma omp simd reduction(min : least)
    for (Index i = 0; i < n; ++i) least = x[i] < least ? x[i] : least;
    return least;
}

template <class T>
T least_of(const T* x, const T* added, Index n) {
    T least = std::numeric_limits<T>::infinity();
#pragma omp simd reduction(min : least)
    for (Index i = 0; i < n; ++i) least = x[i] + added[i] < least ? x[i] + added[i] : least;
    return least;
}

template float least_of(const float*, const float*, Index);
template double least_of(const double*, const double*, Index);
template float least_of(const float*, Index);
template double least_of(const double*, Index);

}  // namespace gapless
