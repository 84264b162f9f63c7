// Vectors as wide as those of the instruction set that a file is compiled for. Wider ones, which
// the compiler should split, fall apart into scalars.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

#ifdef GAPLESS_ALL_LEVELS
#error "What is compiled once for all instruction sets may not see how wide vectors are"
#endif

// Vectors are passed between functions that are always inlined, so their ABI does not matter.
#pragma GCC diagnostic ignored "-Wpsabi"
#define GAPLESS_BODY [[gnu::always_inline]] inline

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

template <class T>
GAPLESS_BODY Vector<T> load(const T* x) {
    Vector<T> v;
    std::memcpy(&v, x, sizeof v);
    return v;
}

// Lane by lane the smaller of two vectors. Comparisons are used one at a time in a selection: the
// compiler takes combinations by & and | apart into scalars.
template <class V>
GAPLESS_BODY V smaller(const V& x, const V& y) {
    return y < x ? y : x;
}

// Each lane with the one `apart` lanes away.
template <int apart, class V, int... lane>
GAPLESS_BODY V swapped(const V& v, std::integer_sequence<int, lane...>) {
    return __builtin_shufflevector(v, v, (lane ^ apart)...);
}

// The smallest entry of a vector of four-byte numbers, in every lane.
template <int apart = lanes_of<float> / 2, class V>
GAPLESS_BODY V smallest_of(const V& v) {
    using Lanes = std::make_integer_sequence<int, lanes_of<float>>;
    const V both = smaller(v, swapped<apart>(v, Lanes()));
    if constexpr (apart == 1)
        return both;
    else
        return smallest_of<apart / 2>(both);
}

}  // namespace gapless
