// Kernel values for the sanitizers: every form at shapes 0, 1, odd and larger than a tile, dense
// and sparse, on several threads, and a stop that is heard.
#include <algorithm>
#include <random>
#include <vector>

#include "check.hpp"
#include "kernels/kernel_blocks.hpp"
#include "naive_blas.hpp"

using namespace gapless;

namespace {

const Poll never;

// Rows ≥ 0, half of them 0, dense and by sparse rows and columns.
template <class T>
struct Sample {
    Index n, d;
    std::vector<T> x, squares;
    std::vector<std::int64_t> row_start{0}, column_start{0};
    std::vector<std::int32_t> row_index, column_index;
    std::vector<T> row_value, column_value;

    Sample(Index n_, Index d_, unsigned seed) : n(n_), d(d_), x(n_ * d_), squares(n_) {
        std::mt19937 random(seed);
        std::uniform_real_distribution<double> uniform(-1, 1);
        for (T& v : x) v = static_cast<T>(std::max(uniform(random), 0.0));
        for (Index i = 0; i < n; ++i) {
            for (Index j = 0; j < d; ++j) {
                const T v = x[i * d + j];
                squares[i] += v * v;
                if (v == 0) continue;
                row_index.push_back(static_cast<std::int32_t>(j));
                row_value.push_back(v);
            }
            row_start.push_back(static_cast<std::int64_t>(row_index.size()));
        }
        for (Index j = 0; j < d; ++j) {
            for (Index i = 0; i < n; ++i) {
                if (x[i * d + j] == 0) continue;
                column_index.push_back(static_cast<std::int32_t>(i));
                column_value.push_back(x[i * d + j]);
            }
            column_start.push_back(static_cast<std::int64_t>(column_index.size()));
        }
    }

    KernelRows<T> dense() const { return {x.data(), squares.data(), n, d}; }
    SparseKernelRows<T> rows() const {
        return {{n, d, row_start.data(), row_index.data(), row_value.data()}, squares.data()};
    }
    SparseKernelRows<T> columns() const {
        return {{d, n, column_start.data(), column_index.data(), column_value.data()},
                squares.data()};
    }
};

double curve_of(const KernelForm& form, double m) {
    const double t = form.scale * m + form.shift, r = std::sqrt(std::max(t, 0.0));
    switch (form.curve) {
        case Curve::identity:
            return t;
        case Curve::power:
            return std::pow(t, static_cast<double>(form.degree));
        case Curve::exponential:
            return std::exp(t);
        case Curve::tanh:
            return std::tanh(t);
        case Curve::matern_1:
            return std::exp(-r);
        case Curve::matern_3:
            return (1 + r) * std::exp(-r);
        case Curve::matern_5:
            return (1 + r + r * r / 3) * std::exp(-r);
    }
    return 0;
}

template <class T>
double value_of(const KernelForm& form, const Sample<T>& a, Index i, const Sample<T>& b, Index j) {
    double sum = 0;
    for (Index k = 0; k < a.d; ++k) {
        const double u = a.x[i * a.d + k], v = b.x[j * a.d + k];
        switch (form.measure) {
            case Measure::product:
                sum += u * v;
                break;
            case Measure::squared_distance:
                sum += (u - v) * (u - v);
                break;
            case Measure::absolute_distance:
                sum += std::abs(u - v);
                break;
            case Measure::chi_square:
                sum += u + v > 0 ? (u - v) * (u - v) / (u + v) : 0;
                break;
        }
    }
    return curve_of(form, sum);
}

template <class T>
void check_values(const KernelForm& form, Index n, Index m, Index d, int threads) {
    const double eps = std::is_same_v<T, float> ? 1e-3 : 1e-7;  // e⁻ʳ is steep at equal rows
    Context context{blas, threads, never};
    Sample<T> a(n, d, 1), b(m, d, 2);
    std::vector<T> block(n * m), gram(m * m), thin(n * m), thin_gram(m * m);
    kernel_block(form, a.dense(), b.dense(), block.data(), context);
    kernel_gram(form, b.dense(), gram.data(), context);
    const bool by_product =
        form.measure == Measure::product || form.measure == Measure::squared_distance;
    if (by_product) {
        kernel_block(form, a.rows(), b.columns(), false, thin.data(), context);
        kernel_block(form, b.rows(), b.columns(), true, thin_gram.data(), context);
    }
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < m; ++j) {
            const double right = value_of(form, a, i, b, j);
            CHECK(std::abs(block[i * m + j] - right) <= eps * (1 + std::abs(right)));
            if (by_product) CHECK(std::abs(thin[i * m + j] - right) <= eps * (1 + std::abs(right)));
        }
    for (Index i = 0; i < m; ++i)
        for (Index j = 0; j < m; ++j) {
            const double right = value_of(form, b, i, b, j);
            CHECK(std::abs(gram[i * m + j] - right) <= eps * (1 + std::abs(right)));
            CHECK(gram[i * m + j] == gram[j * m + i]);
            if (by_product) CHECK(thin_gram[i * m + j] == thin_gram[j * m + i]);
        }
    for (Index outputs : {0, 1, 3}) {
        std::vector<double> coef(m * outputs, 0.5), out(n * outputs, 7.0);
        kernel_times(form, a.dense(), b.dense(), coef.data(), outputs, out.data(), context);
        for (Index i = 0; i < n; ++i) {
            double right = 0;
            for (Index j = 0; j < m; ++j) right += 0.5 * value_of(form, a, i, b, j);
            for (Index k = 0; k < outputs; ++k)
                CHECK(std::abs(out[i * outputs + k] - right) <= eps * (1 + std::abs(right)));
        }
    }
}

// Products with some rows, of which a long list is cut into tasks.
void check_own_products(int threads) {
    const Sample<double> x(700, 3, 4);
    const KernelForm form{Measure::squared_distance, Curve::exponential, -0.1, 0, 1};
    std::vector<std::vector<Index>> rows(3);
    for (Index i = 0; i < 700; ++i) rows[0].push_back(699 - i);
    rows[1] = {5};
    std::vector<std::vector<double>> coef, out;
    std::vector<OwnProduct> products;
    for (const auto& list : rows) {
        coef.emplace_back(list.size(), 0.0);
        for (std::size_t i = 0; i < list.size(); i += 3) coef.back()[i] = 0.5;
        out.emplace_back(list.size(), 7.0);
    }
    for (std::size_t p = 0; p < rows.size(); ++p)
        products.push_back(
            {static_cast<Index>(rows[p].size()), rows[p].data(), coef[p].data(), out[p].data()});
    kernel_times_each(form, x.dense(), products, Context{blas, threads, never});
    for (std::size_t p = 0; p < rows.size(); ++p)
        for (std::size_t i = 0; i < rows[p].size(); i += 97) {
            double right = 0;
            for (std::size_t j = 0; j < rows[p].size(); ++j)
                right += coef[p][j] * value_of(form, x, rows[p][i], x, rows[p][j]);
            CHECK(std::abs(out[p][i] - right) <= 1e-9 * (1 + right));
        }
}

void check_forms() {
    const KernelForm forms[] = {
        {Measure::product, Curve::identity, 1, 0, 1},
        {Measure::product, Curve::power, 0.2, 0.5, 3},
        {Measure::product, Curve::tanh, 0.2, -0.1, 1},
        {Measure::squared_distance, Curve::exponential, -0.1, 0, 1},
        {Measure::squared_distance, Curve::matern_1, 0.3, 0, 1},
        {Measure::squared_distance, Curve::matern_3, 0.3, 0, 1},
        {Measure::squared_distance, Curve::matern_5, 0.3, 0, 1},
        {Measure::absolute_distance, Curve::exponential, -0.1, 0, 1},
        {Measure::chi_square, Curve::exponential, -0.1, 0, 1},
    };
    for (const KernelForm& form : forms)
        for (int threads : {1, 3}) {
            check_values<float>(form, 5, 7, 3, threads);
            check_values<double>(form, 5, 7, 3, threads);
        }
    for (auto [n, m, d] : {std::tuple<Index, Index, Index>{0, 3, 2},
                           {3, 0, 2},
                           {3, 4, 0},
                           {1, 1, 1},
                           {33, 259, 3},
                           {300, 37, 2}})
        for (const KernelForm& form : {forms[3], forms[8]}) check_values<double>(form, n, m, d, 2);
}

void check_stop() {
    Sample<double> a(400, 50, 3);
    std::vector<double> out(400 * 400);
    Poll at_once = [] { return true; };
    bool stopped = false;
    try {
        for (int k = 0; k < 1000; ++k)
            kernel_gram({Measure::chi_square, Curve::exponential, -1, 0, 1}, a.dense(), out.data(),
                        Context{blas, 2, at_once});
    } catch (const Stopped&) {
        stopped = true;
    }
    CHECK(stopped);
    std::vector<Index> rows(400);
    for (Index i = 0; i < 400; ++i) rows[i] = i;
    std::vector<double> ones(400, 1.0), sums(400);
    stopped = false;
    try {
        for (int k = 0; k < 1000; ++k)
            kernel_times_each({Measure::chi_square, Curve::exponential, -1, 0, 1}, a.dense(),
                              {{400, rows.data(), ones.data(), sums.data()}},
                              Context{blas, 2, at_once});
    } catch (const Stopped&) {
        stopped = true;
    }
    CHECK(stopped);
}

}  // namespace

int main() {
    check_forms();
    for (int threads : {1, 3}) check_own_products(threads);
    check_stop();
    return report();
}
