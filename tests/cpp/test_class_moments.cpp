// Moments of classes at shapes where blocks of rows end early, in both orders, with and without
// NaN.
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"
#include "linear/class_moments.hpp"

using namespace gapless;

namespace {

const Blas blas{};
const Poll never;
constexpr double eps = std::numeric_limits<double>::epsilon();

struct Case {
    Index n, d, classes;
    std::vector<double> x;
    std::vector<std::int32_t> y;
    std::vector<double> weights;
};

Case make(Index n, Index d, Index classes, bool has_missing) {
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    Case data{n, d, classes, {}, {}, {}};
    for (Index i = 0; i < n; ++i) {
        data.y.push_back(static_cast<std::int32_t>(random() % classes));
        data.weights.push_back(static_cast<double>(random() % 3));
        for (Index j = 0; j < d; ++j)
            data.x.push_back(has_missing && random() % 4 == 0 ? std::nan("") : normal(random));
    }
    return data;
}

std::vector<double> by_columns(const Case& data) {
    std::vector<double> turned(data.x.size());
    for (Index i = 0; i < data.n; ++i)
        for (Index j = 0; j < data.d; ++j) turned[j * data.n + i] = data.x[i * data.d + j];
    return turned;
}

void test_moments(const Case& data, const Dense<double>& x, bool has_missing, int threads) {
    const Context context{blas, threads, never};
    const Index cells = data.classes * data.d;
    const ClassRows<double> rows{x, data.y.data(), data.weights.data(), data.classes};
    std::vector<double> sums(cells), counts(cells), squares(cells), rests(cells), means(cells, 0.5);
    class_sums(rows, sums.data(), has_missing ? counts.data() : nullptr, context);
    class_squares(rows, means.data(), squares.data(), rests.data(), context);
    for (Index k = 0; k < data.classes; ++k)
        for (Index j = 0; j < data.d; ++j) {
            double sum = 0, count = 0, square = 0, rest = 0, size = 0;
            for (Index i = 0; i < data.n; ++i) {
                const double v = data.x[i * data.d + j], w = data.weights[i];
                if (data.y[i] != k || std::isnan(v)) continue;
                sum += w * v, count += w, rest += w * (v - 0.5);
                square += w * (v - 0.5) * (v - 0.5);
                size += w * (std::abs(v) + 1) * (std::abs(v) + 1);
            }
            const Index at = k * data.d + j;
            CHECK(near(sums[at], sum, size, eps));
            CHECK(near(squares[at], square, size, eps));
            CHECK(near(rests[at], rest, size, eps));
            if (has_missing) CHECK(counts[at] == count);
        }
}

void test_distances(const Case& data, const Dense<double>& x, bool has_missing, int threads) {
    const Index cells = data.classes * data.d;
    std::vector<double> means(cells, 0.25), precisions(cells, 2.0), offsets(cells, -1.0);
    std::vector<double> out(data.n * data.classes);
    const ClassShapes shapes{data.classes, means.data(), precisions.data(),
                             has_missing ? offsets.data() : nullptr};
    class_distances(x, shapes, out.data(), Context{blas, threads, never});
    for (Index i = 0; i < data.n; ++i) {
        double sum = 0, size = 0;
        for (Index j = 0; j < data.d; ++j) {
            const double v = data.x[i * data.d + j] - 0.25;
            if (std::isnan(v)) continue;
            sum += 2 * v * v - (has_missing ? 1 : 0);
            size += 2 * v * v + 1;
        }
        for (Index k = 0; k < data.classes; ++k)
            CHECK(near(out[i * data.classes + k], sum, size, eps));
    }
}

// Entries in any order, some of them twice in the same column.
void test_counts(int threads) {
    const std::vector<std::int64_t> start{0, 3, 3, 5, 6};
    const std::vector<std::int32_t> index{2, 0, 2, 1, 0, 2};
    const std::vector<double> value{1, 2, 3, 4, 5, 6}, weights{1, 1, 2, 0};
    const std::vector<std::int32_t> y{1, 0, 1, 0};
    std::vector<double> counts(6, -1.0);
    class_counts(Compressed<double>{4, 3, start.data(), index.data(), value.data()}, y.data(),
                 weights.data(), 2, counts.data(), Context{blas, threads, never});
    CHECK((counts == std::vector<double>{0, 0, 0, 12, 8, 4}));
}

}  // namespace

int main() {
    for (int threads : {1, 3}) {
        test_counts(threads);
        for (bool has_missing : {false, true})
            for (Index n : {0, 1, 3, 64, 67, 700})
                for (Index d : {1, 5, 66}) {
                    const Case data = make(n, d, 3, has_missing);
                    const std::vector<double> turned = by_columns(data);
                    for (const Dense<double>& x :
                         {Dense<double>{data.x.data(), n, d, Order::rows},
                          Dense<double>{turned.data(), n, d, Order::columns}}) {
                        test_moments(data, x, has_missing, threads);
                        test_distances(data, x, has_missing, threads);
                    }
                }
    }
    return report();
}
