// Python bindings of the core: one function per entry. What all of them share is in bindings.hpp;
// the other files of this folder hold the entries of one part each.
#include "bindings/bindings.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/equal_rows.hpp"

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

Blas find_blas() {
    Blas blas;
    nb::object routines = nb::module_::import_("scipy.linalg.cython_blas").attr("__pyx_capi__");
    find_routine(routines, "sgemm", blas.sgemm);
    find_routine(routines, "dgemm", blas.dgemm);
    find_routine(routines, "ssyrk", blas.ssyrk);
    find_routine(routines, "dsyrk", blas.dsyrk);
    return blas;
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

template <class X>
void define_equal_rows(nb::module_& m) {
    m.def("equal_rows", &equal_rows<X>, array("X"), "features"_a, array("y"), array("labels"),
          "threads"_a, "deadline"_a);
}

}  // namespace

const Blas& scipy_blas() {
    static Blas found;
    if (!found.dgemm) found = find_blas();
    return found;
}

void run_released(int threads, double deadline, const std::function<void(const Context&)>& work) {
    check(threads >= 1, "threads must be at least 1");
    using Clock = std::chrono::steady_clock;
    bool is_limited = std::isfinite(deadline), is_late = false;
    Clock::time_point end;
    if (is_limited) {
        // Python's clock need not be ours, so only the difference is passed on.
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
    const Blas& blas = scipy_blas();
    try {
        nb::gil_scoped_release released;
        work(Context{blas, threads, poll});
    } catch (const Stopped&) {
        if (is_late) {
            nb::object error = nb::module_::import_("gapless._ground.interrupt").attr("TimeLimit");
            PyErr_SetString(error.ptr(), "the time limit has passed");
        }
        throw nb::python_error();
    }
}

void define_all(nb::module_& m) {
    m.doc() = "The compiled loops of gapless: arrays in, arrays out.";
    // Types name the package as their module, not the level: what is pickled on one processor can
    // be read on another.
    const nb::object name = m.attr("__name__");
    m.attr("__name__") = "gapless._ground.core";
    define_equal_rows<float>(m);
    define_equal_rows<double>(m);
    define_all_in_one_functions(m);
    define_bayes_functions(m);
    define_boosting_functions(m);
    define_class_newton(m);
    define_row_newton(m);
    define_descent_functions(m);
    define_kernel_functions(m);
    define_linkage_functions(m);
    define_lloyd_functions(m);
    define_loss_functions(m);
    define_neighbor_functions(m);
    define_network_functions(m);
    define_product_functions(m);
    define_row_steps(m);
    define_stump_functions(m);
    define_text_functions(m);
    define_tree_functions(m);
    define_tree_prediction_functions(m);
    m.attr("__name__") = name;
}

}  // namespace gapless
