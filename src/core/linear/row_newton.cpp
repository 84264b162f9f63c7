#include "linear/row_newton.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/pieces.hpp"
#include "linear/line_search.hpp"

namespace gapless {
namespace {

constexpr double eps = std::numeric_limits<double>::epsilon();
constexpr double infinity = std::numeric_limits<double>::infinity();
// The line search ends at a slope this much flatter.
constexpr double level = 0.25;
// Steps that settle reduce the decrement by at least this factor, and within this many of them;
// without a minimiser, as for separable data, they never do: there a step divides it by e.
constexpr double shrinks = 0.3;
constexpr int longest_wait = 12;
// What is left of the decrement when the coefficients have their digits, in units of the scale.
constexpr double settled = 1e-18;
// A new factor takes as long as this many passes, and as many more as there are features to each of
// these; about two steps then settle everything.
constexpr double passes_per_factor = 2.3, features_per_pass = 14, steps_after = 2;
// The part of a column's squares that must be left after centring if no penalty holds it.
constexpr double least_variance = 1e-10;

}  // namespace

template <class X>
RowNewton<X>::RowNewton(const RowProblem<X>& problem)
    : problem_(problem),
      n_(problem.x.rows),
      d_(problem.x.columns),
      before_(infinity),
      next_decrement_(infinity) {
    make_room(at_);
}

template <class X>
void RowNewton<X>::make_room(Iterate& at) const {
    if (at.scores) return;
    at.w.resize(d_), at.gradient.resize(d_);
    for (auto* v : {&at.scores, &at.slope, &at.curvature}) *v = uninitialized<double>(n_);
}

template <class X>
double RowNewton<X>::inner(const Change& a, const Change& b) {
    return dot(a.w.data(), b.w.data(), static_cast<Index>(a.w.size())) + a.b * b.b;
}

template <class X>
void RowNewton<X>::evaluate(Iterate& at, const Context& context) const {
    double sums[2];
    const LossPass<X> pass{problem_.x,     problem_.center,    at.w.data(),        at.b,
                           problem_.y,     problem_.weights,   at.scores.get(),    nullptr,
                           at.slope.get(), at.curvature.get(), at.gradient.data(), sums};
    loss_pass(problem_.loss, pass, context.threads, context.poll);
    at.primal = sums[0] + 0.5 * square_sum(at.w.data(), problem_.l2, d_);
    at.bias_gradient = problem_.has_bias ? sums[1] : 0.0;
    for (Index j = 0; j < d_; ++j) at.gradient[j] += problem_.l2[j] * at.w[j];
}

template <class X>
void RowNewton<X>::begin(const double* w, double b, const Context& context) {
    std::copy_n(w, d_, at_.w.begin());
    at_.b = b;
    evaluate(at_, context);
}

template <class X>
void RowNewton<X>::take_factor(const RowNewton& other, const Blas& blas) {
    hessian_ = other.hessian_;
    if (hessian_) look_ahead(blas);
}

// ---- the Newton equations ----

template <class X>
bool RowNewton<X>::factorise(const Context& context) {
    const double* curvature = at_.curvature.get();
    std::unique_ptr<double[]> weighted;
    if (problem_.weights) {
        weighted = uninitialized<double>(n_);
        for (Index i = 0; i < n_; ++i)
            weighted[i] = problem_.weights[i] > 0 ? problem_.weights[i] * curvature[i] : 0.0;
        curvature = weighted.get();
    }
    RowHessian made;
    made.mean.assign(d_, 0.0), made.spread.resize(d_);
    Vector center(d_, 0.0), H(d_ * d_);
    if (problem_.center) std::copy_n(problem_.center, d_, center.begin());
    if (problem_.has_bias) {
        for (Index i = 0; i < n_; ++i) made.total += curvature[i];
        if (!(made.total > 0) || !std::isfinite(made.total)) return false;
        transposed_times(problem_.x, problem_.center, {nullptr, d_}, curvature, 1, made.mean.data(),
                         context);
        for (Index j = 0; j < d_; ++j) made.mean[j] /= made.total, center[j] += made.mean[j];
    }
    gram(problem_.x, center.data(), curvature, {nullptr, d_}, H.data(), context);
    for (Index j = 0; j < d_; ++j) {
        double& diagonal = H[j * (d_ + 1)];
        // Scaled to a unit diagonal, the rounding of a constant column would pass for data.
        const double removed = made.total * center[j] * center[j];
        if (problem_.l2[j] == 0 && !(diagonal > least_variance * removed)) return false;
        diagonal += problem_.l2[j];
        made.spread[j] = std::sqrt(diagonal);
    }
    if (!made.factor.factor(std::move(H), d_, context.blas)) return false;
    hessian_ = std::move(made);
    return true;
}

// H⁻¹ times a gradient.
template <class X>
auto RowNewton<X>::solve(const Change& gradient, const Blas& blas) const -> Change {
    Change step = gradient;
    axpy(-gradient.b, hessian_->mean.data(), step.w.data(), d_);
    hessian_->factor.solve(step.w.data(), 1, blas);
    if (problem_.has_bias)
        step.b = gradient.b / hessian_->total - dot(hessian_->mean.data(), step.w.data(), d_);
    return step;
}

// The same with the old factor, corrected by what the steps since have shown.
template <class X>
auto RowNewton<X>::corrected(const Blas& blas) const -> Change {
    Change rest{at_.gradient, at_.bias_gradient};
    Vector shares(memories_.size());
    for (std::size_t m = memories_.size(); m-- > 0;) {
        const Memory& memory = memories_[m];
        shares[m] = inner(memory.moved, rest) / memory.product;
        axpy(-shares[m], memory.turned.w.data(), rest.w.data(), d_);
        rest.b -= shares[m] * memory.turned.b;
    }
    Change step = solve(rest, blas);
    for (std::size_t m = 0; m < memories_.size(); ++m) {
        const Memory& memory = memories_[m];
        const double share = shares[m] - inner(memory.turned, step) / memory.product;
        axpy(share, memory.moved.w.data(), step.w.data(), d_);
        step.b += share * memory.moved.b;
    }
    return step;
}

// ---- steps ----

template <class X>
bool RowNewton<X>::step(const Context& context) {
    const Change gradient{at_.gradient, at_.bias_gradient};
    is_old_ = hessian_ && is_fast();
    while (true) {
        if (!is_old_) {
            if (!factorise(context)) return false;
            memories_.clear();
            next_ = solve(gradient, context.blas);
            next_decrement_ = inner(gradient, next_);
        }
        before_ = next_decrement_;
        if (next_decrement_ > 0 && search(next_, context)) break;
        if (!is_old_) return false;
        is_old_ = false;
    }
    look_ahead(context.blas);
    return true;
}

// Whether the steps by the old factor that are left take less time than a new one.
template <class X>
bool RowNewton<X>::is_fast() const {
    if (!(next_decrement_ <= shrinks * before_)) return false;
    const double left = std::log(next_decrement_ / (settled * problem_.scale));
    const double passes = passes_per_factor + double(d_) / features_per_pass + steps_after;
    return !(left > passes * std::log(before_ / next_decrement_));
}

template <class X>
bool RowNewton<X>::search(const Change& step, const Context& context) {
    const double rounding = 8 * eps * (std::abs(at_.primal) + problem_.scale);
    LineSearch line(at_.primal, -next_decrement_, rounding, level);
    while (!line.is_over()) {
        const double t = line.length();
        make_room(trial_);
        for (Index j = 0; j < d_; ++j) trial_.w[j] = at_.w[j] - t * step.w[j];
        trial_.b = at_.b - t * step.b;
        evaluate(trial_, context);
        const double slope = -inner({trial_.gradient, trial_.bias_gradient}, step);
        if (line.report(trial_.primal, slope)) std::swap(trial_, best_);
    }
    if (!(line.best() > 0)) return false;
    std::swap(at_, best_);
    remember(best_);
    if (!trial_.scores) std::swap(trial_, best_);
    return true;
}

// What the way from the last iterate says about the Hessian.
template <class X>
void RowNewton<X>::remember(const Iterate& before) {
    Memory memory{{at_.w, at_.b - before.b},
                  {at_.gradient, at_.bias_gradient - before.bias_gradient}};
    axpy(-1.0, before.w.data(), memory.moved.w.data(), d_);
    axpy(-1.0, before.gradient.data(), memory.turned.w.data(), d_);
    memory.product = inner(memory.moved, memory.turned);
    const double sizes = inner(memory.moved, memory.moved) * inner(memory.turned, memory.turned);
    if (memory.product > eps * std::sqrt(sizes)) memories_.push_back(std::move(memory));
}

// The next step by the factor at hand, and whether the steps settle.
template <class X>
void RowNewton<X>::look_ahead(const Blas& blas) {
    next_ = corrected(blas);
    next_decrement_ = inner({at_.gradient, at_.bias_gradient}, next_);
    waits_ = next_decrement_ <= shrinks * before_ ? waits_ + 1 : 0;
    unsettled_ = 0 < waits_ && waits_ <= longest_wait ? relative_change(next_) : -1.0;
}

template <class X>
double RowNewton<X>::relative_change(const Change& step) const {
    if (std::abs(next_decrement_) <= 0.01 * eps * std::abs(at_.primal)) return 0;
    double size = 0, change = 0;
    for (Index j = 0; j < d_; ++j) {
        size = std::max(size, std::abs(at_.w[j]) * hessian_->spread[j]);
        change = std::max(change, std::abs(step.w[j]) * hessian_->spread[j]);
    }
    const double root = std::sqrt(hessian_->total);
    const double of_bias = root * std::abs(step.b), whole = std::max(size, root * std::abs(at_.b));
    const auto ratio = [](double part, double all) {
        return part == 0 ? 0.0 : all > 0 ? part / all : infinity;
    };
    return std::max(ratio(change, size), ratio(of_bias, whole));
}

template <class X>
void RowNewton<X>::of_rows(double* scores, double* theta) const {
    std::copy_n(at_.scores.get(), n_, scores);
    for (Index i = 0; i < n_; ++i) {
        const double s = problem_.weights ? problem_.weights[i] : 1.0;
        theta[i] = s > 0 ? -s * at_.slope[i] : 0.0;
    }
}

template class RowNewton<float>;
template class RowNewton<double>;

}  // namespace gapless
