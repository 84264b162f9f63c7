// Python bindings of stochastic gradient steps by rows.
#include "linear/row_steps.hpp"

#include "bindings/bindings.hpp"

namespace gapless {
namespace {

// (linear, lower, upper), a row per row of X and a column per output.
using Boxes = std::tuple<MatrixIn<double>, MatrixIn<double>, MatrixIn<double>>;
// (absolute, quadratic, sigmoid)
using Shape = std::tuple<double, double, double>;
// (order, length, weight) of each step.
using Steps = std::tuple<VectorIn<std::int64_t>, VectorIn<double>, VectorIn<double>>;
// (longest, slack) of passive-aggressive steps
using Passive = std::pair<double, double>;
// (w, b), or their sums.
using Weights = std::tuple<MatrixOut<double>, VectorOut<double>>;
// (received, owed) of the L1 penalty.
using Debts = std::tuple<MatrixOut<double>, VectorOut<double>>;

template <class X>
Index row_count(const Dense<X>& x) {
    return x.rows;
}
template <class X>
Index row_count(const Compressed<X>& x) {
    return x.lines;
}
template <class X>
Index feature_count(const Dense<X>& x) {
    return x.columns;
}
template <class X>
Index feature_count(const Compressed<X>& x) {
    return x.length;
}
template <class X>
void check_order(const Dense<X>& x) {
    check(x.order == Order::rows || x.rows <= 1, "X must be in C order");
}
template <class X>
void check_order(const Compressed<X>&) {}

template <class X>
void bound_row_steps(const AnyColumns<X>& X_, const Boxes& boxes, const Shape& shape,
                     bool upper_at_ties, const Steps& steps, const std::optional<Passive>& passive,
                     std::pair<double, double> penalty, bool has_bias, const Weights& weights,
                     const std::optional<Weights>& sums, Index first_averaged,
                     const std::optional<Debts>& debts, const MatrixOut<double>& slopes,
                     const VectorOut<double>& losses, double deadline) {
    // Names of parts, bound one by one: older compilers do not let a lambda see them otherwise.
    const auto &linear = std::get<0>(boxes), &lower = std::get<1>(boxes),
               &upper = std::get<2>(boxes);
    const auto& order = std::get<0>(steps);
    const auto& length = std::get<1>(steps);
    const auto& weight = std::get<2>(steps);
    const auto& w = std::get<0>(weights);
    const auto& b = std::get<1>(weights);
    const Index outputs = extent(w, 0), features = extent(w, 1), count = extent(order, 0);
    check(extent(b, 0) == outputs, "b must have one entry per row of w");
    check(extent(length, 0) == count && extent(weight, 0) == count,
          "length and weight must have one entry per step");
    if (sums) {
        check_shape(std::get<0>(*sums), outputs, features, "the sums must have the shape of w");
        check(extent(std::get<1>(*sums), 0) == outputs, "the sums must have the shape of b");
    }
    check(extent(losses, 0) == 1, "losses must have one entry");
    check((penalty.first > 0) == debts.has_value(), "an L1 penalty needs what was received");
    if (debts) {
        check_shape(std::get<0>(*debts), outputs, features, "received must have the shape of w");
        check(extent(std::get<1>(*debts), 0) == 1, "owed must have one entry");
    }
    std::visit(
        [&](const auto& given) {
            const auto x = column_matrix<X>(given, features);
            const Index rows = row_count(x);
            check_order(x);
            check(feature_count(x) == features, "w must have one column per column of X");
            for (const auto* box : {&linear, &lower, &upper})
                check_shape(*box, rows, outputs, "the boxes must have a row per row of X");
            check_shape(slopes, rows, outputs, "slopes must have a row per row of X");
            for (Index t = 0; t < count; ++t)
                check(0 <= order.data()[t] && order.data()[t] < rows, "a row is out of range");
            const RowLoss loss{linear.data(),      lower.data(),       upper.data(),
                               std::get<0>(shape), std::get<1>(shape), std::get<2>(shape),
                               upper_at_ties};
            const RowSteps all{order.data(),
                               length.data(),
                               weight.data(),
                               count,
                               passive.has_value(),
                               passive ? passive->first : 0,
                               passive ? passive->second : 0,
                               penalty.first,
                               penalty.second,
                               has_bias,
                               first_averaged};
            const RowState state{w.data(),
                                 b.data(),
                                 sums ? std::get<0>(*sums).data() : nullptr,
                                 sums ? std::get<1>(*sums).data() : nullptr,
                                 debts ? std::get<0>(*debts).data() : nullptr,
                                 debts ? std::get<1>(*debts).data() : nullptr,
                                 slopes.data(),
                                 losses.data()};
            run(1, deadline, [&](const Context& context) {
                row_steps(x, outputs, loss, all, state, context.poll);
            });
        },
        X_);
}

template <class X>
void define(nb::module_& m) {
    m.def("row_steps", &bound_row_steps<X>, array("X"), array("boxes"), "shape"_a,
          "upper_at_ties"_a, array("steps"), "passive"_a.none(), "penalty"_a, "has_bias"_a,
          array("weights"), maybe("sums"), "first_averaged"_a, maybe("debts"), array("slopes"),
          array("losses"), "deadline"_a);
}

}  // namespace

void define_row_steps(nb::module_& m) {
    define<float>(m);
    define<double>(m);
}

}  // namespace gapless
