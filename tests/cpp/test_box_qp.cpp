// Coordinate descent in a box, for the sanitizers: optimality at the end, both kinds of rows, and
// shapes of 0 and 1.
#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"
#include "linear/box_qp.hpp"

using namespace gapless;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Problem {
    Index n, d;
    std::vector<double> x, inverse, linear, quadratic, lower, upper;
    double absolute = 0;

    BoxTerms terms() const {
        return {linear.data(), quadratic.data(), lower.data(), upper.data(), absolute};
    }
};

Problem make(Index n, Index d, double absolute, bool equal_strengths, std::mt19937_64& random) {
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform(0.5, 2);
    Problem p{n, d, {}, {}, {}, {}, {}, {}, absolute};
    for (Index i = 0; i < n * d; ++i) p.x.push_back(random() % 3 ? normal(random) : 0.0);
    for (Index j = 0; j < d; ++j) p.inverse.push_back(equal_strengths ? 0.7 : uniform(random));
    for (Index i = 0; i < n; ++i) {
        p.linear.push_back(normal(random));
        p.quadratic.push_back(random() % 2 ? 0.0 : uniform(random));
        // Every fifth sample has no room, as if its weight were 0.
        p.lower.push_back(i % 5 == 4 ? 0.0 : -uniform(random));
        p.upper.push_back(i % 5 == 4 ? 0.0 : uniform(random));
    }
    return p;
}

struct Result {
    std::vector<double> theta, w;
    double b;
    BoxProgress progress;
};

template <class Samples>
Result descend(const Problem& p, const Samples& x, double sigma, double gap) {
    Result r{std::vector<double>(p.n), std::vector<double>(p.d), 0.0, {}};
    BoxIterate at{r.theta.data(), r.w.data(), 0.0, sigma, infinity};
    Poll never;
    Checkpoint checkpoint(never);
    r.progress =
        descend_box(x, p.inverse.data(), p.terms(), at, BoxLimits{gap, 200000, 1}, checkpoint);
    r.b = at.b;
    return r;
}

// Every θ is where its slope lets it be, and w belongs to θ.
void check_optimal(const Problem& p, const Result& r, double tolerance) {
    for (Index j = 0; j < p.d; ++j) {
        double v = 0;
        for (Index i = 0; i < p.n; ++i) v += p.x[i * p.d + j] * r.theta[i];
        CHECK(std::abs(p.inverse[j] * v - r.w[j]) <= 1e-9);
    }
    for (Index i = 0; i < p.n; ++i) {
        double t = r.theta[i], slope = r.b + p.linear[i] + p.quadratic[i] * t;
        for (Index j = 0; j < p.d; ++j) slope += p.x[i * p.d + j] * r.w[j];
        CHECK(p.lower[i] <= t && t <= p.upper[i]);
        if (t < p.upper[i]) CHECK(slope + (t >= 0 ? p.absolute : -p.absolute) >= -tolerance);
        if (t > p.lower[i]) CHECK(slope + (t > 0 ? p.absolute : -p.absolute) <= tolerance);
    }
}

// The same matrix as compressed rows, zeros left out.
struct Rows {
    std::vector<std::int64_t> start{0};
    std::vector<std::int32_t> index;
    std::vector<double> value;
    Compressed<double> view;

    explicit Rows(const Problem& p) {
        for (Index i = 0; i < p.n; ++i) {
            for (Index j = 0; j < p.d; ++j) {
                if (p.x[i * p.d + j] == 0) continue;
                index.push_back(static_cast<std::int32_t>(j));
                value.push_back(p.x[i * p.d + j]);
            }
            start.push_back(static_cast<std::int64_t>(index.size()));
        }
        view = {p.n, p.d, start.data(), index.data(), value.data()};
    }
};

void test_every_coordinate_is_optimal() {
    std::mt19937_64 random(7);
    for (auto [n, d] : {std::pair<Index, Index>{1, 1}, {7, 3}, {40, 5}, {9, 30}, {5, 0}})
        for (double absolute : {0.0, 0.3})
            for (bool equal : {true, false}) {
                Problem p = make(n, d, absolute, equal, random);
                Dense<double> dense{p.x.data(), n, d, Order::rows};
                Rows rows(p);
                Result by_rows = descend(p, rows.view, 0.0, 1e-13);
                Result by_array = descend(p, dense, 0.0, 1e-13);
                check_optimal(p, by_rows, 1e-5);
                check_optimal(p, by_array, 1e-5);
                for (Index j = 0; j < d; ++j) CHECK(std::abs(by_rows.w[j] - by_array.w[j]) <= 1e-5);
            }
}

void test_a_bias_makes_the_sum_vanish() {
    std::mt19937_64 random(8);
    for (Index n : {2, 11, 60}) {
        Problem p = make(n, 4, 0.0, true, random);
        Rows rows(p);
        Result r = descend(p, rows.view, 0.5, 1e-12);
        double sum = 0;
        for (double t : r.theta) sum += t;
        CHECK(std::abs(sum) <= 1e-5);
        check_optimal(p, r, 1e-4);
    }
}

void test_nothing_to_do() {
    Problem p{0, 3, {}, std::vector<double>(3, 1.0), {}, {}, {}, {}, 0.0};
    Dense<double> empty{nullptr, 0, 3, Order::rows};
    Result r = descend(p, empty, 1.0, 0.0);
    CHECK(r.progress.gap == 0 && r.progress.epochs == 1);
}

void test_poll_stops() {
    std::mt19937_64 random(9);
    Problem p = make(3000, 40, 0.0, true, random);
    std::vector<double> theta(p.n), w(p.d);
    BoxIterate at{theta.data(), w.data(), 0.0, 1.0, infinity};
    Poll always = [] { return true; };
    Checkpoint checkpoint(always);
    bool stopped = false;
    try {
        descend_box(Dense<double>{p.x.data(), p.n, p.d, Order::rows}, p.inverse.data(), p.terms(),
                    at, BoxLimits{0.0, 1000000, 1}, checkpoint);
    } catch (const Stopped&) {
        stopped = true;
    }
    CHECK(stopped);
}

}  // namespace

int main() {
    test_every_coordinate_is_optimal();
    test_a_bias_makes_the_sum_vanish();
    test_nothing_to_do();
    test_poll_stops();
    return report();
}
