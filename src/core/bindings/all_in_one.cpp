// Python bindings of machines with one hinge for all classes.
#include "kernels/all_in_one.hpp"

#include "bindings/bindings.hpp"

namespace gapless {
namespace {

// θ (n × K), products (K × n) and b are updated in place; (violation, sum, sweeps, accuracy, rho)
// as in ClassProgress and ClassIterate.
template <class T>
std::tuple<double, double, Index, double, double> class_descent(
    const MatrixIn<T>& gram, const MatrixIn<double>& linear, const MatrixIn<double>& lower,
    const MatrixIn<double>& upper, const MatrixOut<double>& theta,
    const MatrixOut<double>& products, const VectorOut<double>& b, double accuracy, double rho,
    double tol, double sum, Index sweeps, double deadline) {
    const Index n = extent(gram, 0), classes = extent(b, 0);
    check_shape(gram, n, n, "gram must be square");
    check_shape(linear, n, classes, "linear must be n × classes");
    check_shape(lower, n, classes, "lower must be n × classes");
    check_shape(upper, n, classes, "upper must be n × classes");
    check_shape(theta, n, classes, "theta must be n × classes");
    check_shape(products, classes, n, "products must be classes × n");
    check(rho > 0, "rho must be positive");
    ClassProblem<T> problem{gram.data(), n, classes, linear.data(), lower.data(), upper.data()};
    ClassIterate iterate{theta.data(), products.data(), b.data(), accuracy, rho};
    ClassProgress progress{0.0, 0.0, 0};
    if (n > 0) {
        run(1, deadline, [&](const Context& context) {
            Checkpoint checkpoint(context.poll);
            progress = descend_classes(problem, iterate, {tol, sum, sweeps}, checkpoint);
        });
    }
    return {progress.violation, progress.sum, progress.sweeps, iterate.accuracy, iterate.rho};
}

template <class T>
void define_class_descent(nb::module_& m) {
    m.def("class_descent", &class_descent<T>, array("gram"), array("linear"), array("lower"),
          array("upper"), array("theta"), array("products"), array("b"), "accuracy"_a, "rho"_a,
          "tol"_a, "sum"_a, "sweeps"_a, "deadline"_a);
}

}  // namespace

void define_all_in_one_functions(nb::module_& m) {
    define_class_descent<float>(m);
    define_class_descent<double>(m);
}

}  // namespace gapless
