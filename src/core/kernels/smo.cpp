#include "kernels/smo.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "kernels/pair_steps.hpp"

namespace gapless {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr Index easy = 2000;          // steps after which fetching shorter rows pays off
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
void add_rows(const float* const* rows, const double* scale, Index count, Index begin, Index end,
              double* out) {
    add_rows_loop(rows, scale, count, begin, end, out);
}
void add_rows(const double* const* rows, const double* scale, Index count, Index begin, Index end,
              double* out) {
    add_rows_loop(rows, scale, count, begin, end, out);
}

// out[c] = row[columnᶜ]
void gather(const float* row, const std::int32_t* column, Index count, float* out) {
    gather_loop(row, column, count, out);
}
void gather(const double* row, const std::int32_t* column, Index count, float* out) {
    gather_loop(row, column, count, out);
}

// out[c] = Σⱼ xⱼ features[j, c] for c < width, of `count` columns of features
void weigh(const float* x, const float* features, Index rows, Index count, Index width,
           float* __restrict out) {
    constexpr Index strip = 64;  // sums that stay in registers
    for (Index begin = 0; begin < width; begin += strip) {
        const Index size = std::min(strip, width - begin);
        float sums[strip] = {};
        for (Index j = 0; j < rows; ++j) {
            const float* f = features + j * count + begin;
            if (size == strip) {
#pragma omp simd
                for (Index c = 0; c < strip; ++c) sums[c] += x[j] * f[c];
            } else {
                for (Index c = 0; c < size; ++c) sums[c] += x[j] * f[c];
            }
        }
        std::copy_n(sums, size, out + begin);
    }
}

// out[c] += scale · row[columnᶜ] for c in [begin, end)
void add_gathered(const float* row, double scale, const std::int32_t* column, Index begin,
                  Index end, double* out) {
    add_gathered_loop(row, scale, column, begin, end, out);
}
void add_gathered(const double* row, double scale, const std::int32_t* column, Index begin,
                  Index end, double* out) {
    add_gathered_loop(row, scale, column, begin, end, out);
}

// Share columns among the threads; never interrupted, so that θ and the slopes stay consistent.
template <class Work>
void in_chunks(Index length, std::size_t rows, int threads, Work&& work) {
    const double operations = static_cast<double>(rows) * static_cast<double>(length);
    parallel_for(
        (length + column_chunk - 1) / column_chunk, useful_threads(operations, threads), Poll(),
        [&](Index c) { work(c * column_chunk, std::min(length, (c + 1) * column_chunk)); });
}

// out[c] += Σₖ byₖ rowsₖ[c] for c < length.
template <class T>
void add(const std::vector<const T*>& rows, const std::vector<double>& by, Index length,
         int threads, double* out) {
    in_chunks(length, rows.size(), threads, [&](Index begin, Index end) {
        add_rows(rows.data(), by.data(), static_cast<Index>(rows.size()), begin, end, out);
    });
}

// Which columns of K are needed: those listed, or all if that is known to be the same.
struct Columns {
    const std::vector<std::int32_t>& list;
    bool is_all;
};

// Rows of K that are stored.
template <class T>
class StoredRows {
public:
    static constexpr bool is_float = std::is_same_v<T, float>;

    explicit StoredRows(const GramRows<T>& rows) : rows_(rows) {}
    bool has(Index r) const { return rows_.has(r); }

    // Select the columns that `row` will return.
    void select(const Columns&) {}

    // Row r at the selected columns, in place or in `room`.
    const float* row(Index r, const Columns& columns, Index width, float* room) const {
        if constexpr (is_float)
            if (columns.is_all) return rows_[r];
        gather(rows_[r], columns.list.data(), width, room);
        return room;
    }

    // out += Σₖ byₖ K[rₖ, columns]
    void add_to(double* out, const std::vector<Index>& r, const std::vector<double>& by,
                const Columns& columns, int threads) const {
        std::vector<const T*> rows;
        for (Index k : r) rows.push_back(rows_[k]);
        const Index length = static_cast<Index>(columns.list.size());
        if (columns.is_all) return add(rows, by, length, threads, out);
        in_chunks(length, rows.size(), threads, [&](Index begin, Index end) {
            for (std::size_t k = 0; k < rows.size(); ++k)
                add_gathered(rows[k], by[k], columns.list.data(), begin, end, out);
        });
    }

private:
    GramRows<T> rows_;
};

// Rows of K computed when needed, from few features: the features of the selected rows lie side by
// side, so that all products with a row are one pass over them.
class ComputedRows {
public:
    static constexpr bool is_float = true;

    explicit ComputedRows(const KernelSource& source) : source_(source) {}
    bool has(Index) const { return true; }

    void select(const Columns& columns) { pack(columns, packed_); }

    const float* row(Index r, const Columns&, Index width, float* room) const {
        return compute(r, packed_, width, room);
    }

    void add_to(double* out, const std::vector<Index>& r, const std::vector<double>& by,
                const Columns& columns, int) const {
        Packed packed;
        pack(columns, packed);
        std::vector<float> row(columns.list.size());
        for (std::size_t k = 0; k < r.size(); ++k) {
            compute(r[k], packed, static_cast<Index>(row.size()), row.data());
            axpy(by[k], row.data(), out, static_cast<Index>(row.size()));
        }
    }

private:
    struct Packed {
        std::vector<float> features, squares;
    };

    void pack(const Columns& columns, Packed& packed) const {
        const Index count = static_cast<Index>(columns.list.size()), d = source_.rows.columns;
        packed.features.resize(count * d);
        packed.squares.resize(count);
        for (Index c = 0; c < count; ++c) {
            const float* x = source_.rows.row(columns.list[c]);
            for (Index j = 0; j < d; ++j) packed.features[j * count + c] = x[j];
            packed.squares[c] = source_.rows.squares[columns.list[c]];
        }
    }

    const float* compute(Index r, const Packed& packed, Index width, float* out) const {
        const Index count = static_cast<Index>(packed.squares.size());
        weigh(source_.rows.row(r), packed.features.data(), source_.rows.columns, count, width, out);
        const Poll never;
        kernel_values(source_.form, source_.rows.squares + r, packed.squares.data(), 1, width, out,
                      Context{source_.blas, 1, never});
        return out;
    }

    const KernelSource& source_;
    Packed packed_;
};

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

template <class Source>
class Descent {
public:
    Descent(Source source, const SumProblem& problem, double tol, int threads,
            Checkpoint& checkpoint)
        : source_(std::move(source)),
          problem_(problem),
          tol_(tol),
          threads_(threads),
          checkpoint_(checkpoint) {
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
                // What was left out must be checked again before anything is called solved.
                settle();
                play_everyone();
                continue;
            }
            if (!(done.violation > tol_)) return done;
            if (is_unbounded() || done.steps >= most) {
                done.status = is_unbounded() ? SumStatus::unbounded : SumStatus::limit;
                return done;
            }
            if (is_bounded_ && done.steps >= easy) shrink();
            take_off_levels();
            const PairSteps::Outcome outcome =
                steps_.descend([this](Index m, float* room) { return row(m, room); }, width(),
                               std::max(0.9 * tol_, 0.01 * done.violation),
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
            if (source_.has(columns_[v])) all.push_back(v);
        play(all, problem_.gradient);
        is_shrunk_ = false;
    }

    // Bring the given variables into play; `gradient` has an entry for every variable.
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
        source_.select(member_places());
    }

    // Whether the caller's rows have an entry for each member, in order.
    bool is_whole() const { return is_direct_ && is_everyone_ && groups_ == 1; }
    Index width() const { return is_whole() ? problem_.count : steps_.size(); }
    Columns member_places() const { return {member_columns_, is_whole()}; }

    const float* row(Index m, float* room) const {
        return source_.row(member_columns_[m], member_places(), width(), room);
    }

    // The largest violation among the members, by their exact slopes; NaN if one of them is NaN.
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

    // Drop the members that are in no violating pair, once they are many.
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

    // Apply the steps to θ, and compute the members' slopes to all digits.
    void follow() {
        std::vector<Index> moved;
        std::vector<double> by;
        for (Index m = 0; m < steps_.size(); ++m) {
            if (members_[m] < 0 || steps_[m].theta == problem_.theta[members_[m]]) continue;
            moved.push_back(m);
            by.push_back(steps_[m].theta - problem_.theta[members_[m]]);
            problem_.theta[members_[m]] = steps_[m].theta;
        }
        if constexpr (Source::is_float) {
            std::vector<const float*> rows;
            for (Index m : moved) rows.push_back(steps_.row(m));
            add(rows, by, width(), threads_, slopes_.data());
        } else {
            std::vector<Index> rows;
            for (Index m : moved) rows.push_back(member_columns_[m]);
            source_.add_to(slopes_.data(), rows, by, member_places(), threads_);
        }
    }

    // Update the gradient of all variables to the current θ.
    void settle() {
        if (is_everyone_) {
            for (Index m = 0; m < steps_.size(); ++m)
                if (members_[m] >= 0) problem_.gradient[members_[m]] = slopes_[m];
        } else {
            std::vector<Index> rows;
            std::vector<double> by;
            for (Index v = 0; v < problem_.count; ++v) {
                if (problem_.theta[v] == settled_[v]) continue;
                rows.push_back(columns_[v]);
                by.push_back(problem_.theta[v] - settled_[v]);
            }
            source_.add_to(problem_.gradient, rows, by, {columns_, is_direct_}, threads_);
        }
        settled_.assign(problem_.theta, problem_.theta + problem_.count);
    }

    // Without finite bounds the objective may fall for ever: along d = θ/Σ|θ| its curvature
    // vanishes while its slope stays negative (for a hard margin: the hulls of the classes
    // intersect).
    bool is_unbounded() {
        if (is_bounded_) return false;
        settle();
        constexpr double vanishing = Source::is_float ? 4e-7 : 1e-9;
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

    Source source_;
    const SumProblem& problem_;
    const double tol_;
    const int threads_;
    Checkpoint& checkpoint_;
    Index groups_ = 1;
    bool is_bounded_ = true;             // all bounds are finite
    std::vector<std::int32_t> columns_;  // of each variable in the rows of K
    bool is_direct_ = true;              // variable v is column v
    std::vector<double> settled_;        // θ for which problem.gradient is right

    PairSteps steps_;
    std::vector<Index> members_;  // the variable of each member; −1: padding
    std::vector<std::int32_t> member_columns_;
    std::vector<double> slopes_;  // of the members, to all digits
    std::vector<Range> ranges_;
    bool is_everyone_ = true, is_shrunk_ = false;
};

}  // namespace

void group_slopes(const SumPoint& point, std::vector<GroupSlopes>& out) {
    std::vector<double> free(out.size(), 0.0);
    std::fill(out.begin(), out.end(), GroupSlopes{infinity, -infinity, 0.0});
    for (Index v = 0; v < point.count; ++v) {
        const Variable variable{point.theta[v], point.lower[v], point.upper[v],
                                point.absolute ? point.absolute[v] : 0.0, 0.0};
        const double rise = variable.rise(point.gradient[v]);
        const double fall = variable.fall(point.gradient[v]);
        const Index g = point.group ? point.group[v] : 0;
        out[g].rise = std::min(out[g].rise, rise);
        out[g].fall = std::max(out[g].fall, fall);
        if (rise != fall) continue;
        out[g].free += rise;
        ++free[g];
    }
    for (std::size_t g = 0; g < out.size(); ++g) out[g].free /= free[g];
}

template <class T>
SumProgress descend_sums(const GramRows<T>& gram, const SumProblem& problem, double tol,
                         Index steps, int threads, Checkpoint& checkpoint) {
    return Descent(StoredRows<T>(gram), problem, tol, threads, checkpoint).run(steps);
}

SumProgress descend_sums(const KernelSource& source, const SumProblem& problem, double tol,
                         Index steps, int threads, Checkpoint& checkpoint) {
    return Descent(ComputedRows(source), problem, tol, threads, checkpoint).run(steps);
}

template SumProgress descend_sums(const GramRows<float>&, const SumProblem&, double, Index, int,
                                  Checkpoint&);
template SumProgress descend_sums(const GramRows<double>&, const SumProblem&, double, Index, int,
                                  Checkpoint&);

}  // namespace gapless
