#include "linear/losses.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/exponential.hpp"
#include "base/pieces.hpp"

namespace gapless {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double eps = std::numeric_limits<double>::epsilon();

// log(1 + e) for e in [0, 1]: that of half of 1 + e if this is nearer to 1.
GAPLESS_BODY double log_1_plus(double e) {
    constexpr double root = 0x1.a827999fcef32p-2, log_2 = 0x1.62e42fefa39efp-1;
    const bool is_large = e > root;
    return (is_large ? log_2 : 0.0) + log_near_1(is_large ? (e - 1) * 0.5 : e);
}

// (1 + r) log(1 + r) − r for r ≥ −1; what rounding takes from 1 + r is given back to its logarithm.
GAPLESS_BODY double entropy_excess(double r) {
    const double p = 1 + std::max(r, 0.5 * eps - 1), lost = std::max(r, 0.5 * eps - 1) - (p - 1);
    return std::max(1 + r, 0.0) * (log_of(p) + lost / p) - r;
}

struct Derivatives {
    double value, gradient, curvature;
};

struct Logistic {
    GAPLESS_BODY static Derivatives derivatives(double y, double z) {
        // exp(−|z|) is at most 1: nothing overflows.
        const double e = exp_of(-std::abs(z)), q = 1 / (1 + e), margin = y * z;
        return {log_1_plus(e) - std::min(margin, 0.0), -y * ((margin <= 0 ? 1.0 : e) * q),
                e * q * q};
    }
};

// Near its minimum a deviance is exp(t) − 1 − t with t → 0, whose series has no cancellation.
constexpr double near_minimum = 0.5;
GAPLESS_BODY double series_of_excess(double t) { return t * t * taylor<2, 15>(t); }

struct Poisson {
    GAPLESS_BODY static Derivatives derivatives(double y, double z) {
        const double mean = exp_of_any(z), t = z - log_of(y > 0 ? y : 1.0);
        const double of_count =
            std::abs(t) < near_minimum ? y * series_of_excess(t) : mean - y - y * t;
        return {y > 0 ? of_count : mean, mean - y, mean};
    }

    GAPLESS_BODY static double conjugate(double y, double u) {
        const double p = u + y, scale = y > 0 ? y : 1.0, some = std::max(p, 0.0);
        const double of_count = y * entropy_excess(std::max(u / scale, -1.0)) + u * log_of(scale);
        const double of_none = some * log_of(std::max(p, std::numeric_limits<double>::min())) - p;
        return p >= -4 * eps * y ? (y > 0 ? of_count : of_none) : infinity;
    }
};

struct Gamma {
    GAPLESS_BODY static Derivatives derivatives(double y, double z) {
        const double ratio = y * exp_of_any(-z), t = log_of(y) - z;
        return {std::abs(t) < near_minimum ? series_of_excess(t) : ratio - 1 - t, 1 - ratio, ratio};
    }

    GAPLESS_BODY static double conjugate(double y, double u) {
        const double value = entropy_excess(std::max(-u, -1.0)) + u * log_of(y);
        return 1 - u >= -4 * eps ? value : infinity;
    }
};

// All rows go through loops of this length, so that equal rows are rounded equally.
constexpr Index stretch = 64;

template <class Loss>
void derivatives_of_stretch(const double* y, const double* z, double* value, double* gradient,
                            double* curvature) {
#pragma omp simd
    for (Index i = 0; i < stretch; ++i) {
        const Derivatives at = Loss::derivatives(y[i], z[i]);
        value[i] = at.value, gradient[i] = at.gradient, curvature[i] = at.curvature;
    }
}

template <class Loss>
void conjugates_of_stretch(const double* y, const double* u, double* value) {
#pragma omp simd
    for (Index i = 0; i < stretch; ++i) value[i] = Loss::conjugate(y[i], u[i]);
}

// The last rows, and ones to fill the stretch.
struct Rest {
    double y[stretch], z[stretch];

    Rest(const double* of_y, const double* of_z, Index rows) {
        std::fill_n(y, stretch, 1.0), std::fill_n(z, stretch, 0.0);
        std::copy_n(of_y, rows, y), std::copy_n(of_z, rows, z);
    }
};

template <class Loss>
void derivatives(const double* y, const double* z, Index n, double* value, double* gradient,
                 double* curvature) {
    const Index whole = n / stretch * stretch, rows = n - whole;
    for (Index i = 0; i < whole; i += stretch)
        derivatives_of_stretch<Loss>(y + i, z + i, value + i, gradient + i, curvature + i);
    const Rest rest(y + whole, z + whole, rows);
    double last[3][stretch];
    derivatives_of_stretch<Loss>(rest.y, rest.z, last[0], last[1], last[2]);
    std::copy_n(last[0], rows, value + whole);
    std::copy_n(last[1], rows, gradient + whole);
    std::copy_n(last[2], rows, curvature + whole);
}

template <class Loss>
void conjugates(const double* y, const double* u, Index n, double* value) {
    const Index whole = n / stretch * stretch, rows = n - whole;
    for (Index i = 0; i < whole; i += stretch) conjugates_of_stretch<Loss>(y + i, u + i, value + i);
    const Rest rest(y + whole, u + whole, rows);
    double last[stretch];
    conjugates_of_stretch<Loss>(rest.y, rest.z, last);
    std::copy_n(last, rows, value + whole);
}

// What a lane of rows adds up: value, gradient, and the product with X behind them.
constexpr Index sums_before_product = 2;

// Σ vᵢ, in an order that depends on n alone.
double sum(const double* v, Index n) {
    double total = 0;
#pragma omp simd reduction(+ : total)
    for (Index i = 0; i < n; ++i) total += v[i];
    return total;
}

// The rows of a range: their part of the sums is added to `sums`. z and spare have an entry per
// row.
template <class Loss, class X>
void pass_over_piece(const LossPass<X>& pass, Range rows, double* z, double* spare, double* sums) {
    const Index d = pass.x.columns, n = rows.size(), begin = rows.begin;
    const Block<X, double> block{pass.x.data + begin * d, d, n, d, nullptr, pass.center};
    double* scores = pass.scores + begin;
    std::fill_n(scores, n, 0.0);
    add_times(block, Entry::value, pass.w, scores);
    for (Index i = 0; i < n; ++i) z[i] = scores[i] + pass.b;
    double* value = pass.value ? pass.value + begin : spare;
    derivatives<Loss>(pass.y + begin, z, n, value, pass.gradient + begin, pass.curvature + begin);
    const double* slope = pass.gradient + begin;
    if (pass.weights) {
        // A row of weight 0 counts 0 even where its loss overflows.
        const double* s = pass.weights + begin;
        for (Index i = 0; i < n; ++i) z[i] = s[i] > 0 ? s[i] * value[i] : 0.0;
        sums[0] += sum(z, n);
        for (Index i = 0; i < n; ++i) z[i] = s[i] > 0 ? s[i] * slope[i] : 0.0;
        slope = z;
    } else {
        sums[0] += sum(value, n);
    }
    sums[1] += sum(slope, n);
    add_transposed(block, Entry::value, slope, sums + sums_before_product);
}

template <class Loss, class X>
void pass_over_rows(const LossPass<X>& pass, int threads, const Poll& poll) {
    // A piece of the rows stays in the second cache between its two products.
    constexpr Index entries = Index(1) << 14, longest = 1024, shortest_lane = 4096, most_lanes = 32;
    const Index n = pass.x.rows, d = pass.x.columns;
    const Index step =
        std::clamp<Index>(entries / std::max<Index>(d, 1) / stretch, 1, longest / stretch) *
        stretch;
    const Index wanted = std::clamp<Index>(n / shortest_lane, 1, most_lanes);
    const Index lane = std::max<Index>(ceil_div(ceil_div(n, wanted), step) * step, 1);
    const Index lanes = ceil_div(n, lane);
    const Index width = sums_before_product + d;
    auto sums = uninitialized<double>(lanes * width);
    parallel_for(lanes, useful_threads(2.0 * double(n) * double(d), threads), poll,
                 [&](Index l, Checkpoint& checkpoint) {
                     auto z = uninitialized<double>(step), spare = uninitialized<double>(step);
                     double* of_lane = sums.get() + l * width;
                     std::fill_n(of_lane, width, 0.0);
                     const Range rows = part(l, lane, n);
                     for (Index i = rows.begin; i < rows.end; i += step) {
                         checkpoint();
                         pass_over_piece<Loss>(pass, {i, std::min(i + step, rows.end)}, z.get(),
                                               spare.get(), of_lane);
                     }
                 });
    std::fill_n(pass.product, d, 0.0);
    std::fill_n(pass.sums, sums_before_product, 0.0);
    for (Index l = 0; l < lanes; ++l) {
        axpy(1.0, sums.get() + l * width, pass.sums, sums_before_product);
        axpy(1.0, sums.get() + l * width + sums_before_product, pass.product, d);
    }
}

}  // namespace

template <class X>
void loss_pass(SmoothLoss loss, const LossPass<X>& pass, int threads, const Poll& poll) {
    switch (loss) {
        case SmoothLoss::logistic:
            return pass_over_rows<Logistic>(pass, threads, poll);
        case SmoothLoss::poisson:
            return pass_over_rows<Poisson>(pass, threads, poll);
        case SmoothLoss::gamma:
            return pass_over_rows<Gamma>(pass, threads, poll);
    }
}
template void loss_pass(SmoothLoss, const LossPass<float>&, int, const Poll&);
template void loss_pass(SmoothLoss, const LossPass<double>&, int, const Poll&);

void logistic_derivatives(const double* y, const double* z, Index n, double* value,
                          double* gradient, double* curvature) {
    derivatives<Logistic>(y, z, n, value, gradient, curvature);
}

void poisson_derivatives(const double* y, const double* z, Index n, double* value, double* gradient,
                         double* curvature) {
    derivatives<Poisson>(y, z, n, value, gradient, curvature);
}

void gamma_derivatives(const double* y, const double* z, Index n, double* value, double* gradient,
                       double* curvature) {
    derivatives<Gamma>(y, z, n, value, gradient, curvature);
}

void poisson_conjugate(const double* y, const double* u, Index n, double* value) {
    conjugates<Poisson>(y, u, n, value);
}

void gamma_conjugate(const double* y, const double* u, Index n, double* value) {
    conjugates<Gamma>(y, u, n, value);
}

}  // namespace gapless
