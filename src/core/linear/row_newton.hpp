// Newton's method for a loss of one score per row with a ridge penalty, zeros allowed, and a free
// bias, on dense data by rows: P = Σ sᵢ ℓ(yᵢ, zᵢ) + ½ Σⱼ l2ⱼ wⱼ², z = Xw + b.
//
// A step costs one pass over X, in which scores, derivatives and the gradient are computed while a
// row is in the cache, and nothing else is as long as X. The factor of the Hessian is kept while
// its steps contract fast, corrected by the changes of the gradient since (Nocedal and Wright 2006,
// algorithm 7.4).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "base/products.hpp"
#include "linear/class_newton.hpp"
#include "linear/losses.hpp"

namespace gapless {

template <class X>
struct RowProblem {
    Dense<X> x;            // by rows
    const double* center;  // subtracted from the rows, or null
    const double* y;
    const double* weights;  // or null for ones
    const double* l2;
    bool has_bias;
    double scale;  // of P, to bound rounding
    SmoothLoss loss;
};

// The factorised Hessian with the bias eliminated by centring the rows at their mean, weighted by
// the curvature; `total` is that of the curvature.
struct RowHessian {
    ScaledCholesky factor;
    std::vector<double> mean, spread;  // spread: the roots of the diagonal
    double total = 0;
};

template <class X>
class RowNewton {
public:
    explicit RowNewton(const RowProblem<X>& problem);
    // Start at w and b.
    void begin(const double* w, double b, const Context& context);
    // Begin with the factor of a similar problem; to be called after `begin`.
    void take_factor(const RowNewton& other, const Blas& blas);
    // Go to the next iterate; false, at the old one, if the Hessian is singular or no point along
    // the step is better.
    bool step(const Context& context);

    const std::vector<double>& w() const { return at_.w; }
    const std::vector<double>& gradient() const { return at_.gradient; }
    double b() const { return at_.b; }
    double primal() const { return at_.primal; }
    Index rows() const { return n_; }
    // For each row Xw, without the bias, and θ = −s·ℓ′.
    void of_rows(double* scores, double* theta) const;
    // Half of −⟨∇P, next step⟩, about P − P*; ∞ while no factor is known.
    double promise() const { return 0.5 * next_decrement_; }
    // The change of the coefficients by the next step, relative to them in units of the Hessian's
    // diagonal, once the steps shrink fast; −1 otherwise.
    double unsettled() const { return unsettled_; }

private:
    using Vector = std::vector<double>;
    struct Iterate {
        Vector w, gradient;
        std::unique_ptr<double[]> scores, slope, curvature;  // of each row, without its weight
        double b = 0, bias_gradient = 0, primal = 0;
    };
    struct Change {
        Vector w;
        double b = 0;
    };
    // A step taken, the change of the gradient, and their product.
    struct Memory {
        Change moved, turned;
        double product = 0;
    };

    void make_room(Iterate& at) const;
    void evaluate(Iterate& at, const Context& context) const;
    bool factorise(const Context& context);
    Change solve(const Change& gradient, const Blas& blas) const;
    Change corrected(const Blas& blas) const;
    bool is_fast() const;
    bool search(const Change& step, const Context& context);
    void remember(const Iterate& before);
    void look_ahead(const Blas& blas);
    double relative_change(const Change& step) const;
    static double inner(const Change& a, const Change& b);

    RowProblem<X> problem_;
    Index n_, d_;
    Iterate at_, trial_, best_;
    std::optional<RowHessian> hessian_;
    bool is_old_ = false;
    Change next_;
    std::vector<Memory> memories_;
    double before_, next_decrement_, unsettled_ = -1;
    int waits_ = 0;
};

}  // namespace gapless
