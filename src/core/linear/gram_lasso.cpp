#include "linear/gram_lasso.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gapless {
namespace {

// A column depends on the others if they leave this part of its square or less.
constexpr double dependent = 1e-11;
// Slopes on the active set smaller than this part of the gradient at w = 0 are rounding.
constexpr double rounding = 1e-12;
// Of the features that should join, those whose excess is at least this part of the largest do.
constexpr double joining = 0.1;
// The factor for another l2 is used while l2 is at least this part of its own, and reaches the
// minimiser within this many steps.
constexpr double stale = 0.7;
constexpr int most_steps = 8;
constexpr Index block = 32;

}  // namespace

// to = c·u + s·v and v = c·v − s·u
void rotate(double c, double s, const double* u, double* v, double* __restrict to, Index n) {
#pragma omp simd
    for (Index i = 0; i < n; ++i) {
        const double x = u[i], y = v[i];
        to[i] = c * x + s * y;
        v[i] = c * y - s * x;
    }
}

// Four rows at a time: one core reads several streams of memory about twice as fast as one.

// y += Σₖ scaleₖ rowₖ
void add_rows(const double* const* rows, const double* scale, double* __restrict y, Index n) {
    const double *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];
    const double s = scale[0], t = scale[1], u = scale[2], v = scale[3];
#pragma omp simd
    for (Index i = 0; i < n; ++i) y[i] += (s * a[i] + t * b[i]) + (u * c[i] + v * d[i]);
}

// outₖ = ⟨rowₖ, x⟩
void row_products(const double* const* rows, const double* x, Index n, double* out) {
    const double *a = rows[0], *b = rows[1], *c = rows[2], *d = rows[3];
    double s = 0, t = 0, u = 0, v = 0;
#pragma omp simd reduction(+ : s, t, u, v)
    for (Index i = 0; i < n; ++i) {
        s += a[i] * x[i];
        t += b[i] * x[i];
        u += c[i] * x[i];
        v += d[i] * x[i];
    }
    out[0] = s, out[1] = t, out[2] = u, out[3] = v;
}

// ---- the factor ----

void UpperFactor::reserve(Index size) {
    if (size <= stride_) return;
    const Index stride = std::max<Index>(16, size + size / 2);
    std::vector<double> u(stride * stride);
    for (Index i = 0; i < size_; ++i) std::copy(row(i) + i, row(i) + size_, &u[i * stride + i]);
    u_.swap(u);
    stride_ = stride;
}

template <class Entry>
void UpperFactor::refactor(Index size, Entry&& entry, const Blas& blas, Checkpoint& checkpoint) {
    reserve(size);
    size_ = size;
    for (Index i = 0; i < size; ++i)
        for (Index j = i; j < size; ++j) row(i)[j] = entry(i, j);
    std::vector<double> negative;
    for (Index k = 0; k < size; k += block) {
        const Index end = std::min(k + block, size), width = end - k, rest = size - end;
        for (Index i = k; i < end; ++i) {
            const double diagonal = entry(i, i);
            for (Index l = k; l < i; ++l) axpy(-row(l)[i], row(l) + i, row(i) + i, size - i);
            // Rounding may leave too little; the solution of the factor is corrected afterwards.
            const double pivot = std::sqrt(std::max(row(i)[i], dependent * diagonal));
            for (Index j = i; j < size; ++j) row(i)[j] /= pivot;
            row(i)[i] = pivot;
        }
        checkpoint();
        negative.assign(width * rest, 0.0);
        for (Index i = 0; i < width; ++i)
            for (Index j = 0; j < rest; ++j) negative[i * rest + j] = -row(k + i)[end + j];
        for (Index i = end; i < size; i += block) {
            const Index rows = std::min(block, size - i);
            gemm(blas, size - i, rows, width, Operand<double>{row(k) + i, stride_, Transpose::no},
                 Operand<double>{negative.data() + (i - end), rest, Transpose::yes}, 1.0,
                 row(i) + i, stride_);
        }
    }
}

void UpperFactor::project(double* h, Index count, Index stride, const Blas& blas,
                          Checkpoint& checkpoint) const {
    constexpr Index few = 3;
    if (count <= few) {
        for (Index c = 0; c < count; ++c) solve_transposed(h + c * stride, 0);
        return;
    }
    std::vector<double> negative(count * block);
    for (Index k = 0; k < size_; k += block) {
        const Index end = std::min(k + block, size_), width = end - k, rest = size_ - end;
        checkpoint();
        for (Index c = 0; c < count; ++c) {
            double* x = h + c * stride;
            for (Index i = k; i < end; ++i) {
                x[i] /= row(i)[i];
                axpy(-x[i], row(i) + i + 1, x + i + 1, end - i - 1);
                negative[c * width + i - k] = -x[i];
            }
        }
        if (rest > 0)
            gemm(blas, rest, count, width, Operand<double>{row(k) + end, stride_, Transpose::no},
                 Operand<double>{negative.data(), width, Transpose::no}, 1.0, h + end, stride);
    }
}

void UpperFactor::solve_transposed(double* x, Index zeros) const {
    Index i = zeros;
    for (; i + 4 <= size_; i += 4) {
        const double* rows[4] = {row(i), row(i + 1), row(i + 2), row(i + 3)};
        double scale[4];
        for (Index k = 0; k < 4; ++k) {
            double& v = x[i + k];
            for (Index l = 0; l < k; ++l) v += scale[l] * rows[l][i + k];
            v /= rows[k][i + k];
            scale[k] = -v;
        }
        for (const double*& r : rows) r += i + 4;
        add_rows(rows, scale, x + i + 4, size_ - i - 4);
    }
    for (; i < size_; ++i) {
        x[i] /= row(i)[i];
        axpy(-x[i], row(i) + i + 1, x + i + 1, size_ - i - 1);
    }
}

void UpperFactor::append(const std::vector<const double*>& columns) {
    const Index count = static_cast<Index>(columns.size()), size = size_ + count;
    reserve(size);
    for (Index i = 0; i < size; ++i)
        for (Index c = std::max<Index>(i - size_, 0); c < count; ++c)
            row(i)[size_ + c] = columns[c][i];
    size_ = size;
}

void UpperFactor::remove(Index position) {
    // Below the removed row, UᵀU gains the square of that row.
    std::vector<double> x(row(position) + position + 1, row(position) + size_);
    for (Index i = 0; i < position; ++i)
        std::copy(row(i) + position + 1, row(i) + size_, row(i) + position);
    for (Index i = position + 1; i < size_; ++i) {
        const double* from = row(i);
        double* to = row(i - 1);
        double* v = x.data() + (i - position - 1);
        const double radius = std::hypot(from[i], v[0]), c = from[i] / radius, s = v[0] / radius;
        to[i - 1] = radius;
        rotate(c, s, from + i + 1, v + 1, to + i, size_ - i - 1);
    }
    --size_;
}

void UpperFactor::solve_upper(std::vector<double>& x) const {
    Index i = size_;
    for (; i >= 4; i -= 4) {
        const double* rows[4] = {row(i - 4), row(i - 3), row(i - 2), row(i - 1)};
        double sum[4];
        for (const double*& r : rows) r += i;
        row_products(rows, x.data() + i, size_ - i, sum);
        for (Index k = 3; k >= 0; --k) {
            double& v = x[i - 4 + k];
            v -= sum[k];
            for (Index l = k + 1; l < 4; ++l) v -= rows[k][l - 4] * x[i - 4 + l];
            v /= rows[k][k - 4];
        }
    }
    for (--i; i >= 0; --i)
        x[i] = (x[i] - dot(row(i) + i + 1, x.data() + i + 1, size_ - i - 1)) / row(i)[i];
}

void UpperFactor::solve(std::vector<double>& x, Index zeros) const {
    solve_transposed(x.data(), zeros);
    solve_upper(x);
}

// ---- the active set ----

void GramLasso::grow(const double* products, const double* q, const bool* may_rise,
                     const bool* may_fall, Index added) {
    const Index before = features(), all = before + added;
    if (all > stride_) {
        const Index stride = std::max<Index>(64, all + all / 2);
        auto gram = std::make_unique_for_overwrite<double[]>(stride * stride);
        for (Index j = 0; j < before; ++j)
            std::copy(gram_row(j), gram_row(j) + before, &gram[j * stride]);
        gram_.swap(gram);
        stride_ = stride;
    }
    for (Index i = 0; i < all; ++i)
        std::copy_n(products + i * added, added, &gram_[i * stride_ + before]);
    for (Index i = 0; i < before; i += block)  // rows and columns in turn, within the cache
        for (Index j = 0; j < added; ++j)
            for (Index k = i; k < std::min(i + block, before); ++k)
                gram_[(before + j) * stride_ + k] = products[k * added + j];
    q_.insert(q_.end(), q, q + added);
    may_rise_.insert(may_rise_.end(), may_rise, may_rise + added);
    may_fall_.insert(may_fall_.end(), may_fall, may_fall + added);
    for (auto* v : {&w_, &gradient_, &sign_, &l1_, &l2_, &factored_l2_}) v->resize(all);
    is_active_.resize(all);
    refresh_gradient();
}

void GramLasso::restore() {
    for (Index j : active_) is_active_[j] = 0;
    active_ = saved_.active;
    factor_ = saved_.factor;
    std::fill(w_.begin(), w_.end(), 0.0);
    std::copy(saved_.w.begin(), saved_.w.end(), w_.begin());
    for (Index j : active_) {
        is_active_[j] = 1;
        sign_[j] = w_[j] > 0 ? 1 : -1;
        factored_l2_[j] = saved_.factored_l2[j];
    }
    refresh_gradient();
}

GramLasso::Result GramLasso::solve(const double* l1, const double* l2, const Goal& goal,
                                   const Poll& poll) {
    Checkpoint checkpoint(poll);
    set_penalty(l1, l2, checkpoint);
    is_barred_.assign(features(), 0);
    changes_ = 0;
    Index zeros = 0;
    for (int steps = 1; changes_ <= goal.most_changes; ++steps) {
        settle(zeros, checkpoint);
        refresh_gradient();
        checkpoint();
        if (gap(goal.target_square) <= goal.gap) return {changes_, true};
        const std::vector<Index> chosen = violators(goal.tolerance);
        // The remaining error of the steps need not be smaller than what pushes the others.
        const double left = chosen.empty() ? 0.0 : joining * excess(chosen[0]);
        if (steps < most_steps + 2 && !is_settled(std::max(goal.tolerance, left))) {
            if (steps == most_steps) refactor(checkpoint);
            zeros = 0;
            continue;
        }
        const bool is_still = is_settled(goal.tolerance);
        if (chosen.empty()) return {changes_, is_still || is_settled(1e3 * goal.tolerance)};
        zeros = is_still ? active() : 0;
        admit(chosen, checkpoint);
        zeros = std::min(zeros, active());
        steps = 0;
    }
    return {changes_, false};
}

// With a somewhat smaller l2 than its own, the factor still reaches the minimiser in a few steps,
// which cost less than another factor.
void GramLasso::set_penalty(const double* l1, const double* l2, Checkpoint& checkpoint) {
    std::copy(l1, l1 + features(), l1_.begin());
    std::copy(l2, l2 + features(), l2_.begin());
    const bool is_good = std::all_of(active_.begin(), active_.end(), [&](Index j) {
        return l2_[j] <= factored_l2_[j] && l2_[j] >= stale * factored_l2_[j];
    });
    if (!is_good) refactor(checkpoint);
}

// P − D on these features alone, for the residual scaled until |gⱼ| ≤ l1ⱼ or, with l2 > 0,
// unscaled.
double GramLasso::gap(double target_square) const {
    double qw = 0, gw = 0, penalty = 0, excess = 1, conjugate = 0;
    bool is_soft = true;
    for (Index j = 0; j < features(); ++j) {
        const double g = gradient_[j], w = w_[j];
        qw += q_[j] * w;
        gw += g * w;
        penalty += l1_[j] * std::abs(w) + 0.5 * l2_[j] * w * w;
        const double over = std::abs(g) - l1_[j];
        if (over <= 0 || !(g > 0 ? may_rise_[j] : may_fall_[j])) continue;
        excess = std::max(excess, std::abs(g) / l1_[j]);
        is_soft = is_soft && l2_[j] > 0;
        conjugate += is_soft ? over * over / (2 * l2_[j]) : 0.0;
    }
    const double square = target_square - qw - gw, product = target_square - qw;
    double dual = product / excess - 0.5 * square / (excess * excess);
    if (is_soft) dual = std::max(dual, product - 0.5 * square - conjugate);
    return 0.5 * square + penalty - dual;
}

void GramLasso::refactor(Checkpoint& checkpoint) {
    auto entry = [&](Index i, Index j) {
        const double h = gram_row(active_[i])[active_[j]];
        return i == j ? diagonal(active_[i]) : h;
    };
    factor_.refactor(active(), entry, blas_, checkpoint);
    for (Index j : active_) factored_l2_[j] = l2_[j];
}

void GramLasso::refresh_gradient() {
    gradient_ = q_;
    Index i = 0;
    for (; i + 4 <= active(); i += 4) {
        const double* rows[4];
        double scale[4];
        for (Index k = 0; k < 4; ++k) {
            rows[k] = gram_row(active_[i + k]);
            scale[k] = -w_[active_[i + k]];
        }
        add_rows(rows, scale, gradient_.data(), features());
    }
    for (; i < active(); ++i)
        axpy(-w_[active_[i]], gram_row(active_[i]), gradient_.data(), features());
}

bool GramLasso::is_settled(double tolerance) const {
    double size = 0;
    for (Index j : active_) size = std::max(size, std::abs(q_[j]));
    return std::all_of(active_.begin(), active_.end(), [&](Index j) {
        return std::abs(slope(j)) <= std::max(tolerance * l1_[j], rounding * size);
    });
}

// Newton steps on the face of the active coefficients: each ends at the minimiser, or where a
// coefficient becomes 0 and leaves. The first `zeros` slopes are known to be 0, and remain so.
void GramLasso::settle(Index zeros, Checkpoint& checkpoint) {
    std::vector<double> slopes(active()), step;
    for (Index i = zeros; i < active(); ++i) slopes[i] = slope(active_[i]);
    while (active() > 0) {
        step = slopes;
        factor_.solve(step, zeros);
        const double length = move(step, 1.0);
        for (double& g : slopes) g *= 1 - length;
        bool is_done = true;
        for (Index i = active() - 1; i >= 0; --i) {
            if (!is_at_end(i, step)) continue;
            leave(i);
            slopes.erase(slopes.begin() + i);
            if (i < zeros) --zeros;
            is_done = false;
        }
        if (is_done) return;
        checkpoint();
    }
}

// Move the active coefficients along a step, at most `length` of it and at most to where the first
// of them becomes 0; returns how far.
double GramLasso::move(const std::vector<double>& step, double length) {
    Index first = -1;
    for (Index i = 0; i < active(); ++i) {
        const Index j = active_[i];
        if (sign_[j] * step[i] >= 0 || sign_[j] * (w_[j] + length * step[i]) > 0) continue;
        length = std::min(length, -w_[j] / step[i]);
        first = j;
    }
    if (!std::isfinite(length)) return length;
    for (Index i = 0; i < active(); ++i) {
        const Index j = active_[i];
        w_[j] += length * step[i];
        if (j == first || sign_[j] * w_[j] <= 0) w_[j] = 0;
    }
    return length;
}

// Whether a step would move an active coefficient, now 0, to the other sign.
bool GramLasso::is_at_end(Index position, const std::vector<double>& step) const {
    const Index j = active_[position];
    return w_[j] == 0 && sign_[j] * step[position] < 0;
}

void GramLasso::leave(Index position) {
    factor_.remove(position);
    is_active_[active_[position]] = 0;
    active_.erase(active_.begin() + position);
    ++changes_;
}

// Features at 0 that the gradient pushes away, the most strongly pushed first.
std::vector<Index> GramLasso::violators(double tolerance) const {
    std::vector<Index> found;
    double largest = 0;
    for (Index j = 0; j < features(); ++j) {
        const bool is_free = gradient_[j] > 0 ? may_rise_[j] : may_fall_[j];
        if (is_active_[j] || is_barred_[j] || !is_free) continue;
        if (excess(j) <= tolerance) continue;
        found.push_back(j);
        largest = std::max(largest, excess(j));
    }
    std::erase_if(found, [&](Index j) { return excess(j) < joining * largest; });
    std::stable_sort(found.begin(), found.end(),
                     [&](Index a, Index b) { return excess(a) > excess(b); });
    return found;
}

// Add features to the active set; one that depends on it replaces another.
void GramLasso::admit(const std::vector<Index>& chosen, Checkpoint& checkpoint) {
    const Index before = active(), count = static_cast<Index>(chosen.size());
    const Index stride = before + count;
    std::vector<double> projected(count * stride);
    for (Index c = 0; c < count; ++c) copy_column(chosen[c], &projected[c * stride]);
    factor_.project(projected.data(), count, stride, blas_, checkpoint);
    std::vector<const double*> joined;
    for (Index c = 0; c < count; ++c) {
        const Index j = chosen[c];
        double* u = &projected[c * stride];
        Index size = before;
        checkpoint();
        for (const double* other : joined) {
            u[size] = (gram_row(j)[active_[size]] - dot(u, other, size)) / other[size];
            ++size;
        }
        sign_[j] = gradient_[j] > 0 ? 1 : -1;
        const double rest = diagonal(j) - dot(u, u, size);
        if (rest <= dependent * diagonal(j)) {
            // If others have just joined, the slopes are not 0, and it has to wait.
            if (c > 0) continue;
            if (make_room(j)) return admit({j}, checkpoint);
            is_barred_[j] = 1;
            continue;
        }
        u[size] = std::sqrt(rest);
        joined.push_back(u);
        active_.push_back(j);
        factored_l2_[j] = l2_[j];
        is_active_[j] = 1;
        ++changes_;
    }
    factor_.append(joined);
}

// If xⱼ is a combination of active columns, shift weight from them to it, which leaves Xw unchanged
// and lowers the penalty, until enough of them are 0. False if that does not end.
bool GramLasso::make_room(Index j) {
    while (true) {
        std::vector<double> u(active());
        copy_column(j, u.data());
        factor_.solve_transposed(u.data(), 0);
        if (diagonal(j) - dot(u.data(), u.data(), active()) > dependent * diagonal(j)) return true;
        factor_.solve_upper(u);
        for (double& x : u) x *= -sign_[j];
        const double length = move(u, std::numeric_limits<double>::infinity());
        if (!std::isfinite(length)) return false;
        w_[j] += length * sign_[j];
        for (Index i = active() - 1; i >= 0; --i)
            if (is_at_end(i, u)) leave(i);
    }
}

// The products of a feature with the active ones.
void GramLasso::copy_column(Index j, double* h) const {
    for (Index i = 0; i < active(); ++i) h[i] = gram_row(j)[active_[i]];
}

}  // namespace gapless
