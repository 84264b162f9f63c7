// The lasso on a Gram matrix, for the sanitizers: paths down and up at shapes 1 and odd, growing,
// dependent columns, saving and going back, stopping.
#include <random>
#include <vector>

#include "check.hpp"
#include "linear/gram_lasso.hpp"

using namespace gapless;

namespace {

const Poll never;

// C = op(A) op(B) + beta C for matrices stored by columns, as BLAS has it.
void plain_gemm(char* ta, char* tb, int* m, int* n, int* k, double* alpha, double* a, int* lda,
                double* b, int* ldb, double* beta, double* c, int* ldc) {
    for (int j = 0; j < *n; ++j)
        for (int i = 0; i < *m; ++i) {
            double sum = 0;
            for (int l = 0; l < *k; ++l)
                sum += (*ta == 'N' ? a[i + l * *lda] : a[l + i * *lda]) *
                       (*tb == 'N' ? b[l + j * *ldb] : b[j + l * *ldb]);
            c[i + j * *ldc] = *alpha * sum + *beta * c[i + j * *ldc];
        }
}

const Blas blas{nullptr, plain_gemm, nullptr, nullptr};

struct Data {
    Index n, d;
    std::vector<double> x, y;  // x by columns

    double product(Index i, Index j) const { return dot(&x[i * n], &x[j * n], n); }

    void join(GramLasso& lasso, Index begin, Index end) const {
        std::vector<double> products, q;
        for (Index i = 0; i < end; ++i)
            for (Index j = begin; j < end; ++j) products.push_back(product(i, j));
        for (Index j = begin; j < end; ++j) q.push_back(dot(&x[j * n], y.data(), n));
        const std::vector<char> yes(end - begin, 1);
        const bool* may = reinterpret_cast<const bool*>(yes.data());
        lasso.grow(products.data(), q.data(), may, may, end - begin);
    }
};

Data make(Index n, Index d, std::mt19937_64& random) {
    std::normal_distribution<double> normal;
    Data data{n, d, std::vector<double>(n * d), std::vector<double>(n)};
    for (double& v : data.x) v = normal(random);
    for (double& v : data.y) v = normal(random);
    // Some columns depend on others.
    for (Index j = 3; j < d; j += 4)
        for (Index i = 0; i < n; ++i) data.x[j * n + i] = data.x[(j - 1) * n + i];
    return data;
}

bool is_optimal(const Data& data, const GramLasso& lasso, double l1, double l2) {
    const double square = dot(data.y.data(), data.y.data(), data.n);
    bool right = true;
    for (Index j = 0; j < lasso.features(); ++j) {
        const double w = lasso.w()[j], force = lasso.gradient()[j] - l2 * w;
        const double slack = 1e-7 * (l1 + square);
        right = right && (w != 0 ? std::abs(force - (w > 0 ? l1 : -l1)) <= slack
                                 : std::abs(force) <= l1 + slack);
    }
    return right;
}

void check_path(Index n, Index d, double ratio, std::mt19937_64& random) {
    const Data data = make(n, d, random);
    const GramLasso::Goal goal{0.0, dot(data.y.data(), data.y.data(), n), 1e-9, 100'000};
    GramLasso lasso(blas);
    const Index half = (d + 1) / 2;
    data.join(lasso, 0, half);
    auto solve = [&](double strength) {
        const std::vector<double> l1(d, strength * ratio), l2(d, strength * (1 - ratio));
        CHECK(lasso.solve(l1.data(), l2.data(), goal, never).converged);
        CHECK(is_optimal(data, lasso, l1[0], l2[0]));
    };
    solve(1.0);
    lasso.save();
    solve(0.01);
    if (half < d) data.join(lasso, half, d);
    lasso.restore();
    for (double strength : {0.9, 0.8, 0.1, 0.01, 0.5, 1e3}) solve(strength);
}

}  // namespace

int main() {
    std::mt19937_64 random(7);
    for (double ratio : {1.0, 0.4})
        for (Index n : {1, 5, 40})
            for (Index d : {1, 2, 9, 90}) check_path(n, d, ratio, random);
    // Long enough for the poll, which is asked every ten milliseconds.
    const Index d = 500;
    const Data data = make(300, d, random);
    GramLasso lasso(blas);
    data.join(lasso, 0, d);
    const std::vector<double> l1(d, 1e-3), l2(d, 0.0);
    const Poll stop = [] { return true; };
    bool stopped = false;
    try {
        lasso.solve(l1.data(), l2.data(), {-1e300, 1.0, 1e-12, 1'000'000}, stop);
    } catch (const Stopped&) {
        stopped = true;
    }
    CHECK(stopped);
    return report();
}
