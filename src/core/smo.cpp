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

constexpr Index column_chunk = 2048;  // slopes that stay in the first-level cache

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

template <class T>
GAPLESS_BODY void add_gathered_loop(const T* row, double scale, const std::int32_t* column,
                                    Index begin, Index end, double* __restrict out) {
#pragma omp simd
    for (Index c = begin; c < end; ++c) out[c] += scale * static_cast<double>(row[column[c]]);
}

template <class T>
GAPLESS_BODY void gather_loop(const T* row, const std::int32_t* column, Index count,
                              float* __restrict out) {
#pragma omp simd
    for (Index c = 0; c < count; ++c) out[c] = static_cast<float>(row[column[c]]);
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

// out[c] += scale · row[columnᶜ] for c in [begin, end)
GAPLESS_CLONES
void add_gathered(const float* row, double scale, const std::int32_t* column, Index begin,
                  Index end, double* out) {
    add_gathered_loop(row, scale, column, begin, end, out);
}
GAPLESS_CLONES
void add_gathered(const double* row, double scale, const std::int32_t* column, Index begin,
                  Index end, double* out) {
    add_gathered_loop(row, scale, column, begin, end, out);
}

// The smallest slope of a variable that may grow and the largest of one that may fall.
struct Range {
    double rise = infinity, fall = -infinity;
    double violation() const { return fall - rise; }
    double level() const { return 0.5 * (rise + fall); }
    // Whether a variable with these slopes is in no violating pair.
    bool leaves_out(double its_rise, double its_fall) const {
        return its_rise > fall && its_fall < rise;
    }
};

template <class T>
class Descent {
public:
    Descent(const GramRows<T>& gram, const SumProblem& problem, double tol, int threads,
            Checkpoint& checkpoint)
        : gram_(gram), problem_(problem), tol_(tol), threads_(threads), checkpoint_(checkpoint) {
        for (Index v = 0; v < problem.count; ++v) {
            groups_ = std::max(groups_, group(v) + 1);
            is_bounded_ =
                is_bounded_ && std::isfinite(problem.lower[v]) && std::isfinite(problem.upper[v]);
            columns_.push_back(static_cast<std::int32_t>(problem.rows ? problem.rows[v] : v));
            is_direct_ = is_direct_ && columns_[v] == v;
        }
        settled_.assign(problem.theta, problem.theta + problem.count);
        play_everyone();
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

    SumProgress descend(Index most) {
        SumProgress done{0, 0, SumStatus::optimal};
        const Index round = std::max<Index>(1000, problem_.count / 2);
        while (true) {
            checkpoint_();
            done.violation = measure();
            if (std::isnan(done.violation)) {
                done.status = SumStatus::stalled;
                return done;
            }
            if (!(done.violation > tol_) && is_shrunk_) {
                // What was left out must be looked at again before anything is called solved.
                settle();
                play_everyone();
                continue;
            }
            if (!(done.violation > tol_)) return done;
            if (is_unbounded() || done.steps >= most) {
                done.status = is_unbounded() ? SumStatus::unbounded : SumStatus::limit;
                return done;
            }
            if (is_bounded_) shrink();
            take_off_levels();
            const PairSteps::Outcome outcome =
                steps_.descend([this](Index m, float* room) { return row(m, room); }, width(),
                               std::max(0.9 * tol_, 0.1 * done.violation),
                               std::min(most - done.steps, round), checkpoint_);
            done.steps += outcome.steps;
            if (outcome.steps == 0) {
                done.status = SumStatus::stalled;
                return done;
            }
            follow();
        }
    }

    // ---- the members of the working set ----

    void play_everyone() {
        std::vector<Index> all;
        for (Index v = 0; v < problem_.count; ++v)
            if (gram_.has(columns_[v])) all.push_back(v);
        play(all, problem_.gradient);
        is_shrunk_ = false;
    }

    // Put the given variables into play; `gradient` has an entry for every variable there is.
    void play(const std::vector<Index>& variables, const double* gradient) {
        steps_ = PairSteps();
        members_.clear();
        member_columns_.clear();
        slopes_.clear();
        for (Index g = 0; g < groups_; ++g) {
            for (Index v : variables) {
                if (group(v) != g) continue;
                steps_.push({problem_.theta[v], problem_.lower[v], problem_.upper[v],
                             problem_.absolute ? problem_.absolute[v] : 0.0, problem_.diagonal[v]});
                members_.push_back(v);
                member_columns_.push_back(columns_[v]);
                slopes_.push_back(gradient[v]);
            }
            steps_.close_group();
            // The padding needs some kernel values, and never moves.
            members_.resize(steps_.size(), -1);
            member_columns_.resize(steps_.size(), variables.empty() ? 0 : columns_[variables[0]]);
            slopes_.resize(steps_.size(), 0.0);
        }
        is_everyone_ = static_cast<Index>(variables.size()) == problem_.count;
    }

    // Whether the caller's rows have an entry for each member, in order.
    bool is_whole() const { return is_direct_ && is_everyone_ && groups_ == 1; }
    Index width() const { return is_whole() ? problem_.count : steps_.size(); }

    const float* row(Index m, float* room) const {
        const T* given = gram_[member_columns_[m]];
        if constexpr (std::is_same_v<T, float>)
            if (is_whole()) return given;
        gather(given, member_columns_.data(), width(), room);
        return room;
    }

    // The largest violation among the members, by their exact slopes; not a number if one of them
    // is none.
    double measure() {
        ranges_.assign(groups_, {});
        for (Index m = 0; m < steps_.size(); ++m) {
            if (members_[m] < 0) continue;
            if (std::isnan(slopes_[m])) return slopes_[m];
            Range& range = ranges_[group(members_[m])];
            range.rise = std::min(range.rise, steps_[m].rise(slopes_[m]));
            range.fall = std::max(range.fall, steps_[m].fall(slopes_[m]));
        }
        double worst = 0;
        for (const Range& range : ranges_) worst = std::max(worst, range.violation());
        return worst;
    }

    void take_off_levels() {
        for (Index m = 0; m < steps_.size(); ++m)
            if (members_[m] >= 0)
                steps_.set_slope(m, slopes_[m] - ranges_[group(members_[m])].level());
    }

    // Leave out the members that no violating pair has, once they are many.
    void shrink() {
        std::vector<Index> kept;
        Index count = 0;
        for (Index m = 0; m < steps_.size(); ++m) {
            if (members_[m] < 0) continue;
            ++count;
            const Range& range = ranges_[group(members_[m])];
            if (!range.leaves_out(steps_[m].rise(slopes_[m]), steps_[m].fall(slopes_[m])))
                kept.push_back(members_[m]);
        }
        if (static_cast<double>(kept.size()) > 0.7 * static_cast<double>(count)) return;
        if (!is_shrunk_) settle();
        std::vector<double> slopes(problem_.count);
        for (Index m = 0; m < steps_.size(); ++m)
            if (members_[m] >= 0) slopes[members_[m]] = slopes_[m];
        play(kept, slopes.data());
        is_shrunk_ = true;
    }

    // ---- slopes ----

    // Take over what the steps did to θ, and compute the members' slopes to all digits.
    void follow() {
        std::vector<Index> moved;
        std::vector<double> by;
        for (Index m = 0; m < steps_.size(); ++m) {
            if (members_[m] < 0 || steps_[m].theta == problem_.theta[members_[m]]) continue;
            moved.push_back(m);
            by.push_back(steps_[m].theta - problem_.theta[members_[m]]);
            problem_.theta[members_[m]] = steps_[m].theta;
        }
        if constexpr (std::is_same_v<T, float>) {
            std::vector<const float*> rows;
            for (Index m : moved) rows.push_back(steps_.row(m));
            add(rows, by, width(), slopes_.data());
        } else {
            std::vector<const T*> rows;
            for (Index m : moved) rows.push_back(gram_[member_columns_[m]]);
            add_by_columns(rows, by, member_columns_, is_whole(), slopes_.data());
        }
    }

    // The gradient of all variables becomes that of the present θ.
    void settle() {
        if (is_everyone_) {
            for (Index m = 0; m < steps_.size(); ++m)
                if (members_[m] >= 0) problem_.gradient[members_[m]] = slopes_[m];
        } else {
            std::vector<const T*> rows;
            std::vector<double> by;
            for (Index v = 0; v < problem_.count; ++v) {
                if (problem_.theta[v] == settled_[v]) continue;
                rows.push_back(gram_[columns_[v]]);
                by.push_back(problem_.theta[v] - settled_[v]);
            }
            add_by_columns(rows, by, columns_, is_direct_, problem_.gradient);
        }
        settled_.assign(problem_.theta, problem_.theta + problem_.count);
    }

    // out[c] += Σ by·row[columnᶜ] over the rows.
    void add_by_columns(const std::vector<const T*>& rows, const std::vector<double>& by,
                        const std::vector<std::int32_t>& columns, bool is_whole,
                        double* out) const {
        const Index length = static_cast<Index>(columns.size());
        if (is_whole) return add(rows, by, problem_.count, out);
        in_chunks(length, rows.size(), [&](Index begin, Index end) {
            for (std::size_t k = 0; k < rows.size(); ++k)
                add_gathered(rows[k], by[k], columns.data(), begin, end, out);
        });
    }

    // out[c] += Σ by·row[c] over the rows.
    template <class F>
    void add(const std::vector<const F*>& rows, const std::vector<double>& by, Index length,
             double* out) const {
        in_chunks(length, rows.size(), [&](Index begin, Index end) {
            add_rows(rows.data(), by.data(), static_cast<Index>(rows.size()), begin, end, out);
        });
    }

    // Share columns among the threads; never interrupted, so that θ and the slopes stay together.
    template <class Work>
    void in_chunks(Index length, std::size_t rows, Work&& work) const {
        const double operations = static_cast<double>(rows) * static_cast<double>(length);
        parallel_for((length + column_chunk - 1) / column_chunk,
                     useful_threads(operations, threads_), Poll(), [&](Index c) {
                         work(c * column_chunk, std::min(length, (c + 1) * column_chunk));
                     });
    }

    // Without finite bounds the objective may fall for ever: along d = θ/Σ|θ| its curvature
    // vanishes while its slope stays negative (for a hard margin: the hulls of the classes meet).
    bool is_unbounded() {
        if (is_bounded_) return false;
        settle();
        constexpr double vanishing = std::is_same_v<T, float> ? 4e-7 : 1e-9;
        double curvature = 0, slope = 0, size = 0, scale = 0;
        for (Index v = 0; v < problem_.count; ++v) {
            const double theta = problem_.theta[v];
            const double absolute = problem_.absolute ? problem_.absolute[v] : 0.0;
            curvature += theta * (problem_.gradient[v] - problem_.linear[v]);
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
    bool is_bounded_ = true;             // all bounds are finite
    std::vector<std::int32_t> columns_;  // of each variable in the rows of K
    bool is_direct_ = true;              // variable v is column v
    std::vector<double> settled_;        // θ at which problem.gradient is right

    PairSteps steps_;
    std::vector<Index> members_;  // which variable each member is; −1: padding
    std::vector<std::int32_t> member_columns_;
    std::vector<double> slopes_;  // of the members, to all digits
    std::vector<Range> ranges_;
    bool is_everyone_ = true, is_shrunk_ = false;
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
