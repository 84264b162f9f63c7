// Python bindings of hierarchical clustering.
#include <memory>

#include "bindings/bindings.hpp"
#include "clustering/boruvka.hpp"
#include "clustering/exact_heights.hpp"
#include "clustering/point_linkage.hpp"
#include "clustering/spanning_tree.hpp"

namespace gapless {
namespace {

using Rows = MatrixIn<double>;
using Weights = VectorIn<double>;

template <class Linkage>
void advance(Linkage& linkage, Index count, int threads, double deadline) {
    run(threads, deadline, [&](const Context& context) { linkage.advance(count, context); });
}

// The merges so far: two rows that name the clusters, and the height.
void take(const std::vector<Merge>& merges, const MatrixOut<std::int64_t>& pairs,
          const VectorOut<double>& heights) {
    const Index count = static_cast<Index>(merges.size());
    check_shape(pairs, count, 2, "pairs must have two columns and a row per merge");
    check(extent(heights, 0) == count, "heights must have one entry per merge");
    for (Index t = 0; t < count; ++t) {
        pairs.data()[2 * t] = merges[t].one, pairs.data()[2 * t + 1] = merges[t].other;
        heights.data()[t] = merges[t].height;
    }
}

template <class Linkage>
nb::class_<Linkage> define_linkage(nb::module_& m, const char* name) {
    return nb::class_<Linkage>(m, name)
        .def("advance", &advance<Linkage>, "count"_a, "threads"_a, "deadline"_a)
        .def_prop_ro("done", &Linkage::done);
}

template <class Tree>
Tree* spanning_tree(const Rows& X, int threads, double deadline) {
    check(extent(X, 0) >= 1, "X must have a row");
    if constexpr (std::is_same_v<Tree, BoruvkaTree>)
        check(extent(X, 1) <= Tree::most_columns, "X has too many columns for a kd-tree");
    std::unique_ptr<Tree> tree;
    run(threads, deadline, [&](const Context& context) {
        tree = std::make_unique<Tree>(X.data(), extent(X, 0), extent(X, 1), context);
    });
    return tree.release();
}

template <class Tree>
nb::class_<Tree> define_spanning_tree(nb::module_& m, const char* name, const char* function) {
    m.def(function, &spanning_tree<Tree>, array("X"), "threads"_a, "deadline"_a,
          nb::rv_policy::take_ownership, nb::keep_alive<0, 1>());
    return define_linkage<Tree>(m, name).def(
        "take",
        [](Tree& tree, const MatrixOut<std::int64_t>& pairs, const VectorOut<double>& heights) {
            sort_edges(tree.edges());
            take(tree.edges(), pairs, heights);
        },
        array("pairs"), array("heights"));
}

PointLinkage* point_linkage(PointMethod method, const Rows& X, const Weights& weights, int threads,
                            double deadline) {
    check(extent(X, 0) >= 1, "X must have a row");
    check(extent(weights, 0) == extent(X, 0), "weights must have one entry per row");
    std::unique_ptr<PointLinkage> linkage;
    run(threads, deadline, [&](const Context& context) {
        linkage = std::make_unique<PointLinkage>(method, X.data(), weights.data(), extent(X, 0),
                                                 extent(X, 1), context);
    });
    return linkage.release();
}

void check_triangle(Index entries, Index rows) {
    check(rows >= 1, "there must be a row");
    check(entries == rows * (rows - 1) / 2, "triangle must have an entry per pair of rows");
}

template <class T>
MatrixLinkage<T>* matrix_linkage(MatrixMethod method, const VectorOut<T>& triangle,
                                 const Weights& weights) {
    const Index n = extent(weights, 0);
    check_triangle(extent(triangle, 0), n);
    const Points none{nullptr, 0, 0, 0};
    return std::make_unique<MatrixLinkage<T>>(method, triangle.data(), weights.data(), n, none)
        .release();
}

// The linkage of points whose distances are written into the triangle.
template <class T>
MatrixLinkage<T>* filled_linkage(MatrixMethod method, const Rows& X, const Weights& weights,
                                 const VectorOut<T>& triangle, int threads, double deadline) {
    const Index n = extent(X, 0);
    check_triangle(extent(triangle, 0), n);
    check(extent(weights, 0) == n, "weights must have one entry per row");
    Points points{};
    run(threads, deadline, [&](const Context& context) {
        fill_triangle(X.data(), n, extent(X, 1), triangle.data(), points, context);
    });
    return std::make_unique<MatrixLinkage<T>>(method, triangle.data(), weights.data(), n, points)
        .release();
}

template <class T>
void define_matrix_linkage(nb::module_& m, const char* name) {
    define_linkage<MatrixLinkage<T>>(m, name).def(
        "take",
        [](MatrixLinkage<T>& linkage, const MatrixOut<std::int64_t>& pairs,
           const VectorOut<double>& heights) { take(linkage.merges(), pairs, heights); },
        array("pairs"), array("heights"));
    m.def("matrix_linkage", &matrix_linkage<T>, "method"_a, array("triangle"), array("weights"),
          nb::rv_policy::take_ownership, nb::keep_alive<0, 2>());
    m.def("filled_linkage", &filled_linkage<T>, "method"_a, array("X"), array("weights"),
          array("triangle"), "threads"_a, "deadline"_a, nb::rv_policy::take_ownership,
          nb::keep_alive<0, 2>(), nb::keep_alive<0, 4>());
}

void exact_heights(MatrixMethod method, const Rows& X, const Weights& weights,
                   const MatrixIn<std::int64_t>& pairs, const VectorOut<double>& heights,
                   int threads, double deadline) {
    const Index n = extent(X, 0);
    check(n >= 1 && extent(weights, 0) == n, "weights must have one entry per row");
    check_shape(pairs, n - 1, 2, "pairs must join all rows");
    check(extent(heights, 0) == n - 1, "heights must have one entry per merge");
    run(threads, deadline, [&](const Context& context) {
        measure_heights(method, X.data(), weights.data(), n, extent(X, 1), pairs.data(),
                        heights.data(), context);
    });
}

// Check that merges name rows, and each merge two clusters: fewer merges than rows.
void check_pairs(const MatrixIn<std::int64_t>& pairs, Index rows) {
    check(extent(pairs, 1) == 2 && extent(pairs, 0) < std::max<Index>(rows, 1),
          "pairs must have two columns, and fewer rows than there are rows to merge");
    for (Index i = 0; i < 2 * extent(pairs, 0); ++i)
        check(0 <= pairs.data()[i] && pairs.data()[i] < rows, "pairs must name rows");
}

void merge_table(const MatrixIn<std::int64_t>& pairs, const VectorIn<double>& heights, Index rows,
                 const MatrixOut<double>& table) {
    check_pairs(pairs, rows);
    check(extent(heights, 0) == extent(pairs, 0), "heights must have one entry per merge");
    check_shape(table, extent(pairs, 0), 4, "table must have four columns and a row per merge");
    number_merges(pairs.data(), heights.data(), extent(pairs, 0), rows, table.data());
}

void cluster_labels(const MatrixIn<double>& table, const VectorIn<bool>& is_used,
                    const VectorOut<std::int64_t>& labels) {
    const Index rows = extent(labels, 0), merges = extent(table, 0);
    check_shape(table, merges, 4, "table must have four columns");
    check(extent(is_used, 0) == merges, "is_used must have one entry per merge");
    for (Index t = 0; t < merges; ++t)
        for (Index side = 0; side < 2; ++side) {
            const double number = table.data()[4 * t + side];
            check(0 <= number && number < static_cast<double>(rows + t),
                  "table must name clusters that are there");
        }
    label_clusters(table.data(), is_used.data(), merges, rows, labels.data());
}

}  // namespace

void define_linkage_functions(nb::module_& m) {
    nb::enum_<PointMethod>(m, "PointMethod")
        .value("ward", PointMethod::ward)
        .value("centroid", PointMethod::centroid);
    nb::enum_<MatrixMethod>(m, "MatrixMethod")
        .value("single", MatrixMethod::single)
        .value("complete", MatrixMethod::complete)
        .value("average", MatrixMethod::average);
    define_spanning_tree<SpanningTree>(m, "SpanningTree", "spanning_tree");
    define_spanning_tree<BoruvkaTree>(m, "BoruvkaTree", "boruvka_tree")
        .def("share_compared", &BoruvkaTree::share_compared)
        .def_prop_ro_static("most_columns", [](nb::handle) { return BoruvkaTree::most_columns; });
    define_linkage<PointLinkage>(m, "PointLinkage")
        .def(
            "take",
            [](PointLinkage& linkage, const MatrixOut<std::int64_t>& pairs,
               const VectorOut<double>& heights) { take(linkage.merges(), pairs, heights); },
            array("pairs"), array("heights"));
    m.def("point_linkage", &point_linkage, "method"_a, array("X"), array("weights"), "threads"_a,
          "deadline"_a, nb::rv_policy::take_ownership);
    define_matrix_linkage<float>(m, "MatrixLinkageOfFloat");
    define_matrix_linkage<double>(m, "MatrixLinkageOfDouble");
    m.def("exact_heights", &exact_heights, "method"_a, array("X"), array("weights"), array("pairs"),
          array("heights"), "threads"_a, "deadline"_a);
    m.def("merge_table", &merge_table, array("pairs"), array("heights"), "rows"_a, array("table"));
    m.def("cluster_labels", &cluster_labels, array("table"), array("is_used"), array("labels"));
}

}  // namespace gapless
