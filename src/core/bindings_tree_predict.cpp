// The Python face of prediction by trees.
#include "bindings.hpp"
#include "tree_predict.hpp"

namespace gapless {
namespace {

using Nodes = MatrixIn<std::int64_t>;  // two words for each packed node

TreeArrays tree_arrays(const VectorIn<std::int64_t>& feature, const VectorIn<double>& threshold,
                       const VectorIn<std::int64_t>& left, const VectorIn<std::int64_t>& right,
                       const VectorIn<std::uint8_t>& missing_left,
                       const Maybe<std::int64_t>& category_start, const MatrixIn<double>& values) {
    const Index nodes = extent(feature, 0);
    check(extent(threshold, 0) == nodes && extent(left, 0) == nodes && extent(right, 0) == nodes &&
              extent(missing_left, 0) == nodes && extent(values, 0) == nodes,
          "the arrays of a tree must have one entry per node");
    check_length(category_start, nodes + 1, "category_start must have one more entry than nodes");
    return {nodes,
            feature.data(),
            left.data(),
            right.data(),
            threshold.data(),
            missing_left.data(),
            data_or_null(category_start),
            values.data(),
            extent(values, 1)};
}

Index tree_table_rows(const VectorIn<std::int64_t>& left, const MatrixIn<double>& values) {
    check(extent(left, 0) == extent(values, 0), "values must have one row per node");
    TreeArrays tree{};
    tree.nodes = extent(left, 0);
    tree.left = left.data();
    tree.values = values.data();
    tree.width = extent(values, 1);
    return table_rows(tree);
}

void pack(const VectorIn<std::int64_t>& feature, const VectorIn<double>& threshold,
          const VectorIn<std::int64_t>& left, const VectorIn<std::int64_t>& right,
          const VectorIn<std::uint8_t>& missing_left, const Maybe<std::int64_t>& category_start,
          const MatrixIn<double>& values, Index first_row, Index first_word,
          const MatrixOut<std::int64_t>& nodes, const MatrixOut<double>& table) {
    const TreeArrays tree =
        tree_arrays(feature, threshold, left, right, missing_left, category_start, values);
    check_shape(nodes, tree.nodes, 2, "nodes must have two words per node");
    check_shape(table, table_rows(tree), tree.width, "table must have one row per mixed leaf");
    check(pack_tree(tree, first_row, first_word, reinterpret_cast<PackedNode*>(nodes.data()),
                    table.data()),
          "the nodes of a tree must be in preorder");
}

PackedTrees packed_trees(const Nodes& nodes, const VectorIn<std::int64_t>& start,
                         const MatrixIn<double>& table, const VectorIn<std::uint32_t>& words) {
    const Index count = extent(start, 0) - 1;
    check(count >= 0 && start.data()[count] == extent(nodes, 0) && extent(nodes, 1) == 2,
          "start and nodes disagree about the number of nodes");
    return {reinterpret_cast<const PackedNode*>(nodes.data()),
            start.data(),
            count,
            table.data(),
            extent(table, 1),
            words.data(),
            extent(words, 0) > 0};
}

template <class T>
void tree_leaves(const Nodes& nodes, const VectorIn<std::int64_t>& start,
                 const MatrixIn<double>& table, const VectorIn<std::uint32_t>& words,
                 const DenseIn<T>& X, const MatrixOut<std::int64_t>& out, int threads,
                 double deadline) {
    const PackedTrees trees = packed_trees(nodes, start, table, words);
    const Dense<T> rows = dense(X);
    check_shape(out, rows.rows, trees.count,
                "out must have a row for each row and a column per tree");
    run(threads, deadline,
        [&](const Context& context) { find_leaves(trees, rows, out.data(), context); });
}

template <class T>
void tree_sums(const Nodes& nodes, const VectorIn<std::int64_t>& start,
               const MatrixIn<double>& table, const VectorIn<std::uint32_t>& words,
               const DenseIn<T>& X, const std::optional<MatrixIn<std::uint8_t>>& left_out,
               const MatrixOut<double>& out, const std::optional<VectorOut<std::int64_t>>& used,
               int threads, double deadline) {
    const PackedTrees trees = packed_trees(nodes, start, table, words);
    const Dense<T> rows = dense(X);
    check_shape(out, rows.rows, trees.width, "out must have the rows of X and the width of values");
    if (left_out)
        check_shape(*left_out, trees.count, (rows.rows + 7) / 8,
                    "left_out must have a bit per row");
    check(!used || extent(*used, 0) == rows.rows, "used must have one entry per row");
    run(threads, deadline, [&](const Context& context) {
        sum_leaves(trees, rows, left_out ? left_out->data() : nullptr, out.data(),
                   used ? used->data() : nullptr, context);
    });
}

template <class T>
void define_for(nb::module_& m) {
    m.def("tree_leaves", &tree_leaves<T>, array("nodes"), array("start"), array("table"),
          array("words"), array("X"), array("out"), "threads"_a, "deadline"_a);
    m.def("tree_sums", &tree_sums<T>, array("nodes"), array("start"), array("table"),
          array("words"), array("X"), maybe("left_out"), array("out"), maybe("used"), "threads"_a,
          "deadline"_a);
}

}  // namespace

void define_tree_prediction_functions(nb::module_& m) {
    m.def("tree_table_rows", &tree_table_rows, array("left"), array("values"));
    m.def("pack_tree", &pack, array("feature"), array("threshold"), array("left"), array("right"),
          array("missing_left"), maybe("category_start"), array("values"), "first_row"_a,
          "first_word"_a, array("nodes"), array("table"));
    define_for<float>(m);
    define_for<double>(m);
}

}  // namespace gapless
