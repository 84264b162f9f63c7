// How far a cluster is from two that become one (Lance and Williams 1967, Computer Journal 9).
#pragma once

namespace gapless {

enum class MatrixMethod { single, complete, average };

// Each takes both distances, and the share of the second cluster in the weight of both.
struct Smaller {
    template <class T>
    T operator()(T one, T other, T = 0) const {
        return one < other ? one : other;
    }
};
struct Larger {
    template <class T>
    T operator()(T one, T other, T = 0) const {
        return one < other ? other : one;
    }
};
struct Mean {
    template <class T>
    T operator()(T one, T other, T share) const {
        const T mean = one + share * (other - one);
        // Rounding must not bring it nearer than the nearer of both; of two that are infinitely far
        // the mean is not a number.
        const T nearer = Smaller()(one, other);
        return mean > nearer ? mean : nearer;
    }
};

// Call work with the rule of a method.
template <class Work>
void with_rule(MatrixMethod method, Work&& work) {
    if (method == MatrixMethod::single) return work(Smaller());
    if (method == MatrixMethod::complete) return work(Larger());
    work(Mean());
}

}  // namespace gapless
