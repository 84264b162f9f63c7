// Stumps on columns of every form, where the ends of blocks and of codes fall together or apart.
#include <algorithm>
#include <random>
#include <vector>

#include "check.hpp"
#include "trees/stumps.hpp"

using namespace gapless;

namespace {

const Blas blas{};
const Poll never;

template <class Code>
StumpSplit best(const std::vector<std::vector<Code>>& columns, Index levels,
                const std::vector<double>& weights, const std::vector<std::int32_t>& classes,
                Index count, StumpCriterion criterion, int threads) {
    StumpColumns stumps(static_cast<Index>(weights.size()));
    for (const auto& codes : columns) stumps.add(codes.data(), levels, false);
    return stumps.best(weights.data(), classes.data(), count, criterion,
                       Context{blas, threads, never});
}

// The class is told by whether the code is at most `place`, and by nothing else.
void test_sizes() {
    std::mt19937 random(0);
    for (Index n : {2, 3, 255, 256, 257, 512, 513, 514, 1024, 1025, 1600})
        for (Index place : {Index{0}, (n - 1) / 2, n - 2}) {
            std::vector<std::vector<std::uint32_t>> columns(2, std::vector<std::uint32_t>(n));
            for (Index i = 0; i < n; ++i) columns[1][i] = static_cast<std::uint32_t>(i);
            std::shuffle(columns[1].begin(), columns[1].end(), random);
            std::vector<double> weights(n, 1.0);
            for (Index classes : {2, 3}) {
                std::vector<std::int32_t> y(n);
                for (Index i = 0; i < n; ++i) y[i] = columns[1][i] > place;
                for (auto criterion : {StumpCriterion::gini, StumpCriterion::accuracy})
                    for (int threads : {1, 2}) {
                        StumpSplit split =
                            best(columns, n, weights, y, classes, criterion, threads);
                        CHECK(split.column == 1 && split.code == place);
                        CHECK(split.above == place + 1 && split.left[0] == double(place + 1));
                    }
            }
        }
}

// The last code has many rows, so that splits end in the middle of a block.
void test_long_last_code() {
    const Index n = 1500;
    std::vector<std::vector<std::uint16_t>> columns(1, std::vector<std::uint16_t>(n, 300));
    std::vector<std::int32_t> y(n, 1);
    for (Index i = 0; i < 300; ++i) {
        columns[0][i] = static_cast<std::uint16_t>(i);
        y[i] = 0;
    }
    StumpSplit split =
        best(columns, 301, std::vector<double>(n, 0.5), y, 2, StumpCriterion::gini, 1);
    CHECK(split.code == 299 && split.above == 300 && split.quality == 0);
}

// Levels 1 and 3 are of the second class, and so are the rows whose level is missing.
void test_levels_and_missing() {
    std::vector<std::uint16_t> codes{0, 1, 2, 3, 4, 0, 1, 4};
    std::vector<std::int32_t> y{0, 1, 0, 1, 1, 0, 1, 1};
    std::vector<double> weights(8, 1.0);
    for (bool is_category : {true, false})
        for (auto criterion : {StumpCriterion::gini, StumpCriterion::accuracy}) {
            StumpColumns stumps(8);
            stumps.add(codes.data(), 4, is_category);
            StumpSplit split =
                stumps.best(weights.data(), y.data(), 2, criterion, Context{blas, 1, never});
            CHECK(split.column == 0 && !split.missing_left);
            if (!is_category) {
                CHECK(split.code == 0 && split.above == 1 && split.levels.empty());
                continue;
            }
            CHECK((split.levels == std::vector<std::uint32_t>{0, 2}));
            CHECK(split.quality == (criterion == StumpCriterion::gini ? 0.0 : 8.0));
        }
    // A column whose values are all missing has no split.
    std::vector<std::uint8_t> missing(8, 3);
    StumpColumns stumps(8);
    stumps.add(missing.data(), 3, true);
    CHECK(stumps.best(weights.data(), y.data(), 2, StumpCriterion::gini, Context{blas, 1, never})
              .column == -1);
}

void test_nothing_to_split() {
    std::vector<std::vector<std::uint8_t>> columns(1, std::vector<std::uint8_t>(4, 1));
    StumpSplit split =
        best(columns, 3, std::vector<double>(4, 1.0), {0, 1, 0, 1}, 2, StumpCriterion::gini, 1);
    CHECK(split.column == -1);
    StumpColumns none(0);
    CHECK(none.best(nullptr, nullptr, 2, StumpCriterion::gini, Context{blas, 2, never}).column ==
          -1);
}

void test_stopping() {
    std::vector<std::vector<std::uint8_t>> columns(64, std::vector<std::uint8_t>(1 << 14, 0));
    for (auto& codes : columns) codes[0] = 1;
    std::vector<double> weights(1 << 14, 1.0);
    std::vector<std::int32_t> y(1 << 14, 0);
    StumpColumns stumps(1 << 14);
    for (const auto& codes : columns) stumps.add(codes.data(), 2, false);
    Poll stop = [] { return true; };
    bool stopped = false;
    try {
        for (int i = 0; i < 10000; ++i)
            stumps.best(weights.data(), y.data(), 2, StumpCriterion::gini, Context{blas, 2, stop});
    } catch (const Stopped&) {
        stopped = true;
    }
    CHECK(stopped);
}

}  // namespace

int main() {
    test_sizes();
    test_long_last_code();
    test_levels_and_missing();
    test_nothing_to_split();
    test_stopping();
    return report();
}
