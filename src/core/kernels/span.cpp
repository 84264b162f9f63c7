#include "kernels/span.hpp"

#include <limits>
#include <vector>

#include "linear/prox.hpp"

namespace gapless {
namespace {

constexpr Index block = 64;

// A square matrix, row after row.
struct Square {
    std::vector<double> entries;
    Index size;

    explicit Square(Index m) : entries(m * m), size(m) {}
    double* row(Index i) { return entries.data() + i * size; }
    const double* row(Index i) const { return entries.data() + i * size; }
};

// out (rows × columns, without gaps) = A B or A Bᵀ for matrices stored by rows.
void multiply(const Blas& blas, Index rows, Index columns, Index inner, const double* a,
              Index a_stride, const double* b, Index b_stride, Transpose transpose_b, double* out) {
    // BLAS stores by columns, so it sees every matrix transposed, and multiplies in reverse.
    gemm<double>(blas, columns, rows, inner, {b, b_stride, transpose_b},
                 {a, a_stride, Transpose::no}, 0.0, out, columns);
}

// The lower Cholesky factor, in place, and its inverse, both by blocks of rows.
class Factor {
public:
    Factor(Square& c, const Blas& blas, Checkpoint& checkpoint)
        : l_(c), inverse_(c.size), blas_(blas) {
        const Index m = c.size;
        for (Index first = 0; first < m && is_definite_; first += block, checkpoint())
            factorise_columns(first, std::min(block, m - first));
        for (Index first = 0; first < m && is_definite_; first += block, checkpoint())
            invert_rows(first, std::min(block, m - first));
    }

    bool is_definite() const { return is_definite_; }
    // L⁻¹, zeros above its diagonal included.
    const Square& inverse() const { return inverse_; }

private:
    void factorise_columns(Index first, Index width) {
        const Index m = l_.size, below = m - first;
        if (first > 0) {
            scratch_.resize(below * width);
            multiply(blas_, below, width, first, l_.row(first), m, l_.row(first), m, Transpose::yes,
                     scratch_.data());
            for (Index i = 0; i < below; ++i)
                for (Index j = 0; j < width; ++j)
                    l_.row(first + i)[first + j] -= scratch_[i * width + j];
        }
        corner_.resize(width * width);
        for (Index i = 0; i < width; ++i)
            std::copy_n(l_.row(first + i) + first, width, corner_.data() + i * width);
        is_definite_ = factorise(corner_.data(), width);
        if (!is_definite_) return;
        for (Index i = 0; i < width; ++i)
            std::copy_n(corner_.data() + i * width, i + 1, l_.row(first + i) + first);
        for (Index i = first + width; i < m; ++i)
            solve_lower(corner_.data(), width, l_.row(i) + first);
    }

    void invert_rows(Index first, Index width) {
        const Index m = l_.size;
        if (first > 0) {
            scratch_.resize(width * first);
            multiply(blas_, width, first, first, l_.row(first), m, inverse_.row(0), m,
                     Transpose::no, scratch_.data());
            for (Index i = 0; i < width; ++i)
                for (Index j = 0; j < first; ++j)
                    inverse_.row(first + i)[j] = -scratch_[i * first + j];
        }
        for (Index i = 0; i < width; ++i) {
            double* row = inverse_.row(first + i);
            row[first + i] = 1;
            const double* l = l_.row(first + i) + first;
            for (Index k = 0; k < i; ++k) axpy(-l[k], inverse_.row(first + k), row, first + k + 1);
            for (Index j = 0; j <= first + i; ++j) row[j] /= l[i];
        }
    }

    Square& l_;
    Square inverse_;
    const Blas& blas_;
    std::vector<double> scratch_, corner_;
    bool is_definite_ = true;
};

template <class T>
class Machine {
public:
    Machine(const Machines<T>& all, Index p, double noise, double* spans)
        : all_(all), first_(all.start[p]), last_(all.start[p + 1]), spans_(spans) {
        double trace = 0;
        for (Index v = first_; v < last_; ++v) {
            if (all.support[v] == Support::free) free_.push_back(v);
            if (all.support[v] == Support::bounded) bounded_.push_back(v);
            trace += diagonal(v);
        }
        // A constant added to the kernel changes no distance between weights that add up to 1, and
        // makes C definite if K alone has no vector of ones in its range.
        lift_ = last_ > first_ ? trace / static_cast<double>(last_ - first_) : 0.0;
        ridge_ = noise * lift_ * static_cast<double>(free_.size());
    }

    void measure(const Blas& blas, Checkpoint& checkpoint) {
        std::fill(spans_ + first_, spans_ + last_, 0.0);
        if (free_.empty()) {
            for (Index v : bounded_) spans_[v] = diagonal(v);
            return;
        }
        const Index m = static_cast<Index>(free_.size());
        Square c(m);
        for (Index i = 0; i < m; ++i) {
            for (Index j = 0; j < m; ++j) c.row(i)[j] = entry(free_[i], free_[j]) + lift_;
            c.row(i)[i] += ridge_;
        }
        Factor factor(c, blas, checkpoint);
        if (!factor.is_definite()) return mark(std::numeric_limits<double>::quiet_NaN());
        measure_free(factor.inverse());
        for (Index first = 0; first < static_cast<Index>(bounded_.size()); first += block) {
            measure_bounded(factor.inverse(), first, blas);
            checkpoint();
        }
    }

private:
    double entry(Index v, Index u) const { return all_.gram[all_.rows[v] * all_.n + all_.rows[u]]; }
    double diagonal(Index v) const { return entry(v, v); }

    void mark(double value) {
        for (Index v : free_) spans_[v] = value;
        for (Index v : bounded_) spans_[v] = value;
    }

    // The diagonal of C⁻¹ = XᵀX, minus its part along the bias.
    void measure_free(const Square& x) {
        const Index m = x.size;
        std::vector<double> squares(m, 0.0);
        c_.assign(m, 0.0);
        for (Index i = 0; i < m; ++i) {
            const double* row = x.row(i);
            double total = 0;
            for (Index j = 0; j <= i; ++j) total += row[j];
            for (Index j = 0; j <= i; ++j) {
                squares[j] += row[j] * row[j];
                c_[j] += total * row[j];
            }
        }
        tau_ = 0;
        for (double value : c_) tau_ += value;
        for (Index i = 0; i < m; ++i) {
            const double left = squares[i] - c_[i] * c_[i] / tau_;
            // Only rounding is left of 0: the vector is the only free one.
            const bool is_alone = m == 1 || !(left > 1e-12 * squares[i]);
            spans_[free_[i]] = is_alone ? std::numeric_limits<double>::infinity() : 1 / left;
        }
    }

    void measure_bounded(const Square& x, Index first, const Blas& blas) {
        const Index m = x.size,
                    width = std::min(block, static_cast<Index>(bounded_.size()) - first);
        k_.resize(width * m);
        u_.resize(width * m);
        for (Index r = 0; r < width; ++r)
            for (Index j = 0; j < m; ++j)
                k_[r * m + j] = entry(bounded_[first + r], free_[j]) + lift_;
        multiply(blas, width, m, m, k_.data(), m, x.row(0), m, Transpose::yes, u_.data());
        for (Index r = 0; r < width; ++r) {
            const double* u = u_.data() + r * m;
            const double off = 1 - dot(c_.data(), k_.data() + r * m, m);
            const Index v = bounded_[first + r];
            const double square = diagonal(v) + lift_ - dot(u, u, m) + off * off / tau_;
            spans_[v] = std::max(square, 0.0);
        }
    }

    const Machines<T>& all_;
    const Index first_, last_;
    double* spans_;
    double lift_, ridge_, tau_ = 0;
    std::vector<Index> free_, bounded_;
    std::vector<double> c_, k_, u_;
};

}  // namespace

template <class T>
void spans(const Machines<T>& machines, double noise, double* out, const Context& context) {
    double work = 0;
    for (Index v = 0; v < machines.start[machines.count]; ++v)
        work += machines.support[v] == Support::none ? 0 : 1e3;
    parallel_for(machines.count, useful_threads(work, context.threads), context.poll,
                 [&](Index p, Checkpoint& checkpoint) {
                     Machine<T>(machines, p, noise, out).measure(context.blas, checkpoint);
                 });
}

template void spans(const Machines<float>&, double, double*, const Context&);
template void spans(const Machines<double>&, double, double*, const Context&);

}  // namespace gapless
