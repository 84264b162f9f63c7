// Steps by single rows, for the sanitizers: dense and sparse, one output and several, empty rows,
// averages, both penalties, shrinking to nothing, passive steps, stopping.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "check.hpp"
#include "linear/row_steps.hpp"

using namespace gapless;

namespace {

struct Fit {
    Index n, d, k;
    std::vector<double> x, y, lower, upper, w, b, w_sum, b_sum, received, owed, slopes, losses;
    std::vector<std::int64_t> order, start;
    std::vector<std::int32_t> index;
    std::vector<double> value, length, weight;

    Fit(Index n, Index d, Index k, double eta) : n(n), d(d), k(k) {
        std::mt19937_64 random(n + 10 * d + 100 * k);
        std::normal_distribution<double> normal;
        start.push_back(0);
        for (Index i = 0; i < n; ++i) {
            for (Index j = 0; j < d; ++j) {
                const double entry = (i + j) % 3 ? normal(random) : 0;
                x.push_back(entry);
                if (entry == 0) continue;
                index.push_back(static_cast<std::int32_t>(j));
                value.push_back(entry);
            }
            start.push_back(static_cast<std::int64_t>(value.size()));
            order.push_back(n - 1 - i);
        }
        for (Index i = 0; i < n * k; ++i) {
            y.push_back(normal(random) > 0 ? 1 : -1);
            lower.push_back(std::min(-y.back(), 0.0));
            upper.push_back(std::max(-y.back(), 0.0));
        }
        length.assign(n, eta), weight.assign(n, 1.5);
        w.assign(k * d, 0), b.assign(k, 0), w_sum = w, b_sum = b, received = w;
        owed.assign(1, 0), losses = owed, slopes.assign(n * k, 0);
    }

    template <class Matrix>
    void run(const Matrix& matrix, double l1, double l2, bool is_passive, const Poll& poll = {}) {
        const RowLoss loss{y.data(), lower.data(), upper.data(), 0, 0, 0, false};
        const RowSteps steps{order.data(), length.data(), weight.data(), n, is_passive, 0.5, 0, l1,
                             l2,           true,          n / 2};
        const RowState state{w.data(),        b.data(),    w_sum.data(),  b_sum.data(),
                             received.data(), owed.data(), slopes.data(), losses.data()};
        row_steps(matrix, k, loss, steps, state, poll);
    }

    Dense<double> dense() const { return {x.data(), n, d, Order::rows}; }
    Compressed<double> sparse() const { return {n, d, start.data(), index.data(), value.data()}; }
};

bool all_near(const std::vector<double>& a, const std::vector<double>& b) {
    for (std::size_t i = 0; i < a.size(); ++i)
        if (!(std::abs(a[i] - b[i]) <= 1e-9 * (1 + std::abs(b[i])))) return false;
    return true;
}

void sparse_is_dense(Index n, Index d, Index k, double eta, double l1, double l2, bool passive) {
    Fit one(n, d, k, eta), other(n, d, k, eta);
    for (int pass = 0; pass < 3; ++pass) {
        one.run(one.dense(), l1, l2, passive);
        other.run(other.sparse(), l1, l2, passive);
    }
    CHECK(all_near(one.w, other.w));
    CHECK(all_near(one.losses, other.losses));
    // The sums miss what an L1 penalty has taken late.
    if (l1 == 0) CHECK(all_near(one.w_sum, other.w_sum));
    for (double v : other.w) CHECK(std::isfinite(v));
}

}  // namespace

int main() {
    for (Index n : {1, 2, 37})
        for (Index d : {1, 2, 13})
            for (Index k : {1, 3})
                for (double eta : {0.1, 50.0})
                    for (double l1 : {0.0, 0.01})
                        for (double l2 : {0.0, 0.03})
                            for (bool passive : {false, true})
                                sparse_is_dense(n, d, k, eta, l1, l2, passive);
    Fit stopped(20000, 13, 3, 0.1);
    bool has_stopped = false;
    try {
        for (int pass = 0; pass < 1000; ++pass)
            stopped.run(stopped.dense(), 0, 0.01, false, [] { return true; });
    } catch (const Stopped&) {
        has_stopped = true;
    }
    CHECK(has_stopped);
    return report();
}
