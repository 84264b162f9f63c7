#include "kernels/all_in_one.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

namespace gapless {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
// A multiplier this near to a bound, relative to its interval, is at it: one that is the sum of the
// others misses its own bound by rounding.
constexpr double at_bound = 1e-10;
// Rows are solved to this part of the change of their scores once the sums are 0; those that are
// already better than the second part are left alone.
constexpr double sharper = 0.3, still = 0.5;
// After `patience` sweeps the biases move in any case, and ρ falls. It grows if `soon` sweeps were
// enough for the rows and the sums fell by less than this factor.
constexpr Index patience = 20, soon = 5;
constexpr double falls = 0.5, growth = 2.0;
// The smallest ρ, in units of the mean kᵢᵢ.
constexpr double least_rho = 0.01;

// One row: its slopes and where its multipliers go.
class Row {
public:
    explicit Row(Index classes) : classes_(classes), slope_(classes), target_(classes) {}

    double* slope() { return slope_.data(); }
    const double* target() const { return target_.data(); }

    // By how much a multiplier that may fall has a larger slope than one that may rise; ≤ 0 if none
    // has.
    double violation(const double* theta, const double* lower, const double* upper) const {
        double most = -infinity, least = infinity;
        for (Index k = 0; k < classes_; ++k) {
            const double room = at_bound * (upper[k] - lower[k]);
            if (theta[k] > lower[k] + room) most = std::max(most, slope_[k]);
            if (theta[k] < upper[k] - room) least = std::min(least, slope_[k]);
        }
        return most - least;
    }

    // target = clip(θ − slope/curvature − μ) with the μ for which it sums to 0. The sum falls with
    // μ along straight pieces, so Newton's method ends, inside a bracket that only shrinks.
    void minimise(const double* theta, const double* lower, const double* upper, double curvature) {
        double low = infinity, high = -infinity;
        for (Index k = 0; k < classes_; ++k) {
            target_[k] = theta[k] - slope_[k] / curvature;
            low = std::min(low, target_[k] - upper[k]);
            high = std::max(high, target_[k] - lower[k]);
        }
        double mu = std::clamp(0.0, low, high);
        for (Index step = 0; step < 2 * classes_ + 60; ++step) {
            double sum = 0.0;
            Index inside = 0;
            for (Index k = 0; k < classes_; ++k) {
                const double t = target_[k] - mu;
                sum += std::clamp(t, lower[k], upper[k]);
                inside += t > lower[k] && t < upper[k];
            }
            if (sum == 0.0) break;
            (sum > 0.0 ? low : high) = mu;
            double next = inside ? mu + sum / static_cast<double>(inside) : 0.5 * (low + high);
            if (!(next > low && next < high)) next = 0.5 * (low + high);
            if (next == mu || next == low || next == high) break;
            mu = next;
        }
        for (Index k = 0; k < classes_; ++k)
            target_[k] = std::clamp(target_[k] - mu, lower[k], upper[k]);
        balance(lower, upper);
    }

private:
    // A multiplier with room takes the rounding left in the sum.
    void balance(const double* lower, const double* upper) {
        double sum = 0.0;
        for (Index k = 0; k < classes_; ++k) sum += target_[k];
        for (Index k = 0; k < classes_ && sum != 0.0; ++k) {
            const double moved = std::clamp(target_[k] - sum, lower[k], upper[k]);
            sum -= target_[k] - moved;
            target_[k] = moved;
        }
    }

    Index classes_;
    std::vector<double> slope_, target_;
};

// A step through all rows that keeps neighbours, which are of one class, apart.
Index stride_of(Index n) {
    Index stride = std::max<Index>(static_cast<Index>(0.618 * static_cast<double>(n)), 1);
    while (std::gcd(stride, n) != 1) ++stride;
    return stride;
}

template <class T>
class Descent {
public:
    Descent(const ClassProblem<T>& problem, ClassIterate& iterate, const ClassLimits& limits)
        : problem_(problem),
          iterate_(iterate),
          limits_(limits),
          row_(problem.classes),
          sums_(problem.classes) {
        for (Index i = 0; i < problem.n; ++i) {
            unit_ += static_cast<double>(problem.gram[i * problem.n + i]);
            for (Index k = 0; k < problem.classes; ++k)
                sums_[k] += iterate.theta[i * problem.classes + k];
        }
        unit_ /= static_cast<double>(problem.n);
    }

    ClassProgress run(Checkpoint& checkpoint) {
        ClassProgress progress{infinity, infinity, 0};
        double before = infinity;
        const Index stride = stride_of(problem_.n);
        Index since = 0;
        while (progress.sweeps < limits_.sweeps) {
            progress.violation = sweep(stride, checkpoint);
            ++progress.sweeps;
            ++since;
            if (progress.violation > iterate_.accuracy && since < patience) continue;
            progress.sum = move_biases();
            if (progress.violation <= limits_.tol && progress.sum <= limits_.sum) break;
            if (since >= patience)
                iterate_.rho = std::max(iterate_.rho / growth, least_rho * unit_);
            else if (since <= soon && progress.sum > std::max(falls * before, limits_.sum))
                iterate_.rho *= growth;
            before = progress.sum;
            const double wanted = sharper * unit_ * progress.sum;
            iterate_.accuracy = std::max(std::min(wanted, iterate_.accuracy), limits_.tol);
            since = 0;
        }
        return progress;
    }

private:
    // Solve for the rows that need it, in turn; returns the largest violation found.
    double sweep(Index stride, Checkpoint& checkpoint) {
        const Index n = problem_.n, classes = problem_.classes;
        double worst = 0.0;
        for (Index visited = 0, i = 0; visited < n; ++visited, i = (i + stride) % n) {
            checkpoint();
            const Index first = i * classes;
            const double *lower = problem_.lower + first, *upper = problem_.upper + first;
            double* theta = iterate_.theta + first;
            for (Index k = 0; k < classes; ++k)
                row_.slope()[k] = iterate_.products[k * n + i] + iterate_.b[k] +
                                  iterate_.rho * sums_[k] - problem_.linear[first + k];
            const double violation = row_.violation(theta, lower, upper);
            worst = std::max(worst, violation);
            if (!(violation > still * iterate_.accuracy)) continue;
            const T* kernel = problem_.gram + i * n;
            row_.minimise(theta, lower, upper, static_cast<double>(kernel[i]) + iterate_.rho);
            for (Index k = 0; k < classes; ++k) {
                const double change = row_.target()[k] - theta[k];
                if (change == 0.0) continue;
                theta[k] = row_.target()[k];
                sums_[k] += change;
                axpy(change, kernel, iterate_.products + k * n, n);
            }
        }
        return worst;
    }

    // The next biases; returns the largest sum over rows, recomputed.
    double move_biases() {
        double largest = 0.0;
        std::fill(sums_.begin(), sums_.end(), 0.0);
        for (Index i = 0; i < problem_.n; ++i)
            for (Index k = 0; k < problem_.classes; ++k)
                sums_[k] += iterate_.theta[i * problem_.classes + k];
        for (Index k = 0; k < problem_.classes; ++k) {
            iterate_.b[k] += iterate_.rho * sums_[k];
            largest = std::max(largest, std::abs(sums_[k]));
        }
        return largest;
    }

    const ClassProblem<T>& problem_;
    ClassIterate& iterate_;
    const ClassLimits& limits_;
    Row row_;
    std::vector<double> sums_;
    double unit_ = 0.0;  // the mean kᵢᵢ
};

}  // namespace

template <class T>
ClassProgress descend_classes(const ClassProblem<T>& problem, ClassIterate& iterate,
                              const ClassLimits& limits, Checkpoint& checkpoint) {
    return Descent<T>(problem, iterate, limits).run(checkpoint);
}

template ClassProgress descend_classes(const ClassProblem<float>&, ClassIterate&,
                                       const ClassLimits&, Checkpoint&);
template ClassProgress descend_classes(const ClassProblem<double>&, ClassIterate&,
                                       const ClassLimits&, Checkpoint&);

}  // namespace gapless
