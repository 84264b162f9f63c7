// Newton's method for the softmax loss with a ridge penalty, on dense data so small that a step
// takes less time than Python needs to request one: P = Σ sᵢ ℓ(yᵢ, zᵢ) + ½ Σⱼ l2ⱼ ‖wⱼ‖², z = Xw +
// b.
//
// A step solves the Newton equations by a factor of the whole Hessian if it is small, else by
// conjugate gradients with one factorised block for all classes (Böhning 1992, Annals of the
// Institute of Statistical Mathematics 44). Its length is found on the true objective. If few
// digits are wanted, steps from the gradients of earlier ones take less time (L-BFGS; Liu and
// Nocedal 1989, Mathematical Programming 45); Newton steps take over if these are slow.
#pragma once

#include <deque>
#include <vector>

#include "base/array.hpp"
#include "base/products.hpp"

namespace gapless {

// The lower factor of a positive definite matrix scaled to a unit diagonal.
class ScaledCholesky {
public:
    // Factorises a (n × n, by rows, lower triangle); false if a pivot is so small that solutions
    // would have few digits.
    bool factor(std::vector<double> a, Index n, const Blas& blas);
    // b (n × columns, by rows) becomes the solution.
    void solve(double* b, Index columns, const Blas& blas) const;

private:
    Index n_ = 0;
    std::vector<double> a_, scale_;
};

// What is minimised; every class has a column of scores.
struct ClassProblem {
    Dense<double> x;
    const std::int64_t* y;
    const double* weights;
    const double* l2;  // one number > 0 per feature
    Index outputs;
    bool has_bias;
    double scale;  // of P, to bound rounding
};

// The state of the method: w (d × K), b (K), z and slope s·ℓ′ (n × K), the gradient in w (d × K).
struct ClassIterate {
    double *w, *b, *z, *slope, *gradient;
    double primal = 0;
};

class ClassNewton {
public:
    // With `is_joint` the Hessian of all unknowns together is factorised; `by_gradients` begins
    // with steps that need none.
    ClassNewton(const ClassProblem& problem, bool is_joint, bool by_gradients);
    // z, slope, gradient and P of the given w and b.
    void begin(ClassIterate& at, const Context& context);
    // The next iterate; false, and the old one, if no step along the direction improves.
    bool step(ClassIterate& at, const Context& context);
    // −⟨∇P, step⟩ of the last step: twice what the quadratic model promised.
    double decrement() const { return decrement_; }

private:
    using Vector = std::vector<double>;
    // A step taken, the change of the gradient, ⟨step, change⟩, and the factor that makes the
    // preconditioner agree with it.
    struct Memory {
        Vector step_w, step_b, change_w, change_b;
        double product = 0, length = 1;
    };

    double entry(Index i, Index j) const;
    void multiply(const double* w, const double* b, double* z, const Blas& blas) const;
    void multiply_transposed(const double* r, double* out, const Blas& blas) const;
    double loss(const double* z, double* p, double* slope) const;
    void gradient_at(ClassIterate& at, const Blas& blas);
    bool solve_jointly(const ClassIterate& at, const Blas& blas);
    bool solve_by_products(const ClassIterate& at, const Context& context);
    void measure_curvature();
    bool make_mean();
    bool make_diagonal();
    bool make_block(const Blas& blas);
    void precondition(const Vector& w, const Vector& b, Vector& out_w, Vector& out_b,
                      const Blas& blas) const;
    void hessian_times(const Vector& w, const Vector& b, Vector& out_w, Vector& out_b,
                       const Blas& blas);
    // Only differences between the classes matter to the loss: for what is the same for all, the
    // penalty alone decides, and 0 is best.
    void remove_common_part(const ClassIterate& at);
    bool solve_by_memories(const ClassIterate& at, const Blas& blas);
    bool step_by_memories(ClassIterate& at, const Context& context);
    // Whether a point along the step is better; it is accepted if its slope is this much flatter.
    bool search(ClassIterate& at, double steepest, Checkpoint& checkpoint);

    ClassProblem problem_;
    bool is_joint_, by_gradients_;
    Index n_, d_, K_;
    Vector mean_, centred_;           // the centred rows, with a one for the bias
    Vector p_, bias_gradient_;        // at the iterate
    Vector step_w_, step_b_, along_;  // the step, and how it moves z
    Vector trial_z_, trial_p_, trial_slope_, best_z_, best_p_, best_slope_;
    Vector u_, scaled_;
    ScaledCholesky factor_;
    Vector curvature_, made_at_;  // means over the classes, now and of the block
    Vector block_mean_, diagonal_;
    std::deque<Memory> memories_;
    Vector sizes_;  // of the gradients at the steps taken from gradients
    double block_total_ = 0, size_before_ = 0, decrement_ = 0, length_ = 0;
    Index products_ = 0;
};

}  // namespace gapless
