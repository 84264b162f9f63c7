// Trees of gradient boosting: exact sums, the best split, shares of the work, stops.
#include <numeric>
#include <random>
#include <vector>

#include "boosting/trees.hpp"
#include "check.hpp"

using namespace gapless;

namespace {

// Random rows of two columns alone, two that share a bundle, and one of levels with missing values.
struct Rows {
    static constexpr Index width = 4, count = 5;
    Index n;
    std::vector<std::uint8_t> code, by_bundle;
    std::vector<std::int32_t> start{0, 40, 47, 52, 60};
    std::vector<BinnedColumn> columns{{0, 0, 40, -1, 0, 0, 0},
                                      {1, 0, 7, -1, 1, 0, 0},
                                      {2, 1, 3, 0, 0, 0, 0},
                                      {2, 3, 3, 2, 0, 0, 0},
                                      {3, 0, 8, -1, 1, 1, 0}};
    std::vector<double> gradient, curvature, weights;

    explicit Rows(Index rows, Index trees = 1)
        : n(rows), code(rows * width), by_bundle(rows * width) {
        std::mt19937 random(7);
        for (Index i = 0; i < n; ++i)
            for (Index b = 0; b < width; ++b)
                code[i * width + b] =
                    static_cast<std::uint8_t>(random() % (start[b + 1] - start[b]));
        sort_by_bundle();
        for (Index k = 0; k < trees * n; ++k) {
            const double wave = std::sin(code[(k % n) * width] * 0.3) + code[(k % n) * width + 2];
            gradient.push_back(wave - 1 + 0.001 * (random() % 1000));
            curvature.push_back(0.1 + 0.001 * (random() % 100));
        }
        for (Index i = 0; i < n; ++i) weights.push_back(static_cast<double>(random() % 4));
    }
    void sort_by_bundle() {
        for (Index k = 0; k < n * width; ++k) by_bundle[k % width * n + k / width] = code[k];
    }
    Bins bins() const { return {code.data(), by_bundle.data(), n, width, start.data()}; }
    BoostingRound<double> round(Index trees = 1, bool is_weighted = false) const {
        const double* w = is_weighted ? weights.data() : nullptr;
        return {bins(), columns.data(), count, trees, gradient.data(), curvature.data(), w,
                w,      nullptr,        0,     0};
    }
};

struct Grown {
    Index capacity;
    std::vector<std::int32_t> count, shape, leaf;
    std::vector<double> numbers;
    std::vector<std::uint64_t> levels;

    Grown(Index trees, Index room, Index n)
        : capacity(room),
          count(trees),
          shape(5 * trees * room),
          leaf(trees * n),
          numbers(6 * trees * room),
          levels(4 * trees * room) {}
    GrownTrees out() {
        const Index nodes = static_cast<Index>(count.size()) * capacity;
        std::int32_t* s = shape.data();
        double* v = numbers.data();
        return {capacity,
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
    }
};

const GrowthLimits limits{15, 30, 3, 2, Rows::count, 1e-3, 0.0, 0.5};
const Blas blas{};
const Poll never;

Grown grown(const BoostingRound<double>& round, int threads, const GrowthLimits& with = limits) {
    Grown trees(round.trees, 2 * with.max_leaves - 1, round.bins.rows);
    GrowingSpace space;
    grow_boosted(round, with, trees.out(), space, Context{blas, threads, never});
    return trees;
}

void leaves_hold_the_sums_of_their_rows() {
    const Rows rows(3000);
    Grown found = grown(rows.round(), 1);
    const Index nodes = found.count[0];
    std::vector<double> g(nodes), h(nodes);
    std::vector<Index> n(nodes);
    for (Index i = 0; i < rows.n; ++i) {
        const std::int32_t leaf = found.leaf[i];
        g[leaf] += rows.gradient[i], h[leaf] += rows.curvature[i], ++n[leaf];
    }
    const GrownTrees out = found.out();
    for (Index k = 0; k < nodes; ++k) {
        if (out.column[k] >= 0) continue;
        CHECK(n[k] == out.rows[k] && n[k] >= limits.min_leaf_rows);
        CHECK(std::abs(out.value[k] + g[k] / (h[k] + limits.l2)) < 1e-6);
        CHECK(std::abs(out.curvature[k] - h[k]) < 1e-6 * h[k]);
    }
}

void any_number_of_threads_grows_the_same() {
    // So many rows that threads are worth starting, and share the rows of the upper nodes.
    const Rows rows(120000, 3);
    for (bool is_weighted : {false, true})
        for (Index trees : {1, 3}) {
            const Grown one = grown(rows.round(trees, is_weighted), 1);
            for (int threads : {2, 3, 8}) {
                const Grown other = grown(rows.round(trees, is_weighted), threads);
                CHECK(one.leaf == other.leaf && one.count == other.count);
                CHECK(one.shape == other.shape && one.numbers == other.numbers);
            }
        }
}

void order_of_rows_does_not_matter() {
    const Rows rows(2000);
    Rows turned = rows;
    for (Index i = 0; i < rows.n; ++i) {
        const Index from = (i * 7 + 3) % rows.n;
        std::copy_n(&rows.code[from * Rows::width], Rows::width, &turned.code[i * Rows::width]);
        turned.gradient[i] = rows.gradient[from], turned.curvature[i] = rows.curvature[from];
    }
    turned.sort_by_bundle();
    const Grown one = grown(rows.round(), 1), other = grown(turned.round(), 1);
    CHECK(one.shape == other.shape);
    CHECK(one.numbers == other.numbers);
}

void memory_may_be_that_of_other_trees() {
    const Rows small(500), large(30000, 3);
    GrowingSpace space;
    for (const Rows* rows : {&small, &large, &small})
        for (Index trees : {1, 3}) {
            if (rows == &small && trees > 1) continue;
            const BoostingRound<double> round = rows->round(trees, true);
            Grown again(trees, 2 * limits.max_leaves - 1, rows->n);
            grow_boosted(round, limits, again.out(), space, Context{blas, 2, never});
            const Grown fresh = grown(round, 1);
            CHECK(fresh.leaf == again.leaf && fresh.count == again.count);
        }
}

void scaled_weights_grow_the_same() {
    Rows rows(3000);
    GrowthLimits free = limits;
    free.l2 = free.min_leaf_curvature = 0;
    BoostingRound<double> round = rows.round(1, true);
    const std::vector<double> repeats = rows.weights;
    round.repeats = repeats.data();
    const Grown one = grown(round, 1, free);
    for (int power : {-900, -60, 60, 900}) {
        for (Index i = 0; i < rows.n; ++i) rows.weights[i] = std::ldexp(repeats[i], power);
        const Grown other = grown(round, 1, free);
        CHECK(one.leaf == other.leaf && one.shape == other.shape);
    }
}

void columns_that_are_drawn_are_among_all() {
    const Rows rows(2000);
    GrowthLimits few = limits;
    few.max_columns = 2;
    Grown found = grown(rows.round(), 2, few);
    const GrownTrees out = found.out();
    CHECK(found.count[0] > 1);
    for (Index k = 0; k < found.count[0]; ++k) CHECK(out.column[k] < Rows::count);
}

void small_and_empty_rows_are_a_leaf() {
    for (Index n : {1, 2, 5}) {
        const Rows rows(n);
        Grown found = grown(rows.round(), 4);
        CHECK(found.count[0] == 1);
        for (Index i = 0; i < n; ++i) CHECK(found.leaf[i] == 0);
    }
    Rows none(50);
    std::fill(none.weights.begin(), none.weights.end(), 0.0);
    CHECK(grown(none.round(1, true), 2).count[0] == 1);
}

void a_stop_ends_the_growth() {
    const Rows rows(20000, 8);
    const Poll always = [] { return true; };
    Grown trees(8, 2 * limits.max_leaves - 1, rows.n);
    bool is_stopped = false;
    GrowthLimits deep = limits;
    GrowingSpace space;
    try {
        for (int again = 0; again < 200; ++again)
            grow_boosted(rows.round(8), deep, trees.out(), space, Context{blas, 2, always});
    } catch (const Stopped&) {
        is_stopped = true;
    }
    CHECK(is_stopped);
}

void a_team_does_every_task_once() {
    for (int threads : {1, 2, 5}) {
        Team team(threads);
        for (Index tasks : {0, 1, 2, 7, 64})
            for (int again = 0; again < 50; ++again) {
                std::vector<std::atomic<int>> done(tasks);
                team.each(tasks, [&](Index i) { ++done[i]; });
                bool is_right = true;
                for (auto& times : done) is_right &= times == 1;
                CHECK(is_right);
            }
    }
}

// As on a machine that is busy: the others begin in a later step, or when the team is gone.
void a_team_does_not_wait_for_late_threads() {
    std::vector<std::function<void()>> late;
    {
        Team team(3, [&](std::function<void()> work) { late.push_back(std::move(work)); });
        CHECK(team.size() == 3);
        std::vector<int> done(7);
        team.each(7, [&](Index i) { ++done[i]; });
        CHECK(done == std::vector<int>(7, 1));
        start_thread(late.back());
        late.pop_back();
        std::vector<std::atomic<int>> again(64);
        team.each(64, [&](Index i) { ++again[i]; });
        bool is_right = true;
        for (auto& times : again) is_right &= times == 1;
        CHECK(is_right);
    }
    for (auto& work : late) work();
}

}  // namespace

int main() {
    leaves_hold_the_sums_of_their_rows();
    any_number_of_threads_grows_the_same();
    order_of_rows_does_not_matter();
    memory_may_be_that_of_other_trees();
    scaled_weights_grow_the_same();
    columns_that_are_drawn_are_among_all();
    small_and_empty_rows_are_a_leaf();
    a_stop_ends_the_growth();
    a_team_does_every_task_once();
    a_team_does_not_wait_for_late_threads();
    return report();
}
