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

struct Tweedie {
    double a, b;

    explicit Tweedie(double power) : a(2 - power), b(power - 1) {}

    // y^a (exp(x) − 1 − x), given y^a and y^a exp(x).
    GAPLESS_BODY static double excess(double unit, double raised, double x) {
        return std::abs(x) < near_minimum ? unit * series_of_excess(x) : raised - unit - unit * x;
    }

    GAPLESS_BODY Derivatives derivatives(double y, double z) const {
        const double log_y = log_of(y > 0 ? y : 1.0), t = z - log_y, unit = exp_of_any(a * log_y);
        const double rising = exp_of_any(a * z), falling = y > 0 ? y * exp_of_any(-b * z) : 0.0;
        const double of_amount =
            excess(unit, rising, a * t) / a + excess(unit, falling, -b * t) / b;
        return {y > 0 ? of_amount : rising / a, rising - falling, a * rising + b * falling};
    }
};

// All rows go through loops of this length, so that equal rows are rounded equally.
constexpr Index stretch = 64;

template <class Loss>
void derivatives_of_stretch(const Loss& loss, const double* y, const double* z, double* value,
                            double* gradient, double* curvature) {
#pragma omp simd
    for (Index i = 0; i < stretch; ++i) {
        const Derivatives at = loss.derivatives(y[i], z[i]);
        value[i] = at.value, gradient[i] = at.gradient, curvature[i] = at.curvature;
    }
}

template <class Loss>
void conjugates_of_stretch(const Loss&, const double* y, const double* u, double* value) {
#pragma omp simd
    for (Index i = 0; i < stretch; ++i) value[i] = Loss::conjugate(y[i], u[i]);
}

// With v = u / y^a the conjugate is u log y + y^a (vt − φ(t)) at the t where exp(at) − exp(−bt) =
// v. For v > 0 Newton's method solves at = log(v + exp(−bt)), whose difference is concave and
// rises: after a step it stays below the root, and needs no safeguard. For v < 0, −t is found
// alike.
void conjugates_of_stretch(const Tweedie& loss, const double* y, const double* u, double* value) {
    constexpr double least = std::numeric_limits<double>::min();
    constexpr int most_steps = 100;
    const double a = loss.a, b = loss.b;
    double v[stretch], unit[stretch], log_y[stretch], t[stretch];
#pragma omp simd
    for (Index i = 0; i < stretch; ++i) {
        log_y[i] = log_of(y[i] > 0 ? y[i] : 1.0), unit[i] = exp_of_any(a * log_y[i]);
        v[i] = u[i] / unit[i];
        const double size = std::max(std::abs(v[i]), least), own = v[i] > 0 ? a : b;
        t[i] = std::max(log_of(size) / own, log_of(1 + size) / (own + (1 - own) / (1 + size)));
    }
    for (int step = 0; step < most_steps; ++step) {
        int moved = 0;
        // Each row ends by itself, so that it does not depend on its neighbours.
#pragma omp simd reduction(+ : moved)
        for (Index i = 0; i < stretch; ++i) {
            const double size = std::max(std::abs(v[i]), least), own = v[i] > 0 ? a : b;
            const double falling = exp_of((own - 1) * t[i]), sum = size + falling;
            const double change = (log_of(sum) - own * t[i]) / (own + (1 - own) * falling / sum);
            const bool moves = std::abs(change) > 4 * eps * (1 + std::abs(t[i]));
            t[i] += moves ? change : 0.0;
            moved += moves;
        }
        if (!moved) break;
    }
#pragma omp simd
    for (Index i = 0; i < stretch; ++i) {
        const double at = v[i] > 0 ? t[i] : -t[i];
        const double up = loss.excess(1.0, exp_of_any(a * at), a * at) / a;
        const double down = loss.excess(1.0, exp_of_any(-b * at), -b * at) / b;
        const double p = std::max(u[i], least);
        const double of_none = u[i] < 0 ? infinity : p * (log_of(p) - 1) / a;
        value[i] = y[i] > 0 ? u[i] * log_y[i] + unit[i] * (v[i] * at - up - down) : of_none;
    }
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
void derivatives(const Loss& loss, const double* y, const double* z, Index n, double* value,
                 double* gradient, double* curvature) {
    const Index whole = n / stretch * stretch, rows = n - whole;
    for (Index i = 0; i < whole; i += stretch)
        derivatives_of_stretch(loss, y + i, z + i, value + i, gradient + i, curvature + i);
    const Rest rest(y + whole, z + whole, rows);
    double last[3][stretch];
    derivatives_of_stretch(loss, rest.y, rest.z, last[0], last[1], last[2]);
    std::copy_n(last[0], rows, value + whole);
    std::copy_n(last[1], rows, gradient + whole);
    std::copy_n(last[2], rows, curvature + whole);
}

template <class Loss>
void conjugates(const Loss& loss, const double* y, const double* u, Index n, double* value) {
    const Index whole = n / stretch * stretch, rows = n - whole;
    for (Index i = 0; i < whole; i += stretch) conjugates_of_stretch(loss, y + i, u + i, value + i);
    const Rest rest(y + whole, u + whole, rows);
    double last[stretch];
    conjugates_of_stretch(loss, rest.y, rest.z, last);
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
void pass_over_piece(const Loss& loss, const LossPass<X>& pass, Range rows, double* z,
                     double* spare, double* sums) {
    const Index d = pass.x.columns, n = rows.size(), begin = rows.begin;
    const Block<X, double> block{pass.x.data + begin * d, d, n, d, nullptr, pass.center};
    double* scores = pass.scores + begin;
    std::fill_n(scores, n, 0.0);
    add_times(block, Entry::value, pass.w, scores);
    for (Index i = 0; i < n; ++i) z[i] = scores[i] + pass.b;
    double* value = pass.value ? pass.value + begin : spare;
    derivatives(loss, pass.y + begin, z, n, value, pass.gradient + begin, pass.curvature + begin);
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
void pass_over_rows(const Loss& loss, const LossPass<X>& pass, int threads, const Poll& poll) {
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
                         pass_over_piece(loss, pass, {i, std::min(i + step, rows.end)}, z.get(),
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
    switch (loss.kind) {
        case LossKind::logistic:
            return pass_over_rows(Logistic{}, pass, threads, poll);
        case LossKind::poisson:
            return pass_over_rows(Poisson{}, pass, threads, poll);
        case LossKind::gamma:
            return pass_over_rows(Gamma{}, pass, threads, poll);
        case LossKind::tweedie:
            return pass_over_rows(Tweedie(loss.power), pass, threads, poll);
    }
}
template void loss_pass(SmoothLoss, const LossPass<float>&, int, const Poll&);
template void loss_pass(SmoothLoss, const LossPass<double>&, int, const Poll&);

void logistic_derivatives(const double* y, const double* z, Index n, double* value,
                          double* gradient, double* curvature) {
    derivatives(Logistic{}, y, z, n, value, gradient, curvature);
}

void poisson_derivatives(const double* y, const double* z, Index n, double* value, double* gradient,
                         double* curvature) {
    derivatives(Poisson{}, y, z, n, value, gradient, curvature);
}

void gamma_derivatives(const double* y, const double* z, Index n, double* value, double* gradient,
                       double* curvature) {
    derivatives(Gamma{}, y, z, n, value, gradient, curvature);
}

void tweedie_derivatives(double power, const double* y, const double* z, Index n, double* value,
                         double* gradient, double* curvature) {
    derivatives(Tweedie(power), y, z, n, value, gradient, curvature);
}

void poisson_conjugate(const double* y, const double* u, Index n, double* value) {
    conjugates(Poisson{}, y, u, n, value);
}

void gamma_conjugate(const double* y, const double* u, Index n, double* value) {
    conjugates(Gamma{}, y, u, n, value);
}

void tweedie_conjugate(double power, const double* y, const double* u, Index n, double* value) {
    conjugates(Tweedie(power), y, u, n, value);
}

}  // namespace gapless
