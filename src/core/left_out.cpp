#include "left_out.hpp"

#include <cmath>
#include <limits>

#include "pair_steps.hpp"

namespace gapless {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// A copy of a problem at its solution, from which one variable goes.
template <class T>
class Reduced {
public:
    Reduced(const GramRows<T>& kernel, const SumProblem& problem, Index out)
        : kernel_(kernel),
          problem_(problem),
          out_(out),
          theta_(problem.theta, problem.theta + problem.count),
          gradient_(problem.gradient, problem.gradient + problem.count),
          lower_(problem.lower, problem.lower + problem.count),
          upper_(problem.upper, problem.upper + problem.count) {
        problem_.theta = theta_.data();
        problem_.gradient = gradient_.data();
        problem_.lower = lower_.data();
        problem_.upper = upper_.data();
    }

    double score(double tol, Index steps, Checkpoint& checkpoint) {
        while (theta_[out_] != 0) {
            if (!hand_over()) return std::numeric_limits<double>::quiet_NaN();
            checkpoint();
        }
        lower_[out_] = upper_[out_] = 0;
        descend_sums(kernel_, problem_, tol, steps, 1, checkpoint);
        return gradient_[out_] - problem_.linear[out_] + bias();
    }

private:
    Index row(Index v) const { return problem_.rows ? problem_.rows[v] : v; }
    Variable variable(Index v) const {
        return {theta_[v], lower_[v], upper_[v], problem_.absolute ? problem_.absolute[v] : 0.0,
                problem_.diagonal[v]};
    }

    // Move as much as will go from the variable that leaves to the one to which that costs least;
    // false if no other has room.
    bool hand_over() {
        const double sign = theta_[out_] > 0 ? 1 : -1;
        const T* own = kernel_[row(out_)];
        Index taker = -1;
        double least = infinity, amount = 0;
        for (Index v = 0; v < problem_.count; ++v) {
            const Variable other = variable(v);
            const double room = sign > 0 ? other.room_above() : other.room_below();
            if (v == out_ || !(room > 0)) continue;
            const double size = std::min(std::abs(theta_[out_]), room);
            const double slope = sign > 0 ? other.rise(gradient_[v]) : -other.fall(gradient_[v]);
            const double curvature =
                problem_.diagonal[out_] + problem_.diagonal[v] - 2.0 * own[row(v)];
            const double cost = slope + 0.5 * size * curvature;
            if (cost < least) least = cost, taker = v, amount = size;
        }
        if (taker < 0) return false;
        const T* others = kernel_[row(taker)];
        const double step = sign * amount;
        theta_[taker] += step;
        theta_[out_] = amount == std::abs(theta_[out_]) ? 0.0 : theta_[out_] - step;
        for (Index v = 0; v < problem_.count; ++v)
            gradient_[v] += step * (static_cast<double>(others[row(v)]) - own[row(v)]);
        return true;
    }

    // Minus the mean slope of the free variables, or the middle of what the others allow.
    double bias() const {
        double total = 0, low = infinity, high = -infinity;
        Index free = 0;
        for (Index v = 0; v < problem_.count; ++v) {
            const Variable one = variable(v);
            const double rise = one.rise(gradient_[v]), fall = one.fall(gradient_[v]);
            if (rise == fall) total += rise, ++free;
            low = std::min(low, rise), high = std::max(high, fall);
        }
        if (free > 0) return -total / static_cast<double>(free);
        if (std::isinf(low)) return std::isinf(high) ? 0.0 : -high;
        return std::isinf(high) ? -low : -0.5 * (low + high);
    }

    const GramRows<T>& kernel_;
    SumProblem problem_;
    const Index out_;
    std::vector<double> theta_, gradient_, lower_, upper_;
};

}  // namespace

template <class T>
void leave_out(const GramRows<T>& kernel, const std::vector<SumProblem>& problems,
               const std::vector<LeftOut>& cases, double tol, Index steps, double* scores,
               const Context& context) {
    parallel_for(static_cast<Index>(cases.size()), context.threads, context.poll,
                 [&](Index c, Checkpoint& checkpoint) {
                     const LeftOut& one = cases[c];
                     Reduced<T> reduced(kernel, problems[one.problem], one.variable);
                     scores[c] = reduced.score(tol, steps, checkpoint);
                 });
}

template void leave_out(const GramRows<float>&, const std::vector<SumProblem>&,
                        const std::vector<LeftOut>&, double, Index, double*, const Context&);
template void leave_out(const GramRows<double>&, const std::vector<SumProblem>&,
                        const std::vector<LeftOut>&, double, Index, double*, const Context&);

}  // namespace gapless
