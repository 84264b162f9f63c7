// Python bindings of coordinate descent, on quadratics and in boxes, and of the lasso's active
// sets.
#include "bindings/bindings.hpp"
#include "linear/box_qp.hpp"
#include "linear/gram_lasso.hpp"
#include "linear/quadratic_cd.hpp"

namespace gapless {
namespace {

// ---- coordinate descent on a quadratic ----

// (l1, l2, lower, upper), (strength, knee, width) or (strength, power), arrays with one entry per
// feature; or (start, strength) of blocks of features.
using ElasticBoxes =
    std::tuple<VectorIn<double>, VectorIn<double>, VectorIn<double>, VectorIn<double>>;
using BlockNorms = std::tuple<VectorIn<std::int64_t>, VectorIn<double>>;
using FoldedPieces = std::tuple<VectorIn<double>, VectorIn<double>, VectorIn<double>>;
using PowerOfEach = std::tuple<VectorIn<double>, double>;
using AnyPenalty = std::variant<ElasticBoxes, BlockNorms, FoldedPieces, PowerOfEach>;

SeparablePenalty separable(const AnyPenalty& penalty, Index features) {
    SeparablePenalty out{};
    if (const auto* boxes = std::get_if<ElasticBoxes>(&penalty)) {
        out.kind = PenaltyKind::elastic_box;
        std::apply(
            [&](const auto&... v) {
                check(((extent(v, 0) == features) && ...),
                      "l1, l2, lower and upper must have one entry per feature");
            },
            *boxes);
        out.l1 = std::get<0>(*boxes).data();
        out.l2 = std::get<1>(*boxes).data();
        out.lower = std::get<2>(*boxes).data();
        out.upper = std::get<3>(*boxes).data();
        return out;
    }
    if (const auto* pieces = std::get_if<FoldedPieces>(&penalty)) {
        const auto& [strength, knee, width] = *pieces;
        out.kind = PenaltyKind::folded;
        check(extent(strength, 0) == features && extent(knee, 0) == features &&
                  extent(width, 0) == features,
              "strength, knee and width must have one entry per feature");
        for (Index j = 0; j < features; ++j)
            check(knee.data()[j] < width.data()[j], "every knee must be below its width");
        out.strength = strength.data();
        out.knee = knee.data();
        out.width = width.data();
        return out;
    }
    if (const auto* powers = std::get_if<PowerOfEach>(&penalty)) {
        const auto& [strength, power] = *powers;
        out.kind = PenaltyKind::powers;
        check(extent(strength, 0) == features, "strength must have one entry per feature");
        check(power >= 0 && power < 1, "power must be at least 0 and below 1");
        out.strength = strength.data();
        out.power = power;
        return out;
    }
    const auto& [start, strength] = std::get<BlockNorms>(penalty);
    out.kind = PenaltyKind::block_norm;
    out.blocks = extent(strength, 0);
    out.start = start.data();
    out.strength = strength.data();
    check(extent(start, 0) == out.blocks + 1 && start.data()[0] == 0 &&
              start.data()[out.blocks] == features,
          "start must run from 0 to the number of features, one entry more than there are blocks");
    for (Index b = 0; b < out.blocks; ++b)
        check(start.data()[b] <= start.data()[b + 1], "the starts of the blocks must increase");
    return out;
}

// Each returns the number of sweeps and whether they converged; w is changed in place.
using Sweeps = std::pair<Index, bool>;

Sweeps gram_descent(const MatrixIn<double>& gram, const MatrixIn<double>& slope,
                    const AnyPenalty& penalty, const MatrixOut<double>& w, double tolerance,
                    Index sweeps, double deadline) {
    Index features = extent(w, 0), outputs = extent(w, 1);
    check_shape(gram, features, features, "gram must be square, one row per feature");
    check_shape(slope, features, outputs, "slope must have the shape of w");
    SeparablePenalty r = separable(penalty, features);
    Descended done{};
    run(1, deadline, [&](const Context& context) {
        done = descend_on_gram(gram.data(), features, outputs, slope.data(), r, {tolerance, sweeps},
                               context.poll, w.data());
    });
    return {done.sweeps, done.converged};
}

template <class X>
Index row_count(const Dense<X>& x) {
    return x.rows;
}
template <class X>
Index row_count(const Compressed<X>& x) {
    return x.length;
}
template <class X>
Index column_count(const Dense<X>& x) {
    return x.columns;
}
template <class X>
Index column_count(const Compressed<X>& x) {
    return x.lines;
}

template <class X>
Sweeps column_descent(const AnyColumns<X>& X_, const VectorIn<std::int64_t>& which,
                      const Maybe<double>& center, const MatrixIn<double>& diagonal,
                      const std::optional<MatrixIn<double>>& factor, const MatrixIn<double>& slope,
                      const Maybe<double>& bias_slope, const AnyPenalty& penalty,
                      const MatrixOut<double>& w, const VectorOut<double>& bias_step,
                      double tolerance, Index sweeps, double deadline) {
    Index rows = extent(diagonal, 0), outputs = extent(w, 1);
    check(extent(diagonal, 1) == outputs, "diagonal must have the columns of w");
    if (factor) check_shape(*factor, rows, outputs, "factor must have the shape of diagonal");
    check(extent(w, 0) == extent(which, 0), "w must have one row per chosen column");
    check_shape(slope, extent(w, 0), outputs, "slope must have the shape of w");
    check_length(bias_slope, outputs, "bias_slope must have one entry per column of w");
    check(extent(bias_step, 0) == outputs, "bias_step must have one entry per column of w");
    SeparablePenalty r = separable(penalty, extent(w, 0));
    RowCurvature h{rows, outputs, diagonal.data(), factor ? factor->data() : nullptr};
    Descended done{};
    std::visit(
        [&](const auto& given) {
            auto data = column_matrix<X>(given, rows);
            check(row_count(data) == rows, "diagonal must have one row per row of X");
            check_length(center, column_count(data), "center must have one entry per column of X");
            Columns picked = chosen(which, column_count(data));
            ColumnChoice choice{picked.index, picked.count, data_or_null(center),
                                data_or_null(bias_slope)};
            run(1, deadline, [&](const Context& context) {
                done = descend_on_columns(data, choice, h, slope.data(), r, {tolerance, sweeps},
                                          context.poll, w.data(), bias_step.data());
            });
        },
        X_);
    return {done.sweeps, done.converged};
}

// out += X[:, which] step, X not centred.
template <class X>
void column_times(const AnyColumns<X>& X_, const VectorIn<std::int64_t>& which,
                  const MatrixIn<double>& step, const MatrixOut<double>& out, double deadline) {
    Index rows = extent(out, 0), outputs = extent(out, 1);
    check_shape(step, extent(which, 0), outputs, "step must have one row per chosen column");
    std::visit(
        [&](const auto& given) {
            auto data = column_matrix<X>(given, rows);
            Columns picked = chosen(which, column_count(data));
            check(row_count(data) == rows, "out must have one row per row of X");
            ColumnChoice choice{picked.index, picked.count, nullptr, nullptr};
            run(1, deadline, [&](const Context& context) {
                times_columns(data, choice, step.data(), outputs, context.poll, out.data());
            });
        },
        X_);
}

// ---- the lasso on a Gram matrix ----

void gram_lasso_grow(GramLasso& lasso, const MatrixIn<double>& products, const VectorIn<double>& q,
                     const VectorIn<bool>& may_rise, const VectorIn<bool>& may_fall) {
    Index added = extent(q, 0);
    check_shape(products, lasso.features() + added, added,
                "products must have a row per feature and a column per added one");
    check(extent(may_rise, 0) == added && extent(may_fall, 0) == added,
          "may_rise and may_fall must have one entry per added feature");
    lasso.grow(products.data(), q.data(), may_rise.data(), may_fall.data(), added);
}

// w and gradient receive the solution and q − Gw; returns the changes of the active set and whether
// it was found.
std::pair<Index, bool> gram_lasso_solve(GramLasso& lasso, const VectorIn<double>& l1,
                                        const VectorIn<double>& l2, const VectorOut<double>& w,
                                        const VectorOut<double>& gradient, double gap,
                                        double target_square, double tolerance, Index most_changes,
                                        double deadline) {
    for (Index size : {extent(l1, 0), extent(l2, 0), extent(w, 0), extent(gradient, 0)})
        check(size == lasso.features(), "l1, l2, w and gradient must have one entry per feature");
    GramLasso::Result result{};
    run(1, deadline, [&](const Context& context) {
        result = lasso.solve(l1.data(), l2.data(), {gap, target_square, tolerance, most_changes},
                             context.poll);
    });
    std::copy(lasso.w().begin(), lasso.w().end(), w.data());
    std::copy(lasso.gradient().begin(), lasso.gradient().end(), gradient.data());
    return {result.changes, result.converged};
}

// ---- coordinate descent on a quadratic in a box ----

// (linear, quadratic, lower, upper), one entry per row of X.
using BoxIn = std::tuple<VectorIn<double>, VectorIn<double>, VectorIn<double>, VectorIn<double>>;

// One problem: inverse; box and absolute; theta and w, which are updated in place; b, sigma,
// threshold; gap, epochs, seed, visits.
using BoxTask = std::tuple<VectorIn<double>, BoxIn, double, VectorOut<double>, VectorOut<double>,
                           double, double, double, double, Index, std::uint64_t, std::uint64_t>;

// The result: the estimated gap, the number of epochs, and b, sigma and threshold.
using BoxResult = std::tuple<double, Index, double, double, double>;

template <class Samples>
BoxResult run_box_task(const Samples& x, const BoxTask& task, Checkpoint& checkpoint) {
    const auto& [inverse, box, absolute, theta, w, b, sigma, threshold, gap, epochs, seed, visits] =
        task;
    const auto& [linear, quadratic, lower, upper] = box;
    BoxTerms terms{linear.data(), quadratic.data(), lower.data(), upper.data(), absolute};
    BoxIterate iterate{theta.data(), w.data(), b, sigma, threshold};
    BoxProgress progress =
        descend_box(x, inverse.data(), terms, iterate, {gap, epochs, seed, visits}, checkpoint);
    return {progress.gap, progress.epochs, iterate.b, iterate.sigma, iterate.threshold};
}

void check_box_task(const BoxTask& task, Index n, Index d) {
    check(extent(std::get<0>(task), 0) == d && extent(std::get<4>(task), 0) == d,
          "inverse and w must have one entry per column of X");
    auto is_right = [&](const auto&... v) { return ((extent(v, 0) == n) && ...); };
    check(std::apply(is_right, std::get<1>(task)) && is_right(std::get<3>(task)),
          "linear, quadratic, lower, upper and theta must have one entry per row of X");
}

// X by rows, in C order or as (start, index, value) of length `columns`; one thread per problem.
template <class X>
std::vector<BoxResult> box_descent(const AnyColumns<X>& X_, Index columns,
                                   const std::vector<BoxTask>& tasks, int threads,
                                   double deadline) {
    std::vector<BoxResult> results(tasks.size());
    auto descend = [&](const auto& x, Index n, Index d) {
        for (const BoxTask& task : tasks) check_box_task(task, n, d);
        run(threads, deadline, [&](const Context& context) {
            parallel_for(static_cast<Index>(tasks.size()), context.threads, context.poll,
                         [&](Index i, Checkpoint& checkpoint) {
                             results[i] = run_box_task(x, tasks[i], checkpoint);
                         });
        });
    };
    if (const auto* given = std::get_if<DenseIn<X>>(&X_)) {
        Dense<X> x = dense(*given);
        check(x.order == Order::rows || x.rows * x.columns == 0, "X must be in C order");
        descend(x, x.rows, x.columns);
    } else {
        Compressed<X> x = column_matrix<X>(std::get<SparseIn<X>>(X_), columns);
        descend(x, x.lines, x.length);
    }
    return results;
}

// ---- what exists for each type X of the data ----

template <class X>
void define_column_descent(nb::module_& m) {
    m.def("column_descent", &column_descent<X>, array("X"), array("which"), maybe("center"),
          array("diagonal"), maybe("factor"), array("slope"), maybe("bias_slope"), array("penalty"),
          array("w"), array("bias_step"), "tolerance"_a, "sweeps"_a, "deadline"_a);
    m.def("column_times", &column_times<X>, array("X"), array("which"), array("step"), array("out"),
          "deadline"_a);
}

template <class X>
void define_box_descent(nb::module_& m) {
    m.def("box_descent", &box_descent<X>, array("X"), "columns"_a, array("tasks"), "threads"_a,
          "deadline"_a);
}

}  // namespace

void define_descent_functions(nb::module_& m) {
    m.def("gram_descent", &gram_descent, array("gram"), array("slope"), array("penalty"),
          array("w"), "tolerance"_a, "sweeps"_a, "deadline"_a);
    define_column_descent<float>(m);
    define_column_descent<double>(m);
    define_box_descent<float>(m);
    define_box_descent<double>(m);
    nb::class_<GramLasso>(m, "GramLasso")
        .def("__init__", [](GramLasso* lasso) { new (lasso) GramLasso(scipy_blas()); })
        .def("grow", &gram_lasso_grow, array("products"), array("q"), array("may_rise"),
             array("may_fall"))
        .def("solve", &gram_lasso_solve, array("l1"), array("l2"), array("w"), array("gradient"),
             "gap"_a, "target_square"_a, "tolerance"_a, "most_changes"_a, "deadline"_a)
        .def("save", &GramLasso::save)
        .def("restore", &GramLasso::restore);
}

}  // namespace gapless
