#include "clustering/matrix_linkage.hpp"

#include <algorithm>
#include <cmath>

#include "base/pieces.hpp"
#include "clustering/panel_distances.hpp"
#include "clustering/reciprocal_pairs.hpp"

namespace gapless {
namespace {

constexpr double share_in_use = 0.75;
// Places that one task updates.
constexpr Index stretch = 1024;
// Rows of the matrix this far ahead are fetched from memory.
constexpr Index ahead = 16;
// Means of means in float lose digits; those of 10⁵ rows rarely more than this.
constexpr double error_of_means = 2e-6;
// Fewer clusters than these are merged one by one, and so are fewer pairs than one for each so many
// clusters: a pass over the triangle would take longer.
constexpr Index fewest = 64, clusters_per_pair = 24;

}  // namespace

template <class T>
MatrixLinkage<T>::MatrixLinkage(MatrixMethod method, T* triangle, const double* weights, Index rows,
                                const Points& points)
    : method_(method),
      triangle_(triangle),
      rows_(rows),
      places_(rows),
      alive_(rows),
      points_(points),
      weights_(weights, weights + rows),
      row_weights_(weights_),
      gone_(rows, 0),
      near_(rows),
      row_(rows),
      next_(rows, -1),
      last_(rows) {
    for (Index i = 0; i < rows; ++i) row_[i] = last_[i] = i;
    merges_.reserve(rows - 1);
    if (method == MatrixMethod::average) points_.relative_error += error_of_means;
}

template <class T>
void MatrixLinkage<T>::search_all(const Context& context) {
    constexpr Index at_once = 16;
    parallel_for(ceil_div(places_, at_once), context.threads, context.poll,
                 [&](Index task, Checkpoint& checkpoint) {
                     const Range own = part(task, at_once, places_);
                     for (Index i = own.begin; i < own.end; ++i) {
                         checkpoint();
                         near_.set(i, search(i));
                     }
                 });
    is_searched_ = true;
}

template <class T>
NearestOf<T> MatrixLinkage<T>::search(Index place) const {
    constexpr Index block = 256;
    const T* own = row(place);
    NearestOf<T> found;
    // The smallest of each block in one pass; then the block that has it is searched.
    T others = std::numeric_limits<T>::infinity(), best = others;
    Index best_block = -1;
    for (Index begin = 0; begin < place; begin += block) {
        const Index end = std::min(begin + block, place);
        const T least = least_of(own + begin, gone_.data() + begin, end - begin);
        if (least < best) {
            others = best, best = least, best_block = begin;
        } else {
            others = std::min(others, least);
        }
    }
    if (best_block < 0) {
        // All are infinitely far; the first one that is still there is as near as any.
        for (Index j = 0; j < place && found.at < 0; ++j)
            if (gone_[j] == 0) found.at = j;
        return found;
    }
    for (Index j = best_block; j < std::min(best_block + block, place); ++j)
        if (gone_[j] == 0) found.offer(own[j], j);
    found.second = std::min(found.second, others);
    return found;
}

// ---- merging ----

// Rows behind the first place keep the new cluster in its column. That of the second one is left as
// it is, which saves a write to a distant place for each row.
template <class T>
template <class Rule>
void MatrixLinkage<T>::update_behind(const Pair& pair, Index begin, Index end, const Rule& rule) {
    const auto [one, other] = pair;
    const T* of_other = row(other);
    for (Index k = begin; k < end; ++k) {
        if (k + ahead < places_) {
            __builtin_prefetch(row(k + ahead) + one, 1);
            if (k + ahead > other) __builtin_prefetch(row(k + ahead) + other, 0);
        }
        if (gone_[k] != 0) continue;
        T* own = row(k);
        const T value = rule(own[one], k < other ? of_other[k] : own[other]);
        own[one] = value;
        const Index at = near_.at(k);
        if (at == one || at == other) near_.forget(k, at);
        near_.offer(k, value, one);
    }
}

template <class T>
void MatrixLinkage<T>::record(const Pair& pair, double height) {
    const auto [one, other] = pair;
    merges_.push_back({row_[one], row_[other], height});
    next_[last_[row_[one]]] = row_[other];
    last_[row_[one]] = last_[row_[other]];
}

template <class T>
bool MatrixLinkage<T>::merge_reciprocal(const Context& context) {
    if (places_ < fewest) return false;
    const auto nearest = nearest_of_all(triangle_, places_, context);
    // What is not clearly nearest has a rival, which is compared with it one by one.
    const auto partner = [&](Index p) {
        const auto& own = nearest[p];
        if (own.at < 0 || nearest[own.at].at != p) return Index{-1};
        const T most = limit(own.best);
        return own.second > most && nearest[own.at].second > most ? own.at : Index{-1};
    };
    std::vector<Parts<T>> clusters;
    for (Index p = 0; p < places_; ++p) {
        const Index other = partner(p);
        if (other >= 0 && other < p) continue;
        clusters.push_back({p, other < 0 ? p : other, 0});
    }
    const Index count = static_cast<Index>(clusters.size());
    if ((places_ - count) * clusters_per_pair < places_) return false;
    for (Index i = 0; i < count; ++i) {
        auto& [one, other, share] = clusters[i];
        double total = weights_[one];
        if (one != other) {
            total += weights_[other];
            share = static_cast<T>(weights_[other] / total);
            record({one, other}, static_cast<double>(nearest[one].best));
        }
        // Later clusters have later places.
        weights_[i] = total, row_[i] = row_[one];
    }
    merge_parts(method_, triangle_, clusters, context);
    for (Index p = count; p < places_; ++p)
        weights_[p] = 0, gone_[p] = std::numeric_limits<T>::infinity();
    places_ = alive_ = count;
    is_searched_ = false;
    return true;
}

template <class T>
void MatrixLinkage<T>::merge(const Pair& pair, Team& team) {
    const auto [one, other] = pair;
    record(pair, static_cast<double>(between(pair)));
    const double total = weights_[one] + weights_[other];
    const T share = static_cast<T>(weights_[other] / total);
    weights_[one] = total, weights_[other] = 0;
    gone_[other] = std::numeric_limits<T>::infinity();
    near_.remove(other);
    --alive_;
    T *row_one = row(one), *row_other = row(other);
    const Index first = one, behind = places_ - one - 1;
    const Index tasks = (behind + stretch - 1) / stretch;
    with_rule(method_, [&](const auto& rule_of) {
        const auto rule = [share, rule_of](T of_one, T of_other) {
            return rule_of(of_one, of_other, share);
        };
#pragma omp simd
        for (Index k = 0; k < first; ++k) row_one[k] = rule(row_one[k], row_other[k]);
        team.each(tasks + 1, [&](Index task) {
            if (task == tasks) {
                near_.set(first, search(first));
            } else {
                const Index begin = first + 1 + task * stretch;
                update_behind(pair, begin, std::min(begin + stretch, places_), rule);
            }
        });
    });
    is_compact_ = false;
}

template <class T>
void MatrixLinkage<T>::compact() {
    std::vector<std::int32_t> place_of(places_, -1);
    std::vector<Index> kept;
    for (Index p = 0; p < places_; ++p) {
        if (weights_[p] == 0) continue;
        place_of[p] = static_cast<std::int32_t>(kept.size());
        kept.push_back(p);
    }
    // Entries move towards the beginning, in their order, so none is overwritten before it is read.
    for (Index i = 0; i < static_cast<Index>(kept.size()); ++i) {
        const Index p = kept[i];
        const T* source = row(p);
        T* target = row(i);
        for (Index j = 0; j < i; ++j) target[j] = source[kept[j]];
        weights_[i] = weights_[p], row_[i] = row_[p], gone_[i] = 0;
        near_.move(p, i, place_of);
    }
    for (Index p = static_cast<Index>(kept.size()); p < places_; ++p) {
        weights_[p] = 0, gone_[p] = std::numeric_limits<T>::infinity();
        near_.remove(p);
    }
    places_ = static_cast<Index>(kept.size());
    is_compact_ = true;
}

template <class T>
void MatrixLinkage<T>::advance(Index count, const Context& context) {
    Team team(useful_threads(8.0 * static_cast<double>(places_), context.threads));
    Checkpoint checkpoint(context.poll);
    const auto most = [&](T value) { return limit(value); };
    for (const Index end = std::min(done() + count, all()); done() < end;) {
        checkpoint();
        if (is_compact_ && merge_reciprocal(context)) continue;
        is_compact_ = false;
        if (!is_searched_) search_all(context);
        const auto found = near_.closest(places_, most);
        if (found.second < 0) {
            near_.set(found.first, search(found.first));
            continue;
        }
        Pair pair{found.first, found.second};
        const bool is_clear =
            found.near.size() == 1 && near_.second(pair.second) > limit(near_.best(pair.second));
        if (points_.x && !is_clear) pair = resolved(pair, found.near);
        merge(pair, team);
        if (static_cast<double>(alive_) < share_in_use * static_cast<double>(places_)) compact();
    }
}

// ---- distances that the matrix does not tell apart ----

template <class T>
T MatrixLinkage<T>::limit(T value) const {
    if (!points_.x) return value;
    return static_cast<T>(static_cast<double>(value) * (1 + 3 * points_.relative_error) +
                          2 * points_.absolute_error);
}

template <class T>
double MatrixLinkage<T>::exact(const Pair& pair) const {
    double sum = 0, most = 0, least = std::numeric_limits<double>::infinity();
    for (Index i = row_[pair.first]; i >= 0; i = next_[i])
        for (Index j = row_[pair.second]; j >= 0; j = next_[j]) {
            const double found = std::sqrt(squared_distance(
                points_.x + i * points_.columns, points_.x + j * points_.columns, points_.columns));
            sum += row_weights_[i] * row_weights_[j] * found;
            most = std::max(most, found), least = std::min(least, found);
        }
    if (method_ == MatrixMethod::single) return least;
    if (method_ == MatrixMethod::complete) return most;
    return sum / (weights_[pair.first] * weights_[pair.second]);
}

// The pair itself, or one as near that shares a cluster with it and is nearer in double.
template <class T>
typename MatrixLinkage<T>::Pair MatrixLinkage<T>::resolved(Pair pair,
                                                           const std::vector<Index>& near) const {
    const T most = limit(between(pair));
    double best = -1;
    for (bool is_changed = true; is_changed;) {
        is_changed = false;
        std::vector<Pair> rivals;
        const auto add = [&](const Pair& rival) {
            if (rival != pair && between(rival) <= most) rivals.push_back(rival);
        };
        for (const Index place : {pair.first, pair.second}) {
            for (Index j = 0; j < place; ++j)
                if (gone_[j] == 0) add({j, place});
            for (const Index k : near)
                if (k > place) add({place, k});
        }
        if (rivals.empty()) break;
        if (best < 0) best = exact(pair);
        for (const Pair& rival : rivals) {
            const double found = exact(rival);
            if (found < best || (found == best && rival < pair))
                best = found, pair = rival, is_changed = true;
        }
    }
    return pair;
}

// ---- the matrix ----

void fill_triangle(const double* x, Index rows, Index columns, float* triangle, Points& points,
                   const Context& context) {
    constexpr Index lanes = FloatPanels::lanes;
    const FloatPanels panels(x, rows, columns, context);
    points = {x, columns, panels.relative_error(), panels.absolute_error()};
    // A panel of rows at a time, so that those before are read once for all of them.
    parallel_for(FloatPanels::panels_of(rows), context.threads, context.poll,
                 [&](Index panel, Checkpoint& checkpoint) {
                     const Index first = panel * lanes, last = std::min(first + lanes, rows);
                     std::vector<float> own(lanes * columns);
                     for (Index i = first; i < last; ++i)
                         panels.get(i, own.data() + (i - first) * columns);
                     const float unit = static_cast<float>(panels.unscaled(1));
                     float sums[lanes];
                     for (Index p = 0; p <= panel; ++p) {
                         if (p % 64 == 0) checkpoint();
                         for (Index i = first; i < last; ++i) {
                             measure_panel(own.data() + (i - first) * columns, panels.panel(p),
                                           columns, sums);
                             float* out = triangle + i * (i - 1) / 2 + p * lanes;
                             const Index count = std::min(lanes, i - p * lanes);
                             for (Index l = 0; l < lanes; ++l) sums[l] = std::sqrt(sums[l]) * unit;
                             for (Index l = 0; l < count; ++l) out[l] = sums[l];
                         }
                     }
                 });
}

void fill_triangle(const double* x, Index rows, Index columns, double* triangle, Points& points,
                   const Context& context) {
    points = {nullptr, columns, 0, 0};
    constexpr Index at_once = 16;
    parallel_for(
        (rows + at_once - 1) / at_once, context.threads, context.poll,
        [&](Index task, Checkpoint& checkpoint) {
            const Index end = std::min((task + 1) * at_once, rows);
            for (Index i = task * at_once; i < end; ++i) {
                checkpoint();
                double* out = triangle + i * (i - 1) / 2;
                for (Index j = 0; j < i; ++j)
                    out[j] = std::sqrt(squared_distance(x + i * columns, x + j * columns, columns));
            }
        });
}

template class MatrixLinkage<float>;
template class MatrixLinkage<double>;

}  // namespace gapless
