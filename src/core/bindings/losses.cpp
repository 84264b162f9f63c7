// Python bindings of losses.
#include "linear/losses.hpp"

#include "bindings/bindings.hpp"

namespace gapless {
namespace {

using DerivativesOfRows = void (*)(const double*, const double*, Index, double*, double*, double*);
using ConjugatesOfRows = void (*)(const double*, const double*, Index, double*);

template <DerivativesOfRows of_rows>
void derivatives(VectorIn<double> y, VectorIn<double> z, VectorOut<double> value,
                 VectorOut<double> gradient, VectorOut<double> curvature) {
    const Index n = extent(y, 0);
    for (Index length : {extent(z, 0), extent(value, 0), extent(gradient, 0), extent(curvature, 0)})
        check(length == n, "all arrays must have an entry per row");
    nb::gil_scoped_release released;
    of_rows(y.data(), z.data(), n, value.data(), gradient.data(), curvature.data());
}

template <ConjugatesOfRows of_rows>
void conjugates(VectorIn<double> y, VectorIn<double> u, VectorOut<double> value) {
    const Index n = extent(y, 0);
    for (Index length : {extent(u, 0), extent(value, 0)})
        check(length == n, "all arrays must have an entry per row");
    nb::gil_scoped_release released;
    of_rows(y.data(), u.data(), n, value.data());
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

}  // namespace

void define_loss_functions(nb::module_& m) {
    define_derivatives<logistic_derivatives>(m, "logistic_derivatives");
    define_derivatives<poisson_derivatives>(m, "poisson_derivatives");
    define_derivatives<gamma_derivatives>(m, "gamma_derivatives");
    define_conjugate<poisson_conjugate>(m, "poisson_conjugate");
    define_conjugate<gamma_conjugate>(m, "gamma_conjugate");
}

}  // namespace gapless
