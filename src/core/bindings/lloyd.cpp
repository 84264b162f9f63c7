// Python bindings of k-means: nearest centres and Lloyd's steps.
#include "clustering/lloyd.hpp"

#include "bindings/bindings.hpp"

namespace gapless {
namespace {

// The rows of X: an array in C order, or (start, index, value) of sparse rows.
template <class X>
using AnyRows = std::variant<MatrixIn<X>, SparseIn<X>>;

// Call work(rows, n) with the rows as the core reads them.
template <class X, class Work>
void with_rows(const AnyRows<X>& X_, Index d, Work&& work) {
    if (const auto* matrix = std::get_if<MatrixIn<X>>(&X_)) {
        const Index n = extent(*matrix, 0);
        check(extent(*matrix, 1) == d, "X and the centres must have the same columns");
        work(Dense<X>{matrix->data(), n, d, Order::rows}, n);
    } else {
        const Compressed<X> x = column_matrix<X>(std::get<SparseIn<X>>(X_), d);
        work(x, x.lines);
    }
}

template <class X>
Centers<X> centers_of(const MatrixIn<X>& centers, const VectorIn<double>& origin) {
    check(extent(centers, 0) >= 1, "there must be at least one centre");
    check(extent(origin, 0) == extent(centers, 1), "origin must have one entry per column");
    return {centers.data(), extent(centers, 0), origin.data()};
}

template <class X>
void bound_nearest_centers(const AnyRows<X>& X_, const MatrixIn<X>& centers,
                           const VectorIn<double>& origin, const VectorOut<std::int32_t>& labels,
                           const std::optional<VectorOut<double>>& squares, int threads,
                           double deadline) {
    const Centers<X> to = centers_of<X>(centers, origin);
    with_rows<X>(X_, extent(centers, 1), [&](const auto& x, Index n) {
        check(extent(labels, 0) == n, "labels must have one entry per row");
        check(!squares || extent(*squares, 0) == n, "squares must have one entry per row");
        run(threads, deadline, [&](const Context& context) {
            nearest_centers(x, to, labels.data(), squares ? squares->data() : nullptr, context);
        });
    });
}

template <class X>
void bound_center_distances(const AnyRows<X>& X_, const MatrixIn<X>& centers,
                            const VectorIn<double>& origin, const MatrixOut<double>& out,
                            int threads, double deadline) {
    const Centers<X> to = centers_of<X>(centers, origin);
    with_rows<X>(X_, extent(centers, 1), [&](const auto& x, Index n) {
        check_shape(out, n, to.k, "out must have one row per row of X and one column per centre");
        run(threads, deadline,
            [&](const Context& context) { center_distances(x, to, out.data(), context); });
    });
}

CenterSums sums_of(const MatrixOut<double>& sums, const VectorOut<double>& totals,
                   const VectorOut<std::int64_t>& counts, Index k, Index d) {
    check_shape(sums, k, d, "sums must be shaped like the centres");
    check(extent(totals, 0) == k && extent(counts, 0) == k,
          "totals and counts must have one entry per centre");
    return {sums.data(), totals.data(), counts.data()};
}

void check_labels(const VectorOut<std::int32_t>& labels, Index n, Index k) {
    check(extent(labels, 0) == n, "labels must have one entry per row");
    check(are_labels(labels.data(), n, k), "a label is out of range");
}

template <class X>
Index bound_lloyd_step(const AnyRows<X>& X_, const MatrixIn<X>& centers,
                       const VectorIn<double>& origin, const Maybe<double>& weights, bool is_first,
                       const VectorOut<std::int32_t>& labels, const VectorOut<float>& room,
                       const std::optional<MatrixOut<float>>& low, const VectorIn<float>& ways,
                       const VectorIn<float>& group_ways, const MatrixOut<double>& sums,
                       const VectorOut<double>& totals, const VectorOut<std::int64_t>& counts,
                       int threads, double deadline) {
    const Centers<X> to = centers_of<X>(centers, origin);
    const Index d = extent(centers, 1), groups = extent(group_ways, 0);
    const CenterSums into = sums_of(sums, totals, counts, to.k, d);
    check(extent(ways, 0) == to.k, "ways must have one entry per centre");
    Index moved = 0;
    with_rows<X>(X_, d, [&](const auto& x, Index n) {
        check_labels(labels, n, to.k);
        check(extent(room, 0) == n, "room must have one entry per row");
        check_length(weights, n, "weights must have one entry per row");
        if (low) {
            check_shape(*low, n, groups, "low must have one entry per row and group");
            check(groups >= 1 && is_partition(to.k, groups), "groups must be of equal size");
        }
        const LloydBounds bounds{room.data(), low ? low->data() : nullptr, groups, ways.data(),
                                 group_ways.data()};
        run(threads, deadline, [&](const Context& context) {
            moved = lloyd_step(x, to, data_or_null(weights), is_first, labels.data(), bounds, into,
                               context);
        });
    });
    return moved;
}

template <class X>
void bound_center_sums(const AnyRows<X>& X_, const VectorIn<double>& origin,
                       const Maybe<double>& weights, const VectorOut<std::int32_t>& labels,
                       const MatrixOut<double>& sums, const VectorOut<double>& totals,
                       const VectorOut<std::int64_t>& counts, int threads, double deadline) {
    const Index k = extent(sums, 0), d = extent(sums, 1);
    const CenterSums into = sums_of(sums, totals, counts, k, d);
    check(extent(origin, 0) == d, "origin must have one entry per column");
    with_rows<X>(X_, d, [&](const auto& x, Index n) {
        check_labels(labels, n, k);
        check_length(weights, n, "weights must have one entry per row");
        run(threads, deadline, [&](const Context& context) {
            center_sums(x, origin.data(), data_or_null(weights), k, labels.data(), into, context);
        });
    });
}

template <class X>
void define_for_data(nb::module_& m) {
    m.def("nearest_centers", &bound_nearest_centers<X>, array("X"), array("centers"),
          array("origin"), array("labels"), maybe("squares"), "threads"_a, "deadline"_a);
    m.def("center_distances", &bound_center_distances<X>, array("X"), array("centers"),
          array("origin"), array("out"), "threads"_a, "deadline"_a);
    m.def("lloyd_step", &bound_lloyd_step<X>, array("X"), array("centers"), array("origin"),
          maybe("weights"), "is_first"_a, array("labels"), array("room"), maybe("low"),
          array("ways"), array("group_ways"), array("sums"), array("totals"), array("counts"),
          "threads"_a, "deadline"_a);
    m.def("center_sums", &bound_center_sums<X>, array("X"), array("origin"), maybe("weights"),
          array("labels"), array("sums"), array("totals"), array("counts"), "threads"_a,
          "deadline"_a);
}

}  // namespace

void define_lloyd_functions(nb::module_& m) {
    define_for_data<float>(m);
    define_for_data<double>(m);
}

}  // namespace gapless
