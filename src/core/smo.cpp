#include "smo.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "pair_steps.hpp"

namespace gapless {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr Index small_problem = 2560;  // variables that make one working set
constexpr Index working_set = 512;     // its kernel values fill half of a second-level cache
constexpr Index column_chunk = 2048;   // slopes that stay in the first-level cache

#define GAPLESS_BODY [[gnu::always_inline]] inline

template <class T>
GAPLESS_BODY void add_rows_loop(const T* const* rows, const double* scale, Index count, Index begin,
                                Index end, double* __restrict out) {
    Index k = 0;
    for (; k + 4 <= count; k += 4) {
        const T *r0 = rows[k], *r1 = rows[k + 1], *r2 = rows[k + 2], *r3 = rows[k + 3];
        const double s0 = scale[k], s1 = scale[k + 1], s2 = scale[k + 2], s3 = scale[k + 3];
#pragma omp simd
        for (Index c = begin; c < end; ++c)
            out[c] += (s0 * static_cast<double>(r0[c]) + s1 * static_cast<double>(r1[c])) +
                      (s2 * static_cast<double>(r2[c]) + s3 * static_cast<double>(r3[c]));
    }
    for (; k < count; ++k) {
        const T* r = rows[k];
        const double s = scale[k];
#pragma omp simd
        for (Index c = begin; c < end; ++c) out[c] += s * static_cast<double>(r[c]);
    }
}

template <class T, class F>
GAPLESS_BODY void gather_loop(const T* row, const std::int32_t* column, Index count,
                              F* __restrict out) {
#pragma omp simd
    for (Index c = 0; c < count; ++c) out[c] = static_cast<F>(row[column[c]]);
}

// out[c] += Σₖ scaleₖ rowsₖ[c] for c in [begin, end)
GAPLESS_CLONES
void add_rows(const float* const* rows, const double* scale, Index count, Index begin, Index end,
              double* out) {
    add_rows_loop(rows, scale, count, begin, end, out);
}
GAPLESS_CLONES
void add_rows(const double* const* rows, const double* scale, Index count, Index begin, Index end,
              double* out) {
    add_rows_loop(rows, scale, count, begin, end, out);
}

// out[c] = row[columnᶜ]
GAPLESS_CLONES
void gather(const float* row, const std::int32_t* column, Index count, float* out) {
    gather_loop(row, column, count, out);
}
GAPLESS_CLONES
void gather(const double* row, const std::int32_t* column, Index count, float* out) {
    gather_loop(row, column, count, out);
}
GAPLESS_CLONES
void gather(const double* row, const std::int32_t* column, Index count, double* out) {
    gather_loop(row, column, count, out);
}

// Kernel rows with an entry for each of the variables in play: the caller's own rows, or copies
// made when they are first needed.
template <class T>
class Rows {
public:
    Rows() = default;
    Rows(const GramRows<T>& gram, std::vector<std::int32_t> columns)
        : gram_(gram), columns_(std::move(columns)), is_copied_(columns_.size()) {
        for (Index c = 0; c < size() && is_whole_; ++c) is_whole_ = columns_[c] == c;
    }

    Index size() const { return static_cast<Index>(columns_.size()); }
    bool has(Index k) const { return gram_.has(columns_[k]); }

    const T* operator[](Index k) {
        const T* given = gram_[columns_[k]];
        if (is_whole_) return given;
        // Memory that is never written costs nothing, hence room for all.
        if (!copies_) copies_ = std::make_unique_for_overwrite<T[]>(size() * size());
        T* copy = copies_.get() + k * size();
        if (!is_copied_[k]) gather(given, columns_.data(), size(), copy);
        is_copied_[k] = 1;
        return copy;
    }

private:
    GramRows<T> gram_{};
    std::vector<std::int32_t> columns_;
    std::vector<char> is_copied_;
    std::unique_ptr<T[]> copies_;
    bool is_whole_ = true;
};

// The smallest slope of a variable that may grow and the largest of one that may fall.
struct Range {
    double rise = infinity, fall = -infinity;
    double violation() const { return fall - rise; }
    double level() const { return 0.5 * (rise + fall); }
};

// A change of one variable, by its position among those in play.
struct Change {
    Index at;
    double by;
};

template <class T>
class Descent {
public:
    Descent(const GramRows<T>& gram, const SumProblem& problem, double tol, int threads,
            Checkpoint& checkpoint)
        : gram_(gram), problem_(problem), tol_(tol), threads_(threads), checkpoint_(checkpoint) {
        for (Index v = 0; v < problem.count; ++v) {
            groups_ = std::max(groups_, group(v) + 1);
            has_ends_ =
                has_ends_ && std::isfinite(problem.lower[v]) && std::isfinite(problem.upper[v]);
        }
        variables_.resize(problem.count);
        std::iota(variables_.begin(), variables_.end(), 0);
        slopes_.assign(problem.gradient, problem.gradient + problem.count);
        settled_.assign(problem.theta, problem.theta + problem.count);
        everything_ = Rows<T>(gram_, columns());
        rows_ = &everything_;
    }

    SumProgress run(Index most) {
        try {
            SumProgress done = descend(most);
            settle();
            return done;
        } catch (const Stopped&) {
            settle();
            throw;
        }
    }

private:
    Index group(Index v) const { return problem_.group ? problem_.group[v] : 0; }
    Index count() const { return static_cast<Index>(variables_.size()); }
    bool is_shrunk() const { return count() < problem_.count; }

    Variable variable(Index v) const {
        return {problem_.theta[v], problem_.lower[v], problem_.upper[v],
                problem_.absolute ? problem_.absolute[v] : 0.0, problem_.diagonal[v]};
    }

    std::vector<std::int32_t> columns() const {
        std::vector<std::int32_t> result(variables_.size());
        for (Index k = 0; k < count(); ++k)
            result[k] = static_cast<std::int32_t>(problem_.rows ? problem_.rows[variables_[k]]
                                                                : variables_[k]);
        return result;
    }

    SumProgress descend(Index most) {
        SumProgress done{0, 0, SumStatus::optimal};
        for (Index round = 1;; ++round) {
            checkpoint_();
            done.violation = measure();
            if (!(done.violation > tol_)) {
                if (!is_shrunk()) return done;
                everyone();
                continue;
            }
            if (done.steps >= most || is_unbounded()) {
                done.status = done.steps >= most ? SumStatus::limit : SumStatus::unbounded;
                if (is_shrunk()) everyone();
                done.violation = measure();
                return done;
            }
            choose();
            const PairSteps::Outcome outcome = steps_.descend(
                [&](Index k, float* row) {
                    const auto& members = steps_.columns();
                    gather((*rows_)[members[k]], members.data(), steps_.size(), row);
                },
                std::max(0.9 * tol_, (is_small() ? 1e-4 : 0.1) * done.violation),
                is_small() ? most : 8 * working_set, checkpoint_);
            done.steps += outcome.steps;
            if (outcome.steps == 0) {
                done.status = SumStatus::stalled;
                if (is_shrunk()) everyone();
                return done;
            }
            follow();
            if (!is_small() && has_ends_ && round % 8 == 0) shrink();
        }
    }

    bool is_small() const { return problem_.count <= small_problem; }

    // Find the slopes at which each variable in play may rise and fall; the largest violation.
    double measure() {
        ranges_.assign(groups_, {});
        rise_.resize(count());
        fall_.resize(count());
        for (Index k = 0; k < count(); ++k) {
            const bool is_there = rows_->has(k);
            const Variable v = variable(variables_[k]);
            rise_[k] = is_there ? v.rise(slopes_[k]) : infinity;
            fall_[k] = is_there ? v.fall(slopes_[k]) : -infinity;
            Range& range = ranges_[group(variables_[k])];
            range.rise = std::min(range.rise, rise_[k]);
            range.fall = std::max(range.fall, fall_[k]);
        }
        double worst = 0;
        for (const Range& range : ranges_) worst = std::max(worst, range.violation());
        return worst;
    }

    // Fill the working set: all variables of a small problem, else those that violate most.
    void choose() {
        if (!is_small() || steps_.size() == 0) {
            steps_.clear();
            for (Index g = 0; g < groups_; ++g) {
                for (std::int32_t k : is_small() ? members(g) : worst(g))
                    steps_.push(k, variable(variables_[k]));
                steps_.close_group();
            }
        }
        for (Index m = 0; m < steps_.size(); ++m) {
            const Index k = steps_.columns()[m];
            steps_.set_slope(m, slopes_[k] - ranges_[group(variables_[k])].level());
        }
    }

    std::vector<std::int32_t> members(Index g) const {
        std::vector<std::int32_t> result;
        for (Index k = 0; k < count(); ++k)
            if (group(variables_[k]) == g && rows_->has(k))
                result.push_back(static_cast<std::int32_t>(k));
        return result;
    }

    // The variables of a group with the smallest rise and the largest fall, half of each.
    std::vector<std::int32_t> worst(Index g) {
        const Range& range = ranges_[g];
        std::vector<std::int32_t> result;
        if (!(range.violation() > 0)) return result;
        is_taken_.assign(count(), 0);
        const Index half = working_set / 2 / groups_;
        auto take = [&](auto&& key, double bound) {
            order_.clear();
            for (Index k = 0; k < count(); ++k)
                if (key(k) < bound && group(variables_[k]) == g && !is_taken_[k])
                    order_.push_back({key(k), static_cast<std::int32_t>(k)});
            if (static_cast<Index>(order_.size()) > half) {
                std::nth_element(order_.begin(), order_.begin() + half, order_.end());
                order_.resize(half);
            }
            for (const auto& [_, k] : order_) {
                is_taken_[k] = 1;
                result.push_back(k);
            }
        };
        take([&](Index k) { return rise_[k]; }, range.fall);
        take([&](Index k) { return -fall_[k]; }, -range.rise);
        std::sort(result.begin(), result.end());
        return result;
    }

    // Take over what the steps did to θ, and let the slopes of all variables in play follow.
    void follow() {
        std::vector<const T*> rows;
        std::vector<double> by;
        for (Index m = 0; m < steps_.size(); ++m) {
            if (!steps_.row(m)) continue;
            const Index k = steps_.columns()[m], v = variables_[k];
            const double change = steps_.variable(m).theta - problem_.theta[v];
            if (change == 0) continue;
            problem_.theta[v] = steps_.variable(m).theta;
            rows.push_back((*rows_)[k]);
            by.push_back(change);
        }
        add(rows, by, count(), slopes_.data());
    }

    // out += Σ by·rows, on all threads; too short to be interrupted.
    void add(const std::vector<const T*>& rows, const std::vector<double>& by, Index length,
             double* out) const {
        const Index chunks = (length + column_chunk - 1) / column_chunk;
        const double work = static_cast<double>(rows.size()) * static_cast<double>(length);
        parallel_for(chunks, useful_threads(work, threads_), Poll(), [&](Index c) {
            const Index begin = c * column_chunk, end = std::min(length, begin + column_chunk);
            add_rows(rows.data(), by.data(), static_cast<Index>(rows.size()), begin, end, out);
        });
    }

    // Leave out the variables that no violating pair has, once they are many.
    void shrink() {
        std::vector<Index> kept;
        std::vector<double> slopes;
        for (Index k = 0; k < count(); ++k) {
            const Range& range = ranges_[group(variables_[k])];
            if (rise_[k] > range.fall && fall_[k] < range.rise) continue;
            kept.push_back(variables_[k]);
            slopes.push_back(slopes_[k]);
        }
        if (static_cast<double>(kept.size()) > 0.6 * static_cast<double>(count())) return;
        if (!is_shrunk()) settle();
        variables_ = std::move(kept);
        slopes_ = std::move(slopes);
        in_play_ = Rows<T>(gram_, columns());
        rows_ = &in_play_;
    }

    // All variables are in play again.
    void everyone() {
        settle();
        variables_.resize(problem_.count);
        std::iota(variables_.begin(), variables_.end(), 0);
        slopes_.assign(problem_.gradient, problem_.gradient + problem_.count);
        rows_ = &everything_;
    }

    // The gradient of all variables becomes that of the present θ.
    void settle() {
        if (!is_shrunk()) {
            std::copy(slopes_.begin(), slopes_.end(), problem_.gradient);
        } else {
            std::vector<const T*> moved;
            std::vector<double> by;
            for (Index v = 0; v < problem_.count; ++v) {
                if (problem_.theta[v] == settled_[v]) continue;
                moved.push_back(everything_[v]);
                by.push_back(problem_.theta[v] - settled_[v]);
            }
            add(moved, by, problem_.count, problem_.gradient);
        }
        settled_.assign(problem_.theta, problem_.theta + problem_.count);
    }

    // Without finite bounds the objective may fall for ever: along d = θ/Σ|θ| its curvature
    // vanishes while its slope stays negative (for a hard margin: the hulls of the classes meet).
    bool is_unbounded() const {
        if (has_ends_) return false;
        constexpr double vanishing = std::is_same_v<T, float> ? 4e-7 : 1e-9;
        double curvature = 0, slope = 0, size = 0, scale = 0;
        for (Index v = 0; v < problem_.count; ++v) {
            const double theta = problem_.theta[v];
            const double absolute = problem_.absolute ? problem_.absolute[v] : 0.0;
            curvature += theta * (slopes_[v] - problem_.linear[v]);
            slope += theta * problem_.linear[v] + absolute * std::abs(theta);
            size += std::abs(theta);
            scale = std::max(scale, std::abs(problem_.diagonal[v]));
        }
        return slope < 0 && curvature <= vanishing * scale * size * size;
    }

    const GramRows<T>& gram_;
    const SumProblem& problem_;
    const double tol_;
    const int threads_;
    Checkpoint& checkpoint_;
    Index groups_ = 1;
    bool has_ends_ = true;

    std::vector<Index> variables_;  // in play
    std::vector<double> slopes_;    // their gradient
    std::vector<double> settled_;   // θ at which problem.gradient is right
    Rows<T> everything_, in_play_;  // kernel rows with all variables, and with those in play
    Rows<T>* rows_;                 // the ones in use

    PairSteps steps_;
    std::vector<Range> ranges_;
    std::vector<double> rise_, fall_;
    std::vector<char> is_taken_;
    std::vector<std::pair<double, std::int32_t>> order_;
};

}  // namespace

template <class T>
SumProgress descend_sums(const GramRows<T>& gram, const SumProblem& problem, double tol,
                         Index steps, int threads, Checkpoint& checkpoint) {
    return Descent<T>(gram, problem, tol, threads, checkpoint).run(steps);
}

template SumProgress descend_sums(const GramRows<float>&, const SumProblem&, double, Index, int,
                                  Checkpoint&);
template SumProgress descend_sums(const GramRows<double>&, const SumProblem&, double, Index, int,
                                  Checkpoint&);

}  // namespace gapless
