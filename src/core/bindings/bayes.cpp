// Python bindings of the passes of Gaussian Bayes.
#include "bindings/bindings.hpp"
#include "linear/class_moments.hpp"

namespace gapless {
namespace {

// Classes and weights of the rows; there are as many classes as `out` has rows.
void check_classes(Index rows, const VectorIn<std::int32_t>& y, const VectorIn<double>& weights,
                   const MatrixOut<double>& out) {
    const Index classes = extent(out, 0);
    check(extent(y, 0) == rows && extent(weights, 0) == rows,
          "y and weights must have one entry per row");
    for (Index i = 0; i < rows; ++i)
        check(0 <= y.data()[i] && y.data()[i] < classes, "a class is out of range");
}

template <class X>
void check_rows(const Dense<X>& x, const VectorIn<std::int32_t>& y, const VectorIn<double>& weights,
                const MatrixOut<double>& out) {
    check_classes(x.rows, y, weights, out);
    check(extent(out, 1) == x.columns, "results must have one column per feature");
}

template <class X>
void bound_class_sums(const DenseIn<X>& X_, const VectorIn<std::int32_t>& y,
                      const VectorIn<double>& weights, const MatrixOut<double>& sums,
                      const std::optional<MatrixOut<double>>& counts, int threads,
                      double deadline) {
    const Dense<X> x = dense(X_);
    const Index classes = extent(sums, 0);
    check_rows(x, y, weights, sums);
    if (counts) check_shape(*counts, classes, x.columns, "counts must be shaped like sums");
    run(threads, deadline, [&](const Context& context) {
        const ClassRows<X> rows{x, y.data(), weights.data(), classes};
        class_sums(rows, sums.data(), counts ? counts->data() : nullptr, context);
    });
}

template <class X>
void bound_class_squares(const DenseIn<X>& X_, const VectorIn<std::int32_t>& y,
                         const VectorIn<double>& weights, const MatrixIn<double>& means,
                         const MatrixOut<double>& squares, const MatrixOut<double>& rests,
                         int threads, double deadline) {
    const Dense<X> x = dense(X_);
    const Index classes = extent(squares, 0);
    check_rows(x, y, weights, squares);
    check_shape(means, classes, x.columns, "means must be shaped like squares");
    check_shape(rests, classes, x.columns, "rests must be shaped like squares");
    run(threads, deadline, [&](const Context& context) {
        const ClassRows<X> rows{x, y.data(), weights.data(), classes};
        class_squares(rows, means.data(), squares.data(), rests.data(), context);
    });
}

template <class X>
void bound_class_counts(const VectorIn<std::int64_t>& start, const VectorIn<std::int32_t>& index,
                        const VectorIn<X>& value, const VectorIn<std::int32_t>& y,
                        const VectorIn<double>& weights, const MatrixOut<double>& counts,
                        int threads, double deadline) {
    const Compressed<X> x = compressed(start, index, value, extent(counts, 1));
    check_classes(x.lines, y, weights, counts);
    run(threads, deadline, [&](const Context& context) {
        class_counts(x, y.data(), weights.data(), extent(counts, 0), counts.data(), context);
    });
}

template <class X>
void bound_class_distances(const DenseIn<X>& X_, const MatrixIn<double>& means,
                           const MatrixIn<double>& precisions,
                           const std::optional<MatrixIn<double>>& offsets,
                           const MatrixOut<double>& out, int threads, double deadline) {
    const Dense<X> x = dense(X_);
    const Index classes = extent(means, 0);
    check(extent(means, 1) == x.columns, "means must have one column per feature");
    check_shape(precisions, classes, x.columns, "precisions must be shaped like means");
    if (offsets) check_shape(*offsets, classes, x.columns, "offsets must be shaped like means");
    check_shape(out, x.rows, classes, "out must have one row per row of X, and one column a class");
    run(threads, deadline, [&](const Context& context) {
        const ClassShapes shapes{classes, means.data(), precisions.data(),
                                 offsets ? offsets->data() : nullptr};
        class_distances(x, shapes, out.data(), context);
    });
}

template <class X>
void define_for_data(nb::module_& m) {
    m.def("class_sums", &bound_class_sums<X>, array("X"), array("y"), array("weights"),
          array("sums"), maybe("counts"), "threads"_a, "deadline"_a);
    m.def("class_squares", &bound_class_squares<X>, array("X"), array("y"), array("weights"),
          array("means"), array("squares"), array("rests"), "threads"_a, "deadline"_a);
    m.def("class_counts", &bound_class_counts<X>, array("start"), array("index"), array("value"),
          array("y"), array("weights"), array("counts"), "threads"_a, "deadline"_a);
    m.def("class_distances", &bound_class_distances<X>, array("X"), array("means"),
          array("precisions"), maybe("offsets"), array("out"), "threads"_a, "deadline"_a);
}

}  // namespace

void define_bayes_functions(nb::module_& m) {
    define_for_data<float>(m);
    define_for_data<double>(m);
}

}  // namespace gapless
