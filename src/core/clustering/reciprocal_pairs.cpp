#include "clustering/reciprocal_pairs.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/pieces.hpp"

namespace gapless {
namespace {

// New rows that are written together, a small part of all, and those that one task computes.
constexpr Index most_together = 64, least_together = 8, rows_of_task = 8;
// Distances this many rows ahead are fetched from memory.
constexpr Index ahead = 8;

constexpr Index row_begin(Index place) { return place * (place - 1) / 2; }

// The rows begin … end offered to all places before them, and these to them.
template <class T>
class NearestInRows {
public:
    explicit NearestInRows(Index places)
        : best_(places, none), second_(places, none), at_(places, -1) {}

    void add(Index place, const T* row) {
        constexpr Index block = 32;
        NearestOf<T> own;
        for (Index begin = 0; begin < place; begin += block) {
            const Index end = std::min(begin + block, place);
            const T* second = second_.data();
            int nearer = 0;
            T least = none;
#pragma omp simd reduction(+ : nearer) reduction(min : least)
            for (Index j = begin; j < end; ++j) {
                nearer += row[j] < second[j];
                least = row[j] < least ? row[j] : least;
            }
            if (nearer)
                for (Index j = begin; j < end; ++j) offer(j, row[j], place);
            if (least < own.second)
                for (Index j = begin; j < end; ++j) own.offer(row[j], j);
        }
        best_[place] = own.best, second_[place] = own.second, at_[place] = own.at;
    }

    NearestOf<T> operator[](Index place) const {
        return {best_[place], second_[place], at_[place]};
    }

private:
    static constexpr T none = std::numeric_limits<T>::infinity();

    void offer(Index place, T value, Index from) {
        if (!(value < second_[place])) return;
        if (value < best_[place])
            second_[place] = best_[place], best_[place] = value, at_[place] = from;
        else
            second_[place] = value;
    }

    std::vector<T> best_, second_;
    std::vector<Index> at_;
};

// One row of new distances after another, from the old triangle.
template <class T>
class NewRows {
public:
    NewRows(const T* triangle, const std::vector<Parts<T>>& clusters)
        : triangle_(triangle), clusters_(clusters) {
        for (const auto& parts : clusters) first_.push_back(static_cast<std::int32_t>(parts.first));
    }

    // The rows from `begin` on come next. Of a pair before them, what is known of the second part
    // stands in their rows, or in that of the part itself if it lies behind them.
    void advance(Index begin) {
        for (; passed_ < begin; ++passed_)
            if (clusters_[passed_].second != clusters_[passed_].first) open_.push_back(passed_);
        const auto is_open = [&](Index j) { return clusters_[j].second > clusters_[begin].first; };
        const auto closed = std::stable_partition(open_.begin(), open_.end(), is_open);
        closed_.insert(closed_.end(), closed, open_.end());
        open_.erase(closed, open_.end());
    }

    // Row i of the new triangle, for i from the row last advanced to; `joined` has room for a
    // number of each old place.
    template <class Rule>
    void compute(Index i, const Rule& rule, T* joined, T* out) const {
        const Index one = clusters_[i].first, other = clusters_[i].second;
        const auto share = clusters_[i].share;
        const T *of_one = triangle_ + row_begin(one), *of_other = triangle_ + row_begin(other);
        if (one != other) {
#pragma omp simd
            for (Index c = 0; c < one; ++c) joined[c] = rule(of_one[c], of_other[c], share);
        }
        const T* own = one == other ? of_one : joined;
        for (Index j = 0; j < i; ++j) out[j] = own[first_[j]];
        const auto add_second = [&](Index j, T value) {
            out[j] = rule(out[j], value, clusters_[j].share);
        };
        for (const Index j : closed_) add_second(j, own[clusters_[j].second]);
        const auto add_behind = [&](Index j) {
            const Index c = clusters_[j].second;
            if (c < one) return add_second(j, own[c]);
            const T* row = triangle_ + row_begin(c);
            const T to_other = c < other ? of_other[c] : row[other];
            add_second(j, one == other ? row[one] : rule(row[one], to_other, share));
        };
        const Index count = static_cast<Index>(open_.size());
        for (Index t = 0; t < count; ++t) {
            if (t + ahead < count) {
                const Index next = clusters_[open_[t + ahead]].second;
                __builtin_prefetch(triangle_ + row_begin(next) + one);
                if (next > other) __builtin_prefetch(triangle_ + row_begin(next) + other);
            }
            add_behind(open_[t]);
        }
        for (Index j = passed_; j < i; ++j)
            if (clusters_[j].second != clusters_[j].first) add_behind(j);
    }

private:
    const T* triangle_;
    const std::vector<Parts<T>>& clusters_;
    std::vector<std::int32_t> first_;
    std::vector<Index> open_, closed_;  // the pairs before the row last advanced to
    Index passed_ = 0;
};

}  // namespace

template <class T>
std::vector<NearestOf<T>> nearest_of_all(const T* triangle, Index places, const Context& context) {
    const double pairs = 0.5 * static_cast<double>(places) * static_cast<double>(places);
    const Index tasks = useful_threads(pairs, context.threads);
    // The smallest of all is the same however the rows are shared; as many pairs for each task.
    const auto begin_of = [&](Index task) {
        const double share = static_cast<double>(task) / static_cast<double>(tasks);
        return task == tasks ? places : static_cast<Index>(std::sqrt(share) * double(places));
    };
    std::vector<NearestInRows<T>> found(tasks, NearestInRows<T>(places));
    parallel_for(tasks, context.threads, context.poll, [&](Index task, Checkpoint& checkpoint) {
        for (Index i = begin_of(task); i < begin_of(task + 1); ++i) {
            checkpoint();
            found[task].add(i, triangle + row_begin(i));
        }
    });
    std::vector<NearestOf<T>> nearest(places);
    for (Index p = 0; p < places; ++p)
        for (const auto& rows : found) nearest[p].join(rows[p]);
    return nearest;
}

template <class T>
void merge_parts(MatrixMethod method, T* triangle, const std::vector<Parts<T>>& clusters,
                 const Context& context) {
    const Index count = static_cast<Index>(clusters.size());
    Index places = 0;
    for (const auto& parts : clusters) places = std::max(places, parts.second + 1);
    const Index batch = std::clamp(count / 128, least_together, most_together);
    auto out = uninitialized<T>(batch * count);
    NewRows<T> rows(triangle, clusters);
    const double work = 4.0 * static_cast<double>(batch * count);
    const int threads = useful_threads(work, context.threads);
    with_rule(method, [&](const auto& rule) {
        for (Index begin = 0; begin < count; begin += batch) {
            const Index end = std::min(begin + batch, count);
            rows.advance(begin);
            parallel_for(ceil_div(end - begin, rows_of_task), threads, context.poll,
                         [&](Index task, Checkpoint& checkpoint) {
                             auto joined = uninitialized<T>(places);
                             const Range own = part(task, rows_of_task, end - begin);
                             for (Index i = own.begin; i < own.end; ++i) {
                                 checkpoint();
                                 rows.compute(begin + i, rule, joined.get(), out.get() + i * count);
                             }
                         });
            // Nothing that is still to be computed reads a row before the first place of the next
            // cluster, which is not before `end`.
            for (Index i = begin; i < end; ++i)
                std::copy_n(out.get() + (i - begin) * count, i, triangle + row_begin(i));
        }
    });
}

template std::vector<NearestOf<float>> nearest_of_all(const float*, Index, const Context&);
template std::vector<NearestOf<double>> nearest_of_all(const double*, Index, const Context&);
template void merge_parts(MatrixMethod, float*, const std::vector<Parts<float>>&, const Context&);
template void merge_parts(MatrixMethod, double*, const std::vector<Parts<double>>&, const Context&);

}  // namespace gapless
