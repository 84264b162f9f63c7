#include "linear/quadratic_cd.hpp"

#include "linear/quadratics.hpp"

namespace gapless {
namespace {

// Where the last iterates of a fixed-point iteration are heading: their affine combination whose
// steps nearly cancel (Anderson; Bertrand and Massias 2021 for coordinate descent).
class Extrapolation {
public:
    static constexpr Index steps = 5;

    void restart() { points_.clear(); }
    void record(const double* w, Index size) { points_.emplace_back(w, w + size); }
    bool is_ready() const { return static_cast<Index>(points_.size()) > steps; }

    // false if the steps do not determine the combination.
    bool combine(std::vector<double>& out) const {
        const Index size = static_cast<Index>(points_[0].size());
        std::vector<double> products(steps * steps), c(steps, 1.0), difference[steps];
        for (Index i = 0; i < steps; ++i) {
            difference[i] = points_[i + 1];
            axpy(-1.0, points_[i].data(), difference[i].data(), size);
            for (Index j = 0; j <= i; ++j)
                products[i * steps + j] = dot(difference[i].data(), difference[j].data(), size);
        }
        double trace = 0;
        for (Index i = 0; i < steps; ++i) trace += products[i * steps + i];
        for (Index i = 0; i < steps; ++i) products[i * steps + i] += 1e-12 * trace;
        if (!factorise(products.data(), steps)) return false;
        solve_lower(products.data(), steps, c.data());
        solve_upper(products.data(), steps, c.data());
        double sum = 0;
        for (double x : c) sum += x;
        if (!std::isfinite(sum) || sum == 0) return false;
        out.assign(size, 0.0);
        for (Index i = 0; i < steps; ++i) axpy(c[i] / sum, points_[i + 1].data(), out.data(), size);
        return true;
    }

private:
    std::vector<std::vector<double>> points_;
};

template <Quadratic Q>
class Descent {
public:
    Descent(Q& quadratic, const SeparablePenalty& penalty, double* w)
        : q_(quadratic), penalty_(penalty), w_(w), blocks_(count_blocks()), hessian_(blocks_) {
        Index widest = 1;
        for (Index b = 0; b < blocks_; ++b) widest = std::max(widest, last(b) - first(b));
        slope_.resize(widest * K());
        candidate_.resize(widest * K());
        step_.resize(widest * K());
    }

    Descended run(Effort effort, Checkpoint& checkpoint) {
        std::vector<Index> all(blocks_), active;
        for (Index b = 0; b < blocks_; ++b) all[b] = b;
        // Below this part, rounding alone keeps the coefficients moving.
        constexpr double noise = 1e-28;
        const double least = std::max(effort.tolerance, noise);
        double gained = 0;
        bool everywhere = true;
        Index lasted = 0;
        for (Index sweep = 1; sweep <= effort.sweeps; ++sweep) {
            const double gain = visit(everywhere ? all : active, checkpoint);
            gained += gain;
            const bool little = gain <= least * gained;
            if (everywhere && little) return {sweep, true};
            if (everywhere) {
                active.clear();
                for (Index b : all)
                    if (!is_zero(b)) active.push_back(b);
                recent_.restart();
                lasted = 0;
            }
            everywhere = little || active.empty();
            // A few sweeps are often enough; further ones are made on a copy.
            constexpr Index few = 3;
            if (!everywhere && ++lasted == few && is_worth_a_copy(active)) {
                sweep += settle(active, least, effort.sweeps - sweep, gained, checkpoint);
                everywhere = true;
                continue;
            }
            recent_.record(w_, q_.features() * K());
            if (recent_.is_ready()) {
                if (!everywhere) gained += extrapolate(active);
                recent_.restart();
            }
        }
        return {effort.sweeps, false};
    }

    // Sweeps over all features, at most `most`, until one gains little compared with all of them.
    Index settle_all(double least, Index most, double& gained, Checkpoint& checkpoint) {
        std::vector<Index> all(blocks_);
        for (Index b = 0; b < blocks_; ++b) all[b] = b;
        for (Index sweep = 1; sweep <= most; ++sweep) {
            const double gain = visit(all, checkpoint);
            gained += gain;
            if (gain <= least * gained) return sweep;
            recent_.record(w_, q_.features() * K());
            if (recent_.is_ready()) {
                gained += extrapolate(all);
                recent_.restart();
            }
        }
        return most;
    }

private:
    // Whether the sweeps over the active features pay for a Gram matrix of their own, in which a
    // step changes their slopes alone.
    bool is_worth_a_copy(const std::vector<Index>& active) const {
        if constexpr (std::same_as<Q, GramQuadratic>)
            return is_scalar() && !active.empty() &&
                   4 * static_cast<Index>(active.size()) <= 3 * q_.features();
        return false;
    }

    // Sweeps over the active features alone, at most `most`, until one gains little; returns their
    // number. Their gain is added to `gained`.
    Index settle(const std::vector<Index>& active, double least, Index most, double& gained,
                 Checkpoint& checkpoint) {
        const Index m = static_cast<Index>(active.size());
        std::vector<double> gram(m * m), slope(m), w(m);
        for (Index a = 0; a < m; ++a) {
            q_.gradient(active[a], &slope[a]);
            w[a] = w_[active[a]];
            for (Index b = 0; b < m; ++b) q_.hessian(active[a], active[b], &gram[a * m + b]);
        }
        SeparablePenalty penalty = penalty_;
        std::vector<std::vector<double>> arrays;
        arrays.reserve(7);
        for (auto array : {&SeparablePenalty::l1, &SeparablePenalty::l2, &SeparablePenalty::lower,
                           &SeparablePenalty::upper, &SeparablePenalty::strength,
                           &SeparablePenalty::knee, &SeparablePenalty::width}) {
            if (!(penalty.*array)) continue;
            std::vector<double>& own = arrays.emplace_back();
            for (Index a : active) own.push_back((penalty_.*array)[a]);
            penalty.*array = own.data();
        }
        GramQuadratic quadratic(gram.data(), m, 1, slope.data());
        const Index sweeps = Descent<GramQuadratic>(quadratic, penalty, w.data())
                                 .settle_all(least, most, gained, checkpoint);
        for (Index a = 0; a < m; ++a) {
            const double step = w[a] - w_[active[a]];
            w_[active[a]] = w[a];
            q_.move(active[a], &step);
        }
        return sweeps;
    }

    Index K() const { return q_.outputs(); }
    // Whether every block is one coefficient with a curvature of its own.
    bool is_scalar() const { return K() == 1 && q_.is_uniform() && !has_norms(); }
    bool has_norms() const { return penalty_.kind == PenaltyKind::block_norm; }
    Index count_blocks() const { return has_norms() ? penalty_.blocks : q_.features(); }
    Index first(Index b) const { return has_norms() ? penalty_.start[b] : b; }
    Index last(Index b) const { return has_norms() ? penalty_.start[b + 1] : b + 1; }
    bool is_zero(Index b) const {
        return std::all_of(w_ + first(b) * K(), w_ + last(b) * K(),
                           [](double w) { return w == 0; });
    }

    // One sweep over the given blocks; returns a lower bound on its gain.
    double visit(const std::vector<Index>& blocks, Checkpoint& checkpoint) {
        constexpr Index between_checks = 100'000;
        double gain = 0;
        Index work = 0;
        const bool scalar = is_scalar();
        for (Index b : blocks) {
            if (scalar) {
                gain += improve_coefficient(b);
                work += 16 + q_.cost(b);
            } else {
                for (Index j = first(b); j < last(b); ++j) {
                    q_.gradient(j, slope_.data() + (j - first(b)) * K());
                    work += 16 + q_.cost(j);
                }
                gain += improve(b);
            }
            if (work > between_checks) {
                checkpoint();
                work = 0;
            }
        }
        return gain;
    }

    // Jump ahead if that lowers the objective; returns by how much.
    double extrapolate(const std::vector<Index>& blocks) {
        if (!recent_.combine(target_)) return 0;
        const bool bounded = penalty_.kind == PenaltyKind::elastic_box;
        for (Index j = 0; bounded && j < q_.features(); ++j)
            for (Index k = 0; k < K(); ++k)
                target_[j * K() + k] =
                    std::clamp(target_[j * K() + k], penalty_.lower[j], penalty_.upper[j]);
        double change = -penalty_value(blocks);
        std::vector<double> before(w_, w_ + q_.features() * K());
        change += 0.5 * jump(blocks, target_.data());
        change += penalty_value(blocks);
        if (change < 0) return -change;
        jump(blocks, before.data());
        return 0;
    }

    // Move the given blocks to `to`; returns ⟨step, gradient before + gradient after⟩, which is
    // twice the change of the quadratic.
    double jump(const std::vector<Index>& blocks, const double* to) {
        double product = 0;
        std::vector<double> step(q_.features() * K());
        auto add_product = [&] {
            for (Index b : blocks)
                for (Index j = first(b); j < last(b); ++j) {
                    q_.gradient(j, slope_.data());
                    product += dot(slope_.data(), step.data() + j * K(), K());
                }
        };
        for (Index b : blocks)
            for (Index i = first(b) * K(); i < last(b) * K(); ++i) step[i] = to[i] - w_[i];
        add_product();
        for (Index b : blocks)
            for (Index j = first(b); j < last(b); ++j) {
                q_.move(j, step.data() + j * K());
                std::copy(to + j * K(), to + (j + 1) * K(), w_ + j * K());
            }
        add_product();
        return product;
    }

    double penalty_value(const std::vector<Index>& blocks) const {
        double sum = 0;
        for (Index b : blocks) {
            const double* w = w_ + first(b) * K();
            const Index m = (last(b) - first(b)) * K();
            switch (penalty_.kind) {
                case PenaltyKind::block_norm:
                    sum += penalty_.strength[b] * std::sqrt(dot(w, w, m));
                    break;
                case PenaltyKind::elastic_box:
                    for (Index i = 0; i < m; ++i)
                        sum += penalty_.l1[b] * std::abs(w[i]) + 0.5 * penalty_.l2[b] * w[i] * w[i];
                    break;
                case PenaltyKind::folded:
                    for (Index i = 0; i < m; ++i) sum += folded(b).value(std::abs(w[i]));
                    break;
                case PenaltyKind::powers:
                    for (Index i = 0; i < m; ++i) sum += power(b).value(std::abs(w[i]));
                    break;
            }
        }
        return sum;
    }

    // The minimiser over one coefficient of feature j.
    double minimise_scalar(Index j, double w, double slope, double c) const {
        switch (penalty_.kind) {
            case PenaltyKind::folded:
                return minimise(folded(j), w, slope, c);
            case PenaltyKind::powers:
                return minimise(power(j), w, slope, c);
            default:
                return minimise(elastic_box(j), w, slope, c);
        }
    }

    // Minimise over a coefficient that is a block by itself; the gain is at least ½c·step².
    double improve_coefficient(Index j) {
        double slope;
        q_.gradient(j, &slope);
        const double c = q_.curvature(j);
        const double to = minimise_scalar(j, w_[j], slope, c);
        const double step = to - w_[j];
        if (step == 0) return 0;
        w_[j] = to;
        q_.move(j, &step);
        return 0.5 * c * step * step;
    }

    // Minimise over block b, whose slopes are known; the gain is at least ½ stepᵀB step.
    double improve(Index b) {
        const Index j = first(b), width = last(b) - j, m = width * K();
        const double* w = w_ + j * K();
        if (width == 1 && q_.is_uniform()) {
            const double c = q_.curvature(j);
            minimise_uniform(b, c, m);
            double square = 0;
            for (Index i = 0; i < m; ++i) {
                step_[i] = candidate_[i] - w[i];
                square += step_[i] * step_[i];
            }
            if (square == 0) return 0;
            apply(b, m);
            return 0.5 * c * square;
        }
        if (stays_zero(b, m)) return 0;
        const double* B = block_hessian(b, m);
        if (has_norms())
            block_norm_.minimise(B, penalty_.strength[b], slope_.data(), w, m, candidate_.data());
        else
            minimise_coordinates(B, j, w, m);
        bool moves = false;
        for (Index i = 0; i < m; ++i) {
            step_[i] = candidate_[i] - w[i];
            moves = moves || step_[i] != 0;
        }
        if (!moves) return 0;
        double gain = 0;
        for (Index i = 0; i < m; ++i) gain += step_[i] * dot(B + i * m, step_.data(), m);
        apply(b, m);
        return std::max(0.5 * gain, 0.0);
    }

    ElasticBox elastic_box(Index j) const {
        return {penalty_.l1[j], penalty_.l2[j], penalty_.lower[j], penalty_.upper[j]};
    }
    Folded folded(Index j) const {
        return {penalty_.strength[j], penalty_.knee[j], penalty_.width[j]};
    }
    Power power(Index j) const { return {penalty_.strength[j], penalty_.power}; }

    void minimise_uniform(Index b, double c, Index m) {
        const double* w = w_ + first(b) * K();
        if (has_norms())
            return BlockNorm::minimise(c, penalty_.strength[b], slope_.data(), w, m,
                                       candidate_.data());
        for (Index i = 0; i < m; ++i) candidate_[i] = minimise_scalar(b, w[i], slope_[i], c);
    }

    // Most visits end here, before the Hessian of the block is needed: if R is convex, the slopes
    // alone decide.
    bool stays_zero(Index b, Index m) {
        const bool convex = has_norms() || penalty_.kind == PenaltyKind::elastic_box;
        if (!convex || !is_zero(b)) return false;
        minimise_uniform(b, 1.0, m);
        return std::all_of(candidate_.data(), candidate_.data() + m,
                           [](double v) { return v == 0; });
    }

    // Coordinate descent inside the block, which is cheap compared with the columns.
    void minimise_coordinates(const double* B, Index j, const double* w, Index m) {
        std::copy(w, w + m, candidate_.data());
        double gained = 0;
        for (int pass = 0; pass < 100; ++pass) {
            double gain = 0;
            for (Index i = 0; i < m; ++i) {
                const double v = minimise_scalar(j, candidate_[i], slope_[i], B[i * m + i]);
                const double step = v - candidate_[i];
                if (step == 0) continue;
                candidate_[i] = v;
                axpy(step, B + i * m, slope_.data(), m);
                gain += B[i * m + i] * step * step;
            }
            gained += gain;
            if (gain <= 1e-6 * gained) break;
        }
    }

    const double* block_hessian(Index b, Index m) {
        std::vector<double>& B = hessian_[b];
        if (!B.empty()) return B.data();
        B.resize(m * m);
        std::vector<double> part(K() * K());
        for (Index j = first(b); j < last(b); ++j)
            for (Index l = first(b); l <= j; ++l) {
                q_.hessian(j, l, part.data());
                for (Index r = 0; r < K(); ++r)
                    for (Index k = 0; k < K(); ++k) {
                        const Index row = (j - first(b)) * K() + r,
                                    column = (l - first(b)) * K() + k;
                        B[row * m + column] = B[column * m + row] = part[r * K() + k];
                    }
            }
        return B.data();
    }

    void apply(Index b, Index m) {
        std::copy(candidate_.data(), candidate_.data() + m, w_ + first(b) * K());
        for (Index j = first(b); j < last(b); ++j) q_.move(j, step_.data() + (j - first(b)) * K());
    }

    Q& q_;
    const SeparablePenalty& penalty_;
    double* w_;
    Index blocks_;
    std::vector<std::vector<double>> hessian_;  // of each block, computed on first use
    std::vector<double> slope_, candidate_, step_, target_;
    BlockNorm block_norm_;
    Extrapolation recent_;
};

}  // namespace

Descended descend_on_gram(const double* gram, Index features, Index outputs, const double* slope,
                          const SeparablePenalty& penalty, Effort effort, const Poll& poll,
                          double* w) {
    Checkpoint checkpoint(poll);
    GramQuadratic quadratic(gram, features, outputs, slope);
    return Descent(quadratic, penalty, w).run(effort, checkpoint);
}

template <class Matrix>
Descended descend_on_columns(const Matrix& data, const ColumnChoice& choice,
                             const RowCurvature& curvature, const double* slope,
                             const SeparablePenalty& penalty, Effort effort, const Poll& poll,
                             double* w, double* bias_step) {
    const Index K = curvature.outputs;
    Checkpoint checkpoint(poll);
    std::vector<double> root(K > 1 ? 0 : curvature.rows);
    for (std::size_t i = 0; i < root.size(); ++i) root[i] = std::sqrt(curvature.diagonal[i]);
    const CopiedColumns columns(data, choice, K > 1 ? nullptr : root.data(), curvature.diagonal, K,
                                checkpoint);
    // The data's own columns are x − center. If something else is subtracted, the bias compensates
    // for the difference, and the slopes change accordingly.
    std::vector<double> offset(choice.count), slopes(slope, slope + choice.count * K);
    for (Index t = 0; choice.bias_slope && t < choice.count; ++t) {
        offset[t] = columns.shift(t) - choice.center_of(t);
        for (Index k = 0; k < K; ++k) slopes[t * K + k] -= offset[t] * choice.bias_slope[k];
    }
    const std::vector<double> before(w, w + choice.count * K);
    auto descend = [&](auto&& quadratic) {
        const Descended done = Descent(quadratic, penalty, w).run(effort, checkpoint);
        if (!choice.bias_slope) return done;
        quadratic.bias_step(bias_step);
        for (Index t = 0; t < choice.count; ++t)
            for (Index k = 0; k < K; ++k)
                bias_step[k] -= offset[t] * (w[t * K + k] - before[t * K + k]);
        return done;
    };
    if (K > 1)
        return descend(
            RowQuadratic(columns, curvature, slopes.data(), choice.bias_slope, checkpoint));
    return descend(ColumnQuadratic(columns, root, slopes.data(), choice.bias_slope));
}

template <class Matrix>
void times_columns(const Matrix& data, const ColumnChoice& choice, const double* step,
                   Index outputs, const Poll& poll, double* out) {
    Checkpoint checkpoint(poll);
    if (outputs == 1)
        return for_each_entry(data, choice, checkpoint,
                              [&](Index t, Index i, double x) { out[i] += x * step[t]; });
    for_each_entry(data, choice, checkpoint, [&](Index t, Index i, double x) {
        for (Index k = 0; k < outputs; ++k) out[i * outputs + k] += x * step[t * outputs + k];
    });
}

template Descended descend_on_columns(const Dense<float>&, const ColumnChoice&, const RowCurvature&,
                                      const double*, const SeparablePenalty&, Effort, const Poll&,
                                      double*, double*);
template Descended descend_on_columns(const Dense<double>&, const ColumnChoice&,
                                      const RowCurvature&, const double*, const SeparablePenalty&,
                                      Effort, const Poll&, double*, double*);
template Descended descend_on_columns(const Compressed<float>&, const ColumnChoice&,
                                      const RowCurvature&, const double*, const SeparablePenalty&,
                                      Effort, const Poll&, double*, double*);
template Descended descend_on_columns(const Compressed<double>&, const ColumnChoice&,
                                      const RowCurvature&, const double*, const SeparablePenalty&,
                                      Effort, const Poll&, double*, double*);
template void times_columns(const Dense<float>&, const ColumnChoice&, const double*, Index,
                            const Poll&, double*);
template void times_columns(const Dense<double>&, const ColumnChoice&, const double*, Index,
                            const Poll&, double*);
template void times_columns(const Compressed<float>&, const ColumnChoice&, const double*, Index,
                            const Poll&, double*);
template void times_columns(const Compressed<double>&, const ColumnChoice&, const double*, Index,
                            const Poll&, double*);

}  // namespace gapless
