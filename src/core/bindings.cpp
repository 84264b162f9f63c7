// The Python face of the core: one function per entry. Each checks shapes and dtypes, lets go of
// the GIL, calls, and returns; results are written into arrays that the caller allocates.
//
// Every function ends with `threads` and `deadline` (in seconds of time.monotonic(), inf for none).
// It raises KeyboardInterrupt on Ctrl-C and gapless.interrupt.TimeLimit when the deadline has
// passed; its results are then incomplete.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cmath>
#include <cstring>
#include <optional>
#include <string>

#include "box_qp.hpp"
#include "equal_rows.hpp"
#include "gram_lasso.hpp"
#include "kernel_blocks.hpp"
#include "products.hpp"
#include "quadratic_cd.hpp"
#include "small_sums.hpp"
#include "smo.hpp"
#include "span.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace gapless {
namespace {

// ---- arrays ----

template <class T>
using VectorIn = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using VectorOut = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using MatrixIn = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using MatrixOut = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using DenseIn = nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>;  // in C or F order
template <class T>
using Maybe = std::optional<VectorIn<T>>;

template <class Array>
Index extent(const Array& a, int axis) {
    return static_cast<Index>(a.shape(axis));
}

template <class T>
const T* data_or_null(const Maybe<T>& v) {
    return v ? v->data() : nullptr;
}

void check(bool right, const char* what) {
    if (!right) throw nb::value_error(what);
}

template <class T>
void check_length(const Maybe<T>& v, Index length, const char* what) {
    check(!v || extent(*v, 0) == length, what);
}

template <class Array>
void check_shape(const Array& a, Index rows, Index columns, const char* what) {
    check(extent(a, 0) == rows && extent(a, 1) == columns, what);
}

template <class T>
Dense<T> dense(const DenseIn<T>& x) {
    Index n = extent(x, 0), d = extent(x, 1);
    // A side of length 1 (or an empty matrix) may have any stride.
    auto strides = [&](Index first, Index second) {
        return n * d == 0 ||
               ((n == 1 || x.stride(0) == first) && (d == 1 || x.stride(1) == second));
    };
    if (strides(d, 1)) return {x.data(), n, d, Order::rows};
    check(strides(1, n),
          "X must be contiguous, in C or F order; copy it with np.ascontiguousarray");
    return {x.data(), n, d, Order::columns};
}

template <class T>
Compressed<T> compressed(const VectorIn<std::int64_t>& start, const VectorIn<std::int32_t>& index,
                         const VectorIn<T>& value, Index length) {
    Index lines = extent(start, 0) - 1;
    check(lines >= 0, "start must have one more entry than there are lines");
    check(start.data()[lines] == extent(index, 0) && extent(index, 0) == extent(value, 0),
          "start, index and value of a sparse matrix disagree about the number of entries");
    return {lines, length, start.data(), index.data(), value.data()};
}

Columns chosen(const Maybe<std::int64_t>& columns, Index d) {
    if (!columns) return {nullptr, d};
    for (Index j = 0; j < extent(*columns, 0); ++j)
        check(0 <= columns->data()[j] && columns->data()[j] < d, "a column index is out of range");
    return {columns->data(), extent(*columns, 0)};
}

// ---- running ----

// SciPy's BLAS, found once when the module is imported.
Blas blas;

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

// Call work(context) without the GIL, and turn a stop into the right Python exception.
template <class Work>
void run(int threads, double deadline, Work&& work) {
    check(threads >= 1, "threads must be at least 1");
    using Clock = std::chrono::steady_clock;
    bool is_limited = std::isfinite(deadline), is_late = false;
    Clock::time_point end;
    if (is_limited) {
        // Python's clock need not be ours, so only the difference crosses over.
        double now = nb::cast<double>(nb::module_::import_("time").attr("monotonic")());
        double left = std::clamp(deadline - now, 0.0, 1e9);
        end = Clock::now() +
              std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(left));
    }
    Poll poll = [&] {
        is_late = is_limited && Clock::now() >= end;
        if (is_late) return true;
        nb::gil_scoped_acquire gil;
        return PyErr_CheckSignals() != 0;
    };
    try {
        nb::gil_scoped_release released;
        work(Context{blas, threads, poll});
    } catch (const Stopped&) {
        if (is_late) {
            nb::object error = nb::module_::import_("gapless.interrupt").attr("TimeLimit");
            PyErr_SetString(error.ptr(), "the time limit has passed");
        }
        throw nb::python_error();
    }
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
using SparseIn = std::tuple<VectorIn<std::int64_t>, VectorIn<std::int32_t>, VectorIn<X>>;
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
// moved in place; tol and steps.
using SumTask = std::tuple<Maybe<std::int64_t>, VectorIn<double>, VectorIn<double>, Maybe<double>,
                           VectorIn<double>, VectorIn<double>, Maybe<std::int64_t>,
                           VectorOut<double>, VectorOut<double>, double, Index>;

// What became of it: the violation, the number of steps, why it ended.
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

// Several problems on the same rows: a thread for each problem, or all threads for one after the
// other when there are fewer problems than threads.
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
    return descend_each(KernelSource{form, kernel_rows(X, squares), blas}, extent(X, 0), tasks,
                        threads, deadline);
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
// problem `which[c]`. How many steps each took; tol and the most steps are those of the first task.
template <class T>
std::vector<Index> sum_leave_out(const MatrixIn<T>& gram, const std::vector<SumTask>& tasks,
                                 const VectorIn<std::int64_t>& which,
                                 const VectorIn<std::int64_t>& variables,
                                 const VectorOut<double>& scores, int threads, double deadline) {
    const Index n = extent(gram, 0), count = extent(which, 0);
    check(extent(gram, 1) == n, "gram must be square");
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
        leave_out(rows, problems, cases, tol, steps, scores.data(), taken.data(), context);
    });
    return taken;
}

// ---- the module ----

// An array argument: never converted, because a conversion would be a silent copy.
auto array(const char* name) { return nb::arg(name).noconvert(); }
auto maybe(const char* name) { return nb::arg(name).noconvert().none(); }

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

template <class T>
void define_span_squares(nb::module_& m) {
    m.def("span_squares", &span_squares<T>, array("gram"), array("start"), array("rows"),
          array("support"), "noise"_a, array("out"), "threads"_a, "deadline"_a);
}

template <class X>
void define_box_descent(nb::module_& m) {
    m.def("box_descent", &box_descent<X>, array("X"), "columns"_a, array("tasks"), "threads"_a,
          "deadline"_a);
}

template <class T>
void define_kernels(nb::module_& m) {
    m.def("kernel_block", &dense_kernel_block<T>, "form"_a, array("X"), array("X_squares"),
          array("Z"), array("Z_squares"), array("out"), "threads"_a, "deadline"_a);
    m.def("kernel_gram", &dense_kernel_gram<T>, "form"_a, array("X"), array("squares"),
          array("out"), "threads"_a, "deadline"_a);
    m.def("kernel_times", &dense_kernel_times<T>, "form"_a, array("X"), array("X_squares"),
          array("Z"), array("Z_squares"), array("coef"), array("out"), "threads"_a, "deadline"_a);
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
          array("variables"), array("scores"), "threads"_a, "deadline"_a);
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
    define_span_squares<float>(m);
    define_span_squares<double>(m);
    define_sum_descent<float>(m);
    define_sum_descent<double>(m);
    m.def("sum_descent_of_rows", &sum_descent_of_rows, "form"_a, array("X"), array("squares"),
          array("tasks"), "threads"_a, "deadline"_a);
    define_for_vectors<float, float>(m);
    define_for_vectors<float, double>(m);
    define_for_vectors<double, double>(m);
    m.def("gram_descent", &gram_descent, array("gram"), array("slope"), array("penalty"),
          array("w"), "tolerance"_a, "sweeps"_a, "deadline"_a);
    define_column_descent<float>(m);
    define_column_descent<double>(m);
    define_kernel_forms(m);
    define_kernels<float>(m);
    define_kernels<double>(m);
    nb::class_<GramLasso>(m, "GramLasso")
        .def("__init__", [](GramLasso* lasso) { new (lasso) GramLasso(blas); })
        .def("grow", &gram_lasso_grow, array("products"), array("q"), array("may_rise"),
             array("may_fall"))
        .def("solve", &gram_lasso_solve, array("l1"), array("l2"), array("w"), array("gradient"),
             "gap"_a, "target_square"_a, "tolerance"_a, "most_changes"_a, "deadline"_a)
        .def("save", &GramLasso::save)
        .def("restore", &GramLasso::restore);
}
