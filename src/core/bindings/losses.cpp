// Python bindings of losses.
#include "bindings/bindings.hpp"
#include "linear/logistic.hpp"

namespace gapless {
namespace {

void derivatives_of_logistic(VectorIn<double> y, VectorIn<double> z, VectorOut<double> value,
                             VectorOut<double> gradient, VectorOut<double> curvature) {
    const Index n = extent(y, 0);
    for (Index length : {extent(z, 0), extent(value, 0), extent(gradient, 0), extent(curvature, 0)})
        check(length == n, "all arrays must have an entry per row");
    nb::gil_scoped_release released;
    logistic_derivatives(y.data(), z.data(), n, value.data(), gradient.data(), curvature.data());
}

}  // namespace

void define_loss_functions(nb::module_& m) {
    m.def("logistic_derivatives", &derivatives_of_logistic, array("y"), array("z"), array("value"),
          array("gradient"), array("curvature"));
}

}  // namespace gapless
