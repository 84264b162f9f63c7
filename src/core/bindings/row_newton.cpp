// Python bindings of Newton's method for losses of one score per row.
#include "linear/row_newton.hpp"

#include <memory>
#include <variant>

#include "bindings/bindings.hpp"

namespace gapless {
namespace {

// The method together with the arrays it reads, which live as long as it does.
template <class X>
struct Held {
    DenseIn<X> x;
    Maybe<double> center;
    VectorIn<double> y;
    Maybe<double> weights;
    VectorIn<double> l2;
    RowNewton<X> newton;
};

class BoundRowNewton {
public:
    template <class X>
    BoundRowNewton(SmoothLoss loss, DenseIn<X> x, Maybe<double> center, VectorIn<double> y,
                   Maybe<double> weights, VectorIn<double> l2, bool has_bias, double scale) {
        const Dense<X> data = dense(x);
        check(data.order == Order::rows || data.rows == 0, "X must be in C order");
        check_length(center, data.columns, "center must have one entry per column of X");
        check_length(weights, data.rows, "weights must have one entry per row of X");
        check(extent(y, 0) == data.rows, "y must have one entry per row of X");
        check(extent(l2, 0) == data.columns, "l2 must have one entry per column of X");
        const RowProblem<X> problem{
            data, data_or_null(center), y.data(), data_or_null(weights), l2.data(), has_bias, scale,
            loss};
        held_ =
            std::make_unique<Held<X>>(Held<X>{x, center, y, weights, l2, RowNewton<X>(problem)});
    }

    void begin(VectorIn<double> w, double b, int threads, double deadline) {
        visit([&](auto& newton) {
            check(extent(w, 0) == Index(newton.w().size()), "w must have one entry per feature");
            run(threads, deadline,
                [&](const Context& context) { newton.begin(w.data(), b, context); });
        });
    }

    // The factor of another problem on columns of the same kind.
    void take_factor(const BoundRowNewton& other, double deadline) {
        visit([&]<class X>(RowNewton<X>& newton) {
            const auto* from = std::get_if<std::unique_ptr<Held<X>>>(&other.held_);
            check(from && (*from)->newton.w().size() == newton.w().size(),
                  "the other problem must have the same columns");
            run(1, deadline,
                [&](const Context& context) { newton.take_factor((*from)->newton, context.blas); });
        });
    }

    bool step(int threads, double deadline) {
        bool is_better = false;
        visit([&](auto& newton) {
            run(threads, deadline,
                [&](const Context& context) { is_better = newton.step(context); });
        });
        return is_better;
    }

    // Fill w and the gradient in w, and return b.
    double parameters(VectorOut<double> w, VectorOut<double> gradient) {
        double b = 0;
        visit([&](auto& newton) {
            check(w.size() == newton.w().size() && gradient.size() == newton.w().size(),
                  "w and gradient must have one entry per feature");
            std::copy(newton.w().begin(), newton.w().end(), w.data());
            std::copy(newton.gradient().begin(), newton.gradient().end(), gradient.data());
            b = newton.b();
        });
        return b;
    }

    // Fill Xw and the dual point.
    void rows(VectorOut<double> scores, VectorOut<double> theta) {
        visit([&](auto& newton) {
            check(extent(scores, 0) == newton.rows() && extent(theta, 0) == newton.rows(),
                  "scores and theta must have one entry per row");
            newton.of_rows(scores.data(), theta.data());
        });
    }

    double primal() {
        return number([](auto& newton) { return newton.primal(); });
    }
    double promise() {
        return number([](auto& newton) { return newton.promise(); });
    }
    double unsettled() {
        return number([](auto& newton) { return newton.unsettled(); });
    }

private:
    template <class Action>
    void visit(Action&& action) {
        std::visit([&](auto& held) { action(held->newton); }, held_);
    }

    template <class Get>
    double number(Get&& get) {
        double found = 0;
        visit([&](auto& newton) { found = get(newton); });
        return found;
    }

    std::variant<std::unique_ptr<Held<float>>, std::unique_ptr<Held<double>>> held_;
};

template <class X>
void define_start(nb::class_<BoundRowNewton>& bound) {
    bound.def(nb::init<SmoothLoss, DenseIn<X>, Maybe<double>, VectorIn<double>, Maybe<double>,
                       VectorIn<double>, bool, double>(),
              "loss"_a, array("X"), maybe("center"), array("y"), maybe("weights"), array("l2"),
              "has_bias"_a, "scale"_a);
}

}  // namespace

void define_row_newton(nb::module_& m) {
    nb::class_<BoundRowNewton> bound(m, "RowNewton");
    define_start<float>(bound);
    define_start<double>(bound);
    bound.def("begin", &BoundRowNewton::begin, array("w"), "b"_a, "threads"_a, "deadline"_a)
        .def("take_factor", &BoundRowNewton::take_factor, "other"_a, "deadline"_a)
        .def("step", &BoundRowNewton::step, "threads"_a, "deadline"_a)
        .def("parameters", &BoundRowNewton::parameters, array("w"), array("gradient"))
        .def("rows", &BoundRowNewton::rows, array("scores"), array("theta"))
        .def_prop_ro("primal", &BoundRowNewton::primal)
        .def_prop_ro("promise", &BoundRowNewton::promise)
        .def_prop_ro("unsettled", &BoundRowNewton::unsettled);
}

}  // namespace gapless
