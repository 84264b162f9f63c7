// What all files of the bindings share: the types of their arguments, the checks of shapes, and how
// a call runs without the GIL.
//
// Every bound function checks shapes and dtypes, releases the GIL, calls, and returns; results are
// written into arrays that the caller allocates. Each ends with `threads` and `deadline` (in
// seconds of time.monotonic(), inf for none). It raises KeyboardInterrupt on Ctrl-C and
// gapless._ground.interrupt.TimeLimit when the deadline has passed; its results are then
// incomplete.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <optional>
#include <string>

#include "base/array.hpp"
#include "base/products.hpp"

namespace gapless {

namespace nb = nanobind;
using namespace nb::literals;

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

inline void check(bool right, const char* what) {
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

inline Columns chosen(const Maybe<std::int64_t>& columns, Index d) {
    if (!columns) return {nullptr, d};
    for (Index j = 0; j < extent(*columns, 0); ++j)
        check(0 <= columns->data()[j] && columns->data()[j] < d, "a column index is out of range");
    return {columns->data(), extent(*columns, 0)};
}

template <class X>
using SparseIn = std::tuple<VectorIn<std::int64_t>, VectorIn<std::int32_t>, VectorIn<X>>;

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

// An array argument: never converted, because a conversion would be a silent copy.
inline auto array(const char* name) { return nb::arg(name).noconvert(); }
inline auto maybe(const char* name) { return nb::arg(name).noconvert().none(); }

// ---- running ----

// SciPy's BLAS, looked up on first use, with the GIL: losses also use the core, and need NumPy
// alone.
const Blas& scipy_blas();

// Call work(context) without the GIL, and turn a stop into the right Python exception.
void run_released(int threads, double deadline, const std::function<void(const Context&)>& work);

template <class Work>
void run(int threads, double deadline, Work&& work) {
    run_released(threads, deadline, std::ref(work));
}

// ---- the parts of the module ----

void define_all(nb::module_& m);
void define_all_in_one_functions(nb::module_& m);
void define_bayes_functions(nb::module_& m);
void define_boosting_functions(nb::module_& m);
void define_class_newton(nb::module_& m);
void define_row_newton(nb::module_& m);
void define_descent_functions(nb::module_& m);
void define_kernel_functions(nb::module_& m);
void define_linkage_functions(nb::module_& m);
void define_lloyd_functions(nb::module_& m);
void define_loss_functions(nb::module_& m);
void define_neighbor_functions(nb::module_& m);
void define_network_functions(nb::module_& m);
void define_product_functions(nb::module_& m);
void define_row_steps(nb::module_& m);
void define_stump_functions(nb::module_& m);
void define_text_functions(nb::module_& m);
void define_tree_functions(nb::module_& m);
void define_tree_prediction_functions(nb::module_& m);

}  // namespace gapless
