// The core on its own, without Python and with a BLAS written here, for the sanitizers: products at
// shapes 0, 1, odd and larger than every block, and threads that stop and fail.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/products.hpp"
#include "check.hpp"
#include "linear/losses.hpp"
#include "naive_blas.hpp"

using namespace gapless;

namespace {

const Poll never;
const int thread_counts[] = {1, 2, 3, 8};

// ---- data
// ----------------------------------------------------------------------------------------

struct Shape {
    Index n, d;
};

// A matrix in every form the core reads, with its centred values in double as the reference.
template <class X>
struct Data {
    Index n, d;
    std::vector<X> by_rows, by_columns;
    std::vector<double> center, weights;
    std::vector<std::int64_t> row_start{0}, column_start{0};
    std::vector<std::int32_t> row_index, column_index;
    std::vector<X> row_value, column_value;

    Data(Shape shape, unsigned seed)
        : n(shape.n), d(shape.d), by_rows(n * d), by_columns(n * d), center(d), weights(n) {
        std::mt19937 random(seed);
        std::normal_distribution<double> normal;
        for (double& c : center) c = normal(random);
        for (double& w : weights) w = std::max(normal(random), 0.0);
        for (Index i = 0; i < n; ++i) {
            for (Index j = 0; j < d; ++j) {
                X x = random() % 3 == 0 ? X(normal(random)) : X(0);
                by_rows[i * d + j] = by_columns[j * n + i] = x;
                if (x == 0) continue;
                row_index.push_back(static_cast<std::int32_t>(j));
                row_value.push_back(x);
            }
            row_start.push_back(static_cast<std::int64_t>(row_index.size()));
        }
        for (Index j = 0; j < d; ++j) {
            for (Index i = 0; i < n; ++i) {
                if (by_columns[j * n + i] == 0) continue;
                column_index.push_back(static_cast<std::int32_t>(i));
                column_value.push_back(by_columns[j * n + i]);
            }
            column_start.push_back(static_cast<std::int64_t>(column_index.size()));
        }
    }

    double at(Index i, Index j, bool centered) const {
        return by_rows[i * d + j] - (centered ? center[j] : 0.0);
    }
    Dense<X> dense(Order order) const {
        return {order == Order::rows ? by_rows.data() : by_columns.data(), n, d, order};
    }
    Compressed<X> rows() const {
        return {n, d, row_start.data(), row_index.data(), row_value.data()};
    }
    Compressed<X> columns() const {
        return {d, n, column_start.data(), column_index.data(), column_value.data()};
    }
};

template <class V>
std::vector<V> random_vector(Index size, unsigned seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    std::vector<V> v(size);
    for (V& x : v) x = V(normal(random));
    return v;
}

// Run for every thread count; the results must agree to the last bit. Returns the first.
template <class V, class Work>
std::vector<V> same_bits(Index size, Work work) {
    std::vector<V> first;
    for (int threads : thread_counts) {
        std::vector<V> out(size, V(-7));
        work(out.data(), Context{blas, threads, never});
        if (threads == 1)
            first = out;
        else
            CHECK(out == first);
    }
    return first;
}

// ---- products
// ------------------------------------------------------------------------------------

// out (rows × outputs) must be Σⱼ term(i, j) v[j, :].
template <class V, class Term>
void check_product(const std::vector<V>& out, Index rows, Index inner, Index outputs,
                   const std::vector<V>& v, Term term) {
    bool right = true;
    for (Index i = 0; i < rows; ++i)
        for (Index k = 0; k < outputs; ++k) {
            double sum = 0, size = 0;
            for (Index j = 0; j < inner; ++j) {
                double product = term(i, j) * double(v[j * outputs + k]);
                sum += product;
                size += std::abs(product);
            }
            right &= near(out[i * outputs + k], sum, size, std::numeric_limits<V>::epsilon());
        }
    CHECK(right);
}

template <class X, class V>
void test_vectors(const Data<X>& data) {
    Index n = data.n, d = data.d;
    for (Index outputs : {1, 3, 21}) {
        auto w = random_vector<V>(d * outputs, 1), r = random_vector<V>(n * outputs, 2);
        for (Order order : {Order::rows, Order::columns})
            for (bool centered : {false, true}) {
                const double* center = centered ? data.center.data() : nullptr;
                auto z = same_bits<V>(n * outputs, [&](V* out, const Context& context) {
                    times(data.dense(order), center, w.data(), outputs, out, context);
                });
                check_product(z, n, d, outputs, w,
                              [&](Index i, Index j) { return data.at(i, j, centered); });
                auto g = same_bits<V>(d * outputs, [&](V* out, const Context& context) {
                    transposed_times(data.dense(order), center, {nullptr, d}, r.data(), outputs,
                                     out, context);
                });
                check_product(g, d, n, outputs, r,
                              [&](Index j, Index i) { return data.at(i, j, centered); });
                std::vector<std::int64_t> last(std::min<Index>(d, 3));
                for (Index j = 0; j < std::ssize(last); ++j) last[j] = d - 1 - j;
                auto some =
                    same_bits<V>(std::ssize(last) * outputs, [&](V* out, const Context& context) {
                        transposed_times(data.dense(order), center, {last.data(), std::ssize(last)},
                                         r.data(), outputs, out, context);
                    });
                check_product(some, std::ssize(last), n, outputs, r,
                              [&](Index j, Index i) { return data.at(i, d - 1 - j, centered); });
            }
        auto z = same_bits<V>(n * outputs, [&](V* out, const Context& context) {
            times(data.rows(), w.data(), outputs, out, context);
        });
        check_product(z, n, d, outputs, w, [&](Index i, Index j) { return data.at(i, j, false); });
        auto g = same_bits<V>(d * outputs, [&](V* out, const Context& context) {
            times(data.columns(), r.data(), outputs, out, context);
        });
        check_product(g, d, n, outputs, r, [&](Index j, Index i) { return data.at(i, j, false); });
    }
}

// out (k × k) must be Σᵢ weightᵢ left(i, a) left(i, b), symmetric to the last bit.
template <class Left, class Weight>
void check_gram(const std::vector<double>& out, Index k, Index inner, Left left, Weight weight) {
    bool right = true;
    for (Index a = 0; a < k; ++a)
        for (Index b = 0; b <= a; ++b) {
            double sum = 0, size = 0;
            for (Index i = 0; i < inner; ++i) {
                double product = weight(i) * left(i, a) * left(i, b);
                sum += product;
                size += std::abs(product);
            }
            right &= near(out[a * k + b], sum, size, std::numeric_limits<double>::epsilon());
            right &= out[a * k + b] == out[b * k + a];
        }
    CHECK(right);
}

template <class X>
void test_grams(const Data<X>& data) {
    Index n = data.n, d = data.d;
    std::vector<std::int64_t> some;
    for (Index j = d; j-- > 0;)
        if (j % 3 == 1) some.push_back(j);  // decreasing: any order is allowed
    const Columns all{nullptr, d}, chosen{some.data(), static_cast<Index>(some.size())};
    for (bool weighted : {false, true}) {
        const double* weights = weighted ? data.weights.data() : nullptr;
        auto weight = [&](Index i) { return weighted ? data.weights[i] : 1.0; };
        for (bool centered : {false, true}) {
            const double* center = centered ? data.center.data() : nullptr;
            auto at = [&](Index i, Index j) { return data.at(i, j, centered); };
            for (Order order : {Order::rows, Order::columns}) {
                auto x = data.dense(order);
                auto G = same_bits<double>(d * d, [&](double* out, const Context& context) {
                    gram(x, center, weights, all, out, context);
                });
                check_gram(G, d, n, at, weight);
                auto S = same_bits<double>(chosen.count * chosen.count,
                                           [&](double* out, const Context& context) {
                                               gram(x, center, weights, chosen, out, context);
                                           });
                check_gram(
                    S, chosen.count, n, [&](Index i, Index j) { return at(i, some[j]); }, weight);
                auto q = same_bits<double>(d, [&](double* out, const Context& context) {
                    column_square_sums(x, center, weights, out, context);
                });
                for (Index j = 0; j < d; ++j) CHECK(near(q[j], G[j * d + j], G[j * d + j], 1e-15));
                auto feature_weight = [&](Index j) {
                    return weighted ? std::max(data.center[j], 0.0) : 1.0;
                };
                std::vector<double> feature_weights;
                for (Index j = 0; j < d; ++j) feature_weights.push_back(feature_weight(j));
                auto K = same_bits<double>(n * n, [&](double* out, const Context& context) {
                    outer_gram(x, center, weighted ? feature_weights.data() : nullptr, out,
                               context);
                });
                check_gram(K, n, d, [&](Index j, Index i) { return at(i, j); }, feature_weight);
            }
            if (!weighted) {
                auto of_features = random_vector<double>(d, 4);
                auto squares = [&](Index i, Index j) { return at(i, j) * at(i, j); };
                for (Order order : {Order::rows, Order::columns}) {
                    auto p = same_bits<double>(n, [&](double* out, const Context& context) {
                        row_square_sums(data.dense(order), center, of_features.data(), out,
                                        context);
                    });
                    check_product(p, n, d, 1, of_features, squares);
                }
                auto p = same_bits<double>(n, [&](double* out, const Context& context) {
                    row_square_sums(data.rows(), center, of_features.data(), out, context);
                });
                bool right = true;
                for (Index i = 0; i < n; ++i) {
                    double sum = 0, size = 0;
                    for (Index j = 0; j < d; ++j) {
                        double x = data.at(i, j, false), c = centered ? data.center[j] : 0.0;
                        sum += of_features[j] * (x - c) * (x - c);
                        size += std::abs(of_features[j]) * (x * x + c * c);
                    }
                    right &= near(p[i], sum, 2 * size, 1e-16);
                }
                CHECK(right);
            }
            double total = 0;
            for (Index i = 0; i < n; ++i) total += weight(i);
            auto q = same_bits<double>(d, [&](double* out, const Context& context) {
                column_square_sums(data.columns(), center, weights, total, out, context);
            });
            for (Index j = 0; j < d; ++j) {
                double sum = 0;
                for (Index i = 0; i < n; ++i) sum += weight(i) * at(i, j) * at(i, j);
                CHECK(near(q[j], sum, sum, 1e-15 * double(n)));
            }
        }
        auto at = [&](Index i, Index j) { return data.at(i, j, false); };
        auto G = same_bits<double>(d * d, [&](double* out, const Context& context) {
            gram(data.columns(), data.rows(), weights, out, context);
        });
        check_gram(G, d, n, at, weight);
        auto S = same_bits<double>(chosen.count * chosen.count,
                                   [&](double* out, const Context& context) {
                                       gram(data.columns(), chosen, weights, out, context);
                                   });
        check_gram(S, chosen.count, n, [&](Index i, Index j) { return at(i, some[j]); }, weight);
    }
}

void test_products() {
    const Shape shapes[] = {{0, 0}, {0, 3}, {3, 0},  {1, 1},   {1, 5},
                            {5, 1}, {2, 2}, {7, 13}, {37, 65}, {301, 3}};
    unsigned seed = 10;
    for (Shape shape : shapes) {
        Data<float> single(shape, ++seed);
        Data<double> twice(shape, ++seed);
        test_vectors<float, float>(single);
        test_vectors<float, double>(single);
        test_vectors<double, double>(twice);
        test_grams(single);
        test_grams(twice);
    }
    // Longer than every block and lane, one way and the other.
    for (Shape shape : {Shape{40000, 17}, Shape{17, 40000}}) {
        Data<float> data(shape, ++seed);
        test_vectors<float, double>(data);
    }
    // Tiles instead of lanes.
    Data<double> wide({5, 1030}, ++seed);
    auto G = same_bits<double>(wide.d * wide.d, [&](double* out, const Context& context) {
        gram(wide.dense(Order::rows), wide.center.data(), wide.weights.data(), {nullptr, wide.d},
             out, context);
    });
    check_gram(
        G, wide.d, wide.n, [&](Index i, Index j) { return wide.at(i, j, true); },
        [&](Index i) { return wide.weights[i]; });
    G = same_bits<double>(wide.d * wide.d, [&](double* out, const Context& context) {
        gram(wide.columns(), wide.rows(), wide.weights.data(), out, context);
    });
    check_gram(
        G, wide.d, wide.n, [&](Index i, Index j) { return wide.at(i, j, false); },
        [&](Index i) { return wide.weights[i]; });
}

// ---- columns and loops
// ---------------------------------------------------------------------------

template <class A, class X>
void check_columns(const A& a, const Data<X>& data) {
    auto v = random_vector<double>(data.n, 3);
    for (Index j = 0; j < data.d; ++j) {
        double dot = 0, size = 0, squares = 0, weighted = 0;
        std::vector<double> out(data.n, 1.0);
        a.axpy(j, 2.0, out.data());
        bool right = true;
        for (Index i = 0; i < data.n; ++i) {
            double x = data.at(i, j, false);
            dot += x * v[i];
            size += std::abs(x * v[i]);
            squares += x * x;
            weighted += data.weights[i] * x * x;
            right &= near(out[i], 1.0 + 2.0 * x, 1.0 + 2.0 * std::abs(x), 1e-16);
        }
        CHECK(right);
        CHECK(near(a.dot(j, v.data()), dot, size, 1e-16));
        CHECK(near(a.squared_norm(j, nullptr), squares, squares, 1e-16));
        CHECK(near(a.squared_norm(j, data.weights.data()), weighted, weighted, 1e-16));
    }
}

static_assert(ColumnMatrix<DenseColumns<float>> && ColumnMatrix<DenseColumns<double>>);
static_assert(ColumnMatrix<SparseColumns<float>> && ColumnMatrix<SparseColumns<double>>);

void test_columns() {
    for (Shape shape : {Shape{0, 2}, Shape{1, 1}, Shape{31, 4}, Shape{257, 3}}) {
        Data<float> single(shape, 5);
        Data<double> twice(shape, 6);
        check_columns(DenseColumns<float>(single.by_columns.data(), single.n, single.d), single);
        check_columns(DenseColumns<double>(twice.by_columns.data(), twice.n, twice.d), twice);
        check_columns(SparseColumns<float>(single.columns()), single);
        check_columns(SparseColumns<double>(twice.columns()), twice);
    }
}

// ---- threads
// -------------------------------------------------------------------------------------

void test_every_task_runs_once() {
    for (int threads : {-1, 0, 1, 2, 3, 8})
        for (Index tasks : {0, 1, 2, 5, 1000}) {
            std::vector<std::atomic<int>> runs(tasks);
            parallel_for(tasks, threads, never, [&](Index i) { ++runs[i]; });
            bool once = true;
            for (auto& count : runs) once &= count == 1;
            CHECK(once);
        }
}

// As on a machine that is busy: the others begin when the call is over, and find nothing.
void test_late_threads_are_not_waited_for() {
    std::vector<std::function<void()>> late;
    const auto keep = [&](std::function<void()> work) { late.push_back(std::move(work)); };
    for (Index tasks : {2, 1000}) {
        auto runs = std::make_unique<std::vector<int>>(tasks);
        parallel_for(tasks, 3, never, [&](Index i) { ++(*runs)[i]; }, keep);
        CHECK(*runs == std::vector<int>(tasks, 1));
        runs.reset();
        CHECK(!late.empty());
        for (auto& work : late) work();
        late.clear();
    }
}

void test_exceptions_reach_the_caller() {
    for (int threads : thread_counts) {
        bool caught = false;
        try {
            parallel_for(100, threads, never, [](Index i) {
                if (i == 41) throw std::runtime_error("41");
            });
        } catch (const std::runtime_error& error) {
            caught = std::string(error.what()) == "41";
        }
        CHECK(caught);
    }
}

template <class Work>
bool stops(Work work) {
    try {
        work();
    } catch (const Stopped&) {
        return true;
    }
    return false;
}

void test_poll_stops() {
    using namespace std::chrono_literals;
    const Poll stop = [] { return true; };
    for (int threads : thread_counts) {
        std::atomic<Index> done{0};
        CHECK(stops([&] {
            parallel_for(100000, threads, stop, [&](Index) {
                std::this_thread::sleep_for(1ms);
                ++done;
            });
        }));
        CHECK(done < 1000);
        // One long task whose own checkpoint ends it, also when it runs on another thread.
        CHECK(stops([&] {
            parallel_for(threads, threads, stop, [&](Index, Checkpoint& checkpoint) {
                while (true) {
                    std::this_thread::sleep_for(1ms);
                    checkpoint();
                }
            });
        }));
    }
    Checkpoint checkpoint(stop);
    CHECK(stops([&] {
        while (true) checkpoint();
    }));
    CHECK(!stops([&] { parallel_for(10, 2, stop, [](Index) {}); }));
    Checkpoint silent(never);
    silent();
}

void test_sizes_beyond_blas_are_refused() {
    bool refused = false;
    try {
        blas_size(Index(1) << 31);
    } catch (const std::length_error&) {
        refused = true;
    }
    CHECK(refused && blas_size((Index(1) << 31) - 1) == 2147483647);
}

void test_derivatives_of_losses() {
    for (Index n : {0, 1, 64, 65}) {
        // Just as much room as is needed, for the sanitizer to watch.
        const std::vector<double> negative(n, -1.0), one(n, 1.0), z(n, 0.0);
        std::vector<double> value(n), gradient(n), curvature(n);
        const auto are = [&](double v, double g, double c) {
            for (Index i = 0; i < n; ++i) {
                CHECK(std::abs(value[i] - v) < 1e-15);
                CHECK(gradient[i] == g && curvature[i] == c);
            }
        };
        logistic_derivatives(negative.data(), z.data(), n, value.data(), gradient.data(),
                             curvature.data());
        are(std::log(2.0), 0.5, 0.25);
        poisson_derivatives(one.data(), z.data(), n, value.data(), gradient.data(),
                            curvature.data());
        are(0.0, 0.0, 1.0);
        gamma_derivatives(one.data(), z.data(), n, value.data(), gradient.data(), curvature.data());
        are(0.0, 0.0, 1.0);
        poisson_conjugate(one.data(), z.data(), n, value.data());
        gamma_conjugate(one.data(), z.data(), n, gradient.data());
        for (Index i = 0; i < n; ++i) CHECK(value[i] == 0 && gradient[i] == 0);
    }
}

}  // namespace

int main() {
    test_products();
    test_columns();
    test_every_task_runs_once();
    test_late_threads_are_not_waited_for();
    test_exceptions_reach_the_caller();
    test_poll_stops();
    test_sizes_beyond_blas_are_refused();
    test_derivatives_of_losses();
    return report();
}
