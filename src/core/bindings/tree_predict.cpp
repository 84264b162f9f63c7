// Python bindings of packed trees: prediction, what each column contributes to it, and node
// statistics derived from their leaves.
#include <algorithm>
#include <limits>

#include "bindings/bindings.hpp"
#include "trees/predict.hpp"
#include "trees/shapley.hpp"
#include "trees/statistics.hpp"

namespace gapless {
namespace {

using Nodes = MatrixIn<std::uint32_t>;  // two words for each packed node

// Nodes, where each tree begins, the table, the number of groups; then the splits: features, where
// the contents of each column begin, whether it has categories, contents, where each set begins,
// words of sets, bits of a code.
using PackedIn = std::tuple<Nodes, VectorIn<std::int64_t>, MatrixIn<double>, std::int64_t,
                            VectorIn<std::int32_t>, VectorIn<std::int64_t>, VectorIn<std::uint8_t>,
                            VectorIn<double>, VectorIn<std::int64_t>, VectorIn<std::uint32_t>, int>;

const PackedNode* packed_nodes(const Nodes& nodes) {
    check(extent(nodes, 1) == 2, "nodes must have two words each");
    return reinterpret_cast<const PackedNode*>(nodes.data());
}

PackedTrees packed_trees(const PackedIn& in, Index columns) {
    const auto& [nodes, start, table, groups, feature, first, is_category, content, set_start,
                 words, code_bits] = in;
    const Index count = extent(start, 0) - 1, asked = extent(feature, 0);
    check(count >= 0 && start.data()[count] == extent(nodes, 0),
          "start and nodes disagree about the number of nodes");
    check(groups > 0 && count % groups == 0, "every group must have the same number of trees");
    check(code_bits == 8 || code_bits == 16, "a code has 8 or 16 bits");
    check(extent(first, 0) == asked + 1 && extent(is_category, 0) == asked &&
              first.data()[asked] == extent(content, 0) && extent(set_start, 0) > 0 &&
              set_start.data()[extent(set_start, 0) - 1] == extent(words, 0),
          "the parts of what is asked disagree about their number");
    for (Index v = 0; v < asked; ++v)
        check(0 <= feature.data()[v] && feature.data()[v] < columns,
              "X has fewer columns than the trees ask about");
    const std::uint8_t* kinds = is_category.data();
    const bool has_categories = std::any_of(kinds, kinds + asked, [](auto kind) { return kind; });
    return {packed_nodes(nodes),
            start.data(),
            count,
            table.data(),
            extent(table, 1),
            groups,
            {asked, feature.data(), first.data(), kinds, content.data(), set_start.data(),
             words.data(), code_bits, has_categories}};
}

template <class T>
void tree_leaves(const PackedIn& packed, const DenseIn<T>& X, const MatrixOut<std::int64_t>& out,
                 int threads, double deadline) {
    const Dense<T> rows = dense(X);
    const PackedTrees trees = packed_trees(packed, rows.columns);
    check_shape(out, rows.rows, trees.count,
                "out must have a row for each row and a column per tree");
    run(threads, deadline,
        [&](const Context& context) { find_leaves(trees, rows, out.data(), context); });
}

template <class T>
void tree_sums(const PackedIn& packed, const DenseIn<T>& X,
               const std::optional<MatrixIn<std::uint8_t>>& left_out, const MatrixOut<double>& out,
               const std::optional<VectorOut<std::int64_t>>& used, int threads, double deadline) {
    const Dense<T> rows = dense(X);
    const PackedTrees trees = packed_trees(packed, rows.columns);
    check_shape(out, rows.rows, trees.width * trees.groups,
                "out must have the rows of X and the values of every group");
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
void tree_shapley(const PackedIn& packed, const DenseIn<T>& X, const DenseIn<double>& background,
                  const VectorIn<double>& shares, const VectorIn<std::int32_t>& players,
                  std::int64_t player_count, const MatrixOut<double>& out, int threads,
                  double deadline) {
    const Dense<T> rows = dense(X);
    const Dense<double> others = dense(background);
    const PackedTrees trees = packed_trees(packed, rows.columns);
    check(others.rows > 0 && others.columns == rows.columns && others.rows == extent(shares, 0),
          "the background must have the columns of X, and a share for each row");
    check(others.order == Order::columns || others.rows == 1 || others.columns == 1,
          "the background must be in F order");
    check(extent(players, 0) == rows.columns, "every column of X must have a player");
    for (Index j = 0; j < rows.columns; ++j)
        check(0 <= players.data()[j] && players.data()[j] < player_count,
              "a player is out of range");
    check_shape(out, rows.rows, player_count * trees.width * trees.groups,
                "out must have the players' values in every group");
    run(threads, deadline, [&](const Context& context) {
        const ShapleyGame game{others, shares.data(), players.data(), player_count};
        sum_shapley_values(trees, rows, game, out.data(), context);
    });
}

Index number_equal_rows(const MatrixIn<double>& values, const VectorOut<std::int32_t>& number,
                        const VectorOut<std::int64_t>& first) {
    const Index rows = extent(values, 0);
    check(extent(number, 0) == rows && extent(first, 0) == rows,
          "number and first must have an entry per row");
    nb::gil_scoped_release released;
    return number_rows(values.data(), rows, extent(values, 1), number.data(), first.data());
}

void statistics(const Nodes& nodes, const MatrixIn<double>& table, std::int64_t outputs,
                int impurity, const VectorOut<std::int64_t>& rows,
                const VectorOut<double>& impurities, const MatrixOut<double>& value) {
    const Index count = extent(nodes, 0), width = extent(table, 1);
    check(outputs > 0 && width % outputs == 0, "the table must have the classes of every output");
    check(extent(rows, 0) == count && extent(impurities, 0) == count,
          "the statistics must have an entry per node");
    check_shape(value, count, width, "value must have a row per node");
    nb::gil_scoped_release released;
    find_statistics(packed_nodes(nodes), count, table.data(), outputs, width / outputs,
                    static_cast<ClassImpurity>(impurity),
                    {rows.data(), impurities.data(), value.data()});
}

unsigned differences(const Nodes& nodes, const MatrixIn<double>& table, std::int64_t outputs,
                     int impurity, const VectorIn<std::int64_t>& rows,
                     const VectorIn<double>& weights, const VectorIn<double>& impurities,
                     const MatrixIn<double>& value) {
    const Index count = extent(nodes, 0), width = extent(table, 1);
    check(outputs > 0 && width % outputs == 0, "the table must have the classes of every output");
    check(extent(rows, 0) == count && extent(weights, 0) == count && extent(impurities, 0) == count,
          "the statistics must have an entry per node");
    check_shape(value, count, width, "value must have a row per node");
    nb::gil_scoped_release released;
    return find_differences(packed_nodes(nodes), count, table.data(), outputs, width / outputs,
                            static_cast<ClassImpurity>(impurity),
                            {rows.data(), weights.data(), impurities.data(), value.data()});
}

// Write a tree's nodes in preorder: splits of the inner nodes and table rows of the leaves are in
// the order of the nodes.
void pack(const VectorIn<std::int64_t>& right, const VectorIn<std::int64_t>& samples,
          const VectorIn<std::uint32_t>& questions, const VectorIn<std::int32_t>& places,
          const MatrixOut<std::uint32_t>& nodes) {
    const Index count = extent(right, 0);
    check(extent(samples, 0) == count && extent(questions, 0) + extent(places, 0) == count,
          "every node is an inner node or a leaf");
    check_shape(nodes, count, 2, "nodes must have two words each");
    const std::uint32_t* question = questions.data();
    const std::int32_t* place = places.data();
    Index inner = 0;
    for (Index i = 0; i < count; ++i) inner += right.data()[i] >= 0;
    check(inner == extent(questions, 0), "every inner node has a question");
    nb::gil_scoped_release released;
    constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
    for (Index i = 0; i < count; ++i) {
        const std::int64_t next = right.data()[i];
        const bool is_leaf = next < 0;
        std::uint32_t* node = nodes.data() + 2 * i;
        node[0] =
            is_leaf ? static_cast<std::uint32_t>(std::min(samples.data()[i], most)) : *question++;
        node[1] = static_cast<std::uint32_t>(is_leaf ? ~*place++ : next);
    }
}

template <class T>
void define_for(nb::module_& m) {
    m.def("tree_leaves", &tree_leaves<T>, array("packed"), array("X"), array("out"), "threads"_a,
          "deadline"_a);
    m.def("tree_sums", &tree_sums<T>, array("packed"), array("X"), maybe("left_out"), array("out"),
          maybe("used"), "threads"_a, "deadline"_a);
    m.def("tree_shapley", &tree_shapley<T>, array("packed"), array("X"), array("background"),
          array("shares"), array("players"), "player_count"_a, array("out"), "threads"_a,
          "deadline"_a);
}

}  // namespace

void define_tree_prediction_functions(nb::module_& m) {
    m.def("number_rows", &number_equal_rows, array("values"), array("number"), array("first"));
    m.def("tree_statistics", &statistics, array("nodes"), array("table"), "outputs"_a, "impurity"_a,
          array("rows"), array("impurities"), array("value"));
    m.def("tree_differences", &differences, array("nodes"), array("table"), "outputs"_a,
          "impurity"_a, array("rows"), array("weights"), array("impurities"), array("value"));
    m.def("pack_tree", &pack, array("right"), array("samples"), array("questions"), array("places"),
          array("nodes"));
    define_for<float>(m);
    define_for<double>(m);
}

}  // namespace gapless
