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

std::vector<Index> places_of(const std::int32_t* x, Index one, Index other, Index begin,
                             Index end) {
    constexpr Index block = 256;
    const auto a = static_cast<std::int32_t>(one), b = static_cast<std::int32_t>(other);
    std::vector<Index> found;
    for (Index first = begin; first < end; first += block) {
        const Index last = std::min(first + block, end);
        std::int32_t any = 0;
#pragma omp simd reduction(| : any)
        for (Index i = first; i < last; ++i) any |= (x[i] == a) | (x[i] == b);
        if (!any) continue;
        for (Index i = first; i < last; ++i)
            if (x[i] == a || x[i] == b) found.push_back(i);
    }
    return found;
}

template float least_of(const float*, const float*, Index);
template double least_of(const double*, const double*, Index);
template float least_of(const float*, Index);
template double least_of(const double*, Index);

}  // namespace gapless
