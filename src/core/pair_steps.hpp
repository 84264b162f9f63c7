// Sequential minimal optimisation on a working set whose kernel values fit the cache: two variables
// of a group move at a time, chosen by second-order information (Fan, Chen and Lin 2005, WSS 2).
//
// Slopes are kept in float relative to a level that the caller takes off, so that small differences
// near the solution keep their digits; the caller computes the true slopes again from θ.
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <vector>

#include "parallel.hpp"

namespace gapless {

// What holds for one variable: its value, its box, the cost absolute·|θ|, and its K(x, x).
struct Variable {
    double theta, lower, upper, absolute, diagonal;

    // Slopes of the objective when θ grows and when it falls, for a slope g of its smooth part.
    // ±∞ where the box forbids it.
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
    // Vectors of so many floats; each group fills whole ones.
    static constexpr Index lanes = 16;

    // Start with an empty working set.
    void clear();
    // A variable joins the present group; `column` is its place in the rows the caller has.
    void push(std::int32_t column, const Variable& variable);
    // The present group is complete: pad it.
    void close_group();

    // Members, with the padding, whose variables have no room to move.
    Index size() const { return static_cast<Index>(variables_.size()); }
    const Variable& variable(Index k) const { return variables_[k]; }
    const std::vector<std::int32_t>& columns() const { return columns_; }
    // Set member k's slope, from which the level of its group has been taken off.
    void set_slope(Index k, double slope);

    // Write the kernel values of member k with all members.
    using Fetch = std::function<void(Index k, float* row)>;

    struct Outcome {
        double violation;
        Index steps;
    };
    // Take steps until the largest violation is at most `target`, or `most` of them.
    Outcome descend(const Fetch& fetch, double target, Index most, Checkpoint& checkpoint);

    // The kernel row of member k, if a step needed it.
    const float* row(Index k) const { return is_fetched_[k] ? place(k) : nullptr; }

private:
    struct Group {
        Index begin, end;
    };
    float* place(Index k) const { return rows_.get() + k * size(); }
    const float* fetched(Index k, const Fetch& fetch);
    void refresh(Index k);
    void step(Index i, Index j, double difference, double curvature);

    std::vector<Variable> variables_;
    std::vector<std::int32_t> columns_;
    std::vector<Group> groups_;
    std::vector<signed char> side_;  // of the kink whose slope `slope_` is
    std::vector<float> slope_, up_, down_, diagonal_;
    std::vector<char> is_fetched_;
    std::unique_ptr<float[]> rows_;
    Index capacity_ = 0;
    double step_i_ = 0, step_j_ = 0;
};

}  // namespace gapless
