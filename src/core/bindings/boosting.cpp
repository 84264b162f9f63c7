// Python bindings of trees for gradient boosting.
#include "bindings/bindings.hpp"
#include "boosting/trees.hpp"

namespace gapless {
namespace {

template <class T>
using MaybeMatrix = std::optional<MatrixIn<T>>;

// The binned rows and the description of their columns.
struct BinnedRows {
    Bins bins;
    std::vector<BinnedColumn> columns;
};

// `table` has for each column: bundle, first bin, codes, most frequent code, has missing values, is
// categorical, monotone.
BinnedRows binned_rows(const MatrixIn<std::uint8_t>& code, const MatrixIn<std::uint8_t>& by_bundle,
                       const VectorIn<std::int32_t>& start, const MatrixIn<std::int32_t>& table) {
    const Index width = extent(code, 1), d = extent(table, 0);
    check(extent(start, 0) == width + 1, "start must have one more entry than there are bundles");
    check(extent(table, 1) == 7, "the table of columns must have 7 entries for each column");
    check(extent(code, 0) < (Index{1} << 32), "too many rows");
    check_shape(by_bundle, width, extent(code, 0), "by_bundle must be the transpose of code");
    BinnedRows rows{{code.data(), by_bundle.data(), extent(code, 0), width, start.data()}, {}};
    rows.columns.reserve(d);
    for (Index j = 0; j < d; ++j) {
        const std::int32_t* t = table.data() + 7 * j;
        check(0 <= t[0] && t[0] < width && 0 < t[2] && t[2] <= most_codes && t[3] < t[2],
              "a column is out of range");
        check(t[1] + t[2] - (t[3] >= 0) <= start.data()[t[0] + 1] - start.data()[t[0]],
              "a column has more codes than its bundle has bins");
        rows.columns.push_back(
            {t[0], t[1], t[2], t[3], t[4] != 0, t[5] != 0, static_cast<std::int8_t>(t[6])});
    }
    return rows;
}

template <class T>
void grow(const MatrixIn<std::uint8_t>& code, const MatrixIn<std::uint8_t>& by_bundle,
          const VectorIn<std::int32_t>& start, const MatrixIn<std::int32_t>& columns,
          const MatrixIn<T>& gradient, const MaybeMatrix<T>& curvature,
          const Maybe<double>& weights, const Maybe<double>& repeats,
          const MaybeMatrix<std::uint8_t>& groups, const GrowthLimits& limits, std::uint64_t seed,
          const MatrixOut<std::int32_t>& shape, const MatrixOut<double>& numbers,
          const MatrixOut<std::uint64_t>& levels, const VectorOut<std::int32_t>& count,
          const MatrixOut<std::int32_t>& leaf, GrowingSpace& space, int threads, double deadline) {
    const BinnedRows rows = binned_rows(code, by_bundle, start, columns);
    const Index n = rows.bins.rows, trees = extent(gradient, 0);
    check(extent(gradient, 1) == n, "gradient must have one entry for each row");
    if (curvature) check_shape(*curvature, trees, n, "curvature must be like gradient");
    check_length(weights, n, "weights must have one entry for each row");
    check_length(repeats, n, "repeats must have one entry for each row");
    check_shape(leaf, trees, n, "leaf must be like gradient");
    const Index d = static_cast<Index>(rows.columns.size());
    if (groups) check(extent(*groups, 1) == d, "groups must have one entry for each column");
    const Index nodes = extent(shape, 1), capacity = trees ? nodes / trees : 0;
    check(extent(shape, 0) == 5 && extent(numbers, 0) == 6 && extent(numbers, 1) == nodes &&
              extent(levels, 0) == nodes && extent(levels, 1) == 4 && extent(count, 0) == trees,
          "the arrays for the trees do not fit");
    check(capacity >= 2 * limits.max_leaves - 1, "there is not room enough for the trees");
    BoostingRound<T> round{rows.bins,
                           rows.columns.data(),
                           d,
                           trees,
                           gradient.data(),
                           curvature ? curvature->data() : nullptr,
                           data_or_null(weights),
                           data_or_null(repeats),
                           groups ? groups->data() : nullptr,
                           groups ? extent(*groups, 0) : 0,
                           seed};
    std::int32_t* s = shape.data();
    double* v = numbers.data();
    GrownTrees out{capacity,
                   count.data(),
                   s,
                   s + nodes,
                   s + 2 * nodes,
                   s + 3 * nodes,
                   s + 4 * nodes,
                   v,
                   v + nodes,
                   v + 2 * nodes,
                   v + 3 * nodes,
                   v + 4 * nodes,
                   v + 5 * nodes,
                   levels.data(),
                   leaf.data()};
    run(threads, deadline,
        [&](const Context& context) { grow_boosted(round, limits, out, space, context); });
}

template <class T>
void add_leaves(const MatrixIn<std::int32_t>& leaf, const MatrixIn<double>& values,
                const MatrixOut<T>& scores, int threads, double deadline) {
    const Index trees = extent(leaf, 0), n = extent(leaf, 1), capacity = extent(values, 1);
    check(extent(values, 0) == trees, "values must have one row for each tree");
    check_shape(scores, trees, n, "scores must be like leaf");
    run(threads, deadline, [&](const Context& context) {
        add_leaf_values(leaf.data(), n, trees, values.data(), capacity, scores.data(), context);
    });
}

void define_limits(nb::module_& m) {
    nb::class_<GrowthLimits>(m, "GrowthLimits")
        .def(
            "__init__",
            [](GrowthLimits* limits, Index max_leaves, Index max_depth, Index min_leaf_rows,
               Index min_split_rows, Index max_columns, double min_leaf_curvature, double min_gain,
               double l2) {
                check(max_leaves >= 1 && max_depth >= 0, "a tree has at least one leaf");
                new (limits)
                    GrowthLimits{max_leaves,  max_depth,          min_leaf_rows, min_split_rows,
                                 max_columns, min_leaf_curvature, min_gain,      l2};
            },
            "max_leaves"_a, "max_depth"_a, "min_leaf_rows"_a, "min_split_rows"_a, "max_columns"_a,
            "min_leaf_curvature"_a, "min_gain"_a, "l2"_a);
}

template <class T>
void define_growing(nb::module_& m) {
    m.def("grow_boosted", &grow<T>, array("code"), array("by_bundle"), array("start"),
          array("columns"), array("gradient"), maybe("curvature"), maybe("weights"),
          maybe("repeats"), maybe("groups"), "limits"_a, "seed"_a, array("shape"), array("numbers"),
          array("levels"), array("count"), array("leaf"), "space"_a, "threads"_a, "deadline"_a);
    m.def("add_leaf_values", &add_leaves<T>, array("leaf"), array("values"), array("scores"),
          "threads"_a, "deadline"_a);
}

}  // namespace

void define_boosting_functions(nb::module_& m) {
    define_limits(m);
    nb::class_<GrowingSpace>(m, "GrowingSpace").def(nb::init<>());
    define_growing<float>(m);
    define_growing<double>(m);
}

}  // namespace gapless
