// Python bindings of networks.
#include "bindings/bindings.hpp"
#include "networks/dense.hpp"
#include "networks/images.hpp"
#include "networks/pooled.hpp"
#include "networks/rows.hpp"
#include "networks/steps.hpp"

namespace gapless {
namespace {

template <class T>
using ImagesIn = nb::ndarray<const T, nb::ndim<4>, nb::c_contig, nb::device::cpu>;
template <class T>
using ImagesOut = nb::ndarray<T, nb::ndim<4>, nb::c_contig, nb::device::cpu>;

template <class Images>
Windows windows_of(const Images& x, Index size, Index stride, Index margin) {
    check(size >= 1 && size <= 128 && stride >= 1 && margin >= 0 && margin < size,
          "a window has 1 to 128 pixels on a side");
    const Windows w{extent(x, 0), extent(x, 1), extent(x, 2), extent(x, 3), size, stride, margin};
    check(w.height + 2 * margin >= size && w.width + 2 * margin >= size,
          "the window is larger than the image");
    return w;
}

template <class Images>
void check_result(const Windows& w, const Images& y, Index channels) {
    check(extent(y, 0) == w.images && extent(y, 1) == w.out_height() &&
              extent(y, 2) == w.out_width() && extent(y, 3) == channels,
          "y must have a pixel for each window");
}

template <class Weights>
Index filters_of(const Windows& w, const Weights& weights) {
    check(extent(weights, 0) == w.size && extent(weights, 1) == w.size &&
              extent(weights, 2) == w.channels,
          "the weights must be (size, size, channels, filters)");
    return extent(weights, 3);
}

template <class T>
void convolution(const ImagesIn<T>& x, const ImagesIn<T>& weights, const VectorIn<T>& bias,
                 Index stride, Index margin, const ImagesOut<T>& y, int threads, double deadline) {
    const Windows w = windows_of(x, extent(weights, 0), stride, margin);
    const Index filters = filters_of(w, weights);
    check(extent(bias, 0) == filters, "bias must have an entry for each filter");
    check_result(w, y, filters);
    run(threads, deadline, [&](const Context& context) {
        convolve(w, x.data(), weights.data(), bias.data(), filters, y.data(), context);
    });
}

template <class T>
void convolution_back(const ImagesIn<T>& dy, const ImagesIn<T>& weights, Index stride, Index margin,
                      const ImagesOut<T>& dx, int threads, double deadline) {
    const Windows w = windows_of(dx, extent(weights, 0), stride, margin);
    const Index filters = filters_of(w, weights);
    check_result(w, dy, filters);
    run(threads, deadline, [&](const Context& context) {
        convolve_back(w, dy.data(), weights.data(), filters, dx.data(), context);
    });
}

template <class T>
void convolution_weights(const ImagesIn<T>& x, const ImagesIn<T>& dy, Index stride, Index margin,
                         const ImagesOut<T>& dweights, const VectorOut<T>& dbias, int threads,
                         double deadline) {
    const Windows w = windows_of(x, extent(dweights, 0), stride, margin);
    const Index filters = filters_of(w, dweights);
    check(extent(dbias, 0) == filters, "dbias must have an entry for each filter");
    check_result(w, dy, filters);
    run(threads, deadline, [&](const Context& context) {
        convolve_weights(w, x.data(), dy.data(), filters, dweights.data(), dbias.data(), context);
    });
}

template <class T>
void largest(const ImagesIn<T>& x, Index size, Index stride, const ImagesOut<T>& y,
             const ImagesOut<std::int16_t>& place, int threads, double deadline) {
    const Windows w = windows_of(x, size, stride, 0);
    check_result(w, y, w.channels);
    check_result(w, place, w.channels);
    run(threads, deadline, [&](const Context& context) {
        pool_largest(w, x.data(), y.data(), place.data(), context);
    });
}

template <class T>
void largest_back(const ImagesIn<T>& dy, const ImagesIn<std::int16_t>& place, Index size,
                  Index stride, const ImagesOut<T>& dx, int threads, double deadline) {
    const Windows w = windows_of(dx, size, stride, 0);
    check_result(w, dy, w.channels);
    check_result(w, place, w.channels);
    run(threads, deadline, [&](const Context& context) {
        pool_largest_back(w, dy.data(), place.data(), dx.data(), context);
    });
}

template <class T>
void mean(const ImagesIn<T>& x, Index size, Index stride, const ImagesOut<T>& y, int threads,
          double deadline) {
    const Windows w = windows_of(x, size, stride, 0);
    check_result(w, y, w.channels);
    run(threads, deadline,
        [&](const Context& context) { pool_mean(w, x.data(), y.data(), context); });
}

template <class T>
void mean_back(const ImagesIn<T>& dy, Index size, Index stride, const ImagesOut<T>& dx, int threads,
               double deadline) {
    const Windows w = windows_of(dx, size, stride, 0);
    check_result(w, dy, w.channels);
    run(threads, deadline,
        [&](const Context& context) { pool_mean_back(w, dy.data(), dx.data(), context); });
}

// Half the height and the width of the convolution, of which a last odd row or column is left out.
template <class Images>
void check_pooled(const Windows& w, const Images& y, Index filters) {
    check(extent(y, 0) == w.images && extent(y, 1) == w.out_height() / 2 &&
              extent(y, 2) == w.out_width() / 2 && extent(y, 3) == filters,
          "y must have a pixel for each four windows");
}

template <class T>
void pooled_convolution(const ImagesIn<T>& x, const ImagesIn<T>& weights, const VectorIn<T>& bias,
                        Index stride, Index margin, const ImagesOut<T>& y,
                        const ImagesOut<std::uint8_t>& place, int threads, double deadline) {
    const Windows w = windows_of(x, extent(weights, 0), stride, margin);
    const Index filters = filters_of(w, weights);
    check(extent(bias, 0) == filters, "bias must have an entry for each filter");
    check_pooled(w, y, filters);
    check_pooled(w, place, filters);
    run(threads, deadline, [&](const Context& context) {
        convolve_and_pool(w, x.data(), weights.data(), bias.data(), filters, y.data(), place.data(),
                          context);
    });
}

template <class T>
void pooled_convolution_back(const ImagesIn<T>& x, const ImagesIn<T>& weights,
                             const ImagesIn<T>& dy, const ImagesIn<std::uint8_t>& place,
                             Index stride, Index margin, const std::optional<ImagesOut<T>>& dx,
                             const ImagesOut<T>& dweights, const VectorOut<T>& dbias, int threads,
                             double deadline) {
    const Windows w = windows_of(x, extent(weights, 0), stride, margin);
    const Index filters = filters_of(w, weights);
    check(filters_of(w, dweights) == filters && extent(dbias, 0) == filters,
          "dweights and dbias must have an entry for each weight and filter");
    check_pooled(w, dy, filters);
    check_pooled(w, place, filters);
    for (int k = 0; dx && k < 4; ++k)
        check(extent(*dx, k) == extent(x, k), "dx must have the shape of x");
    run(threads, deadline, [&](const Context& context) {
        convolve_and_pool_back(w, x.data(), weights.data(), filters, dy.data(), place.data(),
                               dx ? dx->data() : nullptr, dweights.data(), dbias.data(), context);
    });
}

template <class T>
bool columns_of(const MatrixIn<T>& x, const VectorOut<std::int64_t>& start,
                const VectorOut<std::int32_t>& index, const VectorOut<T>& value) {
    check(extent(start, 0) == (extent(x, 0) + rows_together - 1) / rows_together + 1,
          "start must have one more entry than there are groups of rows");
    check(extent(value, 0) == rows_together * extent(index, 0),
          "value must have an entry for each row of a group and entry of index");
    nb::gil_scoped_release released;
    return collect_columns(x.data(), extent(x, 0), extent(x, 1), extent(index, 0), start.data(),
                           index.data(), value.data());
}

// What was collected of n rows; the arrays may be longer.
template <class T>
Columns4<T> columns(Index n, Index d, Index units, const VectorIn<std::int64_t>& start,
                    const VectorIn<std::int32_t>& index, const VectorIn<T>& value) {
    const Columns4<T> x{n, d, start.data(), index.data(), value.data()};
    check(units >= least_units<T>(), "there must be as many units as a vector has numbers");
    check(extent(start, 0) == x.groups() + 1,
          "start must have one more entry than there are groups of rows");
    check(start.data()[x.groups()] <= extent(index, 0) &&
              start.data()[x.groups()] * rows_together <= extent(value, 0),
          "start has more entries than index and value");
    return x;
}

template <class T>
void times_weights(const VectorIn<std::int64_t>& start, const VectorIn<std::int32_t>& index,
                   const VectorIn<T>& value, const MatrixIn<T>& w, const MatrixOut<T>& y) {
    const Index units = extent(w, 1);
    const Columns4<T> x = columns(extent(y, 0), extent(w, 0), units, start, index, value);
    check(extent(y, 1) == units, "y must have a column for each unit");
    nb::gil_scoped_release released;
    columns_times(x, w.data(), units, y.data());
}

template <class T>
void times_slopes(const VectorIn<std::int64_t>& start, const VectorIn<std::int32_t>& index,
                  const VectorIn<T>& value, const MatrixIn<T>& dz, const MatrixOut<T>& dw) {
    const Index units = extent(dw, 1);
    const Columns4<T> x = columns(extent(dz, 0), extent(dw, 0), units, start, index, value);
    check(extent(dz, 1) == units, "dz must have a column for each unit");
    nb::gil_scoped_release released;
    columns_transposed_times(x, dz.data(), units, dw.data());
}

template <class T>
void bias_added(const MatrixOut<T>& y, const VectorIn<T>& bias, bool is_bent) {
    check(extent(bias, 0) == extent(y, 1), "bias must have an entry for each column of y");
    nb::gil_scoped_release released;
    add_bias(y.data(), extent(y, 0), extent(y, 1), bias.data(), is_bent);
}

template <class T>
void bent_back(const MatrixIn<T>& dy, const MatrixIn<T>& y, const MatrixOut<T>& dz,
               const VectorOut<T>& db) {
    const Index n = extent(dy, 0), units = extent(dy, 1);
    check_shape(y, n, units, "y must have the shape of dy");
    check_shape(dz, n, units, "dz must have the shape of dy");
    check(extent(db, 0) == units, "db must have an entry for each column of dy");
    nb::gil_scoped_release released;
    bend_back(dy.data(), y.data(), n, units, dz.data(), db.data());
}

template <class T>
void adam(const VectorOut<T>& parameters, const VectorIn<T>& gradient, const VectorOut<T>& mean,
          const VectorOut<T>& square, double length, double beta_1, double beta_2, double epsilon,
          double decay, Index steps) {
    const Index n = extent(parameters, 0);
    for (Index other : {extent(gradient, 0), extent(mean, 0), extent(square, 0)})
        check(other == n, "all arrays must have an entry per parameter");
    nb::gil_scoped_release released;
    adam_step(parameters.data(), gradient.data(), mean.data(), square.data(), n,
              {length, beta_1, beta_2, epsilon, decay, steps});
}

// Rows for a network of dense layers, with what it is trained to do: the same arguments for its
// gradient and its steps.
template <class X, class T>
struct DenseArguments {
    DenseNetwork network;
    Data<X, T> data;
    RowList rows;

    DenseArguments(const MatrixIn<X>& x, const Maybe<std::int64_t>& position,
                   const VectorIn<std::int64_t>& chosen, const Maybe<std::int64_t>& classes,
                   const std::optional<MatrixIn<T>>& targets, const VectorIn<double>& weights,
                   const VectorIn<std::int64_t>& sizes, const VectorIn<std::int64_t>& bends,
                   std::int64_t loss, const MatrixOut<double>& z)
        : network{extent(bends, 0), sizes.data(), bends.data(), static_cast<OutputLoss>(loss)},
          data{x.data(), data_or_null(position), data_or_null(classes),
               targets ? targets->data() : nullptr, weights.data()},
          rows{chosen.data(), extent(chosen, 0)} {
        const Index layers = network.layers, all = extent(weights, 0);
        check(layers >= 1 && extent(sizes, 0) == layers + 1,
              "sizes must have one more than layers");
        check(loss >= 0 && loss <= 2, "loss must be 0, 1 or 2");
        for (Index l = 0; l < layers; ++l) {
            check(bends.data()[l] >= 0 && bends.data()[l] <= 3, "bends must be 0 to 3");
            check(sizes.data()[l] >= 1 && sizes.data()[l + 1] >= 1, "sizes must be at least 1");
        }
        const Index outputs = sizes.data()[layers];
        check(extent(x, 1) == sizes.data()[0], "x must have as many columns as the network inputs");
        check_shape(z, all, outputs, "z must have a row for each row and a column for each output");
        check(position || extent(x, 0) == all, "x must have a row for each weight");
        check_length(position, all, "position must have an entry for each weight");
        check_length(classes, all, "classes must have an entry for each weight");
        if (targets) check_shape(*targets, all, outputs, "targets must have the shape of z");
        check(loss == 0 ? bool(classes) : bool(targets), "the loss needs targets");
        check(rows.n > 0, "a batch must have rows");
        for (Index i = 0; i < rows.n; ++i) {
            const Index k = rows.index[i];
            check(k >= 0 && k < all, "a row is out of range");
            check(!position || (position->data()[k] >= 0 && position->data()[k] < extent(x, 0)),
                  "a position is out of range");
            check(loss != 0 || (classes->data()[k] >= 0 && classes->data()[k] < outputs),
                  "a class is out of range");
        }
    }

    // The memory for batches of so many rows, if it is enough.
    Scratch<T> scratch(Index batch, const VectorOut<std::int32_t>& index,
                       const VectorOut<T>& value) const {
        const Index room = scratch_size(batch, network.sizes[0]);
        check(extent(value, 0) >= room && 2 * extent(index, 0) >= room, "there is too little room");
        return {index.data(), value.data()};
    }

    void check_parameters(Index count) const {
        check(count == network.size(), "there must be an entry for each parameter");
    }
};

// Returns Σ sᵢ ℓᵢ over the batch.
template <class X, class T>
double gradient_of_dense(const MatrixIn<X>& x, const Maybe<std::int64_t>& position,
                         const VectorIn<std::int64_t>& rows, const Maybe<std::int64_t>& classes,
                         const std::optional<MatrixIn<T>>& targets, const VectorIn<double>& weights,
                         const VectorIn<std::int64_t>& sizes, const VectorIn<std::int64_t>& bends,
                         std::int64_t loss, const MatrixOut<double>& z,
                         const VectorOut<std::int32_t>& index, const VectorOut<T>& value,
                         const VectorOut<T>& gradient, const VectorIn<T>& theta, double strength,
                         int threads, double deadline) {
    const DenseArguments<X, T> given(x, position, rows, classes, targets, weights, sizes, bends,
                                     loss, z);
    given.check_parameters(extent(theta, 0));
    given.check_parameters(extent(gradient, 0));
    const Scratch<T> scratch = given.scratch(given.rows.n, index, value);
    double sum = 0;
    run(threads, deadline, [&](const Context& context) {
        sum = dense_gradient(given.network, given.data, given.rows, theta.data(),
                             static_cast<T>(strength), z.data(), gradient.data(), scratch, context);
    });
    return sum;
}

// Returns Σ sᵢ ℓᵢ over all batches. `numbers` are those of the rule: μ, or β₁, β₂, ε, δ of Adam.
template <class X, class T>
double steps_of_dense(const MatrixIn<X>& x, const Maybe<std::int64_t>& position,
                      const VectorIn<std::int64_t>& rows, const Maybe<std::int64_t>& classes,
                      const std::optional<MatrixIn<T>>& targets, const VectorIn<double>& weights,
                      const VectorIn<std::int64_t>& sizes, const VectorIn<std::int64_t>& bends,
                      std::int64_t loss, const MatrixOut<double>& z,
                      const VectorOut<std::int32_t>& index, const VectorOut<T>& value,
                      const VectorOut<T>& gradient, const VectorOut<T>& theta, double strength,
                      Index batch, const std::optional<VectorOut<T>>& memory,
                      const std::optional<VectorOut<T>>& square, const VectorIn<double>& numbers,
                      bool is_ahead, Index steps, const VectorIn<double>& lengths, int threads,
                      double deadline) {
    const DenseArguments<X, T> given(x, position, rows, classes, targets, weights, sizes, bends,
                                     loss, z);
    given.check_parameters(extent(theta, 0));
    given.check_parameters(extent(gradient, 0));
    if (memory) given.check_parameters(extent(*memory, 0));
    if (square) given.check_parameters(extent(*square, 0));
    check(extent(numbers, 0) == (square ? 4 : 1), "a rule has one number, or four if it is Adam");
    check(memory || !(square || is_ahead), "the rule needs a memory");
    check(batch >= 1, "a batch must have rows");
    check(extent(lengths, 0) == (given.rows.n + batch - 1) / batch,
          "lengths must have an entry for each step");
    const Scratch<T> scratch = given.scratch(std::min(batch, given.rows.n), index, value);
    const double* of_rule = numbers.data();
    Rule<T> rule{lengths.data(),
                 memory ? memory->data() : nullptr,
                 square ? square->data() : nullptr,
                 of_rule[0],
                 is_ahead,
                 {}};
    if (square) rule.adam = {0, of_rule[0], of_rule[1], of_rule[2], of_rule[3], steps};
    double sum = 0;
    run(threads, deadline, [&](const Context& context) {
        sum = dense_steps(given.network, given.data, given.rows, batch, rule, theta.data(),
                          static_cast<T>(strength), z.data(), gradient.data(), scratch, context);
    });
    return sum;
}

template <class X, class T>
void define_dense(nb::module_& m) {
    m.def("dense_gradient", &gradient_of_dense<X, T>, array("x"), maybe("position"), array("rows"),
          maybe("classes"), maybe("targets"), array("weights"), array("sizes"), array("bends"),
          "loss"_a, array("z"), array("index"), array("value"), array("gradient"), array("theta"),
          "strength"_a, "threads"_a, "deadline"_a);
    m.def("dense_steps", &steps_of_dense<X, T>, array("x"), maybe("position"), array("rows"),
          maybe("classes"), maybe("targets"), array("weights"), array("sizes"), array("bends"),
          "loss"_a, array("z"), array("index"), array("value"), array("gradient"), array("theta"),
          "strength"_a, "batch"_a, maybe("memory"), maybe("square"), array("numbers"), "is_ahead"_a,
          "steps"_a, array("lengths"), "threads"_a, "deadline"_a);
}

template <class T>
void define_for(nb::module_& m) {
    define_dense<float, T>(m);
    define_dense<double, T>(m);
    m.def("convolve", &convolution<T>, array("x"), array("weights"), array("bias"), "stride"_a,
          "margin"_a, array("y"), "threads"_a, "deadline"_a);
    m.def("convolve_back", &convolution_back<T>, array("dy"), array("weights"), "stride"_a,
          "margin"_a, array("dx"), "threads"_a, "deadline"_a);
    m.def("convolve_weights", &convolution_weights<T>, array("x"), array("dy"), "stride"_a,
          "margin"_a, array("dweights"), array("dbias"), "threads"_a, "deadline"_a);
    m.def("pool_largest", &largest<T>, array("x"), "size"_a, "stride"_a, array("y"), array("place"),
          "threads"_a, "deadline"_a);
    m.def("pool_largest_back", &largest_back<T>, array("dy"), array("place"), "size"_a, "stride"_a,
          array("dx"), "threads"_a, "deadline"_a);
    m.def("pool_mean", &mean<T>, array("x"), "size"_a, "stride"_a, array("y"), "threads"_a,
          "deadline"_a);
    m.def("pool_mean_back", &mean_back<T>, array("dy"), "size"_a, "stride"_a, array("dx"),
          "threads"_a, "deadline"_a);
    m.def("convolve_and_pool", &pooled_convolution<T>, array("x"), array("weights"), array("bias"),
          "stride"_a, "margin"_a, array("y"), array("place"), "threads"_a, "deadline"_a);
    m.def("convolve_and_pool_back", &pooled_convolution_back<T>, array("x"), array("weights"),
          array("dy"), array("place"), "stride"_a, "margin"_a, maybe("dx"), array("dweights"),
          array("dbias"), "threads"_a, "deadline"_a);
    m.def("collect_columns", &columns_of<T>, array("x"), array("start"), array("index"),
          array("value"));
    m.def("columns_times", &times_weights<T>, array("start"), array("index"), array("value"),
          array("weights"), array("y"));
    m.def("columns_transposed_times", &times_slopes<T>, array("start"), array("index"),
          array("value"), array("dz"), array("dweights"));
    m.def("add_bias", &bias_added<T>, array("y"), array("bias"), "is_bent"_a);
    m.def("bend_back", &bent_back<T>, array("dy"), array("y"), array("dz"), array("db"));
    m.def("adam_step", &adam<T>, array("parameters"), array("gradient"), array("mean"),
          array("square"), "length"_a, "beta_1"_a, "beta_2"_a, "epsilon"_a, "decay"_a, "steps"_a);
}

}  // namespace

void define_network_functions(nb::module_& m) {
    m.def("dense_scratch_size", &scratch_size, "rows"_a, "columns"_a);
    define_for<float>(m);
    define_for<double>(m);
}

}  // namespace gapless
