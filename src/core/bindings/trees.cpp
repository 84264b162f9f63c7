// Trees: ranking columns, growing, pruning.
#include <algorithm>

#include "bindings/bindings.hpp"
#include "trees/columns.hpp"
#include "trees/tree.hpp"
#include "trees/weakest_links.hpp"

namespace gapless {
namespace {

template <class X>
void rank_columns_of(MatrixIn<X> x, MatrixOut<std::uint32_t> ranks, MatrixOut<double> distinct,
                     VectorOut<std::int64_t> counts, int threads, double deadline) {
    Index columns = extent(x, 0), rows = extent(x, 1);
    check_shape(ranks, columns, rows, "ranks must have the shape of x");
    check_shape(distinct, columns, rows, "distinct must have the shape of x");
    check(extent(counts, 0) == columns, "counts must have an entry per column");
    run(threads, deadline, [&](const Context& context) {
        rank_columns(x.data(), rows, columns, ranks.data(), distinct.data(), counts.data(),
                     context);
    });
}

// The codes of all columns back to back in bytes; per column where they begin, bytes per code,
// number of codes, whether they are categories, where its values begin; the values. Then for each
// column its bundle, usual code and first code in the bundle; for each bundle its codes and their
// number.
using ColumnsIn =
    std::tuple<VectorIn<std::uint8_t>, VectorIn<std::int64_t>, VectorIn<std::uint8_t>,
               VectorIn<std::int64_t>, VectorIn<bool>, VectorIn<std::int64_t>, VectorIn<double>,
               VectorIn<double>, VectorIn<std::int64_t>, VectorIn<std::int64_t>,
               VectorIn<std::int64_t>, MatrixIn<std::uint8_t>, VectorIn<std::int64_t>>;
// Labels or values (rows × outputs), the other one None; the number of classes.
using TargetsIn = std::tuple<std::optional<MatrixIn<std::int32_t>>, std::optional<MatrixIn<double>>,
                             std::int64_t>;
// Weights and counts per row.
using SampleIn = std::tuple<VectorIn<double>, VectorIn<std::uint32_t>>;
// As in TreeOptions, in its order.
using OptionsIn = std::tuple<int, bool, std::int64_t, std::int64_t, std::int64_t, std::int64_t,
                             std::int64_t, double, double, Maybe<std::int8_t>>;

TreeData tree_data(const ColumnsIn& columns, const TargetsIn& targets) {
    const auto& [codes, begin, width, count, is_category, values_begin, lowest, highest, bundle,
                 usual, first_code, bundle_codes, bundle_count] = columns;
    const auto& [labels, values, classes] = targets;
    check(labels.has_value() != values.has_value(), "give labels or values");
    TreeData data{};
    data.rows = labels ? extent(*labels, 0) : extent(*values, 0);
    data.outputs = labels ? extent(*labels, 1) : extent(*values, 1);
    data.classes = classes;
    data.labels = labels ? labels->data() : nullptr;
    data.values = values ? values->data() : nullptr;
    Index d = extent(begin, 0);
    check(extent(width, 0) == d && extent(count, 0) == d && extent(is_category, 0) == d &&
              extent(values_begin, 0) == d && extent(lowest, 0) == extent(highest, 0) &&
              extent(bundle, 0) == d && extent(usual, 0) == d && extent(first_code, 0) == d,
          "the parts of the columns disagree about their number");
    Index bundles = extent(bundle_count, 0);
    check_shape(bundle_codes, bundles, bundles ? data.rows : extent(bundle_codes, 1),
                "a bundle must have a code per row");
    for (Index b = 0; b < bundles; ++b)
        data.bundles.push_back({bundle_codes.data() + b * data.rows,
                                static_cast<std::uint32_t>(bundle_count.data()[b])});
    for (Index j = 0; j < d; ++j) {
        check(bundle.data()[j] < bundles, "the bundle of a column is out of range");
        Index first = begin.data()[j], bytes = width.data()[j];
        check(first >= 0 && first % bytes == 0 && first + bytes * data.rows <= extent(codes, 0),
              "the codes of a column are out of range");
        bool is_level = is_category.data()[j];
        Index value = values_begin.data()[j];
        check(is_level || (value >= 0 && value + count.data()[j] <= extent(lowest, 0)),
              "the values of a column are out of range");
        data.columns.push_back({codes.data() + first, static_cast<int>(bytes),
                                static_cast<std::uint32_t>(count.data()[j]), is_level,
                                is_level ? nullptr : lowest.data() + value,
                                is_level ? nullptr : highest.data() + value,
                                static_cast<std::int32_t>(bundle.data()[j]),
                                static_cast<std::uint32_t>(usual.data()[j]),
                                static_cast<std::uint32_t>(first_code.data()[j])});
    }
    return data;
}

TreeSample tree_sample(const SampleIn& sample, Index rows) {
    const auto& [weights, counts] = sample;
    check(extent(weights, 0) == rows && extent(counts, 0) == rows,
          "weights and counts must have an entry per row");
    return {weights.data(), counts.data()};
}

TreeOptions tree_options(const OptionsIn& in, std::size_t columns) {
    const auto& monotonic = std::get<9>(in);
    check_length(monotonic, static_cast<Index>(columns), "monotonic must have an entry per column");
    return {static_cast<Criterion>(std::get<0>(in)),
            std::get<1>(in),
            std::get<2>(in),
            std::get<3>(in),
            std::get<4>(in),
            std::get<5>(in),
            std::get<6>(in),
            std::get<7>(in),
            std::get<8>(in),
            data_or_null(monotonic)};
}

GrownTree grow_one_tree(ColumnsIn columns, TargetsIn targets, SampleIn sample, OptionsIn options,
                        std::uint64_t seed, int threads, double deadline) {
    TreeData data = tree_data(columns, targets);
    TreeSample rows = tree_sample(sample, data.rows);
    TreeOptions chosen = tree_options(options, data.columns.size());
    GrownTree tree;
    run(threads, deadline,
        [&](const Context& context) { tree = grow_tree(data, rows, chosen, seed, context); });
    return tree;
}

Bootstrap bootstrap_of(std::int64_t draws, const Maybe<double>& cumulated, Index rows) {
    check_length(cumulated, rows, "cumulated must have an entry per row");
    return {draws, data_or_null(cumulated)};
}

std::vector<GrownTree> grow_trees(ColumnsIn columns, TargetsIn targets, SampleIn sample,
                                  OptionsIn options, std::int64_t draws, Maybe<double> cumulated,
                                  VectorIn<std::uint64_t> seeds, int threads, double deadline) {
    TreeData data = tree_data(columns, targets);
    TreeSample rows = tree_sample(sample, data.rows);
    TreeOptions chosen = tree_options(options, data.columns.size());
    Bootstrap bootstrap = bootstrap_of(draws, cumulated, data.rows);
    std::vector<std::uint64_t> keys(seeds.data(), seeds.data() + extent(seeds, 0));
    std::vector<GrownTree> trees;
    run(threads, deadline, [&](const Context& context) {
        trees = grow_forest(data, rows, bootstrap, chosen, keys, context);
    });
    return trees;
}

void draw_row_counts(std::int64_t draws, Maybe<double> cumulated, std::uint64_t seed,
                     VectorOut<std::uint32_t> counts) {
    Index rows = extent(counts, 0);
    Bootstrap bootstrap = bootstrap_of(draws, cumulated, rows);
    nb::gil_scoped_release released;
    draw_rows(bootstrap, rows, seed, counts.data());
}

// Copy a tree into arrays of its node_count (plus one for `set_start`) and set_words entries.
void write_tree(const GrownTree& tree, VectorOut<std::int64_t> feature,
                VectorOut<std::int64_t> left, VectorOut<std::int64_t> right,
                VectorOut<double> threshold, VectorOut<std::uint8_t> missing_left,
                VectorOut<double> impurity, VectorOut<double> weight, VectorOut<std::int64_t> count,
                VectorOut<std::int64_t> set_start, VectorOut<std::uint32_t> sets,
                VectorOut<double> values) {
    auto nodes = static_cast<Index>(tree.nodes.size());
    for (Index length : {extent(feature, 0), extent(left, 0), extent(right, 0),
                         extent(threshold, 0), extent(missing_left, 0), extent(impurity, 0),
                         extent(weight, 0), extent(count, 0), extent(set_start, 0) - 1})
        check(length == nodes, "the arrays of a tree must have an entry per node");
    check(extent(sets, 0) == static_cast<Index>(tree.sets.size()) &&
              extent(values, 0) == static_cast<Index>(tree.values.size()),
          "sets and values must have the lengths of the tree's");
    nb::gil_scoped_release released;
    constexpr int undefined = -2;  // scikit-learn's value for leaves
    std::int64_t filled = 0;
    for (Index i = 0; i < nodes; ++i) {
        const TreeNode& node = tree.nodes[i];
        feature.data()[i] = node.left >= 0 ? node.feature : undefined;
        left.data()[i] = node.left;
        right.data()[i] = node.right;
        threshold.data()[i] = node.left >= 0 ? node.threshold : undefined;
        missing_left.data()[i] = node.missing_left;
        impurity.data()[i] = node.impurity;
        weight.data()[i] = node.weight;
        count.data()[i] = node.count;
        set_start.data()[i] = filled;
        for (std::int64_t k = node.set_begin; k < node.set_end; ++k)
            sets.data()[filled++] = tree.sets[k];
    }
    set_start.data()[nodes] = filled;
    std::copy(tree.values.begin(), tree.values.end(), values.data());
}

// Fills `steps`, changes `below` and `leaves`, and returns the prices.
std::vector<double> weakest_links_of(VectorIn<std::int64_t> parent, VectorIn<double> cost,
                                     VectorOut<double> below, VectorOut<std::int64_t> leaves,
                                     VectorOut<std::int64_t> steps, double deadline) {
    Index nodes = extent(parent, 0);
    for (Index length : {extent(cost, 0), extent(below, 0), extent(leaves, 0), extent(steps, 0)})
        check(length == nodes, "cost, below, leaves and steps must have an entry per node");
    for (Index t = 0; t < nodes; ++t)
        check(-1 <= parent.data()[t] && parent.data()[t] < t,
              "a parent must stand before its node");
    std::fill_n(steps.data(), nodes, 0);
    PrunedTree tree{nodes, parent.data(), cost.data(), below.data(), leaves.data()};
    std::vector<double> prices;
    run(1, deadline, [&](const Context& context) {
        Checkpoint checkpoint(context.poll);
        prices = weakest_links(tree, steps.data(), checkpoint);
    });
    return prices;
}

}  // namespace

void define_tree_functions(nb::module_& m) {
    m.def("rank_columns", &rank_columns_of<float>, array("x"), array("ranks"), array("distinct"),
          array("counts"), "threads"_a, "deadline"_a);
    m.def("rank_columns", &rank_columns_of<double>, array("x"), array("ranks"), array("distinct"),
          array("counts"), "threads"_a, "deadline"_a);
    nb::class_<GrownTree>(m, "GrownTree")
        .def_prop_ro("node_count", [](const GrownTree& tree) { return tree.nodes.size(); })
        .def_prop_ro("set_words", [](const GrownTree& tree) { return tree.sets.size(); })
        .def("write", &write_tree, array("feature"), array("left"), array("right"),
             array("threshold"), array("missing_left"), array("impurity"), array("weight"),
             array("count"), array("set_start"), array("sets"), array("values"));
    m.def("grow_tree", &grow_one_tree, array("columns"), array("targets"), array("sample"),
          array("options"), "seed"_a, "threads"_a, "deadline"_a);
    m.def("grow_forest", &grow_trees, array("columns"), array("targets"), array("sample"),
          array("options"), "draws"_a, maybe("cumulated"), array("seeds"), "threads"_a,
          "deadline"_a);
    m.def("draw_rows", &draw_row_counts, "draws"_a, maybe("cumulated"), "seed"_a, array("counts"));
    m.def("weakest_links", &weakest_links_of, array("parent"), array("cost"), array("below"),
          array("leaves"), array("steps"), "deadline"_a);
}

}  // namespace gapless
