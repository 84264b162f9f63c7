#include "networks/dense.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/exponential.hpp"
#include "base/pieces.hpp"
#include "base/team.hpp"
#include "base/vectors.hpp"
#include "networks/pairs.hpp"
#include "networks/steps.hpp"

namespace gapless {
namespace {

// Collecting entries pays if at most this part of all columns is left, for so many units.
constexpr double most_columns = 0.6;
constexpr Index least_units = 16;
// With so many panels of units or fewer, entries by columns are not worth their making: it takes
// longer than they save, which is to store every sum for every entry.
constexpr Index few_panels = 1;
// A piece of the batch has at least so many rows and multiplications.
constexpr Index least_rows = 16, least_work = Index(1) << 22, most_pieces = 8;
// A task of an update changes so many numbers.
constexpr Index numbers_at_once = 1 << 14;

// eˣ − 1 for x ≤ 0, with all digits also near 0, where it is r Σ rⁱ⁻¹/i!.
template <class T>
GAPLESS_BODY T exp_minus_1(T x) {
    const T near = x * taylor<1, sizeof(T) == 4 ? 7 : 13>(x);
    return x > T(-0.34) ? near : exp_of(x) - 1;
}

template <class T>
GAPLESS_BODY T tanh_of(T x) {
    const T e = exp_minus_1(-2 * std::abs(x)), size = -e / (2 + e);
    // A NaN fails every comparison, and the exponential must not hide it.
    return x != x ? x : x < 0 ? -size : size;
}

template <class T>
void bend(Bend kind, T* y, Index count) {
    if (kind == Bend::relu) {
#pragma omp simd
        for (Index k = 0; k < count; ++k) y[k] = y[k] < 0 ? T(0) : y[k];
    } else if (kind == Bend::tanh) {
#pragma omp simd
        for (Index k = 0; k < count; ++k) y[k] = tanh_of(y[k]);
    } else if (kind == Bend::sigmoid) {
#pragma omp simd
        for (Index k = 0; k < count; ++k) y[k] = T(0.5) * (1 + tanh_of(T(0.5) * y[k]));
    }
}

// dy ← dy times the slope where the result was y.
template <class T>
void bend_back(Bend kind, const T* y, T* dy, Index count) {
    if (kind == Bend::relu) {
#pragma omp simd
        for (Index k = 0; k < count; ++k) dy[k] = y[k] > 0 ? dy[k] : T(0);
    } else if (kind == Bend::tanh) {
#pragma omp simd
        for (Index k = 0; k < count; ++k) dy[k] *= 1 - y[k] * y[k];
    } else if (kind == Bend::sigmoid) {
#pragma omp simd
        for (Index k = 0; k < count; ++k) dy[k] *= y[k] * (1 - y[k]);
    }
}

// The loss of a row, and its slopes times a factor.
template <class T>
double softmax_row(const T* z, Index outputs, Index y, T factor, T* slope) {
    T largest = z[0], total = 0;
    for (Index k = 1; k < outputs; ++k) largest = z[k] > largest ? z[k] : largest;
#pragma omp simd
    for (Index k = 0; k < outputs; ++k) slope[k] = exp_of(z[k] - largest);
    for (Index k = 0; k < outputs; ++k) total += slope[k];
    // What is not finite makes the whole row NaN, as it does in NumPy.
    T check = 0;
    for (Index k = 0; k < outputs; ++k) check += z[k] - z[k];
    const T scale = factor / total + check;
    for (Index k = 0; k < outputs; ++k) slope[k] *= scale;
    slope[y] -= factor;
    return std::log(static_cast<double>(total)) - static_cast<double>(z[y] - largest) +
           static_cast<double>(check);
}

template <class T>
double squared_row(const T* z, Index outputs, const T* y, T factor, T* slope) {
    double sum = 0;
    for (Index k = 0; k < outputs; ++k) {
        const T residual = z[k] - y[k];
        sum += 0.5 * static_cast<double>(residual * residual);
        slope[k] = factor * residual;
    }
    return sum;
}

template <class T>
double logistic_row(const T* z, Index outputs, const T* y, T factor, T* slope) {
    double sum = 0;
    for (Index k = 0; k < outputs; ++k) {
        const T margin = y[k] * z[k], e = std::exp(-std::abs(z[k]));
        sum += static_cast<double>(std::log1p(e) - (margin < 0 ? margin : T(0)));
        slope[k] = -factor * y[k] * (margin > 0 ? e : T(1)) / (1 + e);
    }
    return sum;
}

// Gradients of one batch after the other, with the same memory for all.
template <class X, class T>
class Pass {
public:
    Pass(const DenseNetwork& network, const Data<X, T>& data, Index most_rows,
         const Scratch<T>& scratch, const Context& context)
        : net_(network),
          data_(data),
          scratch_(scratch),
          blas_(context.blas),
          // Threads that have little to do take longer to start than to do it.
          team_(pieces_of(network, most_rows) > 1 ? context.threads : 1) {
        for (Index l = 0; l < net_.layers; ++l) {
            offset_.push_back(l ? offset_[l - 1] + net_.size_of(l - 1) : 0);
            y_.push_back(uninitialized<T>(most_rows * units(l)));
            dz_.push_back(uninitialized<T>(most_rows * units(l)));
        }
        losses_.resize(most_rows);
    }

    // The gradient for n of the rows at theta; the sum of their losses.
    double gradient(const std::int64_t* rows, Index n, const T* theta, T strength, double* z,
                    T* gradient) {
        rows_ = rows, n_ = n, theta_ = theta, pieces_ = pieces_of(net_, n);
        read();
        if (pairs_)
            team_.each(panels().size(), [&](Index p) {
                panels().visit(p, [&](Index first, Index count, auto vectors) {
                    forward_panel<vectors()>(*pairs_, weights(0), bias(0), units(0), first, count,
                                             y_[0].get());
                });
            });
        team_.each(pieces_, [&](Index p) { through(piece(p), z); });
        gradients(strength, gradient);
        double sum = 0;
        for (Index i = 0; i < n; ++i) sum += losses_[i];
        return sum;
    }

    Team& team() { return team_; }

private:
    static Index pieces_of(const DenseNetwork& network, Index n) {
        const Index by_work = n * network.size() / least_work;
        return std::max<Index>(1, std::min({n / least_rows, by_work, most_pieces}));
    }

    Index inputs(Index l) const { return net_.sizes[l]; }
    Index units(Index l) const { return net_.sizes[l + 1]; }
    const T* weights(Index l) const { return theta_ + offset_[l]; }
    const T* bias(Index l) const { return weights(l) + inputs(l) * units(l); }
    Bend kind(Index l) const { return static_cast<Bend>(net_.bends[l]); }
    UnitPanels<T> panels() const { return {units(0)}; }
    Range piece(Index p) const { return {n_ * p / pieces_, n_ * (p + 1) / pieces_}; }

    const X* row(Index i) const {
        const Index k = rows_[std::min(i, n_ - 1)];
        return data_.x + (data_.position ? data_.position[k] : k) * inputs(0);
    }

    // The entries of the batch, or all of it if there are many.
    void read() {
        pairs_ = nullptr;
        if (units(0) >= least_units && inputs(0) >= stretch) {
            pairs_ = std::make_unique<Pairs<T>>(n_, inputs(0), scratch_.index, scratch_.value);
            const Index first = std::min<Index>(n_, 16), rest = n_ - first;
            collect({0, first});
            if (is_sparse(first)) {
                const Index tasks = std::min<Index>(pieces_, rest);
                team_.each(tasks, [&](Index p) {
                    collect({first + rest * p / tasks, first + rest * (p + 1) / tasks});
                });
                if (is_sparse(n_)) {
                    if (!goes_by_rows())
                        team_.each(pairs_->blocks(), [&](Index b) { pairs_->transpose(b); });
                    return;
                }
            }
            pairs_ = nullptr;
        }
        team_.each(pieces_, [&](Index p) {
            for (Index i = piece(p).begin; i < piece(p).end; ++i)
                std::copy_n(row(i), inputs(0), scratch_.value + i * inputs(0));
        });
    }

    // Whether the gradient of the first layer is added up row by row, or else column by column.
    bool goes_by_rows() const { return panels().size() <= few_panels; }

    void collect(Range rows) {
        Index at = rows.begin * pairs_->room() / 2;
        for (Index i = rows.begin; i < rows.end; ++i)
            at = pairs_->collect(i, at, row(i), row(i + 2));
    }

    bool is_sparse(Index rows) const {
        Index left = 0;
        for (Index i = 0; i < rows; ++i) left += pairs_->count(i);
        return 2.0 * double(left) <= most_columns * double(rows) * double(inputs(0));
    }

    // Some rows through all layers, and back to the derivatives of the first layer's sums.
    void through(Range rows, double* z) {
        for (Index l = 0; l < net_.layers; ++l) {
            T* y = y_[l].get() + rows.begin * units(l);
            if (l > 0 || !pairs_) {
                const T* b = bias(l);
                for (Index i = 0; i < rows.size(); ++i) std::copy_n(b, units(l), y + i * units(l));
                gemm(blas_, units(l), rows.size(), inputs(l),
                     Operand<T>{weights(l), units(l), Transpose::no},
                     Operand<T>{input(l) + rows.begin * inputs(l), inputs(l), Transpose::no}, T(1),
                     y, units(l));
            }
            bend(kind(l), y, rows.size() * units(l));
        }
        const Index last = net_.layers - 1;
        for (Index i = rows.begin; i < rows.end; ++i) score(i, z);
        for (Index l = last;; --l) {
            T* dz = dz_[l].get() + rows.begin * units(l);
            bend_back(kind(l), y_[l].get() + rows.begin * units(l), dz, rows.size() * units(l));
            if (l == 0) break;
            gemm(blas_, inputs(l), rows.size(), units(l),
                 Operand<T>{weights(l), units(l), Transpose::yes},
                 Operand<T>{dz, units(l), Transpose::no}, T(0),
                 dz_[l - 1].get() + rows.begin * inputs(l), inputs(l));
        }
    }

    // The loss of a row of the batch and its slopes.
    void score(Index i, double* z) {
        const Index last = net_.layers - 1, outputs = units(last), k = rows_[i];
        const T* out = y_[last].get() + i * outputs;
        T* slope = dz_[last].get() + i * outputs;
        const double s = data_.weights[k];
        const T factor = static_cast<T>(s / double(n_));
        const T* y = data_.targets ? data_.targets + k * outputs : nullptr;
        double loss = 0;
        if (net_.loss == OutputLoss::softmax)
            loss = softmax_row(out, outputs, data_.classes[k], factor, slope);
        else if (net_.loss == OutputLoss::squared)
            loss = squared_row(out, outputs, y, factor, slope);
        else
            loss = logistic_row(out, outputs, y, factor, slope);
        losses_[i] = s * loss;
        for (Index j = 0; j < outputs; ++j) z[k * outputs + j] = static_cast<double>(out[j]);
    }

    const T* input(Index l) const { return l ? y_[l - 1].get() : scratch_.value; }

    void gradients(T strength, T* gradient) {
        struct Task {
            Index layer, part;  // panels and blocks of the weights, or −1: the biases
        };
        constexpr Index block = 128;
        std::vector<Task> tasks;
        for (Index l = 0; l < net_.layers; ++l) {
            const Index blocks = ceil_div(inputs(l), block);
            const Index of_pairs =
                pairs_ ? panels().size() * (goes_by_rows() ? pairs_->blocks() : 1) : 0;
            for (Index k = 0; k < (l == 0 && pairs_ ? of_pairs : blocks); ++k)
                tasks.push_back({l, k});
            tasks.push_back({l, -1});
        }
        team_.each(static_cast<Index>(tasks.size()), [&](Index t) {
            const Index l = tasks[t].layer, part = tasks[t].part;
            T* to = gradient + offset_[l];
            const T* dz = dz_[l].get();
            if (part < 0) return bias_gradient(dz, units(l), to + inputs(l) * units(l));
            if (l == 0 && pairs_)
                return panels().visit(
                    part % panels().size(), [&](Index first, Index count, auto vectors) {
                        const Index block = part / panels().size();
                        if (goes_by_rows())
                            gradient_by_rows<vectors()>(*pairs_, dz, weights(0), strength, units(0),
                                                        first, count, block, to);
                        else
                            gradient_panel<vectors()>(*pairs_, dz, weights(0), strength, units(0),
                                                      first, count, to);
                    });
            const Index first = part * block, count = std::min(block, inputs(l) - first);
            const T* w = weights(l) + first * units(l);
            to += first * units(l);
            for (Index k = 0; k < count * units(l); ++k) to[k] = strength * w[k];
            gemm(blas_, units(l), count, n_, Operand<T>{dz, units(l), Transpose::no},
                 Operand<T>{input(l) + first, inputs(l), Transpose::yes}, T(1), to, units(l));
        });
    }

    void bias_gradient(const T* dz, Index units, T* db) const {
        std::fill_n(db, units, T(0));
        for (Index i = 0; i < n_; ++i, dz += units)
#pragma omp simd
            for (Index k = 0; k < units; ++k) db[k] += dz[k];
    }

    const DenseNetwork& net_;
    const Data<X, T>& data_;
    Scratch<T> scratch_;
    const Blas& blas_;
    Team team_;
    std::vector<Index> offset_;
    std::vector<std::unique_ptr<T[]>> y_, dz_;
    std::vector<double> losses_;
    // Of the present batch.
    const std::int64_t* rows_ = nullptr;
    const T* theta_ = nullptr;
    Index n_ = 0, pieces_ = 1;
    std::unique_ptr<Pairs<T>> pairs_;
};

}  // namespace

Index DenseNetwork::size_of(Index layer) const { return (sizes[layer] + 1) * sizes[layer + 1]; }

Index DenseNetwork::size() const {
    Index sum = 0;
    for (Index l = 0; l < layers; ++l) sum += size_of(l);
    return sum;
}

Index scratch_size(Index n, Index d) { return 2 * n * ceil_div(d, stretch) * stretch; }

template <class X, class T>
double dense_gradient(const DenseNetwork& network, const Data<X, T>& data, const RowList& batch,
                      const T* theta, T strength, double* z, T* gradient, const Scratch<T>& scratch,
                      const Context& context) {
    Pass<X, T> pass(network, data, batch.n, scratch, context);
    return pass.gradient(batch.index, batch.n, theta, strength, z, gradient);
}

template <class X, class T>
double dense_steps(const DenseNetwork& network, const Data<X, T>& data, const RowList& rows,
                   Index batch, const Rule<T>& rule, T* theta, T strength, double* z, T* gradient,
                   const Scratch<T>& scratch, const Context& context) {
    const Index size = network.size(), tasks = ceil_div(size, numbers_at_once);
    const auto ahead = uninitialized<T>(rule.is_ahead ? size : 0);
    Pass<X, T> pass(network, data, std::min(batch, rows.n), scratch, context);
    double sum = 0;
    for (Index begin = 0, step = 0; begin < rows.n; begin += batch, ++step) {
        const T* at = theta;
        if (rule.is_ahead) {
            pass.team().each(tasks, [&](Index t) {
                const Range some = part(t, numbers_at_once, size);
                look_ahead(rule, theta, some, ahead.get());
            });
            at = ahead.get();
        }
        const Index n = std::min(batch, rows.n - begin);
        sum += pass.gradient(rows.index + begin, n, at, strength, z, gradient);
        pass.team().each(tasks, [&](Index t) {
            take_step(rule, step, theta, gradient, part(t, numbers_at_once, size));
        });
    }
    return sum;
}

template double dense_gradient(const DenseNetwork&, const Data<float, float>&, const RowList&,
                               const float*, float, double*, float*, const Scratch<float>&,
                               const Context&);
template double dense_steps(const DenseNetwork&, const Data<float, float>&, const RowList&, Index,
                            const Rule<float>&, float*, float, double*, float*,
                            const Scratch<float>&, const Context&);
template double dense_gradient(const DenseNetwork&, const Data<float, double>&, const RowList&,
                               const double*, double, double*, double*, const Scratch<double>&,
                               const Context&);
template double dense_steps(const DenseNetwork&, const Data<float, double>&, const RowList&, Index,
                            const Rule<double>&, double*, double, double*, double*,
                            const Scratch<double>&, const Context&);
template double dense_gradient(const DenseNetwork&, const Data<double, float>&, const RowList&,
                               const float*, float, double*, float*, const Scratch<float>&,
                               const Context&);
template double dense_steps(const DenseNetwork&, const Data<double, float>&, const RowList&, Index,
                            const Rule<float>&, float*, float, double*, float*,
                            const Scratch<float>&, const Context&);
template double dense_gradient(const DenseNetwork&, const Data<double, double>&, const RowList&,
                               const double*, double, double*, double*, const Scratch<double>&,
                               const Context&);
template double dense_steps(const DenseNetwork&, const Data<double, double>&, const RowList&, Index,
                            const Rule<double>&, double*, double, double*, double*,
                            const Scratch<double>&, const Context&);

}  // namespace gapless
