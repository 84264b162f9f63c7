#include "linear/quadratics.hpp"

namespace gapless {
namespace {

// A feature whose curvature vanishes up to rounding, such as a constant column beside a free bias,
// has none, and no slope either.
constexpr double negligible = 64 * std::numeric_limits<double>::epsilon();

// out[k] += Σᵢ xᵢ U[i, k]
void add_rows(const Line& x, const double* u, Index outputs, double* out) {
    for (Index p = 0; p < x.count; ++p) {
        const double* row = u + x.row(p) * outputs;
        const double value = x.value[p];
#pragma omp simd
        for (Index k = 0; k < outputs; ++k) out[k] += value * row[k];
    }
}

// U[i, :] += xᵢ (diag(aᵢ) − fᵢfᵢᵀ) step
void move_rows(const Line& x, const RowCurvature& h, const double* step, double* u) {
    const Index outputs = h.outputs;
    for (Index p = 0; p < x.count; ++p) {
        const Index first = x.row(p) * outputs;
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
void add_row_hessian(double value, const RowCurvature& h, Index i, double* out) {
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

}  // namespace

// ---- on a Gram matrix
// ----------------------------------------------------------------------------

GramQuadratic::GramQuadratic(const double* gram, Index features, Index outputs, const double* slope)
    : gram_(gram), features_(features), outputs_(outputs), gradient_(features * outputs) {
    for (Index j = 0; j < features; ++j)
        for (Index k = 0; k < outputs; ++k) gradient_[k * features + j] = slope[j * outputs + k];
}

// ---- one output
// ----------------------------------------------------------------------------------

ColumnQuadratic::ColumnQuadratic(const CopiedColumns& x, const std::vector<double>& root,
                                 const double* slope, const double* bias_slope)
    : x_(x),
      bias_slope_(bias_slope ? *bias_slope : 0.0),
      total_(gapless::dot(root.data(), root.data(), x.rows())),
      u_(x.rows()),
      slope_(slope, slope + x.columns()),
      mean_(x.columns()),
      curvature_(x.columns()) {
    // Without any curvature the bias has no best value and stays.
    const bool has_bias = bias_slope && total_ > 0;
    if (!has_bias) bias_slope_ = 0, total_ = 1;
    for (Index j = 0; j < x.columns(); ++j) {
        const double raw = x.squared_norm(j, nullptr);
        curvature_[j] = raw;
        if (!has_bias) continue;
        mean_[j] = x.dot(j, root.data()) / total_;
        slope_[j] -= mean_[j] * bias_slope_;
        curvature_[j] -= mean_[j] * mean_[j] * total_;
        if (!(curvature_[j] > negligible * raw)) curvature_[j] = slope_[j] = 0;
    }
}

void ColumnQuadratic::hessian(Index j, Index l, double* out) {
    if (j == l) {
        *out = curvature_[j];
        return;
    }
    scratch_.assign(x_.rows(), 0.0);
    x_.axpy(j, 1.0, scratch_.data());
    *out = x_.dot(l, scratch_.data()) - mean_[j] * mean_[l] * total_;
}

// ---- several outputs
// -----------------------------------------------------------------------------

RowQuadratic::RowQuadratic(const CopiedColumns& x, const RowCurvature& h, const double* slope,
                           const double* bias_slope, Checkpoint& checkpoint)
    : x_(x),
      h_(h),
      u_(h.rows * h.outputs),
      slope_(slope, slope + x.columns() * h.outputs),
      along_bias_(h.outputs),
      solved_(h.outputs) {
    if (!bias_slope) return;
    const Index K = h.outputs;
    bias_slope_.assign(bias_slope, bias_slope + K);
    factorise_bias(checkpoint);
    std::vector<double> response(bias_slope_);
    solve_bias(response.data());
    moment_.resize(x.columns() * K * K);
    for (Index j = 0; j < x.columns(); ++j) {
        const Line line = x.line(j);
        for (Index p = 0; p < line.count; ++p)
            add_row_hessian(line.value[p], h, line.row(p), moment_.data() + j * K * K);
        for (Index k = 0; k < K; ++k)
            slope_[j * K + k] -= gapless::dot(moment(j, k), response.data(), K);
        checkpoint();
    }
}

void RowQuadratic::gradient(Index j, double* out) const {
    const Index K = h_.outputs;
    std::copy(slope_.data() + j * K, slope_.data() + (j + 1) * K, out);
    add_rows(x_.line(j), u_.data(), K, out);
    if (bias_slope_.empty()) return;
    for (Index k = 0; k < K; ++k) out[k] -= gapless::dot(moment(j, k), solved_.data(), K);
}

void RowQuadratic::move(Index j, const double* step) {
    const Index K = h_.outputs;
    move_rows(x_.line(j), h_, step, u_.data());
    if (bias_slope_.empty()) return;
    for (Index k = 0; k < K; ++k) along_bias_[k] += gapless::dot(moment(j, k), step, K);
    solved_ = along_bias_;
    solve_bias(solved_.data());
}

void RowQuadratic::hessian(Index j, Index l, double* out) {
    const Index K = h_.outputs;
    std::fill(out, out + K * K, 0.0);
    const Line a = x_.line(j), b = x_.line(l);
    if (j == l) {
        for (Index p = 0; p < a.count; ++p)
            add_row_hessian(a.value[p] * a.value[p], h_, a.row(p), out);
    } else {
        scratch_.assign(h_.rows, 0.0);
        x_.axpy(j, 1.0, scratch_.data());
        for (Index p = 0; p < b.count; ++p)
            add_row_hessian(b.value[p] * scratch_[b.row(p)], h_, b.row(p), out);
    }
    if (bias_slope_.empty()) return;
    std::vector<double> raw(K);
    for (Index k = 0; k < K; ++k) raw[k] = out[k * K + k];
    // − Mⱼ N⁻¹ Mₗ, column by column of the symmetric Mₗ.
    for (Index k = 0; k < K; ++k) {
        scratch_.assign(moment(l, k), moment(l, k) + K);
        solve_bias(scratch_.data());
        for (Index r = 0; r < K; ++r)
            out[r * K + k] -= gapless::dot(moment(j, r), scratch_.data(), K);
    }
    for (Index k = 0; j == l && k < K; ++k) {
        if (out[k * K + k] > 1e3 * negligible * raw[k]) continue;  // N⁻¹ costs some digits
        for (Index r = 0; r < K; ++r) out[r * K + k] = out[k * K + r] = 0;
    }
}

void RowQuadratic::bias_step(double* out) const {
    for (Index k = 0; k < h_.outputs; ++k) out[k] = -(bias_slope_[k] + along_bias_[k]);
    solve_bias(out);
}

// N is singular when a constant added to all scores of a row changes nothing.
void RowQuadratic::factorise_bias(Checkpoint& checkpoint) {
    const Index K = h_.outputs;
    std::vector<double> N(K * K);
    for (Index i = 0; i < h_.rows; ++i) {
        add_row_hessian(1.0, h_, i, N.data());
        if (i % 1024 == 0) checkpoint();
    }
    double trace = 0;
    for (Index k = 0; k < K; ++k) trace += N[k * K + k];
    for (double ridge = 4 * std::numeric_limits<double>::epsilon(); ridge <= 1; ridge *= 10) {
        root_ = N;
        for (Index k = 0; k < K; ++k) root_[k * K + k] += ridge * trace;
        if (factorise(root_.data(), K)) return;
    }
    root_.clear();  // no curvature at all: the biases have no best value and stay
}

void RowQuadratic::solve_bias(double* x) const {
    if (root_.empty()) return std::fill(x, x + h_.outputs, 0.0);
    solve_lower(root_.data(), h_.outputs, x);
    solve_upper(root_.data(), h_.outputs, x);
}

}  // namespace gapless
