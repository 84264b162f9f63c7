// Labels of equal rows when hashes collide, which real hashes never do in a test, and in every form
// of the data.
#include <algorithm>
#include <set>
#include <vector>

#include "base/equal_rows.hpp"
#include "check.hpp"

using namespace gapless;

namespace {

const Blas blas{};
const Poll never;

// Five rows over {−1, 0, 1}³, the third a copy of the first and the fifth of the second but for y.
const Index n = 5, d = 3;
const std::vector<double> by_rows{1, 0, -1, 0, 0, 0, 1, 0, -1, -0.0, 1, 0, 0, 0, 0};
const std::vector<double> by_columns{1, 0, 1, -0.0, 0, 0, 0, 0, 1, 0, -1, 0, -1, 0, 0};
const std::vector<double> y{2, 3, 2, 2, 4};
// By sparse rows, with a zero stored in the first row and in the fourth.
const std::vector<std::int64_t> start{0, 3, 3, 5, 7, 7};
const std::vector<std::int32_t> index{0, 1, 2, 0, 2, 0, 1};
const std::vector<double> value{1, 0, -1, 1, -1, -0.0, 1};

template <class Matrix>
std::vector<std::int64_t> labels_of(const Matrix& x, bool collide, int threads) {
    Context context{blas, threads, never};
    Rows<Matrix> rows{x, y.data(), n, d, 1};
    std::vector<std::uint64_t> hashes(n, 12345);
    if (!collide) hash_rows(rows, hashes.data(), context);
    std::vector<std::int64_t> labels(n, -1);
    CHECK(label_rows(rows, hashes.data(), labels.data(), context) == 4);
    return labels;
}

template <class Matrix>
void test_form(const Matrix& x, const std::vector<std::int64_t>& by_hash) {
    for (int threads : {1, 2, 8}) {
        // By content: (0, 0, 0; 3), (0, 0, 0; 4), (0, 1, 0; 2), (1, 0, −1; 2).
        CHECK(labels_of(x, true, threads) == (std::vector<std::int64_t>{3, 0, 3, 2, 1}));
        CHECK(labels_of(x, false, threads) == by_hash);
    }
}

void test_no_rows() {
    Rows<Dense<double>> rows{{nullptr, 0, d, Order::rows}, nullptr, 0, d, 1};
    Context context{blas, 2, never};
    hash_rows(rows, nullptr, context);
    CHECK(label_rows(rows, nullptr, nullptr, context) == 0);
}

void test_stopping() {
    std::vector<double> x(1 << 16, 1.0), targets(1 << 16, 0.0);
    Index count = static_cast<Index>(x.size());
    Rows<Dense<double>> rows{{x.data(), count, 1, Order::rows}, targets.data(), count, 1, 1};
    Poll stop = [] { return true; };
    std::vector<std::uint64_t> hashes(x.size(), 0);
    std::vector<std::int64_t> labels(x.size());
    auto slow = [&] {
        for (int i = 0; i < 10000; ++i)
            label_rows(rows, hashes.data(), labels.data(), Context{blas, 2, stop});
    };
    bool stopped = false;
    try {
        slow();
    } catch (const Stopped&) {
        stopped = true;
    }
    CHECK(stopped);
}

}  // namespace

int main() {
    Dense<double> rows{by_rows.data(), n, d, Order::rows};
    std::vector<std::int64_t> by_hash = labels_of(rows, false, 1);
    CHECK(by_hash[0] == by_hash[2]);
    CHECK((std::set<std::int64_t>(by_hash.begin(), by_hash.end()) ==
           std::set<std::int64_t>{0, 1, 2, 3}));
    test_form(rows, by_hash);
    test_form(Dense<double>{by_columns.data(), n, d, Order::columns}, by_hash);
    test_form(Compressed<double>{n, d, start.data(), index.data(), value.data()}, by_hash);
    std::vector<float> single(by_rows.begin(), by_rows.end());
    test_form(Dense<float>{single.data(), n, d, Order::rows}, by_hash);
    test_no_rows();
    test_stopping();
    return report();
}
