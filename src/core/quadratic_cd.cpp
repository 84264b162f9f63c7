#include "quadratic_cd.hpp"

#include <concepts>

namespace gapless {
namespace {

// What coordinate descent asks of the quadratic. Its variables are features × outputs.
template <class Q>
concept Quadratic = requires(Q& q, Index j, double* out, const double* step) {
    { q.features() } -> std::convertible_to<Index>;
    { q.outputs() } -> std::convertible_to<Index>;
    // Roughly how many operations a gradient takes.
    { q.cost(j) } -> std::convertible_to<Index>;
    // Whether the Hessian of one feature is curvature(j)·I.
    { q.is_uniform() } -> std::convertible_to<bool>;
    { q.curvature(j) } -> std::convertible_to<double>;
    // The gradient of feature j, one number per output, at the current point.
    { q.gradient(j, out) };
    // Change the coefficients of feature j.
    { q.move(j, step) };
    // The Hessian between features j and l, outputs × outputs.
    { q.hessian(j, j, out) };
};

// A feature whose curvature vanishes up to rounding, as that of a constant column beside a free
// bias, has none, and no slope either.
constexpr double negligible = 64 * std::numeric_limits<double>::epsilon();

// ---- the quadratic on a Gram matrix
// --------------------------------------------------------------

class GramQuadratic {
public:
    GramQuadratic(const double* gram, Index features, Index outputs, const double* slope)
        : gram_(gram), features_(features), outputs_(outputs), gradient_(features * outputs) {
        for (Index j = 0; j < features; ++j)
            for (Index k = 0; k < outputs; ++k)
                gradient_[k * features + j] = slope[j * outputs + k];
    }
    Index features() const { return features_; }
    Index outputs() const { return outputs_; }
    Index cost(Index) const { return outputs_; }
    bool is_uniform() const { return true; }
    double curvature(Index j) const { return gram_[j * features_ + j]; }
    void gradient(Index j, double* out) const {
        for (Index k = 0; k < outputs_; ++k) out[k] = gradient_[k * features_ + j];
    }
    void move(Index j, const double* step) {
        for (Index k = 0; k < outputs_; ++k)
            if (step[k] != 0)
                axpy(step[k], gram_ + j * features_, gradient_.data() + k * features_, features_);
    }
    void hessian(Index j, Index l, double* out) const {
        std::fill(out, out + outputs_ * outputs_, 0.0);
        for (Index k = 0; k < outputs_; ++k) out[k * outputs_ + k] = gram_[j * features_ + l];
    }

private:
    const double* gram_;
    Index features_, outputs_;
    std::vector<double> gradient_;  // output after output, so that a step is one axpy
};

// ---- the chosen columns, copied
// ------------------------------------------------------------------

// A column: values, their rows (null: all rows in order), how many.
struct Line {
    const double* value;
    const std::int32_t* index;
    Index count;
};

// The chosen columns in double, each row multiplied by `scale` (may be null). Copied, they lie one
// after the other, need no second multiplication by the curvature, and no template per data type.
class CopiedColumns {
public:
    // Dense columns have `shift` (one per chosen column) subtracted; sparse ones have none.
    template <class T>
    CopiedColumns(const Dense<T>& x, const ColumnChoice& choice, const double* scale,
                  const double* shift)
        : rows_(x.rows), start_(choice.count + 1), value_(choice.count * x.rows) {
        const Index by_row = x.order == Order::rows ? x.columns : 1;
        const Index by_column = x.order == Order::rows ? 1 : x.rows;
        // A few rows at a time, so that reading across and writing along stay in the cache.
        constexpr Index strip = 64;
        for (Index first = 0; first < rows_; first += strip) {
            const Index last = std::min(first + strip, rows_);
            for (Index t = 0; t < choice.count; ++t) {
                const T* column = x.data + choice.which[t] * by_column;
                double* out = value_.data() + t * rows_;
                for (Index i = first; i < last; ++i) {
                    const double centred = static_cast<double>(column[i * by_row]) - shift[t];
                    out[i] = scale ? scale[i] * centred : centred;
                }
            }
        }
        for (Index t = 0; t <= choice.count; ++t) start_[t] = t * rows_;
    }

    template <class T>
    CopiedColumns(const Compressed<T>& x, const ColumnChoice& choice, const double* scale,
                  const double* shift)
        : rows_(x.length), start_(choice.count + 1) {
        const bool is_shifted =
            std::any_of(shift, shift + choice.count, [](double s) { return s != 0; });
        if (is_shifted) {
            spread(x, choice, scale, shift);
            return;
        }
        Index total = 0;
        for (Index t = 0; t < choice.count; ++t)
            total += x.start[choice.which[t] + 1] - x.start[choice.which[t]];
        value_.reserve(total);
        index_.reserve(total);
        for (Index t = 0; t < choice.count; ++t) {
            for (Index p = x.start[choice.which[t]]; p < x.start[choice.which[t] + 1]; ++p) {
                const double value =
                    scale ? scale[x.index[p]] * static_cast<double>(x.value[p]) : x.value[p];
                if (value == 0) continue;
                value_.push_back(value);
                index_.push_back(x.index[p]);
            }
            start_[t + 1] = static_cast<Index>(value_.size());
        }
        is_sparse_ = true;
    }

    Index rows() const { return rows_; }
    Index columns() const { return static_cast<Index>(start_.size()) - 1; }
    Line line(Index t) const {
        return {value_.data() + start_[t], is_sparse_ ? index_.data() + start_[t] : nullptr,
                start_[t + 1] - start_[t]};
    }
    double dot(Index t, const double* v) const {
        const Line x = line(t);
        return is_sparse_ ? sparse_dot(x.value, x.index, v, x.count)
                          : gapless::dot(x.value, v, x.count);
    }
    void axpy(Index t, double scale, double* out) const {
        const Line x = line(t);
        if (is_sparse_)
            sparse_axpy(scale, x.value, x.index, out, x.count);
        else
            gapless::axpy(scale, x.value, out, x.count);
    }
    double squared_norm(Index t, const double* weights) const {
        const Line x = line(t);
        double sum = 0;
        for (Index p = 0; p < x.count; ++p) {
            const double square = x.value[p] * x.value[p];
            sum += weights ? weights[x.index ? x.index[p] : p] * square : square;
        }
        return sum;
    }

private:
    // Sparse columns with something subtracted are dense.
    template <class T>
    void spread(const Compressed<T>& x, const ColumnChoice& choice, const double* scale,
                const double* shift) {
        value_.resize(choice.count * rows_);
        for (Index t = 0; t < choice.count; ++t) {
            double* out = value_.data() + t * rows_;
            std::fill(out, out + rows_, -shift[t]);
            for (Index p = x.start[choice.which[t]]; p < x.start[choice.which[t] + 1]; ++p)
                out[x.index[p]] += static_cast<double>(x.value[p]);
            if (scale)
                for (Index i = 0; i < rows_; ++i) out[i] *= scale[i];
            start_[t + 1] = (t + 1) * rows_;
        }
    }

    Index rows_;
    bool is_sparse_ = false;
    std::vector<Index> start_;
    std::vector<double> value_;
    std::vector<std::int32_t> index_;
};

static_assert(ColumnMatrix<CopiedColumns>);

// ---- one output
// ----------------------------------------------------------------------------------

// The columns are scaled by √h, u = √h·A(w − t). A free bias is eliminated: every column is made
// orthogonal to v = √h by subtracting its mean, of which only the scalar vᵀu need be kept.
class ColumnQuadratic {
public:
    ColumnQuadratic(const CopiedColumns& x, const std::vector<double>& root, bool with_bias,
                    const double* slope, double bias_slope)
        : x_(x),
          with_bias_(with_bias),
          bias_slope_(bias_slope),
          total_(gapless::dot(root.data(), root.data(), x.rows())),
          u_(x.rows()),
          slope_(slope, slope + x.columns()),
          mean_(x.columns()),
          curvature_(x.columns()) {
        for (Index j = 0; j < x.columns(); ++j) {
            const double raw = x.squared_norm(j, nullptr);
            curvature_[j] = raw;
            if (!with_bias || !(total_ > 0)) continue;
            mean_[j] = x.dot(j, root.data()) / total_;
            slope_[j] -= mean_[j] * bias_slope;
            curvature_[j] -= mean_[j] * mean_[j] * total_;
            if (!(curvature_[j] > negligible * raw)) curvature_[j] = slope_[j] = 0;
        }
    }
    Index features() const { return x_.columns(); }
    Index outputs() const { return 1; }
    Index cost(Index j) const { return x_.line(j).count; }
    bool is_uniform() const { return true; }
    double curvature(Index j) const { return curvature_[j]; }
    void gradient(Index j, double* out) const {
        *out = curvature_[j] > 0 ? slope_[j] + x_.dot(j, u_.data()) - mean_[j] * along_bias_
                                 : slope_[j];
    }
    void move(Index j, const double* step) {
        if (!(curvature_[j] > 0)) return;
        x_.axpy(j, *step, u_.data());
        along_bias_ += total_ * mean_[j] * *step;
    }
    void hessian(Index j, Index l, double* out) {
        if (j == l) {
            *out = curvature_[j];
            return;
        }
        scratch_.assign(x_.rows(), 0.0);
        x_.axpy(j, 1.0, scratch_.data());
        *out = x_.dot(l, scratch_.data()) - mean_[j] * mean_[l] * total_;
    }
    void bias_step(double* out) const {
        *out = with_bias_ && total_ > 0 ? -(bias_slope_ + along_bias_) / total_ : 0.0;
    }

private:
    const CopiedColumns& x_;
    bool with_bias_;
    double bias_slope_, total_, along_bias_ = 0;
    std::vector<double> u_, slope_, mean_, curvature_, scratch_;
};

// ---- several outputs
// -----------------------------------------------------------------------------

// out[k] += Σᵢ xᵢ U[i, k]
GAPLESS_CLONES void add_rows(const Line& x, const double* u, Index outputs, double* out) {
    for (Index p = 0; p < x.count; ++p) {
        const double* row = u + (x.index ? x.index[p] : p) * outputs;
        const double value = x.value[p];
#pragma omp simd
        for (Index k = 0; k < outputs; ++k) out[k] += value * row[k];
    }
}

// U[i, :] += xᵢ (diag(aᵢ) − fᵢfᵢᵀ) step
GAPLESS_CLONES void move_rows(const Line& x, const RowCurvature& h, const double* step, double* u) {
    const Index outputs = h.outputs;
    for (Index p = 0; p < x.count; ++p) {
        const Index first = (x.index ? x.index[p] : p) * outputs;
        const double value = x.value[p];
        const double* a = h.diagonal + first;
        double* row = u + first;
        if (!h.factor) {
#pragma omp simd
            for (Index k = 0; k < outputs; ++k) row[k] += value * a[k] * step[k];
            continue;
        }
        const double* f = h.factor + first;
        double along = 0;
#pragma omp simd reduction(+ : along)
        for (Index k = 0; k < outputs; ++k) along += f[k] * step[k];
#pragma omp simd
        for (Index k = 0; k < outputs; ++k) row[k] += value * (a[k] * step[k] - f[k] * along);
    }
}

// out += value·(diag(aᵢ) − fᵢfᵢᵀ), outputs × outputs
GAPLESS_CLONES void add_row_hessian(double value, const RowCurvature& h, Index i, double* out) {
    const Index outputs = h.outputs;
    const double* a = h.diagonal + i * outputs;
    const double* f = h.factor ? h.factor + i * outputs : nullptr;
    for (Index k = 0; k < outputs; ++k) {
        double* row = out + k * outputs;
        row[k] += value * a[k];
        if (!f) continue;
        const double scale = value * f[k];
#pragma omp simd
        for (Index l = 0; l < outputs; ++l) row[l] -= scale * f[l];
    }
}

// U = Σⱼ H(xⱼ stepⱼ), one row of outputs per sample. The free bias is eliminated as for one output,
// with matrices: Mⱼ = Σᵢ xᵢⱼHᵢ in place of the mean, the inverse of N = ΣHᵢ in place of 1/Σh.
class RowQuadratic {
public:
    RowQuadratic(const CopiedColumns& x, const RowCurvature& h, const double* slope,
                 const double* bias_slope)
        : x_(x),
          h_(h),
          with_bias_(bias_slope != nullptr),
          u_(h.rows * h.outputs),
          slope_(slope, slope + x.columns() * h.outputs),
          along_bias_(h.outputs),
          solved_(h.outputs) {
        if (!with_bias_) return;
        const Index K = h.outputs;
        std::vector<double> N(K * K);
        for (Index i = 0; i < h.rows; ++i) add_row_hessian(1.0, h, i, N.data());
        factorise_bias(N);
        moment_.resize(x.columns() * K * K);
        std::vector<double> response(bias_slope, bias_slope + K);
        solve_bias(response.data());
        bias_slope_.assign(bias_slope, bias_slope + K);
        for (Index j = 0; j < x.columns(); ++j) {
            double* M = moment_.data() + j * K * K;
            const Line line = x.line(j);
            for (Index p = 0; p < line.count; ++p)
                add_row_hessian(line.value[p], h, line.index ? line.index[p] : p, M);
            for (Index k = 0; k < K; ++k)
                slope_[j * K + k] -= gapless::dot(M + k * K, response.data(), K);
        }
    }
    Index features() const { return x_.columns(); }
    Index outputs() const { return h_.outputs; }
    Index cost(Index j) const { return x_.line(j).count * h_.outputs; }
    bool is_uniform() const { return false; }
    double curvature(Index) const { return 0; }
    void gradient(Index j, double* out) const {
        const Index K = h_.outputs;
        std::copy(slope_.data() + j * K, slope_.data() + (j + 1) * K, out);
        add_rows(x_.line(j), u_.data(), K, out);
        if (!with_bias_) return;
        for (Index k = 0; k < K; ++k)
            out[k] -= gapless::dot(moment_.data() + (j * K + k) * K, solved_.data(), K);
    }
    void move(Index j, const double* step) {
        const Index K = h_.outputs;
        move_rows(x_.line(j), h_, step, u_.data());
        if (!with_bias_) return;
        for (Index k = 0; k < K; ++k)
            along_bias_[k] += gapless::dot(moment_.data() + (j * K + k) * K, step, K);
        solved_ = along_bias_;
        solve_bias(solved_.data());
    }
    void hessian(Index j, Index l, double* out) {
        const Index K = h_.outputs;
        std::fill(out, out + K * K, 0.0);
        const Line a = x_.line(j), b = x_.line(l);
        if (j == l) {
            for (Index p = 0; p < a.count; ++p)
                add_row_hessian(a.value[p] * a.value[p], h_, a.index ? a.index[p] : p, out);
        } else {
            scratch_.assign(h_.rows, 0.0);
            x_.axpy(j, 1.0, scratch_.data());
            for (Index p = 0; p < b.count; ++p) {
                const Index i = b.index ? b.index[p] : p;
                if (scratch_[i] != 0) add_row_hessian(b.value[p] * scratch_[i], h_, i, out);
            }
        }
        if (!with_bias_) return;
        // − Mⱼ N⁻¹ Mₗ, column by column of the symmetric Mₗ.
        for (Index k = 0; k < K; ++k) {
            std::vector<double> response(moment_.data() + (l * K + k) * K,
                                         moment_.data() + (l * K + k + 1) * K);
            solve_bias(response.data());
            for (Index r = 0; r < K; ++r)
                out[r * K + k] -=
                    gapless::dot(moment_.data() + (j * K + r) * K, response.data(), K);
        }
    }
    void bias_step(double* out) const {
        if (!with_bias_) return;
        for (Index k = 0; k < h_.outputs; ++k) out[k] = -(bias_slope_[k] + along_bias_[k]);
        solve_bias(out);
    }

private:
    // N is singular when adding a constant to all scores of a row changes nothing.
    void factorise_bias(const std::vector<double>& N) {
        const Index K = h_.outputs;
        double trace = 0;
        for (Index k = 0; k < K; ++k) trace += N[k * K + k];
        for (double ridge = 1e-13; ridge <= 1; ridge *= 10) {
            root_ = N;
            for (Index k = 0; k < K; ++k) root_[k * K + k] += ridge * trace;
            if (factorise(root_.data(), K)) return;
        }
        root_.clear();
    }
    void solve_bias(double* x) const {
        if (root_.empty()) return std::fill(x, x + h_.outputs, 0.0);
        solve_lower(root_.data(), h_.outputs, x);
        solve_upper(root_.data(), h_.outputs, x);
    }

    const CopiedColumns& x_;
    const RowCurvature& h_;
    bool with_bias_;
    std::vector<double> u_, slope_, along_bias_, solved_, moment_, root_, bias_slope_, scratch_;
};

// ---- coordinate descent
// --------------------------------------------------------------------------

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

    Descended run(Effort effort, const Poll& poll) {
        Checkpoint checkpoint(poll);
        std::vector<Index> all(blocks_), active;
        for (Index b = 0; b < blocks_; ++b) all[b] = b;
        double gained = 0;
        bool everywhere = true;
        for (Index sweep = 1; sweep <= effort.sweeps; ++sweep) {
            const double gain = visit(everywhere ? all : active, checkpoint);
            gained += gain;
            const bool little = gain <= effort.tolerance * gained;
            if (everywhere && little) return {sweep, true};
            if (everywhere) {
                active.clear();
                for (Index b : all)
                    if (!is_zero(b)) active.push_back(b);
            }
            everywhere = little || active.empty();
        }
        return {effort.sweeps, false};
    }

private:
    Index K() const { return q_.outputs(); }
    bool has_norms() const { return penalty_.kind == PenaltyKind::block_norm; }
    Index count_blocks() const { return has_norms() ? penalty_.blocks : q_.features(); }
    Index first(Index b) const { return has_norms() ? penalty_.start[b] : b; }
    Index last(Index b) const { return has_norms() ? penalty_.start[b + 1] : b + 1; }
    bool is_zero(Index b) const {
        return std::all_of(w_ + first(b) * K(), w_ + last(b) * K(),
                           [](double w) { return w == 0; });
    }

    // One sweep over the given blocks; returns what it gained at least.
    double visit(const std::vector<Index>& blocks, Checkpoint& checkpoint) {
        constexpr Index between_checks = 100'000;
        double gain = 0;
        Index work = 0;
        for (Index b : blocks) {
            for (Index j = first(b); j < last(b); ++j) {
                q_.gradient(j, slope_.data() + (j - first(b)) * K());
                work += 16 + q_.cost(j);
            }
            gain += improve(b);
            if (work > between_checks) {
                checkpoint();
                work = 0;
            }
        }
        return gain;
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
            minimise_coordinates(B, elastic_box(j), w, m);
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

    void minimise_uniform(Index b, double c, Index m) {
        const double* w = w_ + first(b) * K();
        switch (penalty_.kind) {
            case PenaltyKind::elastic_box: {
                const ElasticBox r = elastic_box(b);
                for (Index i = 0; i < m; ++i) candidate_[i] = minimise(r, w[i], slope_[i], c);
                break;
            }
            case PenaltyKind::block_norm:
                BlockNorm::minimise(c, penalty_.strength[b], slope_.data(), w, m,
                                    candidate_.data());
                break;
        }
    }

    // Most visits end here, before the Hessian of the block is needed.
    bool stays_zero(Index b, Index m) {
        if (!is_zero(b)) return false;
        minimise_uniform(b, 1.0, m);
        return std::all_of(candidate_.data(), candidate_.data() + m,
                           [](double v) { return v == 0; });
    }

    // Coordinate descent inside the block, which costs nothing beside the columns.
    void minimise_coordinates(const double* B, const ElasticBox& r, const double* w, Index m) {
        std::copy(w, w + m, candidate_.data());
        double gained = 0;
        for (int pass = 0; pass < 100; ++pass) {
            double gain = 0;
            for (Index i = 0; i < m; ++i) {
                const double v = minimise(r, candidate_[i], slope_[i], B[i * m + i]);
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
    std::vector<std::vector<double>> hessian_;  // of each block, made when it is first needed
    std::vector<double> slope_, candidate_, step_;
    BlockNorm block_norm_;
};

}  // namespace

Descended descend_on_gram(const double* gram, Index features, Index outputs, const double* slope,
                          const SeparablePenalty& penalty, Effort effort, const Poll& poll,
                          double* w) {
    GramQuadratic quadratic(gram, features, outputs, slope);
    return Descent(quadratic, penalty, w).run(effort, poll);
}

namespace {

// What is subtracted from each chosen column: its mean under the curvature when a free bias makes
// up for it and the column is dense anyway, else the centre of the data.
template <class T>
std::vector<double> shifts(const Dense<T>& x, const ColumnChoice& choice, const RowCurvature& h) {
    std::vector<double> shift(choice.count);
    if (!choice.bias_slope) {
        for (Index t = 0; choice.center && t < choice.count; ++t)
            shift[t] = choice.center[choice.which[t]];
        return shift;
    }
    const Index by_row = x.order == Order::rows ? x.columns : 1;
    const Index by_column = x.order == Order::rows ? 1 : x.rows;
    double total = 0;
    for (Index i = 0; i < x.rows; ++i) {
        const double weight = h.diagonal[i * h.outputs];
        total += weight;
        for (Index t = 0; t < choice.count; ++t)
            shift[t] += weight * x.data[i * by_row + choice.which[t] * by_column];
    }
    for (double& s : shift) s = total > 0 ? s / total : 0;
    return shift;
}

template <class T>
std::vector<double> shifts(const Compressed<T>&, const ColumnChoice& choice, const RowCurvature&) {
    std::vector<double> shift(choice.count);
    for (Index t = 0; choice.center && !choice.bias_slope && t < choice.count; ++t)
        shift[t] = choice.center[choice.which[t]];
    return shift;
}

}  // namespace

template <class Matrix>
Descended descend_on_columns(const Matrix& data, const ColumnChoice& choice,
                             const RowCurvature& curvature, const double* slope,
                             const SeparablePenalty& penalty, Effort effort, const Poll& poll,
                             double* w, double* bias_step) {
    const Index K = curvature.outputs;
    const bool with_bias = choice.bias_slope != nullptr;
    const std::vector<double> shift = shifts(data, choice, curvature);
    // The data's own columns are x − center; with `shift` subtracted instead, the bias takes up the
    // difference, and the slopes change accordingly.
    std::vector<double> offset(choice.count), slopes(slope, slope + choice.count * K);
    for (Index t = 0; with_bias && t < choice.count; ++t) {
        offset[t] = shift[t] - (choice.center ? choice.center[choice.which[t]] : 0.0);
        for (Index k = 0; k < K; ++k) slopes[t * K + k] -= offset[t] * choice.bias_slope[k];
    }
    const std::vector<double> before(w, w + choice.count * K);
    auto descend = [&](auto& quadratic) {
        const Descended done = Descent(quadratic, penalty, w).run(effort, poll);
        if (!with_bias) return done;
        quadratic.bias_step(bias_step);
        for (Index t = 0; t < choice.count; ++t)
            for (Index k = 0; k < K; ++k)
                bias_step[k] -= offset[t] * (w[t * K + k] - before[t * K + k]);
        return done;
    };
    if (K > 1) {
        const CopiedColumns columns(data, choice, nullptr, shift.data());
        RowQuadratic quadratic(columns, curvature, slopes.data(), choice.bias_slope);
        return descend(quadratic);
    }
    std::vector<double> root(curvature.rows);
    for (Index i = 0; i < curvature.rows; ++i) root[i] = std::sqrt(curvature.diagonal[i]);
    const CopiedColumns columns(data, choice, root.data(), shift.data());
    ColumnQuadratic quadratic(columns, root, with_bias, slopes.data(),
                              with_bias ? *choice.bias_slope : 0.0);
    return descend(quadratic);
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

}  // namespace gapless
