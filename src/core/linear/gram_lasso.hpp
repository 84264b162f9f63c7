// The lasso and the elastic net on a growing Gram matrix, by an active-set method:
//
//     min over w of  ½wᵀGw − qᵀw + Σ l1ⱼ|wⱼ| + ½l2ⱼwⱼ²,   l1 > 0, some signs forbidden.
//
// Given which coefficients are not 0 and their signs, the minimiser solves a linear system, whose
// Cholesky factor is kept from one penalty to the next and updated as coefficients come and go. So
// a whole path costs little more than its last point, and every point is exact.
//
// References: Osborne, Presnell and Turlach (2000), IMA J. Numer. Anal. 20, for the active set;
// Gill, Golub, Murray and Saunders (1974), Math. Comp. 28, for changing the factor.
#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include "base/blas.hpp"
#include "base/parallel.hpp"

namespace gapless {

// UᵀU = H of the active coefficients, row after row of the upper triangle.
class UpperFactor {
public:
    Index size() const { return size_; }
    // Make it the factor of H (size × size), whose upper triangle is `entry(i, j)`, i ≤ j.
    template <class Entry>
    void refactor(Index size, Entry&& entry, const Blas& blas, Checkpoint& checkpoint);
    // u = U⁻ᵀh for columns h of H that would join, `stride` apart.
    void project(double* h, Index count, Index stride, const Blas& blas,
                 Checkpoint& checkpoint) const;
    // Append columns of U: the first has size() + 1 entries, down to its pivot, the next one more.
    void append(const std::vector<const double*>& columns);
    void remove(Index position);
    // x = U⁻¹x; and x = U⁻ᵀx, x = H⁻¹x if the first `zeros` entries of x are 0.
    void solve_upper(std::vector<double>& x) const;
    void solve_transposed(double* x, Index zeros) const;
    void solve(std::vector<double>& x, Index zeros) const;

private:
    const double* row(Index i) const { return u_.data() + i * stride_; }
    double* row(Index i) { return u_.data() + i * stride_; }
    void reserve(Index size);

    Index size_ = 0, stride_ = 0;
    std::vector<double> u_;
};

class GramLasso {
public:
    explicit GramLasso(const Blas& blas) : blas_(blas) {}
    Index features() const { return static_cast<Index>(q_.size()); }

    // Add features: their products with all features, themselves last, (all × added) row after row,
    // and with the target; whether they may become positive, negative.
    void grow(const double* products, const double* q, const bool* may_rise, const bool* may_fall,
              Index added);

    // When to stop: at this gap, for a target with the given square; or when |gⱼ| exceeds l1ⱼ by at
    // most the part `tolerance` of it; or, unsuccessfully, after this many changes of the active
    // set.
    struct Goal {
        double gap, target_square, tolerance;
        Index most_changes;
    };
    struct Result {
        Index changes;  // of the active set
        bool converged;
    };
    // Go to the minimiser for another penalty.
    Result solve(const double* l1, const double* l2, const Goal& goal, const Poll& poll);

    const std::vector<double>& w() const { return w_; }
    // q − Gw
    const std::vector<double>& gradient() const { return gradient_; }

    // Save the solution and the active set, and restore them.
    void save() { saved_ = {active_, factor_, w_, factored_l2_}; }
    void restore();

private:
    Index active() const { return static_cast<Index>(active_.size()); }
    const double* gram_row(Index j) const { return gram_.get() + j * stride_; }
    double diagonal(Index j) const { return gram_row(j)[j] + l2_[j]; }
    double slope(Index j) const { return gradient_[j] - l1_[j] * sign_[j] - l2_[j] * w_[j]; }
    void set_penalty(const double* l1, const double* l2, Checkpoint& checkpoint);
    void refactor(Checkpoint& checkpoint);
    void refresh_gradient();
    double gap(double target_square) const;
    double excess(Index j) const { return std::abs(gradient_[j]) / l1_[j] - 1; }
    bool is_settled(double tolerance) const;
    void settle(Index zeros, Checkpoint& checkpoint);
    std::vector<Index> violators(double tolerance) const;
    void admit(const std::vector<Index>& chosen, Checkpoint& checkpoint);
    bool make_room(Index j);
    void copy_column(Index j, double* h) const;
    double move(const std::vector<double>& step, double length);
    bool is_at_end(Index position, const std::vector<double>& step) const;
    void leave(Index position);

    const Blas& blas_;
    Index stride_ = 0, changes_ = 0;
    std::unique_ptr<double[]> gram_;  // rows `stride_` apart
    std::vector<double> q_, w_, gradient_, sign_, l1_, l2_, factored_l2_;
    std::vector<char> may_rise_, may_fall_, is_active_, is_barred_;
    std::vector<Index> active_;  // features in the order of the factor
    UpperFactor factor_;

    struct Saved {
        std::vector<Index> active;
        UpperFactor factor;
        std::vector<double> w, factored_l2;
    } saved_;
};

}  // namespace gapless
