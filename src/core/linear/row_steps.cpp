// w is kept as scale·v, so that shrinking it takes no time (Shalev-Shwartz et al. 2011, Pegasos).
// The sum of all iterates is Σ scaleₜvₜ = (Σ scaleₜ)·v − Σ (change of v)·(Σ of the scales before
// it), and costs as much as the changes (Xu 2011, Towards optimal one pass large scale learning).
// The L1 penalty is applied cumulatively (Tsuruoka, Tsujii and Ananiadou 2009): a coefficient
// reaches 0 and stays there until its gradients exceed all of the penalty it has been owed. Both
// are kept in units of v, so that shrinking makes no difference between a penalty that comes with
// each row and one that comes late, with the next row that has an entry.
#include "linear/row_steps.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace gapless {
namespace {

// Beyond it a slope only causes overflow.
constexpr double steepest = 1e12;
// Below it v would lose digits.
constexpr double smallest_scale = 1e-6;
// Numbers read between two looks at the clock.
constexpr Index patience = 1 << 16;

// Row i: its entries and, if it is sparse, their positions.
template <class X>
struct Row {
    const X* value;
    const std::int32_t* index;
    Index count;

    double times(const double* v) const {
        return index ? sparse_dot(value, index, v, count) : dot(value, v, count);
    }
    void add_to(double* v, double factor) const {
        if (index)
            sparse_axpy(factor, value, index, v, count);
        else
            axpy(factor, value, v, count);
    }
    Index position(Index p) const { return index ? index[p] : p; }
};

template <class X>
Row<X> row_of(const Dense<X>& x, Index i) {
    return {x.data + i * x.columns, nullptr, x.columns};
}
template <class X>
Row<X> row_of(const Compressed<X>& x, Index i) {
    return {x.value + x.start[i], x.index + x.start[i], x.start[i + 1] - x.start[i]};
}
template <class X>
Index feature_count(const Dense<X>& x) {
    return x.columns;
}
template <class X>
Index feature_count(const Compressed<X>& x) {
    return x.length;
}

double slope_of(const RowLoss& loss, Index at, double z) {
    const double y = loss.linear[at];
    if (loss.sigmoid > 0) {
        const double e = std::exp(-std::abs(z));
        return -loss.sigmoid * y * (y * z > 0 ? e : 1.0) / (1 + e);
    }
    const double lower = loss.lower[at], upper = loss.upper[at], r = z - y;
    // The slope of zu − linear·u − absolute·|u| at 0 from either side decides the sign of u.
    const double rest = r - std::clamp(r, -loss.absolute, loss.absolute);
    double u;
    if (loss.quadratic > 0) {
        u = std::clamp(rest / loss.quadratic, lower, upper);
    } else if (rest != 0) {
        u = rest > 0 ? upper : lower;
    } else if (lower < 0 && upper > 0) {
        u = 0;
    } else {
        u = loss.upper_at_ties || std::abs(upper) >= std::abs(lower) ? upper : lower;
    }
    return std::clamp(u, -steepest, steepest);
}

// ℓ(z) = uz − ℓ*(u) at its slope u.
double loss_at(const RowLoss& loss, Index at, double z, double u) {
    if (loss.sigmoid > 0)
        return loss.sigmoid *
               (std::log1p(std::exp(-std::abs(z))) - std::min(loss.linear[at] * z, 0.0));
    return u * (z - loss.linear[at]) - loss.absolute * std::abs(u) - 0.5 * loss.quadratic * u * u;
}

template <class Matrix>
class Descent {
public:
    Descent(const Matrix& x, Index outputs, const RowLoss& loss, const RowSteps& steps,
            const RowState& state)
        : x_(x),
          outputs_(outputs),
          features_(feature_count(x)),
          loss_(loss),
          steps_(steps),
          state_(state),
          z_(outputs) {
        if (state.w_sum) missing_.assign(outputs * features_, 0.0);
    }

    void run(const Poll& poll) {
        Checkpoint checkpoint(poll);
        Index read = 0;
        for (Index t = 0; t < steps_.count; ++t) {
            read += step(t) * outputs_;
            if (read >= patience) {
                checkpoint();
                read = 0;
            }
        }
        if (steps_.l1 > 0)
            for (Index k = 0; k < outputs_; ++k)
                for (Index j = 0; j < features_; ++j) penalise(k, j);
        settle();
    }

private:
    // Returns the number of entries of the row.
    Index step(Index t) {
        const Index i = steps_.order[t];
        const auto row = row_of(x_, i);
        const double length = steps_.length[t];
        // A sparse row meets coefficients that have not been penalised since their last row.
        if (steps_.l1 > 0 && row.index)
            for (Index k = 0; k < outputs_; ++k) penalise(row, k);
        for (Index k = 0; k < outputs_; ++k) z_[k] = scale_ * row.times(w(k)) + state_.b[k];
        if (steps_.l2 > 0) scale_ *= std::max(0.0, 1 - length * steps_.l2);
        if (scale_ < smallest_scale) settle();
        const double squares = steps_.is_passive ? square_sum(row.value, nullptr, row.count) : 0;
        if (steps_.l1 > 0) *state_.owed += length * steps_.l1 / scale_;
        for (Index k = 0; k < outputs_; ++k) {
            const Index at = i * outputs_ + k;
            const double u = slope_of(loss_, at, z_[k]);
            const double lost = loss_at(loss_, at, z_[k], u);
            state_.slopes[at] = u;
            *state_.losses += steps_.weight[t] * lost;
            double change = -length * u;
            if (steps_.is_passive) change = -u * passive_length(lost, squares);
            change *= steps_.weight[t];
            if (change != 0) {
                row.add_to(w(k), change / scale_);
                if (state_.w_sum) row.add_to(missing(k), -summed_ * change / scale_);
                if (steps_.has_bias) state_.b[k] += change;
            }
            if (steps_.l1 > 0) penalise(row, k);
        }
        if (state_.w_sum && t >= steps_.first_averaged) {
            summed_ += scale_;
            for (Index k = 0; k < outputs_; ++k) state_.b_sum[k] += state_.b[k];
        }
        return row.count + 1;
    }

    double passive_length(double lost, double squares) const {
        const double size = squares + steps_.slack;
        return size > 0 ? std::min(steps_.longest, lost / size) : 0;
    }

    template <class X>
    void penalise(const Row<X>& row, Index k) {
        for (Index p = 0; p < row.count; ++p) penalise(k, row.position(p));
    }

    void penalise(Index k, Index j) {
        double& v = w(k)[j];
        double& received = state_.received[k * features_ + j];
        double change = 0;
        if (v > 0)
            change = -std::min(v, std::max(*state_.owed + received, 0.0));
        else if (v < 0)
            change = std::min(-v, std::max(*state_.owed - received, 0.0));
        received += change;
        if (state_.w_sum) missing(k)[j] -= summed_ * change;
        v += change;
    }

    // Bring everything into plain units: scale 1, the sums up to date.
    void settle() {
        const Index size = outputs_ * features_;
        if (state_.w_sum) {
            for (Index j = 0; j < size; ++j) state_.w_sum[j] += summed_ * state_.w[j] + missing_[j];
            std::fill(missing_.begin(), missing_.end(), 0.0);
            summed_ = 0;
        }
        if (scale_ != 1) {
            for (Index j = 0; j < size; ++j) state_.w[j] *= scale_;
            if (steps_.l1 > 0) {
                for (Index j = 0; j < size; ++j) state_.received[j] *= scale_;
                *state_.owed *= scale_;
            }
        }
        scale_ = 1;
    }

    double* w(Index k) { return state_.w + k * features_; }
    double* missing(Index k) { return missing_.data() + k * features_; }

    const Matrix& x_;
    Index outputs_, features_;
    const RowLoss& loss_;
    const RowSteps& steps_;
    const RowState& state_;
    std::vector<double> z_, missing_;
    double scale_ = 1, summed_ = 0;
};

}  // namespace

template <class Matrix>
void row_steps(const Matrix& x, Index outputs, const RowLoss& loss, const RowSteps& steps,
               const RowState& state, const Poll& poll) {
    Descent<Matrix>(x, outputs, loss, steps, state).run(poll);
}

template void row_steps(const Dense<float>&, Index, const RowLoss&, const RowSteps&,
                        const RowState&, const Poll&);
template void row_steps(const Dense<double>&, Index, const RowLoss&, const RowSteps&,
                        const RowState&, const Poll&);
template void row_steps(const Compressed<float>&, Index, const RowLoss&, const RowSteps&,
                        const RowState&, const Poll&);
template void row_steps(const Compressed<double>&, Index, const RowLoss&, const RowSteps&,
                        const RowState&, const Poll&);

}  // namespace gapless
