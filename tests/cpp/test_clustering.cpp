// Clusterings against their definitions, computed slowly, at sizes where panels end or do not.
#include <algorithm>
#include <random>
#include <vector>

#include "check.hpp"
#include "clustering/boruvka.hpp"
#include "clustering/exact_heights.hpp"
#include "clustering/lloyd.hpp"
#include "clustering/point_linkage.hpp"
#include "clustering/spanning_tree.hpp"
#include "naive_blas.hpp"

using namespace gapless;

namespace {

const Poll never;
const Context context{blas, 2, never};
constexpr double infinity = std::numeric_limits<double>::infinity();

std::vector<double> random_rows(Index n, Index d, std::mt19937& random) {
    std::normal_distribution<double> normal;
    std::vector<double> x(n * d);
    for (double& value : x) value = normal(random);
    return x;
}

double square_between(const double* x, const double* z, Index d) {
    double sum = 0;
    for (Index j = 0; j < d; ++j) sum += (x[j] - z[j]) * (x[j] - z[j]);
    return sum;
}

// ---- linkages ----

enum class Rule { single, complete, average, ward, centroid };

// The heights of all merges, each found by comparing all pairs (Lance and Williams 1967).
std::vector<double> slow_heights(Rule rule, const std::vector<double>& x, Index n, Index d) {
    const bool is_squared = rule == Rule::ward || rule == Rule::centroid;
    std::vector<double> apart(n * n), weight(n, 1.0), heights;
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < n; ++j) {
            const double square = square_between(&x[i * d], &x[j * d], d);
            apart[i * n + j] = is_squared ? square : std::sqrt(square);
        }
    std::vector<char> is_gone(n, 0);
    for (Index t = 0; t < n - 1; ++t) {
        Index a = -1, b = -1;
        double least = infinity;
        for (Index i = 0; i < n; ++i)
            for (Index j = i + 1; j < n; ++j)
                if (!is_gone[i] && !is_gone[j] && apart[i * n + j] < least)
                    least = apart[i * n + j], a = i, b = j;
        heights.push_back(is_squared ? std::sqrt(least) : least);
        const double p = weight[a], q = weight[b];
        for (Index k = 0; k < n; ++k) {
            if (k == a || k == b || is_gone[k]) continue;
            const double one = apart[a * n + k], other = apart[b * n + k], r = weight[k];
            double joined = 0;
            if (rule == Rule::single) joined = std::min(one, other);
            if (rule == Rule::complete) joined = std::max(one, other);
            if (rule == Rule::average) joined = (p * one + q * other) / (p + q);
            if (rule == Rule::ward)
                joined = ((p + r) * one + (q + r) * other - r * least) / (p + q + r);
            if (rule == Rule::centroid)
                joined = (p * one + q * other) / (p + q) - p * q * least / ((p + q) * (p + q));
            apart[a * n + k] = apart[k * n + a] = joined;
        }
        weight[a] = p + q;
        is_gone[b] = 1;
    }
    return heights;
}

// A few merges at a time, as progress is shown.
template <class Linkage>
std::vector<double> advanced(Linkage& linkage, std::vector<Merge>& merges) {
    while (linkage.done() < linkage.all()) linkage.advance(7, context);
    std::vector<double> heights;
    for (const Merge& merge : merges) heights.push_back(merge.height);
    return heights;
}

void check_heights(std::vector<double> found, std::vector<double> expected, double eps) {
    CHECK(found.size() == expected.size());
    std::sort(found.begin(), found.end());
    std::sort(expected.begin(), expected.end());
    for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i)
        // Rounding is relative to the largest distance: differences of far rows lose digits.
        CHECK(std::abs(found[i] - expected[i]) <= eps * expected.back());
}

template <class T>
void test_matrix(MatrixMethod method, Rule rule, const std::vector<double>& x, Index n, Index d) {
    std::vector<T> triangle(n * (n - 1) / 2);
    const std::vector<double> weights(n, 1.0);
    Points points{};
    fill_triangle(x.data(), n, d, triangle.data(), points, context);
    MatrixLinkage<T> linkage(method, triangle.data(), weights.data(), n, points);
    auto heights = advanced(linkage, linkage.merges());
    const double eps = sizeof(T) == 4 ? 1e-5 : 1e-12;
    check_heights(heights, slow_heights(rule, x, n, d), eps);
    if (rule == Rule::single || n < 2) return;
    std::vector<Index> pairs;
    for (const Merge& merge : linkage.merges())
        pairs.push_back(merge.one), pairs.push_back(merge.other);
    measure_heights(method, x.data(), weights.data(), n, d, pairs.data(), heights.data(), context);
    check_heights(heights, slow_heights(rule, x, n, d), 1e-6);
}

void test_linkages() {
    std::mt19937 random(0);
    for (Index n : {1, 2, 16, 17, 33, 65, 150})
        for (Index d : {1, 3, 16, 20}) {
            const auto x = random_rows(n, d, random);
            test_matrix<float>(MatrixMethod::single, Rule::single, x, n, d);
            test_matrix<double>(MatrixMethod::single, Rule::single, x, n, d);
            test_matrix<float>(MatrixMethod::complete, Rule::complete, x, n, d);
            test_matrix<double>(MatrixMethod::complete, Rule::complete, x, n, d);
            test_matrix<float>(MatrixMethod::average, Rule::average, x, n, d);
            test_matrix<double>(MatrixMethod::average, Rule::average, x, n, d);
            const std::vector<double> weights(n, 1.0);
            PointLinkage ward(PointMethod::ward, x.data(), weights.data(), n, d, context);
            check_heights(advanced(ward, ward.merges()), slow_heights(Rule::ward, x, n, d), 1e-9);
            PointLinkage centroid(PointMethod::centroid, x.data(), weights.data(), n, d, context);
            check_heights(advanced(centroid, centroid.merges()),
                          slow_heights(Rule::centroid, x, n, d), 1e-9);
        }
}

void test_spanning_trees() {
    std::mt19937 random(1);
    for (Index n : {1, 2, 31, 32, 33, 300, 600})
        for (Index d : {1, 2, 7, 16})
            for (const bool is_whole : {false, true}) {
                auto x = random_rows(n, d, random);
                // Whole numbers have many equal distances, and equal rows.
                if (is_whole)
                    for (double& value : x) value = std::round(value);
                SpanningTree prim(x.data(), n, d, context);
                BoruvkaTree boruvka(x.data(), n, d, context);
                CHECK(boruvka.share_compared() >= 0);
                advanced(prim, prim.edges()), advanced(boruvka, boruvka.edges());
                sort_edges(prim.edges()), sort_edges(boruvka.edges());
                CHECK(std::ssize(boruvka.edges()) == n - 1);
                for (Index i = 0; i < n - 1; ++i) {
                    const Merge &one = prim.edges()[i], &other = boruvka.edges()[i];
                    CHECK(one.height == other.height);
                    CHECK(std::minmax(one.one, one.other) == std::minmax(other.one, other.other));
                }
                if (n > 1 && n <= 33)
                    check_heights(advanced(prim, prim.edges()), slow_heights(Rule::single, x, n, d),
                                  1e-12);
            }
}

// ---- Lloyd's steps ----

template <class T>
void test_lloyd(bool by_groups) {
    std::mt19937 random(2);
    for (Index n : {5, 16, 33, 200})
        for (Index d : {1, 4, 19})
            for (Index k : {1, 2, 5}) {
                const auto rows = random_rows(n, d, random);
                const std::vector<T> x(rows.begin(), rows.end());
                std::vector<T> centers(x.begin(), x.begin() + k * d);
                const std::vector<double> origin(d, 0.1);
                std::vector<std::int32_t> labels(n, 0);
                std::vector<float> room(n), low(n * k), ways(k, 0.0f), group_ways(k, 0.0f);
                std::vector<double> sums(k * d), weights(k);
                std::vector<std::int64_t> counts(k);
                const Dense<T> all{x.data(), n, d, Order::rows};
                for (int step = 0; step < 4; ++step) {
                    const LloydBounds bounds{room.data(), by_groups ? low.data() : nullptr,
                                             by_groups ? k : 0, ways.data(), group_ways.data()};
                    const Centers<T> at{centers.data(), k, origin.data()};
                    lloyd_step(all, at, nullptr, step == 0, labels.data(), bounds,
                               {sums.data(), weights.data(), counts.data()}, context);
                    std::vector<T> means = centers;
                    std::vector<double> expected(k * d, 0.0), count(k, 0.0);
                    for (Index i = 0; i < n; ++i) {
                        double least = infinity;
                        for (Index c = 0; c < k; ++c) {
                            double square = 0;
                            for (Index j = 0; j < d; ++j)
                                square +=
                                    std::pow(double(x[i * d + j]) - double(centers[c * d + j]), 2);
                            least = std::min(least, square);
                        }
                        double own = 0;
                        for (Index j = 0; j < d; ++j)
                            own += std::pow(
                                double(x[i * d + j]) - double(centers[labels[i] * d + j]), 2);
                        CHECK(own <= least * (1 + 1e-12));
                        count[labels[i]] += 1;
                        for (Index j = 0; j < d; ++j)
                            expected[labels[i] * d + j] += double(x[i * d + j]) - origin[j];
                    }
                    for (Index c = 0; c < k; ++c) {
                        CHECK(count[c] == weights[c] && count[c] == double(counts[c]));
                        for (Index j = 0; j < d; ++j) {
                            CHECK(near(sums[c * d + j], expected[c * d + j], double(4 * n), 1e-15));
                            if (count[c] > 0)
                                means[c * d + j] =
                                    static_cast<T>(origin[j] + sums[c * d + j] / count[c]);
                        }
                    }
                    // Every bound loses as much as any centre has moved, rounded up.
                    double longest = 0;
                    for (Index c = 0; c < k; ++c) {
                        double moved = 0;
                        for (Index j = 0; j < d; ++j)
                            moved += std::pow(double(means[c * d + j] - centers[c * d + j]), 2);
                        longest = std::max(longest, std::sqrt(moved));
                    }
                    for (Index c = 0; c < k; ++c) {
                        ways[c] += static_cast<float>(2 * longest * 1.001);
                        group_ways[c] += static_cast<float>(longest * 1.001);
                    }
                    centers = means;
                }
            }
}

}  // namespace

int main() {
    test_linkages();
    test_spanning_trees();
    test_lloyd<float>(false);
    test_lloyd<float>(true);
    test_lloyd<double>(false);
    test_lloyd<double>(true);
    return report();
}
