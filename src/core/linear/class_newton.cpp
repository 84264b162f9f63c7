#include "linear/class_newton.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/exponential.hpp"
#include "linear/line_search.hpp"

namespace gapless {
namespace {

constexpr double eps = std::numeric_limits<double>::epsilon();
constexpr double infinity = std::numeric_limits<double>::infinity();
// Rows of a factor eliminated together.
constexpr Index panel = 48;
// The smallest pivot of a matrix with a unit diagonal that counts as more than rounding.
constexpr double smallest_pivot = 1e-10;
// How accurately the Newton equations are solved at first and at best.
constexpr double first_accuracy = 0.5, best_accuracy = 1e-6;
constexpr Index most_products = 250;
// Rebuild the block after this large a change of the curvature, or this many products.
constexpr double stale_change = 0.5;
constexpr Index stale_products = 10;
// The line search ends at a slope this much flatter, after a Newton step and after one from
// gradients.
constexpr double level = 0.25, level_by_gradients = 0.9;
// Steps from gradients remember this many earlier ones. The first is this much shorter than the
// diagonal of the Hessian suggests, since curvature falls as the scores grow.
constexpr std::size_t most_memories = 10;
constexpr double first_length = 0.1;
// They continue while this many of them reduce the squared gradient by this factor; a Newton step
// takes about as long, and does.
constexpr std::size_t patience = 15;
constexpr double least_progress = 0.1;
// They stop once about this part of the objective is left to gain: Newton steps are best at the
// last digits, which formulas for held-out rows build on.
constexpr double few_digits = 1e-5;

double inner(const std::vector<double>& a, const std::vector<double>& b) {
    return dot(a.data(), b.data(), static_cast<Index>(a.size()));
}

// Replace each x ≤ 0 by eˣ.
void raise(double* x, Index n) {
#pragma omp simd
    for (Index i = 0; i < n; ++i) x[i] = exp_of(x[i]);
}

Operand<double> as_read(const double* data, Index stride) { return {data, stride, Transpose::no}; }

}  // namespace

// ---- factors ----

bool ScaledCholesky::factor(std::vector<double> a, Index n, const Blas& blas) {
    n_ = n;
    a_ = std::move(a);
    scale_.resize(n);
    double* L = a_.data();
    for (Index i = 0; i < n; ++i) {
        if (!(L[i * n + i] > 0) || !std::isfinite(L[i * n + i])) return false;
        scale_[i] = 1 / std::sqrt(L[i * n + i]);
    }
    for (Index i = 0; i < n; ++i)
        for (Index j = 0; j <= i; ++j) L[i * n + j] *= scale_[i] * scale_[j];
    std::vector<double> negative;
    for (Index p = 0; p < n; p += panel) {
        const Index end = std::min(p + panel, n), width = end - p;
        for (Index i = p; i < n; ++i) {
            for (Index j = p; j < std::min(i, end); ++j)
                L[i * n + j] =
                    (L[i * n + j] - dot(L + i * n + p, L + j * n + p, j - p)) / L[j * n + j];
            if (i >= end) continue;
            double pivot = L[i * n + i] - square_sum(L + i * n + p, nullptr, i - p);
            if (!(pivot > smallest_pivot)) return false;
            L[i * n + i] = std::sqrt(pivot);
        }
        if (end == n) break;
        // Subtract L Lᵀ of the panel from the rows below.
        const Index below = n - end;
        negative.resize(below * width);
        for (Index i = 0; i < below; ++i)
            for (Index j = 0; j < width; ++j) negative[i * width + j] = -L[(end + i) * n + p + j];
        gemm(blas, below, below, width, transposed(as_read(L + end * n + p, n)),
             as_read(negative.data(), width), 1.0, L + end * n + end, n);
    }
    return true;
}

void ScaledCholesky::solve(double* b, Index columns, const Blas& blas) const {
    const Index n = n_;
    const double* L = a_.data();
    auto row = [&](Index i) { return b + i * columns; };
    for (Index i = 0; i < n; ++i)
        for (Index k = 0; k < columns; ++k) row(i)[k] *= scale_[i];
    std::vector<double> part(panel * columns);
    for (Index p = 0; p < n; p += panel) {
        const Index end = std::min(p + panel, n);
        if (p > 0) {
            gemm(blas, columns, end - p, p, as_read(b, columns), as_read(L + p * n, n), 0.0,
                 part.data(), columns);
            axpy(-1.0, part.data(), row(p), (end - p) * columns);
        }
        for (Index i = p; i < end; ++i) {
            for (Index j = p; j < i; ++j) axpy(-L[i * n + j], row(j), row(i), columns);
            for (Index k = 0; k < columns; ++k) row(i)[k] /= L[i * n + i];
        }
    }
    for (Index p = (n - 1) / panel * panel; p >= 0; p -= panel) {
        const Index end = std::min(p + panel, n);
        if (end < n) {
            gemm(blas, columns, end - p, n - end, as_read(row(end), columns),
                 transposed(as_read(L + end * n + p, n)), 0.0, part.data(), columns);
            axpy(-1.0, part.data(), row(p), (end - p) * columns);
        }
        for (Index i = end - 1; i >= p; --i) {
            for (Index j = i + 1; j < end; ++j) axpy(-L[j * n + i], row(j), row(i), columns);
            for (Index k = 0; k < columns; ++k) row(i)[k] /= L[i * n + i];
        }
    }
    for (Index i = 0; i < n; ++i)
        for (Index k = 0; k < columns; ++k) row(i)[k] *= scale_[i];
}

// ---- products, and the loss ----

ClassNewton::ClassNewton(const ClassProblem& problem, bool is_joint, bool by_gradients)
    : problem_(problem),
      is_joint_(is_joint),
      by_gradients_(by_gradients),
      n_(problem.x.rows),
      d_(problem.x.columns),
      K_(problem.outputs) {
    for (Vector* v :
         {&p_, &along_, &trial_z_, &trial_p_, &trial_slope_, &best_z_, &best_p_, &best_slope_, &u_})
        v->resize(n_ * K_);
    step_w_.resize(d_ * K_);
    bias_gradient_.resize(K_);
    step_b_.resize(K_);
    mean_.resize(d_);
    if (!is_joint) return;
    const Index m = d_ + problem.has_bias;
    if (problem.has_bias) {
        double total = 0;
        for (Index i = 0; i < n_; ++i) {
            total += problem.weights[i];
            for (Index j = 0; j < d_; ++j) mean_[j] += problem.weights[i] * entry(i, j);
        }
        for (double& mean : mean_) mean /= total;
    }
    centred_.resize(n_ * m);
    scaled_.resize(n_ * m);
    for (Index i = 0; i < n_; ++i) {
        for (Index j = 0; j < d_; ++j) centred_[i * m + j] = entry(i, j) - mean_[j];
        if (problem.has_bias) centred_[i * m + d_] = 1;
    }
}

void ClassNewton::multiply(const double* w, const double* b, double* z, const Blas& blas) const {
    for (Index i = 0; i < n_; ++i) std::copy_n(b, K_, z + i * K_);
    const Dense<double>& x = problem_.x;
    auto columns = x.order == Order::rows ? as_read(x.data, d_) : transposed(as_read(x.data, n_));
    gemm(blas, K_, n_, d_, as_read(w, K_), columns, 1.0, z, K_);
}

void ClassNewton::multiply_transposed(const double* r, double* out, const Blas& blas) const {
    const Dense<double>& x = problem_.x;
    auto rows = x.order == Order::rows ? transposed(as_read(x.data, d_)) : as_read(x.data, n_);
    gemm(blas, K_, d_, n_, as_read(r, K_), rows, 0.0, out, K_);
}

double ClassNewton::loss(const double* z, double* p, double* slope) const {
    for (Index i = 0; i < n_; ++i) {
        const double largest = *std::max_element(z + i * K_, z + (i + 1) * K_);
        for (Index k = i * K_; k < (i + 1) * K_; ++k) p[k] = z[k] - largest;
    }
    double sum = 0;
    // Keep the scores of the true class before they are overwritten by their exponentials.
    for (Index i = 0; i < n_; ++i)
        if (problem_.weights[i] > 0) sum -= problem_.weights[i] * p[i * K_ + problem_.y[i]];
    raise(p, n_ * K_);
    for (Index i = 0; i < n_; ++i, p += K_, slope += K_) {
        const double s = problem_.weights[i];
        // A row of weight 0 counts 0 whatever it holds.
        if (!(s > 0)) {
            std::fill_n(slope, K_, 0.0);
            continue;
        }
        double total = 0;
        for (Index k = 0; k < K_; ++k) total += p[k];
        sum += s * std::log(total);
        const double share = 1 / total;
        double others = 0;
        const Index y = problem_.y[i];
        for (Index k = 0; k < K_; ++k) {
            p[k] *= share;
            others += k == y ? 0 : p[k];
            slope[k] = s * p[k];
        }
        slope[y] = -s * others;  // 1 − p would lose the digits of a p near 1
    }
    return sum;
}

void ClassNewton::gradient_at(ClassIterate& at, const Blas& blas) {
    multiply_transposed(at.slope, at.gradient, blas);
    std::fill(bias_gradient_.begin(), bias_gradient_.end(), 0.0);
    if (problem_.has_bias)
        for (Index i = 0; i < n_; ++i)
            for (Index k = 0; k < K_; ++k) bias_gradient_[k] += at.slope[i * K_ + k];
    for (Index j = 0; j < d_; ++j) axpy(problem_.l2[j], at.w + j * K_, at.gradient + j * K_, K_);
}

void ClassNewton::begin(ClassIterate& at, const Context& context) {
    multiply(at.w, at.b, at.z, context.blas);
    at.primal = loss(at.z, p_.data(), at.slope);
    for (Index j = 0; j < d_; ++j)
        at.primal += 0.5 * problem_.l2[j] * square_sum(at.w + j * K_, nullptr, K_);
    gradient_at(at, context.blas);
}

// ---- the Newton equations ----

bool ClassNewton::solve_jointly(const ClassIterate& at, const Blas& blas) {
    const Index m = d_ + problem_.has_bias, size = K_ * m;
    Vector H(size * size);
    for (Index k = 0; k < K_; ++k)
        for (Index l = 0; l <= k; ++l) {
            for (Index i = 0; i < n_; ++i) {
                const double* p = p_.data() + i * K_;
                const double curve = p[k] * ((k == l ? 1.0 : 0.0) - p[l]);
                for (Index j = 0; j < m; ++j)
                    scaled_[i * m + j] = problem_.weights[i] * curve * centred_[i * m + j];
            }
            // Symmetric, so that the order of the block does not matter.
            gemm(blas, m, m, n_, as_read(centred_.data(), m),
                 transposed(as_read(scaled_.data(), m)), 0.0, H.data() + k * m * size + l * m,
                 size);
        }
    for (Index k = 0; k < K_; ++k)
        for (Index j = 0; j < d_; ++j) H[(k * m + j) * (size + 1)] += problem_.l2[j];
    if (problem_.has_bias) {
        // The same shift of all scores changes nothing; this makes H regular, with steps that sum
        // to 0 over the classes as the gradient does.
        double trace = 0;
        for (Index k = 0; k < K_; ++k) trace += H[(k * m + d_) * (size + 1)];
        for (Index k = 0; k < K_; ++k)
            for (Index l = 0; l <= k; ++l)
                H[(k * m + d_) * size + l * m + d_] += trace / double(K_ * K_);
    }
    if (!factor_.factor(std::move(H), size, blas)) return false;
    Vector r(size);
    for (Index k = 0; k < K_; ++k) {
        for (Index j = 0; j < d_; ++j)
            r[k * m + j] = -(at.gradient[j * K_ + k] - mean_[j] * bias_gradient_[k]);
        if (problem_.has_bias) r[k * m + d_] = -bias_gradient_[k];
    }
    factor_.solve(r.data(), 1, blas);
    for (Index k = 0; k < K_; ++k) {
        step_b_[k] = problem_.has_bias ? r[k * m + d_] : 0.0;
        for (Index j = 0; j < d_; ++j) {
            step_w_[j * K_ + k] = r[k * m + j];
            step_b_[k] -= mean_[j] * r[k * m + j];
        }
    }
    return true;
}

void ClassNewton::measure_curvature() {
    curvature_.resize(n_);
    for (Index i = 0; i < n_; ++i) {
        double sum = 0;
        for (Index k = 0; k < K_; ++k) sum += p_[i * K_ + k] * (1 - p_[i * K_ + k]);
        curvature_[i] = problem_.weights[i] * sum / double(K_);
    }
}

double ClassNewton::entry(Index i, Index j) const {
    const Dense<double>& x = problem_.x;
    return x.data[x.order == Order::rows ? i * d_ + j : j * n_ + i];
}

bool ClassNewton::make_mean() {
    block_mean_.assign(d_, 0.0);
    block_total_ = 0;
    if (!problem_.has_bias) return true;
    for (double c : curvature_) block_total_ += c;
    if (!(block_total_ > 0)) return false;
    for (Index i = 0; i < n_; ++i)
        for (Index j = 0; j < d_; ++j) block_mean_[j] += curvature_[i] * entry(i, j);
    for (double& mean : block_mean_) mean /= block_total_;
    return true;
}

bool ClassNewton::make_diagonal() {
    if (!make_mean()) return false;
    diagonal_.assign(problem_.l2, problem_.l2 + d_);
    for (Index i = 0; i < n_; ++i)
        for (Index j = 0; j < d_; ++j) {
            const double distance = entry(i, j) - block_mean_[j];
            diagonal_[j] += curvature_[i] * distance * distance;
        }
    return true;
}

bool ClassNewton::make_block(const Blas& blas) {
    if (!make_mean()) return false;
    scaled_.resize(n_ * d_);
    for (Index i = 0; i < n_; ++i) {
        const double root = std::sqrt(curvature_[i]);
        for (Index j = 0; j < d_; ++j) scaled_[i * d_ + j] = root * (entry(i, j) - block_mean_[j]);
    }
    Vector H(d_ * d_);
    syrk(blas, d_, n_, as_read(scaled_.data(), d_), 0.0, H.data(), d_);
    for (Index j = 0; j < d_; ++j) H[j * (d_ + 1)] += problem_.l2[j];
    made_at_ = curvature_;
    return factor_.factor(std::move(H), d_, blas);
}

void ClassNewton::precondition(const Vector& w, const Vector& b, Vector& out_w, Vector& out_b,
                               const Blas& blas) const {
    for (Index j = 0; j < d_; ++j)
        for (Index k = 0; k < K_; ++k) out_w[j * K_ + k] = w[j * K_ + k] - block_mean_[j] * b[k];
    if (by_gradients_)
        for (Index j = 0; j < d_; ++j)
            for (Index k = 0; k < K_; ++k) out_w[j * K_ + k] /= diagonal_[j];
    else
        factor_.solve(out_w.data(), K_, blas);
    for (Index k = 0; k < K_; ++k) out_b[k] = problem_.has_bias ? b[k] / block_total_ : 0.0;
    for (Index j = 0; j < d_; ++j) axpy(-block_mean_[j], out_w.data() + j * K_, out_b.data(), K_);
}

void ClassNewton::hessian_times(const Vector& w, const Vector& b, Vector& out_w, Vector& out_b,
                                const Blas& blas) {
    multiply(w.data(), b.data(), u_.data(), blas);
    std::fill(out_b.begin(), out_b.end(), 0.0);
    for (Index i = 0; i < n_; ++i) {
        double* u = u_.data() + i * K_;
        const double* p = p_.data() + i * K_;
        double mean = 0;
        for (Index k = 0; k < K_; ++k) mean += p[k] * u[k];
        for (Index k = 0; k < K_; ++k) {
            u[k] = problem_.weights[i] * p[k] * (u[k] - mean);
            out_b[k] += u[k];
        }
    }
    if (!problem_.has_bias) std::fill(out_b.begin(), out_b.end(), 0.0);
    multiply_transposed(u_.data(), out_w.data(), blas);
    for (Index j = 0; j < d_; ++j)
        axpy(problem_.l2[j], w.data() + j * K_, out_w.data() + j * K_, K_);
}

bool ClassNewton::solve_by_products(const ClassIterate& at, const Context& context) {
    const Blas& blas = context.blas;
    measure_curvature();
    double change = 0, made = 0;
    for (Index i = 0; i < n_ && !made_at_.empty(); ++i) {
        change += std::abs(curvature_[i] - made_at_[i]);
        made += made_at_[i];
    }
    const bool is_stale =
        made_at_.empty() || products_ >= stale_products || change > stale_change * made;
    if (is_stale && !make_block(blas)) return false;
    Vector residual_w(at.gradient, at.gradient + d_ * K_), residual_b = bias_gradient_;
    for (double& r : residual_w) r = -r;
    for (double& r : residual_b) r = -r;
    Vector near_w(d_ * K_), near_b(K_), product_w(d_ * K_), product_b(K_);
    precondition(residual_w, residual_b, near_w, near_b, blas);
    Vector direction_w = near_w, direction_b = near_b;
    double size = inner(residual_w, near_w) + inner(residual_b, near_b);
    if (!(size > 0)) return false;
    const double first = size;
    const double progress = size_before_ > 0 ? std::sqrt(size) / size_before_ : 1.0;
    const double accuracy = std::min(first_accuracy, std::max(progress, best_accuracy));
    size_before_ = std::sqrt(size);
    std::fill(step_w_.begin(), step_w_.end(), 0.0);
    std::fill(step_b_.begin(), step_b_.end(), 0.0);
    Checkpoint checkpoint(context.poll);
    for (products_ = 1; products_ <= most_products; ++products_) {
        checkpoint();
        hessian_times(direction_w, direction_b, product_w, product_b, blas);
        const double curve = inner(direction_w, product_w) + inner(direction_b, product_b);
        if (!(size > 0 && curve > 0)) return products_ > 1;
        const double t = size / curve;
        axpy(t, direction_w.data(), step_w_.data(), d_ * K_);
        axpy(t, direction_b.data(), step_b_.data(), K_);
        axpy(-t, product_w.data(), residual_w.data(), d_ * K_);
        axpy(-t, product_b.data(), residual_b.data(), K_);
        precondition(residual_w, residual_b, near_w, near_b, blas);
        const double before = size;
        size = inner(residual_w, near_w) + inner(residual_b, near_b);
        if (!(size > accuracy * accuracy * first)) break;
        for (Index j = 0; j < d_ * K_; ++j)
            direction_w[j] = near_w[j] + size / before * direction_w[j];
        for (Index k = 0; k < K_; ++k) direction_b[k] = near_b[k] + size / before * direction_b[k];
    }
    return true;
}

void ClassNewton::remove_common_part(const ClassIterate& at) {
    for (Index j = 0; j < d_; ++j) {
        double sum = 0;
        for (Index k = 0; k < K_; ++k) sum += at.w[j * K_ + k] + step_w_[j * K_ + k];
        for (Index k = 0; k < K_; ++k) step_w_[j * K_ + k] -= sum / double(K_);
    }
    double sum = 0;
    for (double b : step_b_) sum += b;
    for (double& b : step_b_) b -= sum / double(K_);
}

// ---- steps from gradients ----

bool ClassNewton::solve_by_memories(const ClassIterate& at, const Blas& blas) {
    if (sizes_.empty()) {
        measure_curvature();
        if (!make_diagonal()) return false;
    }
    double size = 0;
    for (Index j = 0; j < d_; ++j)
        size += square_sum(at.gradient + j * K_, nullptr, K_) / problem_.l2[j];
    sizes_.push_back(size);
    if (sizes_.size() > patience && size > least_progress * sizes_[sizes_.size() - 1 - patience])
        return false;
    Vector rest_w(at.gradient, at.gradient + d_ * K_), rest_b = bias_gradient_;
    std::vector<double> shares(memories_.size());
    for (std::size_t m = memories_.size(); m-- > 0;) {
        const Memory& memory = memories_[m];
        shares[m] = (inner(memory.step_w, rest_w) + inner(memory.step_b, rest_b)) / memory.product;
        axpy(-shares[m], memory.change_w.data(), rest_w.data(), d_ * K_);
        axpy(-shares[m], memory.change_b.data(), rest_b.data(), K_);
    }
    precondition(rest_w, rest_b, step_w_, step_b_, blas);
    const double length = memories_.empty() ? first_length : memories_.back().length;
    for (double& v : step_w_) v *= length;
    for (double& v : step_b_) v *= length;
    for (std::size_t m = 0; m < memories_.size(); ++m) {
        const Memory& memory = memories_[m];
        const double along =
            (inner(memory.change_w, step_w_) + inner(memory.change_b, step_b_)) / memory.product;
        axpy(shares[m] - along, memory.step_w.data(), step_w_.data(), d_ * K_);
        axpy(shares[m] - along, memory.step_b.data(), step_b_.data(), K_);
    }
    for (double& v : step_w_) v = -v;
    for (double& v : step_b_) v = -v;
    const double gain =
        -0.5 * (dot(at.gradient, step_w_.data(), d_ * K_) + inner(bias_gradient_, step_b_));
    return gain > few_digits * problem_.scale;
}

bool ClassNewton::step_by_memories(ClassIterate& at, const Context& context) {
    if (!solve_by_memories(at, context.blas)) return false;
    remove_common_part(at);
    multiply(step_w_.data(), step_b_.data(), along_.data(), context.blas);
    Memory memory{step_w_, step_b_, Vector(at.gradient, at.gradient + d_ * K_), bias_gradient_};
    Checkpoint checkpoint(context.poll);
    // The first step is short on purpose, so its slope need not be flat.
    if (!search(at, memories_.empty() ? 1.0 : level_by_gradients, checkpoint)) return false;
    gradient_at(at, context.blas);
    for (double& v : memory.step_w) v *= length_;
    for (double& v : memory.step_b) v *= length_;
    for (Index j = 0; j < d_ * K_; ++j) memory.change_w[j] = at.gradient[j] - memory.change_w[j];
    for (Index k = 0; k < K_; ++k) memory.change_b[k] = bias_gradient_[k] - memory.change_b[k];
    memory.product = inner(memory.step_w, memory.change_w) + inner(memory.step_b, memory.change_b);
    Vector scaled_w(d_ * K_), scaled_b(K_);
    precondition(memory.change_w, memory.change_b, scaled_w, scaled_b, context.blas);
    const double square = inner(memory.change_w, scaled_w) + inner(memory.change_b, scaled_b);
    if (!(memory.product > eps * square)) return true;
    memory.length = memory.product / square;
    if (memories_.size() == most_memories) memories_.pop_front();
    memories_.push_back(std::move(memory));
    return true;
}

// ---- the step ----

bool ClassNewton::step(ClassIterate& at, const Context& context) {
    if (by_gradients_ && step_by_memories(at, context)) return true;
    by_gradients_ = false;
    const bool is_solved =
        is_joint_ ? solve_jointly(at, context.blas) : solve_by_products(at, context);
    if (!is_solved) return false;
    if (!is_joint_ && K_ > 1) remove_common_part(at);
    multiply(step_w_.data(), step_b_.data(), along_.data(), context.blas);
    Checkpoint checkpoint(context.poll);
    if (!search(at, level, checkpoint)) return false;
    gradient_at(at, context.blas);
    return true;
}

bool ClassNewton::search(ClassIterate& at, double steepest, Checkpoint& checkpoint) {
    double first = dot(at.gradient, step_w_.data(), d_ * K_) + inner(bias_gradient_, step_b_);
    decrement_ = -first;
    if (!(first < 0)) return false;
    double penalty = 0, tilt = 0, bend = 0;
    for (Index j = 0; j < d_; ++j) {
        const double *w = at.w + j * K_, *step = step_w_.data() + j * K_;
        penalty += 0.5 * problem_.l2[j] * square_sum(w, nullptr, K_);
        tilt += problem_.l2[j] * dot(w, step, K_);
        bend += 0.5 * problem_.l2[j] * square_sum(step, nullptr, K_);
    }
    const double rounding = 8 * eps * (std::abs(at.primal) + problem_.scale);
    LineSearch line(at.primal, first, rounding, steepest);
    double best_primal = infinity;
    while (!line.is_over()) {
        checkpoint();
        const double t = line.length();
        for (Index i = 0; i < n_ * K_; ++i) trial_z_[i] = at.z[i] + t * along_[i];
        const double primal = loss(trial_z_.data(), trial_p_.data(), trial_slope_.data()) +
                              penalty + t * (tilt + t * bend);
        const double slope = inner(trial_slope_, along_) + tilt + 2 * t * bend;
        if (!line.report(primal, slope)) continue;
        best_primal = primal;
        best_z_.swap(trial_z_);
        best_p_.swap(trial_p_);
        best_slope_.swap(trial_slope_);
    }
    const double best_t = line.best();
    if (!(best_t > 0)) return false;
    length_ = best_t;
    axpy(best_t, step_w_.data(), at.w, d_ * K_);
    axpy(best_t, step_b_.data(), at.b, K_);
    std::copy(best_z_.begin(), best_z_.end(), at.z);
    std::copy(best_slope_.begin(), best_slope_.end(), at.slope);
    p_.swap(best_p_);
    at.primal = best_primal;
    return true;
}

}  // namespace gapless
