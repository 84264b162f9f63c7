// The Python face of the core: one function per entry. What all of them share is in bindings.hpp;
// bindings_*.cpp hold the entries of one part each.
#include "bindings.hpp"

#include <cstring>

#include "box_qp.hpp"
#include "equal_rows.hpp"
#include "gram_lasso.hpp"
#include "quadratic_cd.hpp"

namespace gapless {
namespace {

// ---- finding BLAS ----

template <class Routine>
void find_routine(nb::handle routines, const char* name, Routine& routine) {
    nb::object capsule = routines[name];
    const char* signature = PyCapsule_GetName(capsule.ptr());
    if (!signature || !std::strstr(signature, "int *"))
        throw nb::import_error("gapless needs a SciPy whose BLAS counts in 32-bit integers");
    routine = reinterpret_cast<Routine>(PyCapsule_GetPointer(capsule.ptr(), signature));
}

void find_blas() {
    nb::object routines = nb::module_::import_("scipy.linalg.cython_blas").attr("__pyx_capi__");
    find_routine(routines, "sgemm", blas.sgemm);
    find_routine(routines, "dgemm", blas.dgemm);
    find_routine(routines, "ssyrk", blas.ssyrk);
    find_routine(routines, "dsyrk", blas.dsyrk);
}

// ---- products ----

template <class X, class V>
void dense_times(const DenseIn<X>& X_, const Maybe<double>& center, const MatrixIn<V>& w,
                 const MatrixOut<V>& out, int threads, double deadline) {
    Dense<X> x = dense(X_);
    Index outputs = extent(w, 1);
    check_length(center, x.columns, "center must have one entry per column of X");
    check(extent(w, 0) == x.columns, "w must have one row per column of X");
    check_shape(out, x.rows, outputs, "out must have the rows of X and the columns of w");
    run(threads, deadline, [&](const Context& context) {
        times(x, data_or_null(center), w.data(), outputs, out.data(), context);
    });
}

template <class X, class V>
void dense_transposed_times(const DenseIn<X>& X_, const Maybe<double>& center,
                            const Maybe<std::int64_t>& columns, const MatrixIn<V>& r,
                            const MatrixOut<V>& out, int threads, double deadline) {
    Dense<X> x = dense(X_);
    Index outputs = extent(r, 1);
    check_length(center, x.columns, "center must have one entry per column of X");
    check(extent(r, 0) == x.rows, "r must have one row per row of X");
    Columns picked = chosen(columns, x.columns);
    check_shape(out, picked.count, outputs,
                "out must have a row per chosen column of X and the columns of r");
    run(threads, deadline, [&](const Context& context) {
        transposed_times(x, data_or_null(center), picked, r.data(), outputs, out.data(), context);
    });
}

template <class X>
void dense_hessian_times(const DenseIn<X>& X_, const Maybe<double>& center, const MatrixIn<X>& a,
                         const std::optional<MatrixIn<X>>& f, const MatrixIn<X>& v,
                         const VectorIn<X>& shift, const MatrixOut<X>& w,
                         const VectorOut<double>& b, int threads, double deadline) {
    Dense<X> x = dense(X_);
    Index outputs = extent(a, 1);
    check_length(center, x.columns, "center must have one entry per column of X");
    check(extent(a, 0) == x.rows, "a must have one row per row of X");
    if (f) check_shape(*f, x.rows, outputs, "f must have the shape of a");
    check_shape(v, x.columns, outputs, "v must have a row per column of X and the columns of a");
    check_shape(w, x.columns, outputs, "w must have a row per column of X and the columns of a");
    check(extent(shift, 0) == outputs && extent(b, 0) == outputs,
          "shift and b must have one entry per column of a");
    RowHessians<X> hessians{a.data(), f ? f->data() : nullptr, outputs};
    run(threads, deadline, [&](const Context& context) {
        hessian_times(x, data_or_null(center), hessians, v.data(), shift.data(), w.data(), b.data(),
                      context);
    });
}

template <class X>
void dense_column_square_sums(const DenseIn<X>& X_, const Maybe<double>& center,
                              const Maybe<double>& weights, const VectorOut<double>& out,
                              int threads, double deadline) {
    Dense<X> x = dense(X_);
    check_length(center, x.columns, "center must have one entry per column of X");
    check_length(weights, x.rows, "weights must have one entry per row of X");
    check(extent(out, 0) == x.columns, "out must have one entry per column of X");
    run(threads, deadline, [&](const Context& context) {
        column_square_sums(x, data_or_null(center), data_or_null(weights), out.data(), context);
    });
}

template <class X>
void dense_row_square_sums(const DenseIn<X>& X_, const Maybe<double>& center,
                           const VectorIn<double>& weights, const VectorOut<double>& out,
                           int threads, double deadline) {
    Dense<X> x = dense(X_);
    check_length(center, x.columns, "center must have one entry per column of X");
    check(extent(weights, 0) == x.columns, "weights must have one entry per column of X");
    check(extent(out, 0) == x.rows, "out must have one entry per row of X");
    run(threads, deadline, [&](const Context& context) {
        row_square_sums(x, data_or_null(center), weights.data(), out.data(), context);
    });
}

template <class X, class V>
void dense_gram(const DenseIn<X>& X_, const Maybe<double>& center, const Maybe<double>& weights,
                const Maybe<std::int64_t>& columns, const MatrixOut<V>& out, int threads,
                double deadline) {
    Dense<X> x = dense(X_);
    check_length(center, x.columns, "center must have one entry per column of X");
    check_length(weights, x.rows, "weights must have one entry per row of X");
    Columns picked = chosen(columns, x.columns);
    check_shape(out, picked.count, picked.count, "out must be square, one row per chosen column");
    run(threads, deadline, [&](const Context& context) {
        gram(x, data_or_null(center), data_or_null(weights), picked, out.data(), context);
    });
}

template <class X>
void dense_outer_gram(const DenseIn<X>& X_, const Maybe<double>& center,
                      const Maybe<double>& weights, const MatrixOut<double>& out, int threads,
                      double deadline) {
    Dense<X> x = dense(X_);
    check_length(center, x.columns, "center must have one entry per column of X");
    check_length(weights, x.columns, "weights must have one entry per column of X");
    check_shape(out, x.rows, x.rows, "out must be square, one row per row of X");
    run(threads, deadline, [&](const Context& context) {
        outer_gram(x, data_or_null(center), data_or_null(weights), out.data(), context);
    });
}

template <class X, class V>
void sparse_times(const VectorIn<std::int64_t>& start, const VectorIn<std::int32_t>& index,
                  const VectorIn<X>& value, const MatrixIn<V>& w, const MatrixOut<V>& out,
                  int threads, double deadline) {
    Compressed<X> a = compressed(start, index, value, extent(w, 0));
    Index outputs = extent(w, 1);
    check_shape(out, a.lines, outputs,
                "out must have the lines of the matrix and the columns of w");
    run(threads, deadline,
        [&](const Context& context) { times(a, w.data(), outputs, out.data(), context); });
}

template <class X, class V>
void sparse_transposed_times(const VectorIn<std::int64_t>& start,
                             const VectorIn<std::int32_t>& index, const VectorIn<X>& value,
                             const VectorIn<V>& r, const VectorOut<V>& out, int threads,
                             double deadline) {
    Compressed<X> rows = compressed(start, index, value, extent(out, 0));
    check(extent(r, 0) == rows.lines, "r must have one entry per row of X");
    run(threads, deadline,
        [&](const Context& context) { transposed_times(rows, r.data(), out.data(), context); });
}

template <class X>
void sparse_column_square_sums(const VectorIn<std::int64_t>& start,
                               const VectorIn<std::int32_t>& index, const VectorIn<X>& value,
                               const Maybe<double>& center, const Maybe<double>& weights,
                               double total_weight, const VectorOut<double>& out, int threads,
                               double deadline) {
    Compressed<X> columns = compressed(start, index, value, weights ? extent(*weights, 0) : 0);
    check_length(center, columns.lines, "center must have one entry per column of X");
    check(extent(out, 0) == columns.lines, "out must have one entry per column of X");
    run(threads, deadline, [&](const Context& context) {
        column_square_sums(columns, data_or_null(center), data_or_null(weights), total_weight,
                           out.data(), context);
    });
}

template <class X>
void sparse_row_square_sums(const VectorIn<std::int64_t>& start,
                            const VectorIn<std::int32_t>& index, const VectorIn<X>& value,
                            const Maybe<double>& center, const VectorIn<double>& weights,
                            const VectorOut<double>& out, int threads, double deadline) {
    Compressed<X> rows = compressed(start, index, value, extent(weights, 0));
    check_length(center, rows.length, "center must have one entry per column of X");
    check(extent(out, 0) == rows.lines, "out must have one entry per row of X");
    run(threads, deadline, [&](const Context& context) {
        row_square_sums(rows, data_or_null(center), weights.data(), out.data(), context);
    });
}

template <class X>
void sparse_gram(const VectorIn<std::int64_t>& column_start,
                 const VectorIn<std::int32_t>& column_index, const VectorIn<X>& column_value,
                 const VectorIn<std::int64_t>& row_start, const VectorIn<std::int32_t>& row_index,
                 const VectorIn<X>& row_value, const Maybe<double>& weights,
                 const MatrixOut<double>& out, int threads, double deadline) {
    Index n = extent(row_start, 0) - 1, d = extent(column_start, 0) - 1;
    Compressed<X> columns = compressed(column_start, column_index, column_value, n);
    Compressed<X> rows = compressed(row_start, row_index, row_value, d);
    check_length(weights, n, "weights must have one entry per row of X");
    check_shape(out, d, d, "out must be square, one row per column of X");
    run(threads, deadline, [&](const Context& context) {
        gram(columns, rows, data_or_null(weights), out.data(), context);
    });
}

template <class X>
void sparse_gram_of_columns(const VectorIn<std::int64_t>& start,
                            const VectorIn<std::int32_t>& index, const VectorIn<X>& value,
                            Index rows, const VectorIn<std::int64_t>& columns,
                            const Maybe<double>& weights, const MatrixOut<double>& out, int threads,
                            double deadline) {
    Compressed<X> x = compressed(start, index, value, rows);
    check_length(weights, rows, "weights must have one entry per row of X");
    Columns picked = chosen(columns, x.lines);
    check_shape(out, picked.count, picked.count, "out must be square, one row per chosen column");
    run(threads, deadline, [&](const Context& context) {
        gram(x, picked, data_or_null(weights), out.data(), context);
    });
}

// ---- coordinate descent on a quadratic ----

// (l1, l2, lower, upper), one entry per feature, or (start, strength) of blocks of features.
using ElasticBoxes =
    std::tuple<VectorIn<double>, VectorIn<double>, VectorIn<double>, VectorIn<double>>;
using BlockNorms = std::tuple<VectorIn<std::int64_t>, VectorIn<double>>;
using AnyPenalty = std::variant<ElasticBoxes, BlockNorms>;

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

// The data by columns: an array in any order, or (start, index, value) of sparse columns.
template <class X>
using AnyColumns = std::variant<DenseIn<X>, SparseIn<X>>;

template <class X>
Dense<X> column_matrix(const DenseIn<X>& x, Index) {
    return dense(x);
}
template <class X>
Compressed<X> column_matrix(const SparseIn<X>& x, Index rows) {
    return compressed(std::get<0>(x), std::get<1>(x), std::get<2>(x), rows);
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

// ---- equal rows ----

// X as an array in any order or by sparse rows, y (n × outputs); returns the number of classes.
template <class X>
Index equal_rows(const AnyColumns<X>& X_, Index features, const MatrixIn<double>& y,
                 const VectorOut<std::int64_t>& labels, int threads, double deadline) {
    Index n = extent(y, 0), classes = 0;
    check(extent(labels, 0) == n, "labels must have one entry per row of y");
    auto label = [&](const auto& x) {
        Rows<std::decay_t<decltype(x)>> rows{x, y.data(), n, features, extent(y, 1)};
        std::vector<std::uint64_t> hashes(n);
        run(threads, deadline, [&](const Context& context) {
            hash_rows(rows, hashes.data(), context);
            classes = label_rows(rows, hashes.data(), labels.data(), context);
        });
    };
    if (const auto* x = std::get_if<DenseIn<X>>(&X_)) {
        check_shape(*x, n, features, "X must have a row per row of y and the given features");
        label(dense(*x));
    } else {
        Compressed<X> x_rows = column_matrix<X>(std::get<SparseIn<X>>(X_), features);
        check(x_rows.lines == n, "X must have a row per row of y");
        label(x_rows);
    }
    return classes;
}

// ---- coordinate descent on a quadratic in a box ----

// (linear, quadratic, lower, upper), one entry per row of X.
using BoxIn = std::tuple<VectorIn<double>, VectorIn<double>, VectorIn<double>, VectorIn<double>>;

// One problem: inverse; box and absolute; theta and w, which are moved in place; b, sigma,
// threshold; gap, epochs, seed.
using BoxTask = std::tuple<VectorIn<double>, BoxIn, double, VectorOut<double>, VectorOut<double>,
                           double, double, double, double, Index, std::uint64_t>;

// What became of it: the estimated gap, the number of epochs, and b, sigma and threshold.
using BoxResult = std::tuple<double, Index, double, double, double>;

template <class Samples>
BoxResult run_box_task(const Samples& x, const BoxTask& task, Checkpoint& checkpoint) {
    const auto& [inverse, box, absolute, theta, w, b, sigma, threshold, gap, epochs, seed] = task;
    const auto& [linear, quadratic, lower, upper] = box;
    BoxTerms terms{linear.data(), quadratic.data(), lower.data(), upper.data(), absolute};
    BoxIterate iterate{theta.data(), w.data(), b, sigma, threshold};
    BoxProgress progress =
        descend_box(x, inverse.data(), terms, iterate, {gap, epochs, seed}, checkpoint);
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

// ---- the module ----

// The functions that exist for each type X of the data (and V of the vectors).
template <class X>
void define_for_data(nb::module_& m) {
    m.def("dense_hessian_times", &dense_hessian_times<X>, array("X"), maybe("center"), array("a"),
          maybe("f"), array("v"), array("shift"), array("w"), array("b"), "threads"_a,
          "deadline"_a);
    m.def("dense_column_square_sums", &dense_column_square_sums<X>, array("X"), maybe("center"),
          maybe("weights"), array("out"), "threads"_a, "deadline"_a);
    m.def("dense_row_square_sums", &dense_row_square_sums<X>, array("X"), maybe("center"),
          array("weights"), array("out"), "threads"_a, "deadline"_a);
    m.def("dense_outer_gram", &dense_outer_gram<X>, array("X"), maybe("center"), maybe("weights"),
          array("out"), "threads"_a, "deadline"_a);
    m.def("sparse_column_square_sums", &sparse_column_square_sums<X>, array("start"),
          array("index"), array("value"), maybe("center"), maybe("weights"), "total_weight"_a,
          array("out"), "threads"_a, "deadline"_a);
    m.def("sparse_row_square_sums", &sparse_row_square_sums<X>, array("start"), array("index"),
          array("value"), maybe("center"), array("weights"), array("out"), "threads"_a,
          "deadline"_a);
    m.def("sparse_gram", &sparse_gram<X>, array("column_start"), array("column_index"),
          array("column_value"), array("row_start"), array("row_index"), array("row_value"),
          maybe("weights"), array("out"), "threads"_a, "deadline"_a);
    m.def("sparse_gram_of_columns", &sparse_gram_of_columns<X>, array("start"), array("index"),
          array("value"), "rows"_a, array("columns"), maybe("weights"), array("out"), "threads"_a,
          "deadline"_a);
}

template <class X>
void define_equal_rows(nb::module_& m) {
    m.def("equal_rows", &equal_rows<X>, array("X"), "features"_a, array("y"), array("labels"),
          "threads"_a, "deadline"_a);
}

template <class X>
void define_box_descent(nb::module_& m) {
    m.def("box_descent", &box_descent<X>, array("X"), "columns"_a, array("tasks"), "threads"_a,
          "deadline"_a);
}

template <class X>
void define_column_descent(nb::module_& m) {
    m.def("column_descent", &column_descent<X>, array("X"), array("which"), maybe("center"),
          array("diagonal"), maybe("factor"), array("slope"), maybe("bias_slope"), array("penalty"),
          array("w"), array("bias_step"), "tolerance"_a, "sweeps"_a, "deadline"_a);
    m.def("column_times", &column_times<X>, array("X"), array("which"), array("step"), array("out"),
          "deadline"_a);
}

template <class X, class V>
void define_for_vectors(nb::module_& m) {
    m.def("dense_times", &dense_times<X, V>, array("X"), maybe("center"), array("w"), array("out"),
          "threads"_a, "deadline"_a);
    m.def("dense_transposed_times", &dense_transposed_times<X, V>, array("X"), maybe("center"),
          maybe("columns"), array("r"), array("out"), "threads"_a, "deadline"_a);
    m.def("dense_gram", &dense_gram<X, V>, array("X"), maybe("center"), maybe("weights"),
          maybe("columns"), array("out"), "threads"_a, "deadline"_a);
    m.def("sparse_times", &sparse_times<X, V>, array("start"), array("index"), array("value"),
          array("w"), array("out"), "threads"_a, "deadline"_a);
    m.def("sparse_transposed_times", &sparse_transposed_times<X, V>, array("start"), array("index"),
          array("value"), array("r"), array("out"), "threads"_a, "deadline"_a);
}

}  // namespace
}  // namespace gapless
NB_MODULE(_core, m) {
    using namespace gapless;
    m.doc() = "The compiled loops of gapless: arrays in, arrays out.";
    find_blas();
    define_for_data<float>(m);
    define_for_data<double>(m);
    define_equal_rows<float>(m);
    define_equal_rows<double>(m);
    define_box_descent<float>(m);
    define_box_descent<double>(m);
    define_for_vectors<float, float>(m);
    define_for_vectors<float, double>(m);
    define_for_vectors<double, double>(m);
    m.def("gram_descent", &gram_descent, array("gram"), array("slope"), array("penalty"),
          array("w"), "tolerance"_a, "sweeps"_a, "deadline"_a);
    define_column_descent<float>(m);
    define_column_descent<double>(m);
    define_all_in_one_functions(m);
    define_bayes_functions(m);
    define_boosting_functions(m);
    define_kernel_functions(m);
    define_neighbor_functions(m);
    define_stump_functions(m);
    define_text_functions(m);
    define_tree_functions(m);
    define_tree_prediction_functions(m);
    nb::class_<GramLasso>(m, "GramLasso")
        .def("__init__", [](GramLasso* lasso) { new (lasso) GramLasso(blas); })
        .def("grow", &gram_lasso_grow, array("products"), array("q"), array("may_rise"),
             array("may_fall"))
        .def("solve", &gram_lasso_solve, array("l1"), array("l2"), array("w"), array("gradient"),
             "gap"_a, "target_square"_a, "tolerance"_a, "most_changes"_a, "deadline"_a)
        .def("save", &GramLasso::save)
        .def("restore", &GramLasso::restore);
}
