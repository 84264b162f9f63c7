// Rows that walk down trees: numbers and categories, missing values, both orders of memory, and
// trees that a row must not be counted for.
#include <bit>
#include <limits>
#include <vector>

#include "check.hpp"
#include "tree_predict.hpp"

using namespace gapless;

namespace {

const Blas blas{};
const Poll never;
const double nan_value = std::numeric_limits<double>::quiet_NaN();

// x₀ ≤ 0.5 (missing goes left): leaf 1, else x₁ ≤ −1: leaf 3, else leaf 4.
struct Small {
    std::vector<std::int64_t> feature{0, -2, 1, -2, -2};
    std::vector<std::int64_t> left{1, -1, 3, -1, -1}, right{2, -1, 4, -1, -1};
    std::vector<double> threshold{0.5, -2, -1, -2, -2};
    std::vector<std::uint8_t> missing_left{1, 0, 0, 0, 0};
    std::vector<std::int64_t> category_start{0, 0, 0, 0, 0, 0};
    std::vector<double> values{0.5, 0.5, 1, 0, 0.4, 0.6, 0.25, 0.75, 0, 1};

    TreeArrays arrays() const {
        return {5,
                feature.data(),
                left.data(),
                right.data(),
                threshold.data(),
                missing_left.data(),
                category_start.data(),
                values.data(),
                2};
    }
};

// Two copies of the tree, packed.
struct Forest {
    std::vector<PackedNode> nodes = std::vector<PackedNode>(10);
    std::vector<std::int64_t> start{0, 5, 10};
    std::vector<double> table = std::vector<double>(4);
    std::vector<std::uint32_t> words;

    explicit Forest(const Small& tree, std::vector<std::uint32_t> sets = {}) : words(sets) {
        CHECK(table_rows(tree.arrays()) == 1);
        CHECK(pack_tree(tree.arrays(), 0, 0, nodes.data(), table.data()));
        CHECK(pack_tree(tree.arrays(), 1, 0, nodes.data() + 5, table.data() + 2));
    }
    PackedTrees view() const {
        return {nodes.data(), start.data(), 2, table.data(), 2, words.data(), !words.empty()};
    }
};

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
    std::vector<double> sums(10, -1.0);
    std::vector<std::int64_t> used(5, -1);
    sum_leaves(forest.view(), X, left_out.data(), sums.data(), used.data(), context);
    CHECK((used == std::vector<std::int64_t>{1, 2, 2, 0, 2}));
    CHECK((sums == std::vector<double>{1, 0, 0.5, 1.5, 0, 2, 0, 0, 0, 2}));
    sum_leaves(forest.view(), X, nullptr, sums.data(), static_cast<std::int64_t*>(nullptr),
               context);
    CHECK((sums == std::vector<double>{2, 0, 0.5, 1.5, 0, 2, 2, 0, 0, 2}));
}

// The root asks for levels: 0 and 33 go left, all others right, missing ones as the node says.
void test_categories() {
    Small tree;
    tree.category_start = {0, 2, 2, 2, 2, 2};
    tree.threshold[0] = nan_value;
    const Forest forest(tree, {1u, 1u << 1});
    const std::vector<double> X{0, 0, 33, 0, 1, 0, 32, 0, 64, 0, 1e300, 0, -1, 0, nan_value, 0};
    std::vector<std::int64_t> found(16);
    find_leaves(forest.view(), Dense<double>{X.data(), 8, 2, Order::rows}, found.data(),
                Context{blas, 1, never});
    const std::vector<std::int64_t> expected{1, 1, 4, 4, 4, 4, 4, 1};
    for (Index i = 0; i < 8; ++i) CHECK(found[2 * i] == expected[i]);
}

void test_other_orders_are_refused() {
    Small tree;
    std::swap(tree.left[0], tree.right[0]);
    std::vector<PackedNode> nodes(5);
    std::vector<double> table(2);
    CHECK(!pack_tree(tree.arrays(), 0, 0, nodes.data(), table.data()));
}

}  // namespace

int main() {
    const Forest forest{Small{}};
    test_leaves<double>(forest, by_rows, Order::rows);
    test_leaves<float>(forest, by_rows, Order::rows);
    test_leaves<double>(forest, by_columns, Order::columns);
    test_leaves<float>(forest, by_columns, Order::columns);
    test_sums(forest);
    test_categories();
    test_other_orders_are_refused();
    return report();
}
