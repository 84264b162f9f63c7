// Rows that walk down packed trees: numbers and categories, missing values, both orders of memory,
// trees that a row must not be counted for, and ways down that must lead to the same leaves.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "check.hpp"
#include "trees/predict.hpp"
#include "trees/random.hpp"
#include "trees/shapley.hpp"
#include "trees/statistics.hpp"
#include "trees/walks.hpp"

using namespace gapless;

namespace {

const Blas blas{};
const Poll never;
const double nan_value = std::numeric_limits<double>::quiet_NaN();

// Packed trees that own what they are made of. Column v asks about feature v.
struct Forest {
    std::vector<PackedNode> nodes;
    std::vector<std::int64_t> start{0};
    std::vector<double> table;
    Index width = 1;
    std::vector<std::int32_t> feature;
    std::vector<std::int64_t> first{0}, set_start{0};
    std::vector<std::uint8_t> is_category;
    std::vector<double> content;
    std::vector<std::uint32_t> words;
    int code_bits = 8;

    void ask(const std::vector<double>& contents, bool has_levels = false) {
        feature.push_back(static_cast<std::int32_t>(feature.size()));
        content.insert(content.end(), contents.begin(), contents.end());
        first.push_back(static_cast<std::int64_t>(content.size()));
        is_category.push_back(has_levels);
    }
    std::uint32_t question(std::uint32_t column, std::uint32_t code, std::uint32_t missing) const {
        return (column << 1 | missing) << code_bits | (code + missing);
    }
    PackedTrees view(Index groups = 1) const {
        const bool has_categories = !words.empty();
        return {
            nodes.data(),
            start.data(),
            static_cast<Index>(start.size()) - 1,
            table.data(),
            width,
            groups,
            {static_cast<Index>(feature.size()), feature.data(), first.data(), is_category.data(),
             content.data(), set_start.data(), words.data(), code_bits, has_categories}};
    }
};

// Twice: x₀ ≤ 0.5 (missing goes left): leaf 1, else x₁ ≤ −1: leaf 3, else leaf 4.
Forest small(int code_bits) {
    Forest forest;
    forest.code_bits = code_bits;
    forest.ask({0.5});
    forest.ask({-1});
    forest.width = 2;
    forest.table = {1, 0, 0, 1, 0.25, 0.75};
    for (int copy = 0; copy < 2; ++copy) {
        forest.nodes.insert(forest.nodes.end(), {{forest.question(0, 0, 1), 2},
                                                 {3, ~0},
                                                 {forest.question(1, 0, 0), 4},
                                                 {4, ~2},
                                                 {1, ~1}});
        forest.start.push_back(static_cast<std::int64_t>(forest.nodes.size()));
    }
    return forest;
}

const std::vector<double> by_rows{0, 0, 1, -2, 1, 0, nan_value, 5, 1, nan_value};
const std::vector<double> by_columns{0, 1, 1, nan_value, 1, 0, -2, 0, 5, nan_value};
const std::vector<std::int64_t> leaves{1, 3, 4, 1, 4};

template <class T>
void test_leaves(const Forest& forest, const std::vector<double>& x, Order order) {
    const std::vector<T> data(x.begin(), x.end());
    for (int threads : {1, 3}) {
        const Context context{blas, threads, never};
        std::vector<std::int64_t> found(10, -1);
        find_leaves(forest.view(), Dense<T>{data.data(), 5, 2, order}, found.data(), context);
        for (Index i = 0; i < 5; ++i)
            CHECK(found[2 * i] == leaves[i] && found[2 * i + 1] == leaves[i]);
    }
}

void test_sums(const Forest& forest) {
    const Context context{blas, 1, never};
    const Dense<double> X{by_rows.data(), 5, 2, Order::rows};
    // The second tree has seen rows 0 and 3, the first one row 3.
    const std::vector<std::uint8_t> left_out{0b01000, 0b01001};
    std::vector<double> sums(10, -1.0), apart(20, -1.0);
    std::vector<std::int64_t> used(5, -1);
    sum_leaves(forest.view(), X, left_out.data(), sums.data(), used.data(), context);
    CHECK((used == std::vector<std::int64_t>{1, 2, 2, 0, 2}));
    CHECK((sums == std::vector<double>{1, 0, 0.5, 1.5, 0, 2, 0, 0, 0, 2}));
    std::int64_t* nobody = nullptr;
    sum_leaves(forest.view(), X, nullptr, sums.data(), nobody, context);
    CHECK((sums == std::vector<double>{2, 0, 0.5, 1.5, 0, 2, 2, 0, 0, 2}));
    sum_leaves(forest.view(2), X, nullptr, apart.data(), nobody, context);
    for (Index i = 0; i < 5; ++i)
        for (Index k = 0; k < 4; ++k) CHECK(2 * apart[4 * i + k] == sums[2 * i + k % 2]);
}

// The root asks for levels: 0 and 33 go left, all others right, missing ones as the node says.
Forest with_levels() {
    Forest forest;
    forest.ask({0}, true);
    forest.words = {1u, 1u << 1};
    forest.set_start = {0, 2};
    forest.table = {1, 2};
    forest.nodes = {{forest.question(0, 0, 1), 2}, {1, ~0}, {1, ~1}};
    forest.start = {0, 3};
    return forest;
}

// Every way that there is, whether or not it is the one that would be chosen.
template <class T>
void test_ways(const Forest& forest, const std::vector<T>& X, Index columns,
               const std::vector<walking::Way>& ways) {
    const Index rows = static_cast<Index>(X.size()) / columns;
    const PackedTrees trees = forest.view();
    std::vector<std::int32_t> all(rows);
    for (Index i = 0; i < rows; ++i) all[i] = static_cast<std::int32_t>(i);
    const walking::RowBlock<T> block{X.data(), columns, 1};
    walking::Passage<T> plain(trees, walking::Way::scattered, block, rows);
    // Few rows after many must not remember where those were in a larger tree.
    const std::vector<std::int32_t> few(all.begin(), all.begin() + std::min<Index>(rows, 3));
    for (walking::Way way : ways) {
        walking::Passage<T> passage(trees, way, block, rows);
        for (Index t = 0; t < trees.count; ++t) {
            CHECK(passage.through(t, all) == plain.through(t, all));
            const Index other = trees.count - 1 - t;
            for (std::int32_t row : few) {
                const std::int32_t there = passage.through(other, few)[row];
                CHECK(there == plain.through(other, few)[row]);
            }
        }
    }
}

void test_categories() {
    const Forest forest = with_levels();
    const std::vector<double> X{0, 33, 1, 32, 64, 253, 254, 255, 1e300, -1, nan_value};
    std::vector<std::int64_t> found(X.size());
    find_leaves(forest.view(),
                Dense<double>{X.data(), static_cast<Index>(X.size()), 1, Order::rows}, found.data(),
                Context{blas, 1, never});
    CHECK((found == std::vector<std::int64_t>{1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 1}));
    CHECK(walking::are_levels_short(forest.view().asked));
    test_ways(forest, X, 1, {walking::Way::by_node});
    Forest many = forest;
    many.words.resize(9);
    many.set_start[1] = 9;
    CHECK(!walking::are_levels_short(many.view().asked));
}

// A tree of random shape, with questions about three columns and values of its leaves.
void grow(Forest& forest, growing::KeyedRandom& random, Index depth, Index codes) {
    const std::size_t here = forest.nodes.size();
    if (depth == 0 || random.below(8) == 0) {
        forest.nodes.push_back({1, ~static_cast<std::int32_t>(forest.table.size())});
        forest.table.push_back(random.uniform());
        return;
    }
    const auto column = static_cast<std::uint32_t>(random.below(3));
    const auto code = static_cast<std::uint32_t>(random.below(codes));
    forest.nodes.push_back({forest.question(column, code, random.below(2) == 0), 0});
    grow(forest, random, depth - 1, codes);
    forest.nodes[here].next = static_cast<std::int32_t>(
        static_cast<std::int64_t>(forest.nodes.size()) - forest.start.back());
    grow(forest, random, depth - 1, codes);
}

// What the players contribute to the sums of the first rows adds up to their difference from the
// mean of later rows, and has the same bits for any number of threads.
template <class T>
void test_contributions(const PackedTrees& trees, const std::vector<T>& X,
                        const std::vector<std::int32_t>& players, Index player_count) {
    const Index n = 20, m = 130, after = 100;
    std::vector<double> background(3 * m), shares(m, 1.0 / m), sums(after + m);
    for (Index b = 0; b < m; ++b)
        for (Index j = 0; j < 3; ++j)
            background[j * m + b] = static_cast<double>(X[3 * (after + b) + j]);
    std::int64_t* nobody = nullptr;
    sum_leaves(trees, Dense<T>{X.data(), after + m, 3, Order::rows}, nullptr, sums.data(), nobody,
               Context{blas, 1, never});
    double mean = 0;
    for (Index b = 0; b < m; ++b) mean += sums[after + b] / m;
    const ShapleyGame game{Dense<double>{background.data(), m, 3, Order::columns}, shares.data(),
                           players.data(), player_count};
    std::vector<double> first, found;
    for (int threads : {1, 3}) {
        found.assign(n * player_count, 0.0);
        sum_shapley_values(trees, Dense<T>{X.data(), n, 3, Order::rows}, game, found.data(),
                           Context{blas, threads, never});
        if (threads == 1) first = found;
    }
    CHECK(first == found);
    for (Index i = 0; i < n; ++i) {
        double total = 0;
        for (Index p = 0; p < player_count; ++p) total += found[i * player_count + p];
        CHECK(std::abs(total - (sums[i] - mean)) < 1e-12);
    }
}

template <class T>
void test_random_trees(int code_bits, Index depth) {
    growing::KeyedRandom random(depth);
    Forest forest;
    forest.code_bits = code_bits;
    const Index codes = code_bits == 8 ? 254 : 1000;
    for (Index v = 0; v < 3; ++v) {
        std::vector<double> thresholds(codes);
        for (Index k = 0; k < codes; ++k) thresholds[k] = static_cast<double>(k) / 8;
        if (v == 1) thresholds.back() = std::numeric_limits<double>::infinity();
        forest.ask(thresholds);
    }
    // The last tree is small: nothing may be read where the nodes of a larger one would be.
    for (int t = 0; t < 5; ++t) {
        grow(forest, random, t < 4 ? depth : std::min<Index>(depth, 1), codes);
        forest.start.push_back(static_cast<std::int64_t>(forest.nodes.size()));
    }
    std::vector<T> X(3 * 777);
    for (T& x : X) {
        // Often equal to a threshold.
        x = static_cast<T>(random.below(1100)) / 8 - 1;
        if (random.below(20) == 0) x = static_cast<T>(nan_value);
        if (random.below(50) == 0) x = std::numeric_limits<T>::infinity();
        if (random.below(50) == 0) x = -std::numeric_limits<T>::infinity();
    }
    std::vector<walking::Way> ways{walking::Way::by_level};
    if (code_bits == 8 && depth < 8) ways.push_back(walking::Way::by_node);
    test_ways(forest, X, 3, ways);
    test_contributions(forest.view(), X, {0, 1, 2}, 3);
    test_contributions(forest.view(), X, {0, 1, 0}, 2);
}

void test_statistics() {
    const Forest forest = small(8);
    std::int64_t rows[5];
    double impurity[5], value[10];
    find_statistics(forest.nodes.data(), 5, forest.table.data(), 1, 2, ClassImpurity::gini,
                    {rows, impurity, value});
    CHECK(rows[0] == 8 && rows[1] == 3 && rows[2] == 5 && rows[3] == 4 && rows[4] == 1);
    CHECK(value[0] == 0.5 && value[4] == 0.2 && value[5] == 0.8 && value[6] == 0.25);
    CHECK(impurity[0] == 0.5 && impurity[1] == 0 && impurity[3] == 0.375);
    const auto differences = [&](const double* weights) {
        return find_differences(forest.nodes.data(), 5, forest.table.data(), 1, 2,
                                ClassImpurity::gini, {rows, weights, impurity, value});
    };
    double weights[5];
    std::copy(rows, rows + 5, weights);
    CHECK(differences(weights) == 0);
    weights[4] += 0.5;   // a leaf
    impurity[2] += 0.5;  // an inner node
    value[0] = nan_value;
    CHECK(differences(weights) == (1u << 3 | 1u << 4 | 1u << 6));
}

void test_equal_rows_have_one_number() {
    const std::vector<double> values{1, 0, 0, 1, 1, 0, 0.5, 0.5, 0.5, 0.5};
    std::vector<std::int32_t> number(5);
    std::vector<std::int64_t> first(5);
    CHECK(number_rows(values.data(), 5, 2, number.data(), first.data()) == 3);
    CHECK((number == std::vector<std::int32_t>{0, 1, 0, 2, 2}));
    CHECK(first[0] == 0 && first[1] == 1 && first[2] == 3);
}

}  // namespace

int main() {
    for (int code_bits : {8, 16}) {
        const Forest forest = small(code_bits);
        test_leaves<double>(forest, by_rows, Order::rows);
        test_leaves<float>(forest, by_rows, Order::rows);
        test_leaves<double>(forest, by_columns, Order::columns);
        test_leaves<float>(forest, by_columns, Order::columns);
        test_sums(forest);
        for (Index depth : {0, 1, 6, 12}) {
            test_random_trees<float>(code_bits, depth);
            test_random_trees<double>(code_bits, depth);
        }
    }
    test_categories();
    test_statistics();
    test_equal_rows_have_one_number();
    return report();
}
