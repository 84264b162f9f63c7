#include "neighbors/distances.hpp"

#include <cmath>

namespace gapless {
namespace {

#define GAPLESS_BODY [[gnu::always_inline]] inline

// ---- what each column adds ----

struct SquaredDifference {
    GAPLESS_BODY double operator()(double x, double z) const { return (x - z) * (x - z); }
};
struct AbsoluteDifference {
    GAPLESS_BODY double operator()(double x, double z) const { return std::abs(x - z); }
};
struct PowerDifference {
    double power;
    GAPLESS_BODY double operator()(double x, double z) const {
        return std::pow(std::abs(x - z), power);
    }
};
// Categories: NaN, a missing one, differs from all.
struct Inequality {
    GAPLESS_BODY double operator()(double x, double z) const { return x == z ? 0.0 : 1.0; }
};
// Numbers with the range [0, 1]. A missing one may be as far away as any number of that range, and
// two are as far apart as possible (Han, Kamber and Pei 2012, Data Mining, section 9.5.1).
struct ScaledDifference {
    GAPLESS_BODY double operator()(double x, double z) const {
        const bool no_x = x != x, no_z = z != z;
        const double known = no_x ? z : x;
        const double farthest = std::max(std::abs(known), std::abs(1 - known));
        const double difference = no_x || no_z ? farthest : std::abs(x - z);
        return no_x && no_z ? 1.0 : difference;
    }
};
struct SquaredScaledDifference {
    GAPLESS_BODY double operator()(double x, double z) const {
        const double difference = ScaledDifference{}(x, z);
        return difference * difference;
    }
};

struct Added {
    GAPLESS_BODY double operator()(double a, double b) const { return a + b; }
};
struct Largest {
    GAPLESS_BODY double operator()(double a, double b) const { return a < b ? b : a; }
};

// All terms of two rows, joined starting from 0, in parts that do not wait for each other.
template <class T, class Term, class Join>
GAPLESS_BODY double fold_terms(const T* x, const T* z, Index d, Term term, Join join) {
    constexpr Index parts = 16;
    if (d < parts) {
        double all = 0;
        for (Index j = 0; j < d; ++j)
            all = join(all, term(static_cast<double>(x[j]), static_cast<double>(z[j])));
        return all;
    }
    double part[parts] = {};
    Index j = 0;
    for (; j + parts <= d; j += parts)
#pragma omp simd
        for (Index l = 0; l < parts; ++l)
            part[l] =
                join(part[l], term(static_cast<double>(x[j + l]), static_cast<double>(z[j + l])));
    for (Index l = 0; j + l < d; ++l)
        part[l] = join(part[l], term(static_cast<double>(x[j + l]), static_cast<double>(z[j + l])));
    for (Index half = parts / 2; half > 0; half /= 2)
#pragma omp simd
        for (Index l = 0; l < half; ++l) part[l] = join(part[l], part[l + half]);
    return part[0];
}

// The first `numbers` columns of a mixed row by `numeric`, the others by `category`.
template <class T, class Numeric, class Category>
GAPLESS_BODY double fold_mixed(const T* x, const T* z, Index numbers, Index d, Numeric numeric,
                               Category category) {
    return fold_terms(x, z, numbers, numeric, Added{}) +
           fold_terms(x + numbers, z + numbers, d - numbers, category, Added{});
}

template <class T>
GAPLESS_BODY double reduce(const Distance& distance, const T* x, const T* z, Index d) {
    const Index numbers = distance.numbers;
    switch (distance.metric) {
        case Metric::euclidean:
            return fold_terms(x, z, d, SquaredDifference{}, Added{});
        case Metric::manhattan:
            return fold_terms(x, z, d, AbsoluteDifference{}, Added{});
        case Metric::chebyshev:
            return fold_terms(x, z, d, AbsoluteDifference{}, Largest{});
        case Metric::minkowski:
            return fold_terms(x, z, d, PowerDifference{distance.power}, Added{});
        case Metric::hamming:
            return fold_terms(x, z, d, Inequality{}, Added{});
        case Metric::mixed_sum:
            return fold_mixed(x, z, numbers, d, ScaledDifference{}, Inequality{});
        case Metric::mixed_euclidean:
            return fold_mixed(x, z, numbers, d, SquaredScaledDifference{}, Inequality{});
    }
    return 0;
}

}  // namespace

double reduced(const Distance& distance, const float* x, const float* z, Index d) {
    return reduce(distance, x, z, d);
}
double reduced(const Distance& distance, const double* x, const double* z, Index d) {
    return reduce(distance, x, z, d);
}

double finished(const Distance& distance, double reduced, Index d) {
    switch (distance.metric) {
        case Metric::euclidean:
        case Metric::mixed_euclidean:
            return std::sqrt(reduced);
        case Metric::minkowski:
            return std::pow(reduced, 1 / distance.power);
        case Metric::hamming:
            return reduced / static_cast<double>(d);
        default:
            return reduced;
    }
}

double reduced_form(const Distance& distance, double value, Index d) {
    switch (distance.metric) {
        case Metric::euclidean:
        case Metric::mixed_euclidean:
            return value * value;
        case Metric::minkowski:
            return std::pow(value, distance.power);
        case Metric::hamming:
            return value * static_cast<double>(d);
        default:
            return value;
    }
}

}  // namespace gapless
