// How far to go along a step: enough decrease (Armijo), and a slope that is flat enough (Wolfe). If
// rounding hides the decrease, the slope must be at most half as steep (Hager and Zhang 2005). As
// in the solver `newton`.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

namespace gapless {

class LineSearch {
public:
    // From an objective with this slope < 0 along the step; ends at a slope `level` times as steep.
    LineSearch(double objective, double slope, double rounding, double level)
        : objective_(objective),
          first_(slope),
          rounding_(rounding),
          level_(level),
          low_{0, slope} {}

    bool is_over() const { return is_over_ || trials_ >= most_trials; }
    // The length to try, in steps.
    double length() const { return t_; }
    // The best length so far; 0 if none is acceptable.
    double best() const { return best_; }

    // What was found at `length`; true if it is the best so far.
    bool report(double objective, double slope) {
        bool falls = objective <= objective_ + 1e-4 * t_ * first_;
        if (!falls && std::abs(objective - objective_) <= rounding_)
            falls = std::abs(slope) <= 0.5 * std::abs(first_);
        const bool is_best = falls && objective <= best_objective_;
        if (is_best) {
            best_ = t_;
            best_objective_ = objective;
            is_over_ = std::abs(slope) <= level_ * std::abs(first_) ||
                       (trials_ >= enough_trials && slope > 0.9 * first_);
        } else {
            is_over_ = best_ > 0 && trials_ >= enough_trials;
        }
        ++trials_;
        const End before = low_;
        (falls && slope < 0 ? low_ : high_) = {t_, slope};
        t_ = std::isfinite(high_.t) ? between() : beyond(before);
        return is_best;
    }

private:
    static constexpr int most_trials = 40, enough_trials = 3;
    static constexpr double infinity = std::numeric_limits<double>::infinity();

    struct End {
        double t, slope;
    };

    // Where a line through both slopes is 0, kept off the ends; a tenth if there is none.
    double between() const {
        double share = 0.1;
        if (std::isfinite(high_.slope) && low_.slope < 0 && high_.slope > 0)
            share = std::clamp(low_.slope / (low_.slope - high_.slope), 0.1, 0.9);
        return low_.t + share * (high_.t - low_.t);
    }

    // The same beyond both, between 1.25 and four times as far.
    double beyond(const End& before) const {
        const double rise = low_.slope - before.slope;
        const double ahead = rise > 0 ? -low_.slope * (low_.t - before.t) / rise : infinity;
        return std::min(std::max(low_.t + ahead, 1.25 * low_.t), 4 * low_.t);
    }

    double objective_, first_, rounding_, level_;
    End low_, high_{infinity, infinity};
    double t_ = 1, best_ = 0, best_objective_ = infinity;
    int trials_ = 0;
    bool is_over_ = false;
};

}  // namespace gapless
