// Python bindings of products with the data: X times vectors, their transposes, Gram matrices.
#include "bindings/bindings.hpp"

namespace gapless {
namespace {

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

// What exists for each type X of the data.
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

// What exists for each type X of the data and V of the vectors.
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

void define_product_functions(nb::module_& m) {
    define_for_data<float>(m);
    define_for_data<double>(m);
    define_for_vectors<float, float>(m);
    define_for_vectors<float, double>(m);
    define_for_vectors<double, double>(m);
}

}  // namespace gapless
