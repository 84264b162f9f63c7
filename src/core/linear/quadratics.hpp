// Three ways to hold a convex quadratic of features × outputs coefficients so that one feature can
// be changed cheaply: by a Gram matrix, by columns for one output, by columns for several outputs.
// A free bias is eliminated: at every moment it has its best value for the current coefficients.
#pragma once

#include <concepts>
#include <limits>
#include <vector>

#include "linear/copied_columns.hpp"
#include "linear/prox.hpp"

namespace gapless {

// What coordinate descent requires of a quadratic.
template <class Q>
concept Quadratic = requires(Q& q, Index j, double* out, const double* step) {
    { q.features() } -> std::convertible_to<Index>;
    { q.outputs() } -> std::convertible_to<Index>;
    // Roughly how many operations a gradient takes.
    { q.cost(j) } -> std::convertible_to<Index>;
    // Whether the Hessian of one feature is curvature(j)·I.
    { q.is_uniform() } -> std::convertible_to<bool>;
    { q.curvature(j) } -> std::convertible_to<double>;
    // The gradient of feature j, one number per output, at the current coefficients.
    { q.gradient(j, out) };
    // Add a step to the coefficients of feature j.
    { q.move(j, step) };
    // The Hessian between features j and l, outputs × outputs.
    { q.hessian(j, j, out) };
};

class GramQuadratic {
public:
    GramQuadratic(const double* gram, Index features, Index outputs, const double* slope);
    Index features() const { return features_; }
    Index outputs() const { return outputs_; }
    Index cost(Index) const { return outputs_; }
    bool is_uniform() const { return true; }
    double curvature(Index j) const { return gram_[j * features_ + j]; }
    void gradient(Index j, double* out) const {
        for (Index k = 0; k < outputs_; ++k) out[k] = gradient_[k * features_ + j];
    }
    void move(Index j, const double* step) {
        for (Index k = 0; k < outputs_; ++k)
            if (step[k] != 0)
                axpy(step[k], gram_ + j * features_, gradient_.data() + k * features_, features_);
    }
    void hessian(Index j, Index l, double* out) const {
        std::fill(out, out + outputs_ * outputs_, 0.0);
        for (Index k = 0; k < outputs_; ++k) out[k * outputs_ + k] = gram_[j * features_ + l];
    }

private:
    const double* gram_;
    Index features_, outputs_;
    std::vector<double> gradient_;  // output after output, so that a step is one axpy
};

// One output. The columns are scaled by v = √h, and u = √h·A(w − t). Eliminating the bias makes
// every column orthogonal to v; only its mean and the number vᵀu need be kept.
class ColumnQuadratic {
public:
    // bias_slope is null without a free bias.
    ColumnQuadratic(const CopiedColumns& x, const std::vector<double>& root, const double* slope,
                    const double* bias_slope);
    Index features() const { return x_.columns(); }
    Index outputs() const { return 1; }
    Index cost(Index j) const { return x_.line(j).count; }
    bool is_uniform() const { return true; }
    double curvature(Index j) const { return curvature_[j]; }
    void gradient(Index j, double* out) const {
        *out = slope_[j];
        if (curvature_[j] > 0) *out += x_.dot(j, u_.data()) - mean_[j] * along_bias_;
    }
    void move(Index j, const double* step) {
        x_.axpy(j, *step, u_.data());
        along_bias_ += total_ * mean_[j] * *step;
    }
    void hessian(Index j, Index l, double* out);
    void bias_step(double* out) const { *out = -(bias_slope_ + along_bias_) / total_; }

private:
    const CopiedColumns& x_;
    double bias_slope_, total_, along_bias_ = 0;
    std::vector<double> u_, slope_, mean_, curvature_, scratch_;
};

// The curvature H of each row: diag(diagonal) − factor·factorᵀ. Both are rows × outputs, row after
// row; factor may be null.
struct RowCurvature {
    Index rows, outputs;
    const double *diagonal, *factor;
};

// Several outputs. U = H·A(w − t), a row of outputs per sample. The bias is eliminated as for one
// output, with matrices: Mⱼ = Σᵢ xᵢⱼHᵢ in place of the sum of a column, N = ΣHᵢ in place of Σh.
class RowQuadratic {
public:
    RowQuadratic(const CopiedColumns& x, const RowCurvature& h, const double* slope,
                 const double* bias_slope, Checkpoint& checkpoint);
    Index features() const { return x_.columns(); }
    Index outputs() const { return h_.outputs; }
    Index cost(Index j) const { return x_.line(j).count * h_.outputs; }
    bool is_uniform() const { return false; }
    double curvature(Index) const { return 0; }
    void gradient(Index j, double* out) const;
    void move(Index j, const double* step);
    void hessian(Index j, Index l, double* out);
    void bias_step(double* out) const;

private:
    void factorise_bias(Checkpoint& checkpoint);
    void solve_bias(double* x) const;
    const double* moment(Index j, Index k) const {
        return moment_.data() + (j * h_.outputs + k) * h_.outputs;
    }

    const CopiedColumns& x_;
    const RowCurvature& h_;
    std::vector<double> u_, slope_, bias_slope_;  // bias_slope_ is empty without a free bias
    std::vector<double> moment_, root_;           // every Mⱼ; the Cholesky factor of N
    std::vector<double> along_bias_, solved_;     // Σ Mⱼ stepⱼ, and N⁻¹ times it
    std::vector<double> scratch_;
};

}  // namespace gapless
