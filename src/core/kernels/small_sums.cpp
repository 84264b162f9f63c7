#include "kernels/small_sums.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <tuple>
#include <utility>

#include "base/pieces.hpp"
#include "base/vectors.hpp"

namespace gapless {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
// Cases of a problem per task: enough to pay for the copy of its kernel values.
constexpr Index chunk = 64;

// The smallest slope of a variable that may rise, and the largest of one that may fall.
struct Ends {
    double rise, fall;
};

// Those, and for each variable that may rise sums[v] = gradient[v] + rise[v].
Ends ends(const double* gradient, const double* rise, const double* fall, double* __restrict sums,
          Index n) {
    double least = infinity, most = -infinity;
#pragma omp simd reduction(min : least) reduction(max : most)
    for (Index v = 0; v < n; ++v) {
        const double sum = gradient[v] + rise[v];
        sums[v] = sum;
        least = std::min(least, sum);
        most = std::max(most, gradient[v] + fall[v]);
    }
    return {least, most};
}

// The first v with x[v] = value; n if there is none.
Index first_of(const double* x, double value, Index n) {
    constexpr Index strip = 32;
    Index v = 0;
    for (; v + strip <= n; v += strip) {
        int is_here = 0;
#pragma omp simd reduction(| : is_here)
        for (Index u = v; u < v + strip; ++u) is_here |= x[u] == value;
        if (is_here) break;
    }
    while (v < n && x[v] != value) ++v;
    return v;
}

// gain[v] = d²/curvature for d = a[v] + b[v] − least > 0, else −1; returns the largest. The
// curvature of an indefinite kernel is raised (Fan, Chen and Lin 2005).
template <class T>
GAPLESS_BODY double largest_gain_loop(const double* a, const double* b, double least,
                                      const double* diagonal, double own, const T* kernel,
                                      double* gain, Index n) {
    double largest = -1;
#pragma omp simd reduction(max : largest)
    for (Index v = 0; v < n; ++v) {
        const double d = a[v] + b[v] - least;
        const double curvature = std::max(diagonal[v] + own - 2.0 * kernel[v], 1e-12);
        const double value = d > 0 ? d * d / curvature : -1.0;
        gain[v] = value;
        largest = std::max(largest, value);
    }
    return largest;
}
double largest_gain(const double* a, const double* b, double least, const double* diagonal,
                    double own, const float* kernel, double* gain, Index n) {
    return largest_gain_loop(a, b, least, diagonal, own, kernel, gain, n);
}
double largest_gain(const double* a, const double* b, double least, const double* diagonal,
                    double own, const double* kernel, double* gain, Index n) {
    return largest_gain_loop(a, b, least, diagonal, own, kernel, gain, n);
}

// gradient += step·(first − second)
template <class T>
GAPLESS_BODY void move_loop(double step, const T* first, const T* second, double* gradient,
                            Index n) {
#pragma omp simd
    for (Index v = 0; v < n; ++v)
        gradient[v] += step * (static_cast<double>(first[v]) - static_cast<double>(second[v]));
}
void move(double step, const float* first, const float* second, double* gradient, Index n) {
    move_loop(step, first, second, gradient, n);
}
void move(double step, const double* first, const double* second, double* gradient, Index n) {
    move_loop(step, first, second, gradient, n);
}

// A problem with its kernel values side by side.
//
// Pairs of variables move, chosen by second-order information. All slopes are in one place, so the
// slope with which a variable rises is gradient + rise_, where rise_ is ±absolute, or ∞ at its
// upper bound, and likewise for its fall.
template <class T>
class Local {
public:
    Local(const GramRows<T>& kernel, const SumProblem& problem)
        : problem_(problem),
          n_(problem.count),
          theta_(n_),
          gradient_(n_),
          rise_(n_),
          fall_(n_),
          gain_(n_),
          is_out_(n_, 0) {
        for (Index v = 0; v < n_; ++v) {
            theta_[v] = problem.theta[v];
            refresh(v);
        }
        first_rise_ = rise_;
        first_fall_ = fall_;
        bool is_in_place = kernel.stride == n_ || n_ == 1;
        for (Index v = 0; v < n_ && is_in_place; ++v) is_in_place = row(v) == v;
        if (is_in_place) {
            values_ = kernel[0];
            return;
        }
        copy_ = uninitialized<T>(n_ * n_);
        const std::vector<Range> runs = neighbours();
        for (Index v = 0; v < n_; ++v) {
            T* to = copy_.get() + v * n_;
            const T* from = kernel[row(v)];
            for (const Range& run : runs) to = std::copy_n(from + run.begin, run.size(), to);
        }
        values_ = copy_.get();
    }

    // Solve the problem itself.
    void solve(double tol, Index steps, Checkpoint& checkpoint) {
        begin();
        descend(tol, steps, checkpoint);
        std::copy_n(theta_.begin(), n_, problem_.theta);
        std::copy_n(gradient_.begin(), n_, problem_.gradient);
    }

    // The score of a row without its variable and those of the same unit, and the number of steps.
    std::pair<double, Index> score(Index out, const std::int64_t* units, double tol, Index steps,
                                   Checkpoint& checkpoint) {
        begin();
        // They may not move by themselves; their θ is handed over first.
        leave(out);
        for (Index v = 0; units && v < n_; ++v)
            if (v != out && units[row(v)] == units[row(out)]) join(v, out);
        const double rounding = 1e-9 * std::abs(theta_[out]);
        while (theta_[out] != 0 && hand_over(out)) continue;
        if (std::abs(theta_[out]) > rounding) return {std::numeric_limits<double>::quiet_NaN(), 0};
        // If all others had to go back to 0, rounding may be left.
        theta_[out] = 0;
        const Index taken = descend(tol, steps, checkpoint);
        return {gradient_[out] - problem_.linear[out] + bias(), taken};
    }

private:
    Index row(Index v) const { return problem_.rows ? problem_.rows[v] : v; }
    // The rows of the variables, as ranges of consecutive rows, as those of a class are.
    std::vector<Range> neighbours() const {
        std::vector<Range> runs;
        for (Index v = 0; v < n_; ++v) {
            if (runs.empty() || runs.back().end != row(v)) runs.push_back({row(v), row(v)});
            ++runs.back().end;
        }
        return runs;
    }

    const T* kernel(Index v) const { return values_ + v * n_; }
    double absolute(Index v) const { return problem_.absolute ? problem_.absolute[v] : 0.0; }

    void begin() {
        std::fill(is_out_.begin(), is_out_.end(), std::uint8_t{0});
        std::copy_n(problem_.theta, n_, theta_.begin());
        std::copy_n(problem_.gradient, n_, gradient_.begin());
        rise_ = first_rise_;
        fall_ = first_fall_;
    }

    void leave(Index v) {
        is_out_[v] = 1;
        rise_[v] = infinity, fall_[v] = -infinity;
    }

    // A variable leaves with another one, which takes the θ of both.
    void join(Index v, Index out) {
        leave(v);
        shift(out, v, theta_[v]);
        theta_[v] = 0;
    }

    // Returns the number of steps, at most `steps`.
    Index descend(double tol, Index steps, Checkpoint& checkpoint) {
        Index step = 0;
        for (; step < steps && take_step(tol); ++step)
            if (step % 64 == 63) checkpoint();
        return step;
    }

    // How far θ may grow and fall before its box or the kink of |θ| at 0 ends the quadratic.
    double room_above(Index v) const {
        return theta_[v] < 0 && absolute(v) > 0 ? -theta_[v] : problem_.upper[v] - theta_[v];
    }
    double room_below(Index v) const {
        return theta_[v] > 0 && absolute(v) > 0 ? theta_[v] : theta_[v] - problem_.lower[v];
    }

    void refresh(Index v) {
        if (is_out_[v]) return;
        const double cost = absolute(v);
        rise_[v] = theta_[v] >= problem_.upper[v] ? infinity : theta_[v] >= 0 ? cost : -cost;
        fall_[v] = theta_[v] <= problem_.lower[v] ? -infinity : theta_[v] > 0 ? cost : -cost;
    }

    // θ of one grows and of the other falls by the same amount.
    void shift(Index grows, Index falls, double step) {
        theta_[grows] += step;
        theta_[falls] -= step;
        move(step, kernel(grows), kernel(falls), gradient_.data(), n_);
        refresh(grows);
        refresh(falls);
    }

    // One step of the most violating pair; false if no violation exceeds the tolerance.
    bool take_step(double tol) {
        const auto [least, most] =
            ends(gradient_.data(), rise_.data(), fall_.data(), gain_.data(), n_);
        if (!(most - least > tol) || std::isinf(most - least)) return false;
        const Index i = first_of(gain_.data(), least, n_);
        const double largest =
            largest_gain(gradient_.data(), fall_.data(), least, problem_.diagonal,
                         problem_.diagonal[i], kernel(i), gain_.data(), n_);
        const Index j = first_of(gain_.data(), largest, n_);
        if (j == n_) return false;  // kernel values that are not numbers
        const double difference = gradient_[j] + fall_[j] - least;
        const double step = std::min({largest / difference, room_above(i), room_below(j)});
        if (!(step > 0)) return false;
        shift(i, j, step);
        settle(i), settle(j);
        return true;
    }

    // A θ that rounding leaves next to an end is set to the end.
    void settle(Index v) {
        const double room = 1e-12 * (problem_.upper[v] - problem_.lower[v]);
        for (double end : {problem_.lower[v], 0.0, problem_.upper[v]})
            if (std::abs(theta_[v] - end) <= room) theta_[v] = end;
        refresh(v);
    }

    // Move as much as possible from a variable that leaves to the one where that costs least; false
    // if no other has room.
    bool hand_over(Index out) {
        const bool is_positive = theta_[out] > 0;
        const double left = std::abs(theta_[out]);
        const T* own = kernel(out);
        Index taker = -1;
        double least = infinity, amount = 0;
        for (Index v = 0; v < n_; ++v) {
            const double room = is_positive ? room_above(v) : room_below(v);
            const double slope = is_positive ? gradient_[v] + rise_[v] : -gradient_[v] - fall_[v];
            if (is_out_[v] || !(room > 0) || std::isinf(slope)) continue;
            const double size = std::min(left, room);
            const double curvature = problem_.diagonal[out] + problem_.diagonal[v] - 2.0 * own[v];
            const double cost = slope + 0.5 * size * curvature;
            if (cost < least) least = cost, taker = v, amount = size;
        }
        if (taker < 0) return false;
        if (is_positive)
            shift(taker, out, amount);
        else
            shift(out, taker, amount);
        if (amount == left) theta_[out] = 0;
        settle(taker);
        return true;
    }

    // Minus the mean slope of the free variables, or the middle of the interval the others allow.
    double bias() const {
        double total = 0;
        Index free = 0;
        for (Index v = 0; v < n_; ++v)
            if (rise_[v] == fall_[v]) total += gradient_[v] + rise_[v], ++free;
        std::vector<double> sums(n_);
        const auto [low, high] =
            ends(gradient_.data(), rise_.data(), fall_.data(), sums.data(), n_);
        if (free > 0) return -total / static_cast<double>(free);
        if (std::isinf(low)) return std::isinf(high) ? 0.0 : -high;
        return std::isinf(high) ? -low : -0.5 * (low + high);
    }

    const SumProblem& problem_;
    const Index n_;
    std::vector<double> theta_, gradient_, rise_, fall_, gain_;
    std::vector<std::uint8_t> is_out_;             // which variables are left out
    std::vector<double> first_rise_, first_fall_;  // at the θ of the problem
    std::unique_ptr<T[]> copy_;
    const T* values_;
};

// Consecutive cases of one problem in `order`.
struct Task {
    Index problem, begin, end;
};

std::vector<Task> shared_out(const std::vector<LeftOut>& cases, const std::vector<Index>& order) {
    std::vector<Task> tasks;
    for (Index c = 0; c < static_cast<Index>(order.size()); ++c) {
        const Index problem = cases[order[c]].problem;
        if (tasks.empty() || tasks.back().problem != problem || c - tasks.back().begin == chunk)
            tasks.push_back({problem, c, c});
        tasks.back().end = c + 1;
    }
    return tasks;
}

}  // namespace

template <class T>
void descend_small(const GramRows<T>& kernel, const std::vector<SumProblem>& problems, double tol,
                   Index steps, const Context& context) {
    parallel_for(static_cast<Index>(problems.size()), context.threads, context.poll,
                 [&](Index p, Checkpoint& checkpoint) {
                     Local<T>(kernel, problems[p]).solve(tol, steps, checkpoint);
                 });
}

template <class T>
void leave_out(const GramRows<T>& kernel, const std::vector<SumProblem>& problems,
               const std::vector<LeftOut>& cases, const std::int64_t* units, double tol,
               Index steps, double* scores, Index* taken, const Context& context) {
    std::vector<Index> order(cases.size());
    for (Index c = 0; c < static_cast<Index>(order.size()); ++c) order[c] = c;
    std::stable_sort(order.begin(), order.end(),
                     [&](Index a, Index b) { return cases[a].problem < cases[b].problem; });
    const std::vector<Task> tasks = shared_out(cases, order);
    parallel_for(static_cast<Index>(tasks.size()), context.threads, context.poll,
                 [&](Index t, Checkpoint& checkpoint) {
                     const Task& task = tasks[t];
                     Local<T> local(kernel, problems[task.problem]);
                     for (Index c = task.begin; c < task.end; ++c) {
                         const Index variable = cases[order[c]].variable;
                         std::tie(scores[order[c]], taken[order[c]]) =
                             local.score(variable, units, tol, steps, checkpoint);
                         checkpoint();
                     }
                 });
}

template void descend_small(const GramRows<float>&, const std::vector<SumProblem>&, double, Index,
                            const Context&);
template void descend_small(const GramRows<double>&, const std::vector<SumProblem>&, double, Index,
                            const Context&);
template void leave_out(const GramRows<float>&, const std::vector<SumProblem>&,
                        const std::vector<LeftOut>&, const std::int64_t*, double, Index, double*,
                        Index*, const Context&);
template void leave_out(const GramRows<double>&, const std::vector<SumProblem>&,
                        const std::vector<LeftOut>&, const std::int64_t*, double, Index, double*,
                        Index*, const Context&);

}  // namespace gapless
