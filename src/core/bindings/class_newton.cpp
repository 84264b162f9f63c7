// Python bindings of Newton's method for classes.
#include "linear/class_newton.hpp"

#include <memory>

#include "bindings/bindings.hpp"

namespace gapless {
namespace {

// The method together with the arrays it reads, which live as long as it does.
class BoundClassNewton {
public:
    BoundClassNewton(DenseIn<double> x, VectorIn<std::int64_t> y, VectorIn<double> weights,
                     VectorIn<double> l2, Index outputs, bool has_bias, double scale, bool is_joint,
                     bool by_gradients)
        : x_(x), y_(y), weights_(weights), l2_(l2) {
        Dense<double> data = dense(x_);
        check(outputs >= 2, "there must be at least two classes");
        check(extent(y_, 0) == data.rows && extent(weights_, 0) == data.rows,
              "y and weights must have one entry per row of X");
        check(extent(l2_, 0) == data.columns, "l2 must have one entry per column of X");
        for (Index i = 0; i < data.rows; ++i)
            check(0 <= y_.data()[i] && y_.data()[i] < outputs,
                  "y must number the classes from 0 on");
        n_ = data.rows, d_ = data.columns, outputs_ = outputs;
        newton_ = std::make_unique<ClassNewton>(
            ClassProblem{data, y_.data(), weights_.data(), l2_.data(), outputs, has_bias, scale},
            is_joint, by_gradients);
    }

    double begin(const MatrixOut<double>& w, const VectorOut<double>& b, const MatrixOut<double>& z,
                 const MatrixOut<double>& slope, const MatrixOut<double>& gradient,
                 double deadline) {
        ClassIterate at = iterate(w, b, z, slope, gradient, 0);
        run(1, deadline, [&](const Context& context) { newton_->begin(at, context); });
        return at.primal;
    }

    // Whether there was a better iterate, its objective, and the decrement.
    std::tuple<bool, double, double> step(const MatrixOut<double>& w, const VectorOut<double>& b,
                                          const MatrixOut<double>& z,
                                          const MatrixOut<double>& slope,
                                          const MatrixOut<double>& gradient, double primal,
                                          double deadline) {
        ClassIterate at = iterate(w, b, z, slope, gradient, primal);
        bool is_better = false;
        run(1, deadline, [&](const Context& context) { is_better = newton_->step(at, context); });
        return {is_better, at.primal, newton_->decrement()};
    }

private:
    ClassIterate iterate(const MatrixOut<double>& w, const VectorOut<double>& b,
                         const MatrixOut<double>& z, const MatrixOut<double>& slope,
                         const MatrixOut<double>& gradient, double primal) const {
        check_shape(w, d_, outputs_, "w must have a row per feature and a column per score");
        check_shape(gradient, d_, outputs_, "gradient must have the shape of w");
        check_shape(z, n_, outputs_, "z must have a row per row of X and the columns of w");
        check_shape(slope, n_, outputs_, "slope must have the shape of z");
        check(extent(b, 0) == outputs_, "b must have one entry per column of w");
        return {w.data(), b.data(), z.data(), slope.data(), gradient.data(), primal};
    }

    DenseIn<double> x_;
    VectorIn<std::int64_t> y_;
    VectorIn<double> weights_, l2_;
    Index n_ = 0, d_ = 0, outputs_ = 0;
    std::unique_ptr<ClassNewton> newton_;
};

}  // namespace

void define_class_newton(nb::module_& m) {
    nb::class_<BoundClassNewton>(m, "ClassNewton")
        .def(nb::init<DenseIn<double>, VectorIn<std::int64_t>, VectorIn<double>, VectorIn<double>,
                      Index, bool, double, bool, bool>(),
             array("X"), array("y"), array("weights"), array("l2"), "outputs"_a, "has_bias"_a,
             "scale"_a, "is_joint"_a, "by_gradients"_a)
        .def("begin", &BoundClassNewton::begin, array("w"), array("b"), array("z"), array("slope"),
             array("gradient"), "deadline"_a)
        .def("step", &BoundClassNewton::step, array("w"), array("b"), array("z"), array("slope"),
             array("gradient"), "primal"_a, "deadline"_a);
}

}  // namespace gapless
