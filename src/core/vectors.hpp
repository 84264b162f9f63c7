// Vectors as wide as those of the instruction set that a file is compiled for. What is written with
// wider ones, in the hope that the compiler splits them, falls apart into scalars.
#pragma once

#include <cstdint>

#ifdef NB_VERSION_MAJOR
#error \
    "The bindings are compiled once for all instruction sets: they may not see how wide vectors are"
#endif

namespace gapless {

#if defined(__AVX512F__)
constexpr int vector_bytes = 64;
#elif defined(__AVX2__)
constexpr int vector_bytes = 32;
#else
constexpr int vector_bytes = 16;
#endif

template <class T>
struct VectorOf {
    typedef T type __attribute__((vector_size(vector_bytes)));
};
template <class T>
using Vector = typename VectorOf<T>::type;

template <class T>
constexpr int lanes_of = vector_bytes / static_cast<int>(sizeof(T));

}  // namespace gapless
