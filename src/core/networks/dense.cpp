#include "networks/dense.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/exponential.hpp"
#include "base/pieces.hpp"
#include "base/team.hpp"
#include "base/vectors.hpp"

namespace gapless {
namespace {

constexpr Index together = 4;  // rows whose entries are collected together
constexpr Index stretch = 16;  // zeros are skipped by so many columns at a time
// Collecting entries pays if at most this part of all columns is left, for so many units.
constexpr double most_columns = 0.6;
constexpr Index least_units = 16;
// A piece of the batch has at least so many rows and multiplications.
constexpr Index least_rows = 16, least_work = Index(1) << 22, most_pieces = 8;

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

// The entries of the first layer's input: of each group of four rows the columns where one of them
// is not 0, with their numbers. Each group has room for all columns.
template <class T>
struct Groups {
    Index n, d;
    std::unique_ptr<std::int32_t[]> count;
    std::int32_t* index;
    T* value;

    Groups(Index rows, Index columns, const Scratch<T>& scratch)
        : n(rows),
          d(columns),
          count(uninitialized<std::int32_t>(size())),
          index(scratch.index),
          value(scratch.value) {}

    Index size() const { return ceil_div(n, together); }
    Index room() const { return ceil_div(d, stretch) * stretch; }

    template <class X>
    void collect(Index g, const X* const (&row)[together]) {
        std::int32_t* to = index + g * room();
        T* numbers = value + g * room() * together;
        Index found = 0;
        for (Index begin = 0; begin < d; begin += stretch) {
            const Index end = std::min(d, begin + stretch);
            int others = 0;
#pragma omp simd reduction(+ : others)
            for (Index j = begin; j < end; ++j)
                others += (row[0][j] != 0) | (row[1][j] != 0) | (row[2][j] != 0) | (row[3][j] != 0);
            if (others == 0) continue;
            for (Index j = begin; j < end; ++j) {
                // Written and then counted if it matters, so there is nothing to predict.
                to[found] = static_cast<std::int32_t>(j);
                bool is_other = false;
                for (Index r = 0; r < together; ++r) {
                    numbers[found * together + r] = static_cast<T>(row[r][j]);
                    is_other |= row[r][j] != 0;
                }
                found += is_other;
            }
        }
        count[g] = static_cast<std::int32_t>(found);
    }
};

template <class T>
constexpr Index panel_width = 2 * lanes_of<T>;

template <class T>
struct Two {
    Vector<T> part[2];
};

// Some columns of a matrix of `width` columns, or as many as there are.
template <class T>
void read_panel(const T* from, Index width, Index first, Index rows, Two<T>* to) {
    const Index count = std::min(panel_width<T>, width - first);
    for (Index j = 0; j < rows; ++j) {
        if (count == panel_width<T>) {
            std::memcpy(&to[j], from + j * width + first, sizeof to[j]);
            continue;
        }
        to[j] = {};
        std::memcpy(&to[j], from + j * width + first, count * sizeof(T));
    }
}

// Columns from `first` on of y = x W + b.
template <class T>
void forward_panel(const Groups<T>& x, const T* w, const T* b, Index units, Index first, T* y) {
    const Index count = std::min(panel_width<T>, units - first);
    const auto panel = uninitialized<Two<T>>(x.d + 1);
    read_panel(w, units, first, x.d, panel.get());
    read_panel(b, units, first, 1, panel.get() + x.d);
    for (Index g = 0; g < x.size(); ++g) {
        const std::int32_t* index = x.index + g * x.room();
        const T* value = x.value + g * x.room() * together;
        Vector<T> sum[together][2];
#pragma GCC unroll 4
        for (int r = 0; r < together; ++r)
            for (int v = 0; v < 2; ++v) sum[r][v] = panel[x.d].part[v];
        for (Index p = 0, end = x.count[g]; p < end; ++p, value += together) {
            const Two<T>& row = panel[index[p]];
#pragma GCC unroll 4
            for (int r = 0; r < together; ++r)
#pragma GCC unroll 2
                for (int v = 0; v < 2; ++v) sum[r][v] += value[r] * row.part[v];
        }
        for (Index r = 0; r < std::min(together, x.n - g * together); ++r)
            std::memcpy(y + (g * together + r) * units + first, sum[r], count * sizeof(T));
    }
}

// Columns from `first` on of g = xᵀ dz + strength W.
template <class T>
void gradient_panel(const Groups<T>& x, const T* dz, const T* w, T strength, Index units,
                    Index first, T* gradient) {
    const Index count = std::min(panel_width<T>, units - first);
    const auto sums = uninitialized<Two<T>>(x.d);
    std::fill_n(sums.get(), x.d, Two<T>{});
    for (Index g = 0; g < x.size(); ++g) {
        const std::int32_t* index = x.index + g * x.room();
        const T* value = x.value + g * x.room() * together;
        Two<T> right[together] = {};
        read_panel(dz + g * together * units, units, first, std::min(together, x.n - g * together),
                   right);
        for (Index p = 0, end = x.count[g]; p < end; ++p, value += together) {
            Two<T>& to = sums[index[p]];
#pragma GCC unroll 2
            for (int v = 0; v < 2; ++v) {
                // Two sums, because one would wait for its own additions.
                const Vector<T> even =
                    to.part[v] + value[0] * right[0].part[v] + value[2] * right[2].part[v];
                const Vector<T> odd = value[1] * right[1].part[v] + value[3] * right[3].part[v];
                to.part[v] = even + odd;
            }
        }
    }
    for (Index j = 0; j < x.d; ++j) {
        T line[panel_width<T>];
        std::memcpy(line, &sums[j], sizeof line);
        const T* from = w + j * units + first;
        T* to = gradient + j * units + first;
        for (Index k = 0; k < count; ++k) to[k] = line[k] + strength * from[k];
    }
}

template <class X, class T>
class Pass {
public:
    Pass(const DenseNetwork& network, const Batch<X, T>& batch, const T* theta,
         const Scratch<T>& scratch, const Context& context)
        : net_(network),
          batch_(batch),
          theta_(theta),
          scratch_(scratch),
          blas_(context.blas),
          n_(batch.n) {
        Index work = 0;
        for (Index l = 0; l < net_.layers; ++l) {
            offset_.push_back(l ? offset_[l - 1] + size_of(l - 1) : 0);
            y_.push_back(uninitialized<T>(n_ * units(l)));
            dz_.push_back(uninitialized<T>(n_ * units(l)));
            work += size_of(l);
        }
        const Index by_work = n_ * work / least_work;
        pieces_ = std::max<Index>(1, std::min({n_ / least_rows, by_work, most_pieces}));
        losses_.resize(n_);
    }

    double run(T strength, double* z, T* gradient, int threads) {
        // Threads that have little to do take longer to start than to do it.
        Team team(pieces_ > 1 ? threads : 1);
        team_ = &team;
        read();
        if (groups_)
            team.each(panels(), [&](Index p) {
                forward_panel(*groups_, weights(0), bias(0), units(0), p * panel_width<T>,
                              y_[0].get());
            });
        team.each(pieces_, [&](Index p) { through(piece(p), z); });
        gradients(strength, gradient);
        double sum = 0;
        for (double loss : losses_) sum += loss;
        return sum;
    }

private:
    Index inputs(Index l) const { return net_.sizes[l]; }
    Index units(Index l) const { return net_.sizes[l + 1]; }
    Index size_of(Index l) const { return (inputs(l) + 1) * units(l); }
    const T* weights(Index l) const { return theta_ + offset_[l]; }
    const T* bias(Index l) const { return weights(l) + inputs(l) * units(l); }
    Bend kind(Index l) const { return static_cast<Bend>(net_.bends[l]); }
    Index panels() const { return ceil_div(units(0), panel_width<T>); }
    Range piece(Index p) const { return {n_ * p / pieces_, n_ * (p + 1) / pieces_}; }

    const X* row(Index i) const {
        const Index k = batch_.rows[std::min(i, n_ - 1)];
        return batch_.x + (batch_.position ? batch_.position[k] : k) * inputs(0);
    }

    // The entries of the batch, or all of it if there are many.
    void read() {
        if (units(0) >= least_units && inputs(0) >= stretch) {
            groups_ = std::make_unique<Groups<T>>(n_, inputs(0), scratch_);
            const Index first = std::min<Index>(groups_->size(), 4);
            collect({0, first});
            if (is_sparse(first)) {
                const Index tasks = std::min<Index>(pieces_, groups_->size() - first);
                team_->each(tasks, [&](Index p) {
                    const Index rest = groups_->size() - first;
                    collect({first + rest * p / tasks, first + rest * (p + 1) / tasks});
                });
                if (is_sparse(groups_->size())) return;
            }
            groups_ = nullptr;
        }
        team_->each(pieces_, [&](Index p) {
            for (Index i = piece(p).begin; i < piece(p).end; ++i)
                std::copy_n(row(i), inputs(0), scratch_.value + i * inputs(0));
        });
    }

    void collect(Range groups) {
        for (Index g = groups.begin; g < groups.end; ++g) {
            const Index i = g * together;
            const X* const rows[together] = {row(i), row(i + 1), row(i + 2), row(i + 3)};
            groups_->collect(g, rows);
        }
    }

    bool is_sparse(Index groups) const {
        Index left = 0;
        for (Index g = 0; g < groups; ++g) left += groups_->count[g];
        return double(left) <= most_columns * double(groups) * double(inputs(0));
    }

    // Some rows through all layers, and back to the derivatives of the first layer's sums.
    void through(Range rows, double* z) {
        for (Index l = 0; l < net_.layers; ++l) {
            T* y = y_[l].get() + rows.begin * units(l);
            if (l > 0 || !groups_) {
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
        const Index last = net_.layers - 1, outputs = units(last), k = batch_.rows[i];
        const T* out = y_[last].get() + i * outputs;
        T* slope = dz_[last].get() + i * outputs;
        const double s = batch_.weights[k];
        const T factor = static_cast<T>(s / double(n_));
        const T* y = batch_.targets ? batch_.targets + k * outputs : nullptr;
        double loss = 0;
        if (net_.loss == OutputLoss::softmax)
            loss = softmax_row(out, outputs, batch_.classes[k], factor, slope);
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
            Index layer, first;
        };
        constexpr Index block = 128;
        std::vector<Task> tasks;
        for (Index l = 0; l < net_.layers; ++l) {
            const bool by_groups = l == 0 && groups_;
            const Index step = by_groups ? panel_width<T> : block;
            for (Index k = 0; k < (by_groups ? units(0) : inputs(l)); k += step)
                tasks.push_back({l, k});
            tasks.push_back({l, -1});
        }
        team_->each(static_cast<Index>(tasks.size()), [&](Index t) {
            const auto [l, first] = tasks[t];
            T* to = gradient + offset_[l];
            const T* dz = dz_[l].get();
            if (first < 0) return bias_gradient(dz, units(l), to + inputs(l) * units(l));
            if (l == 0 && groups_)
                return gradient_panel(*groups_, dz, weights(0), strength, units(0), first, to);
            const Index count = std::min(block, inputs(l) - first);
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
    const Batch<X, T>& batch_;
    const T* theta_;
    Scratch<T> scratch_;
    const Blas& blas_;
    Index n_, pieces_ = 1;
    std::vector<Index> offset_;
    std::vector<std::unique_ptr<T[]>> y_, dz_;
    std::unique_ptr<Groups<T>> groups_;
    std::vector<double> losses_;
    Team* team_ = nullptr;
};

}  // namespace

Index scratch_size(Index n, Index d) {
    return ceil_div(n, together) * together * ceil_div(d, stretch) * stretch;
}

template <class X, class T>
double dense_gradient(const DenseNetwork& network, const Batch<X, T>& batch, const T* theta,
                      T strength, double* z, T* gradient, const Scratch<T>& scratch,
                      const Context& context) {
    Pass<X, T> pass(network, batch, theta, scratch, context);
    return pass.run(strength, z, gradient, context.threads);
}

template double dense_gradient(const DenseNetwork&, const Batch<float, float>&, const float*, float,
                               double*, float*, const Scratch<float>&, const Context&);
template double dense_gradient(const DenseNetwork&, const Batch<float, double>&, const double*,
                               double, double*, double*, const Scratch<double>&, const Context&);
template double dense_gradient(const DenseNetwork&, const Batch<double, float>&, const float*,
                               float, double*, float*, const Scratch<float>&, const Context&);
template double dense_gradient(const DenseNetwork&, const Batch<double, double>&, const double*,
                               double, double*, double*, const Scratch<double>&, const Context&);

}  // namespace gapless
