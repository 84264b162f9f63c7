// Coordinate descent on a quadratic, for the sanitizers: every way to hold the data and every
// penalty, at shapes 0, 1 and odd; optimality at the end; stopping.
#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"
#include "linear/quadratic_cd.hpp"

using namespace gapless;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const Poll never;

// min ⟨slope, w⟩ + ½‖Xw + b‖²_H + ⟨bias_slope, b⟩ with all that the core reads.
struct Problem {
    Index n, d, K;
    std::vector<double> x;  // row after row
    std::vector<double> by_columns;
    std::vector<float> single;
    std::vector<std::int64_t> start{0};
    std::vector<std::int32_t> index;
    std::vector<double> value;
    std::vector<Index> which;
    std::vector<double> diagonal, factor, slope, bias_slope;

    double at(Index i, Index j) const { return x[i * d + j]; }

    // The gradient of the quadratic: w's, then b's.
    std::vector<double> gradient(const std::vector<double>& w, const std::vector<double>& b) const {
        std::vector<double> out(slope);
        out.insert(out.end(), bias_slope.begin(), bias_slope.end());
        for (Index i = 0; i < n; ++i) {
            std::vector<double> z(b), r(K);
            for (Index j = 0; j < d; ++j)
                for (Index k = 0; k < K; ++k) z[k] += at(i, j) * w[j * K + k];
            double along = 0;
            for (Index k = 0; k < K && !factor.empty(); ++k) along += factor[i * K + k] * z[k];
            for (Index k = 0; k < K; ++k) {
                r[k] = diagonal[i * K + k] * z[k];
                if (!factor.empty()) r[k] -= factor[i * K + k] * along;
                for (Index j = 0; j < d; ++j) out[j * K + k] += at(i, j) * r[k];
                out[d * K + k] += r[k];
            }
        }
        return out;
    }
};

Problem make(Index n, Index d, Index K, bool with_factor, std::mt19937_64& random) {
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform(0.2, 1.5);
    Problem p{n, d, K, {}, {}, {}, {0}, {}, {}, {}, {}, {}, {}, {}};
    // Multiples of 1/4, which float holds exactly.
    for (Index i = 0; i < n * d; ++i)
        p.x.push_back(random() % 3 ? std::round(4 * normal(random)) / 4 : 0.0);
    p.single.assign(p.x.begin(), p.x.end());
    for (Index j = 0; j < d; ++j) {
        p.which.push_back(j);
        for (Index i = 0; i < n; ++i) {
            p.by_columns.push_back(p.at(i, j));
            if (p.at(i, j) == 0) continue;
            p.index.push_back(static_cast<std::int32_t>(i));
            p.value.push_back(p.at(i, j));
        }
        p.start.push_back(static_cast<std::int64_t>(p.index.size()));
    }
    p.slope.assign(d * K, 0.0);
    p.bias_slope.assign(K, 0.0);
    for (Index i = 0; i < n; ++i) {
        std::vector<double> g(K), share(K);
        double sum = 0, mean = 0;
        for (Index k = 0; k < K; ++k) {
            g[k] = normal(random);
            share[k] = uniform(random);
            mean += g[k] / static_cast<double>(K);
            sum += share[k];
        }
        for (Index k = 0; k < K; ++k) {
            // As for softmax, diag(p) − ppᵀ, whose slopes sum to 0 in every row.
            if (with_factor) g[k] -= mean, share[k] /= sum, p.factor.push_back(share[k]);
            p.diagonal.push_back(share[k]);
            for (Index j = 0; j < d; ++j) p.slope[j * K + k] += p.at(i, j) * g[k];
            p.bias_slope[k] += g[k];
        }
    }
    return p;
}

struct Penalty {
    std::vector<double> l1, l2, lower, upper, strength;
    std::vector<Index> start;

    SeparablePenalty view() const {
        const bool has_norms = !start.empty();
        return {has_norms ? PenaltyKind::block_norm : PenaltyKind::elastic_box,
                l1.data(),
                l2.data(),
                lower.data(),
                upper.data(),
                static_cast<Index>(strength.size()),
                start.data(),
                strength.data()};
    }

    // The largest distance of −g to the subdifferential at w.
    double distance(const Problem& p, const std::vector<double>& w,
                    const std::vector<double>& g) const {
        double worst = 0;
        const Index K = p.K;
        if (start.empty()) {
            for (Index i = 0; i < p.d * K; ++i) {
                const Index j = i / K;
                const double low = l2[j] * w[i] + (w[i] > 0 ? l1[j] : -l1[j]);
                const double high = l2[j] * w[i] + (w[i] >= 0 ? l1[j] : -l1[j]);
                if (w[i] > lower[j]) worst = std::max(worst, low + g[i]);
                if (w[i] < upper[j]) worst = std::max(worst, -g[i] - high);
            }
            return worst;
        }
        for (std::size_t b = 0; b < strength.size(); ++b) {
            double norm = 0, rest = 0;
            for (Index i = start[b] * K; i < start[b + 1] * K; ++i) norm += w[i] * w[i];
            norm = std::sqrt(norm);
            for (Index i = start[b] * K; i < start[b + 1] * K; ++i) {
                const double r = g[i] + (norm > 0 ? strength[b] * w[i] / norm : 0.0);
                rest += r * r;
            }
            worst = std::max(worst, std::sqrt(rest) - (norm > 0 ? 0.0 : strength[b]));
        }
        return worst;
    }
};

std::vector<Penalty> penalties(Index d) {
    auto all = [d](double v) { return std::vector<double>(d, v); };
    std::vector<Penalty> out;
    out.push_back({all(0.5), all(0.1), all(-infinity), all(infinity), {}, {}});
    out.push_back({all(0.1), all(0.2), all(0), all(0.3), {}, {}});
    for (Index width : {1, 2}) {
        Penalty blocks;
        for (Index j = 0; j < d; j += width) {
            blocks.start.push_back(j);
            blocks.strength.push_back(0.6);
        }
        blocks.start.push_back(d);
        out.push_back(blocks);
    }
    return out;
}

template <class Matrix>
std::vector<double> descend(const Problem& p, const Matrix& x, const Penalty& r, bool with_bias,
                            std::vector<double>& b) {
    std::vector<double> w(p.d * p.K);
    b.assign(p.K, 0.0);
    const ColumnChoice choice{p.which.data(), p.d, nullptr,
                              with_bias ? p.bias_slope.data() : nullptr};
    const RowCurvature h{p.n, p.K, p.diagonal.data(), p.factor.empty() ? nullptr : p.factor.data()};
    descend_on_columns(x, choice, h, p.slope.data(), r.view(), Effort{1e-26, 100000}, never,
                       w.data(), b.data());
    return w;
}

void test_optimality_in_every_form() {
    std::mt19937_64 random(1);
    const Index shapes[][2] = {{0, 0}, {0, 2}, {1, 1}, {4, 0}, {9, 5}, {70, 3}};
    for (auto [n, d] : shapes)
        for (Index K : {1, 3})
            for (bool with_factor : {false, true})
                for (bool with_bias : {false, true}) {
                    if (with_factor && K == 1) continue;
                    const Problem p = make(n, d, K, with_factor, random);
                    for (const Penalty& r : penalties(d)) {
                        std::vector<double> b, b2;
                        const Dense<double> rows{p.x.data(), n, d, Order::rows};
                        const auto w = descend(p, rows, r, with_bias, b);
                        const auto g = p.gradient(w, b);
                        CHECK(r.distance(p, w, g) <= 1e-7);
                        for (Index k = 0; with_bias && n && k < K; ++k)
                            CHECK(std::abs(g[d * K + k]) <= 1e-7);
                        auto agrees = [&](const auto& x) {
                            const auto other = descend(p, x, r, with_bias, b2);
                            bool same = true;
                            for (std::size_t i = 0; i < w.size(); ++i)
                                same = same && std::abs(w[i] - other[i]) <= 1e-6;
                            return same;
                        };
                        if (with_factor || n < d) continue;  // the minimiser may not be unique
                        CHECK(agrees(Dense<double>{p.by_columns.data(), n, d, Order::columns}));
                        CHECK(agrees(Dense<float>{p.single.data(), n, d, Order::rows}));
                        CHECK(agrees(Compressed<double>{d, n, p.start.data(), p.index.data(),
                                                        p.value.data()}));
                    }
                }
}

void test_gram_matrix() {
    std::mt19937_64 random(2);
    for (Index K : {1, 2}) {
        Problem p = make(30, 5, K, false, random);
        for (Index i = 0; i < p.n; ++i)
            for (Index k = 0; k < K; ++k) p.diagonal[i * K + k] = p.diagonal[i * K];
        std::vector<double> gram(25);
        for (Index i = 0; i < p.n; ++i)
            for (Index j = 0; j < 5; ++j)
                for (Index l = 0; l < 5; ++l)
                    gram[j * 5 + l] += p.diagonal[i * K] * p.at(i, j) * p.at(i, l);
        for (const Penalty& r : penalties(5)) {
            std::vector<double> w(5 * K);
            const Descended done = descend_on_gram(gram.data(), 5, K, p.slope.data(), r.view(),
                                                   Effort{1e-26, 100000}, never, w.data());
            CHECK(done.converged);
            CHECK(r.distance(p, w, p.gradient(w, std::vector<double>(K))) <= 1e-7);
        }
    }
}

void test_times_columns() {
    std::mt19937_64 random(3);
    const Problem p = make(11, 4, 2, false, random);
    const std::vector<Index> which{2, 0};
    const std::vector<double> step{1, 2, 3, 4};
    const ColumnChoice choice{which.data(), 2, nullptr, nullptr};
    std::vector<double> out(22), sparse(22);
    times_columns(Dense<double>{p.x.data(), 11, 4, Order::rows}, choice, step.data(), 2, never,
                  out.data());
    times_columns(Compressed<double>{4, 11, p.start.data(), p.index.data(), p.value.data()}, choice,
                  step.data(), 2, never, sparse.data());
    for (Index i = 0; i < 11; ++i)
        for (Index k = 0; k < 2; ++k) {
            const double expected = p.at(i, 2) * step[k] + p.at(i, 0) * step[2 + k];
            CHECK(near(out[i * 2 + k], expected, 100, 1e-16));
            CHECK(near(sparse[i * 2 + k], expected, 100, 1e-16));
        }
}

void test_one_coordinate() {
    const ElasticBox free{0, 0, -infinity, infinity};
    CHECK(minimise(free, 1, 2, 4) == 0.5);
    CHECK(minimise(free, 1, 2, 0) == 1);  // unbounded: stays
    CHECK(minimise({3, 0, -infinity, infinity}, 0, 2, 1) == 0);
    CHECK(minimise({3, 0, -infinity, infinity}, 0, -5, 2) == 1);
    CHECK(minimise({3, 0, -infinity, infinity}, 7, 2, 0) == 0);
    CHECK(minimise({0, 0, -1, 2}, 0, -5, 0) == 2);
    CHECK(minimise({0, 0, 1, 2}, 1, 0.5, 1) == 1);
    CHECK(minimise({1, 1, 0.5, 2}, 0.5, 0, 0) == 0.5);
}

void test_stops_when_asked() {
    std::mt19937_64 random(4);
    // So large that it takes longer than the poll waits before it is asked.
    const Index n = 4000, d = 400;
    const Problem p = make(n, d, 1, false, random);
    const Penalty r = penalties(d)[0];
    std::vector<double> w(d), b(1);
    const ColumnChoice choice{p.which.data(), d, nullptr, p.bias_slope.data()};
    const RowCurvature h{n, 1, p.diagonal.data(), nullptr};
    const Poll now = [] { return true; };
    bool stopped = false;
    try {
        descend_on_columns(Dense<double>{p.x.data(), n, d, Order::rows}, choice, h, p.slope.data(),
                           r.view(), Effort{0, 1000}, now, w.data(), b.data());
    } catch (const Stopped&) {
        stopped = true;
    }
    CHECK(stopped);
}

}  // namespace

int main() {
    test_optimality_in_every_form();
    test_gram_matrix();
    test_times_columns();
    test_one_coordinate();
    test_stops_when_asked();
    return report();
}
