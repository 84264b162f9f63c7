// One hinge for all classes, row by row, for the sanitizers: conditions and sums at the end, both
// precisions, one row, and a poll that says stop.
#include <cmath>
#include <random>
#include <vector>

#include "check.hpp"
#include "kernels/all_in_one.hpp"

using namespace gapless;

namespace {

// Rows in the plane, each of a class of its own kind; Crammer and Singer's box: −1 ≤ θ ≤ 0 for
// rivals and 0 ≤ θ ≤ 1 for the own class, which is also the linear term.
template <class T>
struct Example {
    Index n, classes;
    std::vector<T> gram;
    std::vector<double> linear, lower, upper, theta, products, b;

    Example(Index rows, Index count) : n(rows), classes(count) {
        std::mt19937_64 random(7);
        std::normal_distribution<double> normal;
        std::vector<double> x(2 * n);
        for (double& value : x) value = normal(random);
        for (Index i = 0; i < n; ++i)
            for (Index j = 0; j < n; ++j) {
                const double u = x[2 * i] - x[2 * j], v = x[2 * i + 1] - x[2 * j + 1];
                gram.push_back(static_cast<T>(std::exp(-u * u - v * v)));
            }
        for (Index i = 0; i < n; ++i)
            for (Index k = 0; k < classes; ++k) {
                const bool is_own = k == i % classes;
                linear.push_back(is_own ? 1.0 : 0.0);
                lower.push_back(is_own ? 0.0 : -1.0);
                upper.push_back(is_own ? 1.0 : 0.0);
            }
        theta.assign(n * classes, 0.0);
        products.assign(n * classes, 0.0);
        b.assign(classes, 0.0);
    }

    ClassProgress descend(const ClassLimits& limits, const Poll& poll = {}) {
        ClassProblem<T> problem{gram.data(), n, classes, linear.data(), lower.data(), upper.data()};
        ClassIterate iterate{theta.data(), products.data(), b.data(), 1.0, 0.05};
        Checkpoint checkpoint(poll);
        return descend_classes(problem, iterate, limits, checkpoint);
    }
};

template <class T>
void check_solution(Index n, Index classes) {
    Example<T> example(n, classes);
    ClassProgress progress = example.descend({1e-4, 1e-4, 20000});
    CHECK(progress.violation <= 1e-4);
    CHECK(progress.sum <= 1e-4);
    for (Index i = 0; i < n; ++i) {
        double sum = 0;
        for (Index k = 0; k < classes; ++k) {
            const Index at = i * classes + k;
            CHECK(example.lower[at] <= example.theta[at] && example.theta[at] <= example.upper[at]);
            sum += example.theta[at];
        }
        CHECK(std::abs(sum) <= 1e-12);
    }
    for (Index k = 0; k < classes; ++k) {
        for (Index i = 0; i < n; ++i) {
            double product = 0;
            for (Index j = 0; j < n; ++j)
                product +=
                    static_cast<double>(example.gram[i * n + j]) * example.theta[j * classes + k];
            CHECK(std::abs(product - example.products[k * n + i]) <= 1e-9);
        }
    }
}

void check_stop() {
    Example<double> example(50, 3);
    bool is_stopped = false;
    try {
        example.descend({0.0, 0.0, 1000000000}, [] { return true; });
    } catch (const Stopped&) {
        is_stopped = true;
    }
    CHECK(is_stopped);
}

}  // namespace

int main() {
    for (Index classes : {2, 3, 8}) {
        check_solution<double>(40, classes);
        check_solution<float>(33, classes);
    }
    // One row, whose class has no rival rows to balance it, stays at 0.
    Example<double> one(1, 3);
    CHECK(one.descend({1e-6, 1e-6, 20000}).sum <= 1e-6);
    CHECK(std::abs(one.theta[0]) <= 1e-6);
    check_stop();
    return report();
}
