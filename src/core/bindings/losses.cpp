// Python bindings of losses.
#include "linear/losses.hpp"

#include "bindings/bindings.hpp"

namespace gapless {
namespace {

using DerivativesOfRows = void (*)(const double*, const double*, Index, double*, double*, double*);
using ConjugatesOfRows = void (*)(const double*, const double*, Index, double*);

template <class OfRows>
void fill_derivatives(const OfRows& of_rows, const VectorIn<double>& y, const VectorIn<double>& z,
                      VectorOut<double> value, VectorOut<double> gradient,
                      VectorOut<double> curvature) {
    const Index n = extent(y, 0);
    for (Index length : {extent(z, 0), extent(value, 0), extent(gradient, 0), extent(curvature, 0)})
        check(length == n, "all arrays must have an entry per row");
    nb::gil_scoped_release released;
    of_rows(y.data(), z.data(), n, value.data(), gradient.data(), curvature.data());
}

template <class OfRows>
void fill_conjugates(const OfRows& of_rows, const VectorIn<double>& y, const VectorIn<double>& u,
                     VectorOut<double> value) {
    const Index n = extent(y, 0);
    for (Index length : {extent(u, 0), extent(value, 0)})
        check(length == n, "all arrays must have an entry per row");
    nb::gil_scoped_release released;
    of_rows(y.data(), u.data(), n, value.data());
}

template <DerivativesOfRows of_rows>
void derivatives(VectorIn<double> y, VectorIn<double> z, VectorOut<double> value,
                 VectorOut<double> gradient, VectorOut<double> curvature) {
    fill_derivatives(of_rows, y, z, value, gradient, curvature);
}

template <ConjugatesOfRows of_rows>
void conjugates(VectorIn<double> y, VectorIn<double> u, VectorOut<double> value) {
    fill_conjugates(of_rows, y, u, value);
}

// Between 1 and 2, where the loss is convex.
void check_power(double power) { check(1 < power && power < 2, "power must be between 1 and 2"); }

void tweedie_derivatives_of(double power, VectorIn<double> y, VectorIn<double> z,
                            VectorOut<double> value, VectorOut<double> gradient,
                            VectorOut<double> curvature) {
    check_power(power);
    const auto of_rows = [power](auto... arrays) { tweedie_derivatives(power, arrays...); };
    fill_derivatives(of_rows, y, z, value, gradient, curvature);
}

void tweedie_conjugates_of(double power, VectorIn<double> y, VectorIn<double> u,
                           VectorOut<double> value) {
    check_power(power);
    const auto of_rows = [power](auto... arrays) { tweedie_conjugate(power, arrays...); };
    fill_conjugates(of_rows, y, u, value);
}

SmoothLoss tweedie_of(double power) {
    check_power(power);
    return {LossKind::tweedie, power};
}

template <DerivativesOfRows of_rows>
void define_derivatives(nb::module_& m, const char* name) {
    m.def(name, &derivatives<of_rows>, array("y"), array("z"), array("value"), array("gradient"),
          array("curvature"));
}

template <ConjugatesOfRows of_rows>
void define_conjugate(nb::module_& m, const char* name) {
    m.def(name, &conjugates<of_rows>, array("y"), array("u"), array("value"));
}

template <class X>
void pass_over_rows(SmoothLoss loss, const DenseIn<X>& X_, const Maybe<double>& center,
                    VectorIn<double> w, double b, VectorIn<double> y, const Maybe<double>& weights,
                    MatrixOut<double> of_rows, VectorOut<double> product, int threads,
                    double deadline) {
    const Dense<X> x = dense(X_);
    check(x.order == Order::rows || x.rows == 0, "X must be in C order");
    check_length(center, x.columns, "center must have one entry per column of X");
    check_length(weights, x.rows, "weights must have one entry per row of X");
    check(extent(w, 0) == x.columns, "w must have one entry per column of X");
    check(extent(y, 0) == x.rows, "y must have one entry per row of X");
    check_shape(of_rows, 4, x.rows, "of_rows must have four rows, with an entry per row of X");
    check(extent(product, 0) == x.columns, "product must have one entry per column of X");
    double* out = of_rows.data();
    const Index n = x.rows;
    double sums[2];
    const LossPass<X> pass{x,
                           data_or_null(center),
                           w.data(),
                           b,
                           y.data(),
                           data_or_null(weights),
                           out,
                           out + n,
                           out + 2 * n,
                           out + 3 * n,
                           product.data(),
                           sums};
    run(threads, deadline,
        [&](const Context& context) { loss_pass(loss, pass, context.threads, context.poll); });
}

template <class X>
void define_pass(nb::module_& m) {
    m.def("loss_pass", &pass_over_rows<X>, "loss"_a, array("X"), maybe("center"), array("w"), "b"_a,
          array("y"), maybe("weights"), array("of_rows"), array("product"), "threads"_a,
          "deadline"_a);
}

}  // namespace

void define_loss_functions(nb::module_& m) {
    define_derivatives<logistic_derivatives>(m, "logistic_derivatives");
    define_derivatives<poisson_derivatives>(m, "poisson_derivatives");
    define_derivatives<gamma_derivatives>(m, "gamma_derivatives");
    define_conjugate<poisson_conjugate>(m, "poisson_conjugate");
    define_conjugate<gamma_conjugate>(m, "gamma_conjugate");
    m.def("tweedie_derivatives", &tweedie_derivatives_of, "power"_a, array("y"), array("z"),
          array("value"), array("gradient"), array("curvature"));
    m.def("tweedie_conjugate", &tweedie_conjugates_of, "power"_a, array("y"), array("u"),
          array("value"));
    const auto of_kind = [](LossKind kind) {
        return [kind](nb::handle) { return SmoothLoss{kind}; };
    };
    nb::class_<SmoothLoss>(m, "SmoothLoss")
        .def_prop_ro_static("logistic", of_kind(LossKind::logistic))
        .def_prop_ro_static("poisson", of_kind(LossKind::poisson))
        .def_prop_ro_static("gamma", of_kind(LossKind::gamma))
        .def_static("tweedie", &tweedie_of, "power"_a);
    define_pass<float>(m);
    define_pass<double>(m);
}

}  // namespace gapless
