// Sequential minimal optimisation on a working set whose kernel values fit the cache: two variables
// of a group move at a time, chosen by second-order information (Fan, Chen and Lin 2005, WSS 2).
//
// Slopes are kept in float relative to a level that the caller subtracts, so that small differences
// near the solution keep their digits; the caller recomputes the true slopes from θ.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "base/parallel.hpp"

namespace gapless {

// One variable: its value, its box, the cost absolute·|θ|, and its K(x, x).
struct Variable {
    double theta, lower, upper, absolute, diagonal;

    // Slopes of the objective when θ grows and when it falls, for a slope g of its smooth part. ±∞
    // if the box forbids it.
    double rise(double g) const {
        if (theta >= upper) return std::numeric_limits<double>::infinity();
        return g + (theta >= 0 ? absolute : -absolute);
    }
    double fall(double g) const {
        if (theta <= lower) return -std::numeric_limits<double>::infinity();
        return g + (theta > 0 ? absolute : -absolute);
    }
    // How far θ may grow and fall before its box or the kink of |θ| at 0 ends the quadratic.
    double room_above() const { return theta < 0 && absolute > 0 ? -theta : upper - theta; }
    double room_below() const { return theta > 0 && absolute > 0 ? theta : theta - lower; }
};

class PairSteps {
public:
    // Each group is padded to a multiple of this, which fills whole vectors of any instruction set.
    static constexpr Index padding = 16;

    // Add a variable to the current group.
    void push(const Variable& variable) { variables_.push_back(variable); }
    // Complete the current group: pad it with members that cannot move.
    void close_group();

    // The number of members, including the padding.
    Index size() const { return static_cast<Index>(variables_.size()); }
    const Variable& operator[](Index k) const { return variables_[k]; }
    // Set member k's slope, relative to the level of its group.
    void set_slope(Index k, double slope);

    // Where the kernel values of member k with all members are: in persistent memory, or in `room`.
    // The padding at the end may be missing.
    using Fetch = std::function<const float*(Index k, float* room)>;

    struct Outcome {
        double violation;
        Index steps;
    };
    // Take steps until the largest violation is at most `target`, or `most` of them; `width` is the
    // number of entries of a row.
    Outcome descend(const Fetch& fetch, Index width, double target, Index most,
                    Checkpoint& checkpoint);

    // The kernel row of member k; null if no step needed it.
    const float* row(Index k) const { return rows_[k]; }

private:
    struct Group {
        Index begin, end;
    };
    const float* fetched(Index k, const Fetch& fetch);
    void refresh(Index k);
    double step(Index i, Index j, double difference, double curvature);

    std::vector<Variable> variables_;
    std::vector<Group> groups_;
    std::vector<signed char> side_;  // of the kink whose slope `slope_` is
    std::vector<float> slope_, up_, down_, diagonal_;
    std::vector<const float*> rows_;
    std::vector<std::unique_ptr<float[]>> copies_;
};

}  // namespace gapless
