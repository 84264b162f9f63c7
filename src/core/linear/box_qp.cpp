#include "linear/box_qp.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

namespace gapless {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// SplitMix64 (Steele, Lea and Flood 2014): the same numbers on every platform.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    // An integer from 0 to bound − 1.
    Index below(Index bound) {
        std::uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        // The top 32 bits are scaled: the bias is below bound / 2³², and no order is excluded.
        return static_cast<Index>(((z ^ (z >> 31)) >> 32) * static_cast<std::uint64_t>(bound) >>
                                  32);
    }

private:
    std::uint64_t state_;
};

// argmin of ½(t − v)² + threshold·|t|
double soft(double v, double threshold) {
    return v > threshold ? v - threshold : v < -threshold ? v + threshold : 0.0;
}

// φ(θ) = z θ + absolute |θ| + ½ quadratic θ² in its box: one sample's share of the objective with z
// fixed.
struct Share {
    double quadratic, lower, upper, absolute;

    double clip(double theta) const { return std::min(upper, std::max(lower, theta)); }

    // The minimiser of φ's sum with ½ (curvature − quadratic) (t − θ)², whose slope at θ is
    // `slope`.
    double step(double theta, double slope, double curvature) const {
        if (curvature > 0) return clip(soft(theta - slope / curvature, absolute / curvature));
        return slope > absolute ? lower : slope < -absolute ? upper : theta;
    }

    // φ(θ) − min φ: what this sample adds to the duality gap (Fenchel–Young).
    double gap(double theta, double z) const {
        double best = quadratic > 0   ? clip(soft(-z / quadratic, absolute / quadratic))
                      : z > absolute  ? lower
                      : z < -absolute ? upper
                      : absolute > 0  ? clip(0.0)
                                      : theta;
        auto value = [&](double t) {
            return (z + 0.5 * quadratic * t) * t + absolute * std::abs(t);
        };
        return value(theta) - value(best);
    }

    // How much room the optimality condition at θ has; negative: by how much it fails.
    double slack(double theta, double slope) const {
        double up = theta < upper ? slope + (theta >= 0 ? absolute : -absolute) : infinity;
        double down = theta > lower ? slope + (theta > 0 ? absolute : -absolute) : -infinity;
        return std::min(up, -down);
    }
};

// Visits the samples, the columns of Xᵀ. w moves along scale · step, which is Xᵀ / l2.
template <ColumnMatrix A, ColumnMatrix B>
class Descent {
public:
    Descent(const A& x, const B& step, const double* inverse, double scale, const BoxTerms& terms,
            BoxIterate& at, const BoxLimits& limits, Checkpoint& checkpoint)
        : x_(x),
          step_(step),
          scale_(scale),
          terms_(terms),
          at_(at),
          limits_(limits),
          random_(limits.seed),
          checkpoint_(checkpoint),
          square_(x.columns()),
          largest_sigma_(1e3 * at.sigma) {
        for (Index i = 0; i < x.columns(); ++i) {
            // A sample of weight 0 has a box of width 0 and is never visited.
            if (terms.lower[i] < terms.upper[i]) movable_.push_back(i);
            size_ = std::max(size_, std::abs(terms.linear[i]));
            square_[i] = x.squared_norm(i, inverse);
            sum_ += at.theta[i];
            rest();
        }
    }

    BoxProgress run() {
        active_ = movable_;
        BoxProgress done{infinity, 0, 0};
        double settled = infinity;
        const double enough = part_in_play * limits_.gap;
        const std::uint64_t last_visit = visits_ + limits_.visits;
        double sum_before = infinity;
        while (done.epochs < limits_.epochs && visits_ < last_visit) {
            bool everything = active_.size() == movable_.size();
            double gap = epoch();
            bool solved = gap <= enough;
            ++done.epochs;
            if (everything) {
                done.gap = gap + price_of_sum();
                if (done.gap <= limits_.gap) break;
                sum_before = infinity;
            }
            // While the samples in play bring Σθ nearer to 0, the others need not be visited.
            bool waits = solved && std::abs(sum_) <= 0.5 * sum_before && price_of_sum() > enough;
            if (solved) sum_before = std::abs(sum_);
            if (solved || gap <= 0.1 * settled) {
                settled = gap;
                move_bias();
            }
            // What was left out must be checked again before anything is called solved. The
            // threshold stays: one visit shows what may be left out again.
            if ((solved && !waits) || active_.empty()) active_ = movable_;
        }
        done.active = static_cast<Index>(active_.size());
        return done;
    }

private:
    // The samples in play aim at less than the whole gap, which must hold for all of them.
    static constexpr double part_in_play = 0.3;

    // One pass over the active samples in random order; returns their share of the gap.
    double epoch() {
        constexpr Index ahead = 4;
        Index count = static_cast<Index>(active_.size()), kept = 0;
        for (Index k = 0; k < count; ++k)
            std::swap(active_[k], active_[k + random_.below(count - k)]);
        double gap = 0, violation = 0;
        for (Index k = 0; k < count; ++k) {
            Index i = active_[k];
            if constexpr (requires { x_.prefetch(i); })
                if (k + ahead < count) x_.prefetch(active_[k + ahead]);
            Share share{terms_.quadratic[i], terms_.lower[i], terms_.upper[i], terms_.absolute};
            double theta = at_.theta[i];
            double z = x_.dot(i, at_.w) + at_.b + terms_.linear[i];
            double slope = z + share.quadratic * theta;
            double slack = share.slack(theta, slope);
            gap += share.gap(theta, z);
            rest();
            if (slack > at_.threshold) continue;
            active_[kept++] = i;
            violation = std::max(violation, -slack);
            move(i, share.step(theta, slope, square_[i] + share.quadratic + at_.sigma) - theta);
        }
        active_.resize(kept);
        at_.threshold = violation > 0 ? violation : infinity;
        return gap;
    }

    void move(Index i, double change) {
        if (change == 0) return;
        at_.theta[i] += change;
        step_.axpy(i, scale_ * change, at_.w);
        at_.b += at_.sigma * change;
        sum_ += change;
    }

    // The multiplier step. σ grows if five of them have not brought Σθ much nearer to 0.
    void move_bias() {
        at_.b += at_.sigma * sum_;
        if (++moves_ % 5 != 0) return;
        if (std::abs(sum_) > 0.25 * last_sum_ && at_.sigma < largest_sigma_) at_.sigma *= 4;
        last_sum_ = std::abs(sum_);
    }

    // The cost of making Σθ = 0: little if many θ have room to share it, else as much as the bias
    // may have to move.
    double price_of_sum() const {
        if (at_.sigma == 0 || sum_ == 0) return 0.0;
        double room = 0;
        for (Index i : movable_)
            room += std::min(at_.theta[i] - terms_.lower[i], terms_.upper[i] - at_.theta[i]);
        double share = room > 0 ? std::min(1.0, std::abs(sum_) / room) : 1.0;
        return std::abs(sum_) * share * (size_ + std::abs(at_.b));
    }

    void rest() {
        if (++visits_ % 64 == 0) checkpoint_();
    }

    const A& x_;
    const B& step_;
    double scale_;
    const BoxTerms& terms_;
    BoxIterate& at_;
    const BoxLimits& limits_;
    Random random_;
    Checkpoint& checkpoint_;
    std::vector<double> square_;
    std::vector<Index> movable_, active_;
    double sum_ = 0, last_sum_ = infinity, size_ = 0;
    double largest_sigma_;
    Index moves_ = 0;
    std::uint64_t visits_ = 0;
};

bool is_constant(const double* v, Index n) {
    return std::all_of(v, v + n, [&](double t) { return t == v[0]; });
}

}  // namespace

// With one l2 for all features w moves along the samples themselves; otherwise along a copy of
// them, in double, because w must be Xᵀθ / l2 to the last digits for the gap to close.

template <class X>
BoxProgress descend_box(const Dense<X>& x, const double* inverse, const BoxTerms& terms,
                        BoxIterate& iterate, const BoxLimits& limits, Checkpoint& checkpoint) {
    const Index n = x.rows, d = x.columns;
    const DenseColumns<X> samples(x.data, d, n);
    if (is_constant(inverse, d))
        return Descent(samples, samples, inverse, d ? inverse[0] : 0.0, terms, iterate, limits,
                       checkpoint)
            .run();
    std::vector<double> scaled(x.data, x.data + n * d);
    for (Index p = 0; p < n * d; ++p) scaled[p] *= inverse[p % d];
    const DenseColumns<double> steps(scaled.data(), d, n);
    return Descent(samples, steps, inverse, 1.0, terms, iterate, limits, checkpoint).run();
}

template <class X>
BoxProgress descend_box(const Compressed<X>& x, const double* inverse, const BoxTerms& terms,
                        BoxIterate& iterate, const BoxLimits& limits, Checkpoint& checkpoint) {
    const SparseColumns<X> samples(x);
    if (is_constant(inverse, x.length))
        return Descent(samples, samples, inverse, x.length ? inverse[0] : 0.0, terms, iterate,
                       limits, checkpoint)
            .run();
    const Index entries = x.start[x.lines];
    std::vector<double> scaled(x.value, x.value + entries);
    for (Index p = 0; p < entries; ++p) scaled[p] *= inverse[x.index[p]];
    const SparseColumns<double> steps({x.lines, x.length, x.start, x.index, scaled.data()});
    return Descent(samples, steps, inverse, 1.0, terms, iterate, limits, checkpoint).run();
}

template BoxProgress descend_box(const Dense<float>&, const double*, const BoxTerms&, BoxIterate&,
                                 const BoxLimits&, Checkpoint&);
template BoxProgress descend_box(const Dense<double>&, const double*, const BoxTerms&, BoxIterate&,
                                 const BoxLimits&, Checkpoint&);
template BoxProgress descend_box(const Compressed<float>&, const double*, const BoxTerms&,
                                 BoxIterate&, const BoxLimits&, Checkpoint&);
template BoxProgress descend_box(const Compressed<double>&, const double*, const BoxTerms&,
                                 BoxIterate&, const BoxLimits&, Checkpoint&);

}  // namespace gapless
