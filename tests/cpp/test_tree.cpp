// Growing trees under the sanitizers: every kind of target, column and limit, with few and many
// rows, narrow and wide keys, and with several threads.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "check.hpp"
#include "trees/columns.hpp"
#include "trees/order.hpp"
#include "trees/random.hpp"
#include "trees/tree.hpp"
#include "trees/weakest_links.hpp"

using namespace gapless;

namespace {

const Blas blas{};
const Poll never;
const double nan = std::numeric_limits<double>::quiet_NaN();

// Columns of numbers with many and with few values, one of them with missing values, two dummies
// that share a bundle, and a category.
struct Problem {
    Index rows, outputs;
    std::vector<std::vector<std::uint32_t>> wide;
    std::vector<std::vector<std::uint16_t>> middle;
    std::vector<std::vector<std::uint8_t>> narrow;
    std::vector<std::vector<double>> values;
    std::vector<std::uint8_t> bundle;
    std::vector<std::int32_t> labels;
    std::vector<double> targets, weights;
    std::vector<std::uint32_t> counts;
    TreeData data{};

    Problem(Index rows, Index outputs, std::uint64_t seed, bool has_classes, double weight_step)
        : rows(rows), outputs(outputs) {
        growing::KeyedRandom random(seed);
        std::vector<double> x(rows);
        for (Index i = 0; i < rows; ++i) x[i] = random.below(7) ? random.uniform() : nan;
        add_ranked(x, wide);
        for (Index i = 0; i < rows; ++i) x[i] = static_cast<double>(random.below(300));
        add_ranked(x, middle);
        std::vector<std::uint8_t> first(rows), second(rows), level(rows);
        for (Index i = 0; i < rows; ++i) {
            bundle.push_back(static_cast<std::uint8_t>(random.below(3)));
            first[i] = bundle[i] == 1;
            second[i] = bundle[i] == 2;
            // Codes of a bundle count the missing code of each member too.
            if (bundle[i] == 2) bundle[i] = 3;
            level[i] = static_cast<std::uint8_t>(random.below(6));
        }
        narrow = {first, second, level};
        values.push_back({0.0, 1.0});
        for (int k = 0; k < 2; ++k)
            data.columns.push_back({narrow[k].data(), 1, 2, false, values.back().data(),
                                    values.back().data(), 0, 0,
                                    static_cast<std::uint32_t>(1 + 2 * k)});
        data.bundles.push_back({bundle.data(), 5});
        data.columns.push_back({narrow[2].data(), 1, 5, true, nullptr, nullptr});
        for (Index i = 0; i < rows * outputs; ++i) {
            double z = random.uniform() + level[i / outputs] + 2.0 * first[i / outputs];
            labels.push_back(static_cast<std::int32_t>(z / 2) % 3);
            targets.push_back(z);
        }
        for (Index i = 0; i < rows; ++i) {
            weights.push_back(weight_step * static_cast<double>(random.below(4)));
            if (i == 0) weights[0] = weight_step;
            counts.push_back(static_cast<std::uint32_t>(std::ceil(weights[i])));
        }
        data.rows = rows;
        data.outputs = outputs;
        data.classes = has_classes ? 3 : 1;
        data.labels = has_classes ? labels.data() : nullptr;
        data.values = has_classes ? nullptr : targets.data();
    }

    template <class Code>
    void add_ranked(const std::vector<double>& x, std::vector<std::vector<Code>>& into) {
        std::vector<std::uint32_t> ranks(rows);
        std::vector<double> distinct(rows);
        std::int64_t count = 0;
        rank_columns(x.data(), rows, 1, ranks.data(), distinct.data(), &count,
                     Context{blas, 1, never});
        into.emplace_back(ranks.begin(), ranks.end());
        values.push_back(std::move(distinct));
        data.columns.push_back({into.back().data(), static_cast<int>(sizeof(Code)),
                                static_cast<std::uint32_t>(count), false, values.back().data(),
                                values.back().data()});
    }
};

TreeOptions options_for(Criterion criterion) {
    TreeOptions options{};
    options.criterion = criterion;
    options.max_features = options.max_depth = 1000;
    options.min_samples_split = 2;
    options.min_samples_leaf = 1;
    return options;
}

// Every row counts once on its way down: children add up to their parents.
void check_tree(const GrownTree& tree, const Problem& problem) {
    double weight = 0;
    for (double w : problem.weights) weight += w;
    CHECK(!tree.nodes.empty());
    CHECK(near(tree.nodes[0].weight, weight, weight, 1e-14));
    for (const TreeNode& node : tree.nodes) {
        CHECK(node.impurity >= 0);
        if (node.left < 0) continue;
        const TreeNode &left = tree.nodes[node.left], &right = tree.nodes[node.right];
        CHECK(left.count + right.count == node.count);
        CHECK(near(left.weight + right.weight, node.weight, node.weight, 1e-14));
        CHECK(left.count > 0 && right.count > 0);
    }
}

bool are_equal(const GrownTree& a, const GrownTree& b) {
    if (a.nodes.size() != b.nodes.size() || a.values != b.values || a.sets != b.sets) return false;
    for (std::size_t i = 0; i < a.nodes.size(); ++i) {
        const TreeNode &x = a.nodes[i], &y = b.nodes[i];
        bool same_threshold = x.threshold == y.threshold || std::isnan(x.threshold);
        if (x.feature != y.feature || x.left != y.left || x.right != y.right || !same_threshold ||
            x.missing_left != y.missing_left || x.impurity != y.impurity)
            return false;
    }
    return true;
}

void test_kinds(Index rows, Index outputs, double weight_step) {
    for (Criterion criterion :
         {Criterion::gini, Criterion::entropy, Criterion::gain_ratio, Criterion::squared_error,
          Criterion::poisson, Criterion::absolute_error}) {
        bool has_classes = criterion <= Criterion::gain_ratio;
        Problem problem(rows, outputs, 17, has_classes, weight_step);
        TreeSample sample{problem.weights.data(), problem.counts.data()};
        std::vector<TreeOptions> all(5, options_for(criterion));
        all[1].max_leaf_nodes = 5;
        all[2].random_thresholds = true;
        all[3].max_features = 2;
        all[3].min_samples_leaf = 3;
        all[3].min_weight_leaf = 1.5;
        const std::int8_t monotonic[] = {1, -1, 0, 0, 0};
        all[4].max_depth = 3;
        if (outputs == 1 && !has_classes) all[4].monotonic = monotonic;
        for (const TreeOptions& options : all) {
            GrownTree one = grow_tree(problem.data, sample, options, 5, Context{blas, 1, never});
            check_tree(one, problem);
            for (int threads : {2, 8})
                CHECK(are_equal(one, grow_tree(problem.data, sample, options, 5,
                                               Context{blas, threads, never})));
            Bootstrap bootstrap{rows, nullptr};
            auto forest = grow_forest(problem.data, sample, bootstrap, options, {1, 2, 3},
                                      Context{blas, 2, never});
            CHECK(forest.size() == 3 && !forest[2].nodes.empty());
        }
    }
}

// Enough entries for threads to share the columns of a node, and then its branches.
void test_large_nodes() {
    for (Criterion criterion : {Criterion::gini, Criterion::squared_error}) {
        Problem problem(105000, 1, 4, criterion == Criterion::gini, 1.0);
        TreeSample sample{problem.weights.data(), problem.counts.data()};
        TreeOptions options = options_for(criterion);
        options.max_depth = 5;
        GrownTree one = grow_tree(problem.data, sample, options, 5, Context{blas, 1, never});
        check_tree(one, problem);
        for (int threads : {2, 8})
            CHECK(are_equal(
                one, grow_tree(problem.data, sample, options, 5, Context{blas, threads, never})));
    }
}

// Keys in order for every number of rows around the places where the way of sorting changes.
void test_order() {
    growing::KeyedRandom random(3);
    growing::CodeOrder order;
    for (Index rows : {1, 2, 15, 16, 17, 63, 64, 65, 66, 500, 5000})
        for (std::uint32_t codes : {1u, 2u, 60u, 300u, 70000u, 40000000u}) {
            std::vector<std::uint32_t> code(rows), index(rows);
            for (Index i = 0; i < rows; ++i) {
                code[i] = static_cast<std::uint32_t>(random.below(codes));
                index[i] = static_cast<std::uint32_t>(rows - 1 - i);
            }
            CodedColumn column{code.data(), 4, codes, false, nullptr, nullptr};
            bool differ = order.sort(column, index.data(), rows);
            bool expected = false;
            for (std::uint32_t c : code) expected |= c != code[0];
            CHECK(differ == expected);
            if (!differ) continue;
            std::vector<char> is_seen(rows, 0);
            order.with_keys([&](const auto& sorted) {
                for (Index k = 0; k < rows; ++k) {
                    CHECK(sorted.code(k) == code[index[sorted.position(k)]]);
                    CHECK(k == 0 || sorted.code(k - 1) <= sorted.code(k));
                    is_seen[sorted.position(k)] = 1;
                }
            });
            for (char seen : is_seen) CHECK(seen);
        }
}

void test_stop() {
    Problem problem(3000, 1, 1, true, 1.0);
    TreeSample sample{problem.weights.data(), problem.counts.data()};
    const Poll always = [] { return true; };
    std::vector<std::uint64_t> seeds(200, 1);
    bool has_stopped = false;
    try {
        grow_forest(problem.data, sample, {}, options_for(Criterion::gini), seeds,
                    Context{blas, 2, always});
    } catch (const Stopped&) {
        has_stopped = true;
    }
    CHECK(has_stopped);
}

// A chain of splits, each with a leaf beside it: the lowest split goes first, and no node goes
// twice.
void test_weakest_links() {
    constexpr Index depth = 50, nodes = 2 * depth + 1;
    std::vector<std::int64_t> parent(nodes, -1), leaves(nodes, 1), steps(nodes, 0);
    std::vector<double> cost(nodes, 0.0), below(nodes, 0.0);
    for (Index k = 0; k < depth; ++k) {
        parent[2 * k + 1] = parent[2 * k + 2] = 2 * k;  // the right child is split on
        leaves[2 * k] = depth - k + 1;
        cost[2 * k] = static_cast<double>((depth - k) * (depth - k));
    }
    const Poll never;
    Checkpoint checkpoint(never);
    PrunedTree tree{nodes, parent.data(), cost.data(), below.data(), leaves.data()};
    std::vector<double> prices = weakest_links(tree, steps.data(), checkpoint);
    CHECK(prices.size() == depth + 1);
    for (Index k = 0; k < depth; ++k) {
        CHECK(steps[2 * k] == depth - k);
        CHECK(prices[k] <= prices[k + 1]);
    }
    CHECK(leaves[0] == 1 && below[0] == cost[0]);
}

}  // namespace

int main() {
    test_order();
    for (Index rows : {1, 2, 40, 700}) {
        test_kinds(rows, 1, 1.0);
        test_kinds(rows, 1, 0.3);
    }
    test_kinds(90, 3, 1.0);
    test_large_nodes();
    test_stop();
    test_weakest_links();
    return report();
}
