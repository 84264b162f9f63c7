// Networks, for the sanitizers: convolution and pooling apart and in one pass, windows at the
// borders, strides, odd sides, few and many filters; rows of zeros, the last group cut short; Adam;
// dense layers in one call.
#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "check.hpp"
#include "naive_blas.hpp"
#include "networks/dense.hpp"
#include "networks/images.hpp"
#include "networks/pooled.hpp"
#include "networks/rows.hpp"
#include "networks/steps.hpp"

using namespace gapless;

namespace {

template <class T>
std::vector<T> drawn(Index n, double zeros = 0) {
    static std::mt19937_64 random(7);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform;
    std::vector<T> found(n);
    for (T& x : found) x = uniform(random) < zeros ? T(0) : static_cast<T>(normal(random));
    return found;
}

template <class T>
bool all_near(const std::vector<T>& a, const std::vector<T>& b) {
    const double eps = sizeof(T) == 4 ? 1e-4 : 1e-10;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (!(std::abs(double(a[i]) - double(b[i])) <= eps * (1 + std::abs(double(b[i])))))
            return false;
    return a.size() == b.size();
}

const Poll never;

template <class T>
void one_pass_is_three(const Windows& w, Index filters) {
    const Context context{blas, 2, never};
    const Index out = w.out_pixels() * filters, image = w.pixels() * w.channels;
    const auto x = drawn<T>(w.images * image), weights = drawn<T>(w.window() * filters);
    const auto bias = drawn<T>(filters);
    const Windows pool{w.images, w.out_height(), w.out_width(), filters, 2, 2, 0};
    const Index pooled = w.images * pool.out_pixels() * filters;

    std::vector<T> z(w.images * out), y(pooled), dz(z.size()), dx(x.size()), dw(weights.size());
    std::vector<T> db(filters);
    std::vector<std::int16_t> where(pooled);
    convolve(w, x.data(), weights.data(), bias.data(), filters, z.data(), context);
    for (T& number : z) number = std::max(number, T(0));
    pool_largest(pool, z.data(), y.data(), where.data(), context);
    const auto dy = drawn<T>(pooled);
    pool_largest_back(pool, dy.data(), where.data(), dz.data(), context);
    for (std::size_t i = 0; i < z.size(); ++i) dz[i] = z[i] > 0 ? dz[i] : T(0);
    convolve_back(w, dz.data(), weights.data(), filters, dx.data(), context);
    convolve_weights(w, x.data(), dz.data(), filters, dw.data(), db.data(), context);

    std::vector<T> y1(pooled), dx1(x.size()), dw1(weights.size()), db1(filters);
    std::vector<std::uint8_t> place(pooled);
    convolve_and_pool(w, x.data(), weights.data(), bias.data(), filters, y1.data(), place.data(),
                      context);
    CHECK(all_near(y1, y));
    convolve_and_pool_back(w, x.data(), weights.data(), filters, dy.data(), place.data(),
                           dx1.data(), dw1.data(), db1.data(), context);
    CHECK(all_near(dx1, dx));
    CHECK(all_near(dw1, dw));
    CHECK(all_near(db1, db));
    std::vector<T> dw2(weights.size()), db2(filters);
    convolve_and_pool_back<T>(w, x.data(), weights.data(), filters, dy.data(), place.data(),
                              nullptr, dw2.data(), db2.data(), context);
    CHECK(dw2 == dw1 && db2 == db1);
}

template <class T>
void means_are_means(const Windows& w) {
    const Context context{blas, 2, never};
    const auto x = drawn<T>(w.images * w.pixels() * w.channels);
    std::vector<T> y(w.images * w.out_pixels() * w.channels), dx(x.size());
    pool_mean(w, x.data(), y.data(), context);
    pool_mean_back(w, y.data(), dx.data(), context);
    // ⟨y, y⟩ = ⟨x, the derivative for dy = y⟩, because y is linear in x.
    double left = 0, right = 0;
    for (T number : y) left += double(number) * number;
    for (std::size_t i = 0; i < x.size(); ++i) right += double(x[i]) * dx[i];
    CHECK(std::abs(left - right) <= 1e-3 * (1 + left));
}

template <class T>
void entries_give_products(Index n, Index d, Index units, double zeros) {
    const auto x = drawn<T>(n * d, zeros), w = drawn<T>(d * units), r = drawn<T>(n * units);
    const Index groups = (n + rows_together - 1) / rows_together, most = groups * (d + 16);
    std::vector<std::int64_t> start(groups + 1);
    std::vector<std::int32_t> index(most);
    std::vector<T> value(most * rows_together), y(n * units), g(d * units);
    CHECK(collect_columns(x.data(), n, d, most, start.data(), index.data(), value.data()));
    const Columns4<T> columns{n, d, start.data(), index.data(), value.data()};
    std::vector<T> product(n * units, T(0)), transposed(d * units, T(0));
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j < d; ++j)
            for (Index k = 0; k < units; ++k) {
                product[i * units + k] += x[i * d + j] * w[j * units + k];
                transposed[j * units + k] += x[i * d + j] * r[i * units + k];
            }
    if (units < least_units<T>()) return;
    columns_times(columns, w.data(), units, y.data());
    CHECK(all_near(y, product));
    columns_transposed_times(columns, r.data(), units, g.data());
    CHECK(all_near(g, transposed));
    if (start[groups] > 0)
        CHECK(!collect_columns(x.data(), n, d, 0, start.data(), index.data(), value.data()));
}

template <class T>
void bias_and_bend() {
    const Index n = 5, units = 7;
    const auto bias = drawn<T>(units), dy = drawn<T>(n * units);
    auto y = drawn<T>(n * units);
    const auto before = y;
    add_bias(y.data(), n, units, bias.data(), true);
    for (Index i = 0; i < n * units; ++i)
        CHECK(y[i] == std::max(before[i] + bias[i % units], T(0)));
    std::vector<T> dz(n * units), db(units), sums(units, T(0));
    bend_back(dy.data(), y.data(), n, units, dz.data(), db.data());
    for (Index i = 0; i < n * units; ++i) {
        CHECK(dz[i] == (y[i] > 0 ? dy[i] : T(0)));
        sums[i % units] += dz[i];
    }
    CHECK(all_near(db, sums));
}

template <class T>
void adam_goes_down() {
    std::vector<T> w{3, -2}, m(2), v(2);
    for (Index step = 1; step <= 400; ++step) {
        const std::vector<T> gradient = w;
        adam_step(w.data(), gradient.data(), m.data(), v.data(), 2,
                  {0.05, 0.9, 0.999, 1e-8, 0, step});
    }
    CHECK(std::abs(w[0]) < 0.1 && std::abs(w[1]) < 0.1);
}

template <class T>
void all() {
    one_pass_is_three<T>({5, 6, 5, 2, 3, 1, 1}, 3);
    one_pass_is_three<T>({3, 8, 8, 1, 3, 1, 1}, 16);
    one_pass_is_three<T>({2, 7, 9, 16, 3, 1, 1}, 33);
    one_pass_is_three<T>({3, 11, 9, 5, 2, 2, 0}, 9);
    one_pass_is_three<T>({9, 9, 8, 1, 5, 1, 2}, 20);
    one_pass_is_three<T>({2, 4, 4, 9, 1, 1, 0}, 7);
    one_pass_is_three<T>({2, 3, 3, 40, 3, 1, 1}, 2);
    means_are_means<T>({3, 6, 5, 4, 2, 2, 0});
    means_are_means<T>({2, 5, 5, 3, 3, 1, 0});
    entries_give_products<T>(9, 40, 16, 0.8);
    entries_give_products<T>(8, 17, 100, 0.5);
    entries_give_products<T>(1, 5, 19, 0);
    entries_give_products<T>(6, 33, 16, 1);
    bias_and_bend<T>();
    adam_goes_down<T>();
}

// The gradient against differences: rows that are mostly 0 or not, in an order of their own, the
// last pair cut short, units that fill no panel, each loss and each bend.
void dense_gradient_is_the_slope(Index n, Index d, Index units, std::int64_t bend_kind,
                                 OutputLoss loss, double zeros) {
    const Context context{blas, 2, never};
    const Index outputs = 3, all = n + 2;
    const Index sizes[] = {d, units, outputs};
    const std::int64_t bends[] = {bend_kind, 0};
    const DenseNetwork network{2, sizes, bends, loss};
    const auto x = drawn<double>(all * d, zeros), targets = drawn<double>(all * outputs);
    std::vector<double> signs(targets), weights(all, 0.7), z(all * outputs);
    for (double& y : signs) y = y < 0 ? -1 : 1;
    std::vector<std::int64_t> classes(all), rows(n), position(all);
    for (Index i = 0; i < all; ++i) classes[i] = i % outputs, position[i] = all - 1 - i;
    for (Index i = 0; i < n; ++i) rows[i] = i + 1;
    const Data<double, double> data{x.data(), position.data(), classes.data(),
                                    (loss == OutputLoss::logistic ? signs : targets).data(),
                                    weights.data()};
    const RowList batch{rows.data(), n};
    const Index room = scratch_size(n, d);
    std::vector<std::int32_t> index(room / 2);
    std::vector<double> value(room);
    const Scratch<double> scratch{index.data(), value.data()};
    auto theta = drawn<double>((d + 1) * units + (units + 1) * outputs);
    std::vector<double> gradient(theta.size()), unused(theta.size());
    const auto mean_loss = [&](std::vector<double>& to) {
        return dense_gradient(network, data, batch, theta.data(), 0.0, z.data(), to.data(), scratch,
                              context) /
               double(n);
    };
    mean_loss(gradient);
    for (std::size_t k = 0; k < theta.size(); k += 7) {
        const double step = 1e-6, here = theta[k];
        theta[k] = here + step;
        const double above = mean_loss(unused);
        theta[k] = here - step;
        const double below = mean_loss(unused);
        theta[k] = here;
        CHECK(std::abs((above - below) / (2 * step) - gradient[k]) <=
              1e-6 * (1 + std::abs(gradient[k])));
    }
    // Two steps of each rule in one call, of which the last batch has fewer rows, are those that
    // are taken one by one.
    const Index half = (n + 1) / 2, steps = n > half ? 2 : 1;
    const double lengths[] = {0.1, 0.05};
    for (int which = 0; which < 4; ++which) {
        std::vector<double> at_once(theta), one_by_one(theta), memory(theta.size(), 0.1);
        std::vector<double> square(theta.size(), 0.2), memory_1(memory), square_1(square);
        Rule<double> rule{
            lengths,    which ? memory.data() : nullptr, which == 3 ? square.data() : nullptr, 0.7,
            which == 2, {0, 0.9, 0.999, 1e-8, 0.01, 4}};
        dense_steps(network, data, batch, half, rule, at_once.data(), 0.1, z.data(),
                    gradient.data(), scratch, context);
        rule.memory = which ? memory_1.data() : nullptr;
        rule.square = which == 3 ? square_1.data() : nullptr;
        const Range all_numbers{0, Index(theta.size())};
        for (Index step = 0; step < steps; ++step) {
            if (rule.is_ahead) look_ahead(rule, one_by_one.data(), all_numbers, unused.data());
            const RowList some{rows.data() + step * half, std::min(half, n - step * half)};
            dense_gradient(network, data, some, (rule.is_ahead ? unused : one_by_one).data(), 0.1,
                           z.data(), gradient.data(), scratch, context);
            take_step(rule, step, one_by_one.data(), gradient.data(), all_numbers);
        }
        CHECK(at_once == one_by_one);
        CHECK(memory == memory_1 && square == square_1);
    }
}

}  // namespace

int main() {
    for (std::int64_t bend_kind : {0, 2, 3})
        for (const OutputLoss loss :
             {OutputLoss::softmax, OutputLoss::squared, OutputLoss::logistic})
            for (const double zeros : {0.0, 0.9}) {
                dense_gradient_is_the_slope(7, 40, 19, bend_kind, loss, zeros);
                dense_gradient_is_the_slope(1, 5, 3, bend_kind, loss, zeros);
            }
    all<float>();
    all<double>();
    return report();
}
