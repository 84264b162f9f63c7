// Searches at sizes where leaves, tiles and strips end together or apart.
#include <random>
#include <vector>

#include "check.hpp"
#include "naive_blas.hpp"
#include "neighbors/kd_tree.hpp"
#include "neighbors/projected_rows.hpp"
#include "neighbors/row_scan.hpp"

using namespace gapless;

namespace {

const Poll never;

template <class T>
std::vector<T> random_rows(Index n, Index d, std::mt19937& random) {
    std::normal_distribution<double> normal;
    std::vector<T> x(n * d);
    for (T& value : x) value = static_cast<T>(normal(random));
    return x;
}

void check_same(std::vector<Nearest>& found, std::vector<Nearest>& expected) {
    for (std::size_t q = 0; q < found.size(); ++q) {
        const auto &one = found[q].sorted(), &other = expected[q].sorted();
        CHECK(one.size() == other.size());
        for (std::size_t i = 0; i < one.size(); ++i)
            CHECK(one[i].row == other[i].row && one[i].distance == other[i].distance);
    }
}

template <class T>
void test_sizes() {
    std::mt19937 random(0);
    const Context context{blas, 2, never};
    const Distance euclidean{Metric::euclidean};
    const Index queries = 20;
    for (Index d : {1, 5, 16, 17})
        for (Index n : {0, 1, 31, 32, 33, 63, 64, 65, 512, 513, 1024, 1025}) {
            auto x = random_rows<T>(n, d, random), q = random_rows<T>(queries, d, random);
            std::vector<std::int64_t> of_row(n), of_query(queries, 3);
            for (Index i = 0; i < n; ++i) of_row[i] = i % 7;
            for (const bool is_labelled : {false, true}) {
                const Labels labels{is_labelled ? of_query.data() : nullptr, of_row.data()};
                std::vector<Nearest> expected(queries, Nearest(5));
                scan_rows(euclidean, x.data(), n, d, q.data(), expected, labels, context);
                if (d <= KdTree<T>::most_columns) {
                    std::vector<Nearest> found(queries, Nearest(5));
                    KdTree<T> tree(x.data(), n, d, euclidean, context);
                    tree.search(q.data(), found, labels, context);
                    check_same(found, expected);
                }
                std::vector<double> mean(d, 0.1), basis(d, 0.0);
                basis[0] = 1;
                for (const bool is_along : {false, true}) {
                    const double* along = is_along ? basis.data() : nullptr;
                    std::vector<Nearest> found(queries, Nearest(5));
                    Frame frame{mean.data(), along, along ? 1 : d, 0.0};
                    ProjectedRows<T> rows(x.data(), n, d, frame, context);
                    rows.search(q.data(), found, labels, context);
                    check_same(found, expected);
                }
            }
        }
}

// More directions than products are taken with: the second look, and candidates that wait for it.
template <class T>
void test_second_look() {
    std::mt19937 random(2);
    const Context context{blas, 2, never};
    const Index d = 70, directions = 66, queries = 20;
    const std::vector<double> mean(d, 0.1);
    std::vector<double> basis(directions * d, 0.0);
    for (Index j = 0; j < directions; ++j) basis[j * d + j] = 1;
    for (Index n : {1, 1025, 4800}) {
        auto x = random_rows<T>(n, d, random), q = random_rows<T>(queries, d, random);
        const Labels all{nullptr, nullptr};
        ProjectedRows<T> rows(x.data(), n, d, {mean.data(), basis.data(), directions, 0.0},
                              context);
        for (Index k : {1, 900}) {
            std::vector<Nearest> found(queries, Nearest(k)), expected(queries, Nearest(k));
            rows.search(q.data(), found, all, context);
            scan_rows({Metric::euclidean}, x.data(), n, d, q.data(), expected, all, context);
            check_same(found, expected);
        }
    }
}

// Products with all columns: more rows wanted than a tile has, or than are taken at a glance.
template <class T>
void test_many_neighbours() {
    std::mt19937 random(3);
    const Context context{blas, 2, never};
    const Index d = 9, queries = 20, n = 2500;
    const std::vector<double> mean(d, 0.1);
    auto x = random_rows<T>(n, d, random), q = random_rows<T>(queries, d, random);
    const Labels all{nullptr, nullptr};
    ProjectedRows<T> rows(x.data(), n, d, {mean.data(), nullptr, d, 0.0}, context);
    for (Index k : {1, 32, 33, 256, 257, 1200, 2500, 3000}) {
        std::vector<Nearest> found(queries, Nearest(k)), expected(queries, Nearest(k));
        rows.search(q.data(), found, all, context);
        scan_rows({Metric::euclidean}, x.data(), n, d, q.data(), expected, all, context);
        check_same(found, expected);
    }
}

void test_radius() {
    std::mt19937 random(1);
    const Context context{blas, 1, never};
    const Index n = 700, d = 3;
    auto x = random_rows<double>(n, d, random);
    const Labels all{nullptr, nullptr};
    for (Metric metric : {Metric::euclidean, Metric::manhattan, Metric::chebyshev}) {
        const Distance distance{metric};
        std::vector<Within> found(30, Within(0.4)), expected(30, Within(0.4));
        KdTree<double>(x.data(), n, d, distance, context).search(x.data(), found, all, context);
        scan_rows(distance, x.data(), n, d, x.data(), expected, all, context);
        for (Index q = 0; q < 30; ++q)
            CHECK(found[q].sorted().size() == expected[q].sorted().size());
    }
}

void test_mixed() {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const std::vector<double> x{0.25, nan, 1, 2}, z{nan, nan, 1, 3};
    CHECK(reduced(Distance{Metric::mixed_sum, 2, 2}, x.data(), z.data(), 4) == 0.75 + 1 + 0 + 1);
    CHECK(reduced(Distance{Metric::mixed_euclidean, 2, 2}, x.data(), z.data(), 4) ==
          0.5625 + 1 + 0 + 1);
}

}  // namespace

int main() {
    test_sizes<float>();
    test_sizes<double>();
    test_second_look<float>();
    test_second_look<double>();
    test_many_neighbours<float>();
    test_many_neighbours<double>();
    test_radius();
    test_mixed();
    return report();
}
