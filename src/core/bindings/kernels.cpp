// Python bindings of kernels and of the machines that are quadratics in a box with fixed sums.
#include "bindings/bindings.hpp"
#include "kernels/kernel_blocks.hpp"
#include "kernels/small_sums.hpp"
#include "kernels/smo.hpp"
#include "kernels/span.hpp"

namespace gapless {
namespace {

// ---- support vectors ----

template <class T>
void span_squares(const MatrixIn<T>& gram, const VectorIn<std::int64_t>& start,
                  const VectorIn<std::int64_t>& rows, const VectorIn<std::uint8_t>& support,
                  double noise, const VectorOut<double>& out, int threads, double deadline) {
    const Index n = extent(gram, 0), variables = extent(rows, 0), count = extent(start, 0) - 1;
    check(extent(gram, 1) == n, "gram must be square");
    check(extent(support, 0) == variables && extent(out, 0) == variables,
          "support and out must have one entry per row");
    check(count >= 0 && start.data()[0] == 0 && start.data()[count] == variables,
          "start must lead from 0 to the number of rows");
    for (Index p = 0; p < count; ++p)
        check(start.data()[p] <= start.data()[p + 1], "start must not fall");
    for (Index v = 0; v < variables; ++v) {
        check(0 <= rows.data()[v] && rows.data()[v] < n, "a row is out of range");
        check(support.data()[v] <= 2, "support must be 0 (none), 1 (free) or 2 (bounded)");
    }
    Machines<T> machines{gram.data(), n,
                         count,       start.data(),
                         rows.data(), reinterpret_cast<const Support*>(support.data())};
    run(threads, deadline,
        [&](const Context& context) { spans(machines, noise, out.data(), context); });
}

// ---- kernels ----

template <class T>
KernelRows<T> kernel_rows(const MatrixIn<T>& x, const VectorIn<T>& squares) {
    check(extent(squares, 0) == extent(x, 0), "squares must have one entry per row");
    return {x.data(), squares.data(), extent(x, 0), extent(x, 1)};
}

template <class T>
void dense_kernel_block(const KernelForm& form, const MatrixIn<T>& X, const VectorIn<T>& X_squares,
                        const MatrixIn<T>& Z, const VectorIn<T>& Z_squares, const MatrixOut<T>& out,
                        int threads, double deadline) {
    KernelRows<T> a = kernel_rows(X, X_squares), b = kernel_rows(Z, Z_squares);
    check(a.columns == b.columns, "X and Z must have the same columns");
    check_shape(out, a.rows, b.rows, "out must have a row per row of X and a column per row of Z");
    run(threads, deadline,
        [&](const Context& context) { kernel_block(form, a, b, out.data(), context); });
}

template <class T>
void dense_kernel_gram(const KernelForm& form, const MatrixIn<T>& X, const VectorIn<T>& squares,
                       const MatrixOut<T>& out, int threads, double deadline) {
    KernelRows<T> a = kernel_rows(X, squares);
    check_shape(out, a.rows, a.rows, "out must be square, one row per row of X");
    run(threads, deadline,
        [&](const Context& context) { kernel_gram(form, a, out.data(), context); });
}

template <class T>
void dense_kernel_times(const KernelForm& form, const MatrixIn<T>& X, const VectorIn<T>& X_squares,
                        const MatrixIn<T>& Z, const VectorIn<T>& Z_squares,
                        const MatrixIn<double>& coef, const MatrixOut<double>& out, int threads,
                        double deadline) {
    KernelRows<T> a = kernel_rows(X, X_squares), b = kernel_rows(Z, Z_squares);
    const Index outputs = extent(coef, 1);
    check(a.columns == b.columns, "X and Z must have the same columns");
    check(extent(coef, 0) == b.rows, "coef must have one row per row of Z");
    check_shape(out, a.rows, outputs, "out must have the rows of X and the columns of coef");
    run(threads, deadline, [&](const Context& context) {
        kernel_times(form, a, b, coef.data(), outputs, out.data(), context);
    });
}

// Each product: positions of rows, their coefficients, and the output.
using ProductTask = std::tuple<VectorIn<std::int64_t>, VectorIn<double>, VectorOut<double>>;

template <class T>
void dense_kernel_times_each(const KernelForm& form, const MatrixIn<T>& X,
                             const VectorIn<T>& squares, const std::vector<ProductTask>& tasks,
                             int threads, double deadline) {
    KernelRows<T> x = kernel_rows(X, squares);
    std::vector<OwnProduct> products;
    for (const auto& [rows, coef, out] : tasks) {
        const Index count = extent(rows, 0);
        check(extent(coef, 0) == count && extent(out, 0) == count,
              "coef and out must have one entry per row");
        for (Index i = 0; i < count; ++i)
            check(0 <= rows.data()[i] && rows.data()[i] < x.rows, "a row is out of range");
        products.push_back({count, rows.data(), coef.data(), out.data()});
    }
    run(threads, deadline,
        [&](const Context& context) { kernel_times_each(form, x, products, context); });
}

// X by its rows, Z by its columns; `is_gram` says that both are the same matrix.
template <class T>
void sparse_kernel_block(const KernelForm& form, const SparseIn<T>& X, const VectorIn<T>& X_squares,
                         const SparseIn<T>& Z, const VectorIn<T>& Z_squares, bool is_gram,
                         const MatrixOut<T>& out, int threads, double deadline) {
    const Index n = extent(X_squares, 0), m = extent(Z_squares, 0);
    const auto& [start, index, value] = X;
    const auto& [z_start, z_index, z_value] = Z;
    Compressed<T> rows = compressed(start, index, value, extent(z_start, 0) - 1);
    Compressed<T> columns = compressed(z_start, z_index, z_value, m);
    check(rows.lines == n, "X_squares must have one entry per row of X");
    check(!is_gram || n == m, "the rows of a Gram matrix are its columns");
    check_shape(out, n, m, "out must have a row per row of X and a column per row of Z");
    run(threads, deadline, [&](const Context& context) {
        kernel_block(form, SparseKernelRows<T>{rows, X_squares.data()},
                     SparseKernelRows<T>{columns, Z_squares.data()}, is_gram, out.data(), context);
    });
}

template <class T>
void kernel_of_products(const KernelForm& form, const VectorIn<T>& row_squares,
                        const VectorIn<T>& column_squares, const MatrixOut<T>& values, int threads,
                        double deadline) {
    check_shape(values, extent(row_squares, 0), extent(column_squares, 0),
                "values must have an entry per pair of squares");
    run(threads, deadline, [&](const Context& context) {
        kernel_values(form, row_squares.data(), column_squares.data(), extent(values, 0),
                      extent(values, 1), values.data(), context);
    });
}

// ---- quadratics in a box with fixed sums ----

// One problem: rows, diagonal, linear, absolute, lower, upper, group; theta and gradient, which are
// updated in place; tol and steps.
using SumTask = std::tuple<Maybe<std::int64_t>, VectorIn<double>, VectorIn<double>, Maybe<double>,
                           VectorIn<double>, VectorIn<double>, Maybe<std::int64_t>,
                           VectorOut<double>, VectorOut<double>, double, Index>;

// The result: the violation, the number of steps, why it ended.
using SumResult = std::tuple<double, Index, int>;

SumProblem sum_problem(const SumTask& task, Index rows) {
    const auto& [row, diagonal, linear, absolute, lower, upper, group, theta, gradient, tol, most] =
        task;
    const Index m = extent(linear, 0);
    auto is_right = [&](const auto&... v) { return ((extent(v, 0) == m) && ...); };
    check(is_right(diagonal, lower, upper, theta, gradient),
          "all arrays of a problem must have one entry per variable");
    check_length(row, m, "rows must have one entry per variable");
    check_length(absolute, m, "absolute must have one entry per variable");
    check_length(group, m, "group must have one entry per variable");
    check(row || m == rows, "without rows there must be a variable for each row");
    for (Index v = 0; v < m; ++v) {
        check(!row || (0 <= row->data()[v] && row->data()[v] < rows), "a row is out of range");
        check(!group || (0 <= group->data()[v] && group->data()[v] < m), "a group is out of range");
    }
    return {m,
            data_or_null(row),
            diagonal.data(),
            linear.data(),
            data_or_null(absolute),
            lower.data(),
            upper.data(),
            data_or_null(group),
            theta.data(),
            gradient.data()};
}

// The slopes of each group of a problem, one line each: rise, fall, free. One short pass.
void sum_slopes(const VectorIn<double>& theta, const VectorIn<double>& gradient,
                const Maybe<double>& absolute, const VectorIn<double>& lower,
                const VectorIn<double>& upper, const Maybe<std::int64_t>& group,
                const MatrixOut<double>& out) {
    const Index m = extent(theta, 0), groups = extent(out, 0);
    check(extent(gradient, 0) == m && extent(lower, 0) == m && extent(upper, 0) == m,
          "all arrays of a problem must have one entry per variable");
    check_length(absolute, m, "absolute must have one entry per variable");
    check_length(group, m, "group must have one entry per variable");
    check(groups >= 1 && extent(out, 1) == 3, "out must have three entries for each group");
    for (Index v = 0; group && v < m; ++v)
        check(0 <= group->data()[v] && group->data()[v] < groups, "a group is out of range");
    std::vector<GroupSlopes> slopes(groups);
    group_slopes({m, theta.data(), gradient.data(), data_or_null(absolute), lower.data(),
                  upper.data(), data_or_null(group)},
                 slopes);
    for (Index g = 0; g < groups; ++g) {
        double* line = out.data() + 3 * g;
        line[0] = slopes[g].rise, line[1] = slopes[g].fall, line[2] = slopes[g].free;
    }
}

// Several problems on the same rows: a thread for each problem, or all threads for one problem
// after another if there are fewer problems than threads.
template <class Rows>
std::vector<SumResult> descend_each(const Rows& rows, Index columns,
                                    const std::vector<SumTask>& tasks, int threads,
                                    double deadline) {
    std::vector<SumProblem> problems;
    for (const SumTask& task : tasks) problems.push_back(sum_problem(task, columns));
    std::vector<SumResult> results(tasks.size());
    run(threads, deadline, [&](const Context& context) {
        const Index count = static_cast<Index>(tasks.size());
        auto solve = [&](Index i, int inside, Checkpoint& checkpoint) {
            SumProgress done = descend_sums(rows, problems[i], std::get<9>(tasks[i]),
                                            std::get<10>(tasks[i]), inside, checkpoint);
            results[i] = {done.violation, done.steps, static_cast<int>(done.status)};
        };
        if (count >= context.threads) {
            parallel_for(count, context.threads, context.poll,
                         [&](Index i, Checkpoint& checkpoint) { solve(i, 1, checkpoint); });
        } else {
            Checkpoint checkpoint(context.poll);
            for (Index i = 0; i < count; ++i) solve(i, context.threads, checkpoint);
        }
    });
    return results;
}

// On a kernel matrix, of which line slot[r] is row r.
template <class T>
std::vector<SumResult> sum_descent(const MatrixIn<T>& gram, const Maybe<std::int64_t>& slot,
                                   const std::vector<SumTask>& tasks, int threads,
                                   double deadline) {
    const Index columns = extent(gram, 1);
    check(slot || extent(gram, 0) == columns, "without slots the kernel matrix must be square");
    check_length(slot, columns, "slot must have one entry per column of the kernel matrix");
    return descend_each(GramRows<T>{gram.data(), columns, data_or_null(slot)}, columns, tasks,
                        threads, deadline);
}

// On a kernel of rows with few features.
std::vector<SumResult> sum_descent_of_rows(const KernelForm& form, const MatrixIn<float>& X,
                                           const VectorIn<float>& squares,
                                           const std::vector<SumTask>& tasks, int threads,
                                           double deadline) {
    check(form.measure == Measure::product || form.measure == Measure::squared_distance,
          "the kernel must be one of products or of squared distances");
    return descend_each(KernelSource{form, kernel_rows(X, squares), scipy_blas()}, extent(X, 0),
                        tasks, threads, deadline);
}

// Small problems with one sum, each on its own kernel values; tol and steps are those of the first.
template <class T>
void small_sum_descent(const MatrixIn<T>& gram, const std::vector<SumTask>& tasks, int threads,
                       double deadline) {
    const Index n = extent(gram, 0);
    check(extent(gram, 1) == n, "gram must be square");
    std::vector<SumProblem> problems;
    for (const SumTask& task : tasks) {
        problems.push_back(sum_problem(task, n));
        check(!problems.back().group, "a small problem has one sum");
    }
    if (tasks.empty()) return;
    GramRows<T> rows{gram.data(), n, nullptr};
    run(threads, deadline, [&](const Context& context) {
        descend_small(rows, problems, std::get<9>(tasks[0]), std::get<10>(tasks[0]), context);
    });
}

// Scores of rows by problems at their solution without them: the row of variable `variables[c]` by
// problem `which[c]`. Returns how many steps each took; tol and the most steps are those of the
// first task. Rows of the kernel matrix with the same number in `units` leave together.
template <class T>
std::vector<Index> sum_leave_out(const MatrixIn<T>& gram, const std::vector<SumTask>& tasks,
                                 const VectorIn<std::int64_t>& which,
                                 const VectorIn<std::int64_t>& variables,
                                 const VectorOut<double>& scores, int threads, double deadline,
                                 const Maybe<std::int64_t>& units) {
    const Index n = extent(gram, 0), count = extent(which, 0);
    check(extent(gram, 1) == n, "gram must be square");
    check_length(units, n, "units must have one entry per row of gram");
    check(extent(variables, 0) == count && extent(scores, 0) == count,
          "which, variables and scores must have one entry per case");
    GramRows<T> rows{gram.data(), n, nullptr};
    std::vector<SumProblem> problems;
    for (const SumTask& task : tasks) problems.push_back(sum_problem(task, n));
    std::vector<LeftOut> cases;
    for (Index c = 0; c < count; ++c) {
        const Index p = which.data()[c], v = variables.data()[c];
        check(0 <= p && p < static_cast<Index>(problems.size()), "a problem is out of range");
        check(0 <= v && v < problems[p].count, "a variable is out of range");
        check(!problems[p].group, "only problems with one sum can be left a variable out of");
        cases.push_back({p, v});
    }
    std::vector<Index> taken(count);
    if (cases.empty()) return taken;
    const double tol = std::get<9>(tasks[0]);
    const Index steps = std::get<10>(tasks[0]);
    run(threads, deadline, [&](const Context& context) {
        leave_out(rows, problems, cases, data_or_null(units), tol, steps, scores.data(),
                  taken.data(), context);
    });
    return taken;
}

// ---- the module ----

template <class T>
void define_span_squares(nb::module_& m) {
    m.def("span_squares", &span_squares<T>, array("gram"), array("start"), array("rows"),
          array("support"), "noise"_a, array("out"), "threads"_a, "deadline"_a);
}

template <class T>
void define_kernels(nb::module_& m) {
    m.def("kernel_block", &dense_kernel_block<T>, "form"_a, array("X"), array("X_squares"),
          array("Z"), array("Z_squares"), array("out"), "threads"_a, "deadline"_a);
    m.def("kernel_gram", &dense_kernel_gram<T>, "form"_a, array("X"), array("squares"),
          array("out"), "threads"_a, "deadline"_a);
    m.def("kernel_times", &dense_kernel_times<T>, "form"_a, array("X"), array("X_squares"),
          array("Z"), array("Z_squares"), array("coef"), array("out"), "threads"_a, "deadline"_a);
    m.def("kernel_times_each", &dense_kernel_times_each<T>, "form"_a, array("X"), array("squares"),
          array("tasks"), "threads"_a, "deadline"_a);
    m.def("sparse_kernel_block", &sparse_kernel_block<T>, "form"_a, array("X"), array("X_squares"),
          array("Z"), array("Z_squares"), "is_gram"_a, array("out"), "threads"_a, "deadline"_a);
    m.def("kernel_of_products", &kernel_of_products<T>, "form"_a, array("row_squares"),
          array("column_squares"), array("values"), "threads"_a, "deadline"_a);
}

void define_kernel_forms(nb::module_& m) {
    nb::enum_<Measure>(m, "Measure")
        .value("product", Measure::product)
        .value("squared_distance", Measure::squared_distance)
        .value("absolute_distance", Measure::absolute_distance)
        .value("chi_square", Measure::chi_square);
    nb::enum_<Curve>(m, "Curve")
        .value("identity", Curve::identity)
        .value("power", Curve::power)
        .value("exponential", Curve::exponential)
        .value("tanh", Curve::tanh)
        .value("matern_1", Curve::matern_1)
        .value("matern_3", Curve::matern_3)
        .value("matern_5", Curve::matern_5);
    nb::class_<KernelForm>(m, "KernelForm")
        .def(
            "__init__",
            [](KernelForm* form, Measure measure, Curve curve, double scale, double shift,
               Index degree) { new (form) KernelForm{measure, curve, scale, shift, degree}; },
            "measure"_a, "curve"_a, "scale"_a = 1.0, "shift"_a = 0.0, "degree"_a = 1)
        .def_ro("measure", &KernelForm::measure)
        .def_ro("curve", &KernelForm::curve)
        .def_ro("scale", &KernelForm::scale)
        .def_ro("shift", &KernelForm::shift)
        .def_ro("degree", &KernelForm::degree);
}

template <class T>
void define_sum_descent(nb::module_& m) {
    m.def("sum_descent", &sum_descent<T>, array("gram"), maybe("slot"), array("tasks"), "threads"_a,
          "deadline"_a);
    m.def("small_sum_descent", &small_sum_descent<T>, array("gram"), array("tasks"), "threads"_a,
          "deadline"_a);
    m.def("sum_leave_out", &sum_leave_out<T>, array("gram"), array("tasks"), array("which"),
          array("variables"), array("scores"), "threads"_a, "deadline"_a,
          maybe("units") = nb::none());
}

}  // namespace

void define_kernel_functions(nb::module_& m) {
    define_span_squares<float>(m);
    define_span_squares<double>(m);
    define_sum_descent<float>(m);
    define_sum_descent<double>(m);
    m.def("sum_slopes", &sum_slopes, array("theta"), array("gradient"), maybe("absolute"),
          array("lower"), array("upper"), maybe("group"), array("out"));
    m.def("sum_descent_of_rows", &sum_descent_of_rows, "form"_a, array("X"), array("squares"),
          array("tasks"), "threads"_a, "deadline"_a);
    define_kernel_forms(m);
    define_kernels<float>(m);
    define_kernels<double>(m);
}

}  // namespace gapless
