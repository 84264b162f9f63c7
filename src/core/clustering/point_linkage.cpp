#include "clustering/point_linkage.hpp"

#include <algorithm>
#include <cmath>

#include "clustering/panel_distances.hpp"

namespace gapless {
namespace {

constexpr Index lanes = FloatPanels::lanes;
constexpr Index entries_of_task = 1 << 15;
// Places are compacted when fewer than this part of them is in use.
constexpr double share_in_use = 0.75;
// 1/w in float is not larger than this part of it above.
constexpr double above = 1 + 1e-6;

}  // namespace

PointLinkage::PointLinkage(PointMethod method, const double* x, const double* weights, Index rows,
                           Index columns, const Context& context)
    : method_(method),
      rows_(rows),
      columns_(columns),
      places_(rows),
      alive_(rows),
      panels_(x, rows, columns, context),
      centers_(x, x + rows * columns),
      weights_(weights, weights + rows),
      inverse_weights_(FloatPanels::panels_of(rows) * lanes, 0.0f),
      near_(rows),
      limit_(FloatPanels::panels_of(rows) * lanes, std::numeric_limits<float>::max()),
      row_(rows) {
    merges_.reserve(rows - 1);
    for (Index i = 0; i < rows; ++i) {
        row_[i] = i;
        inverse_weights_[i] = static_cast<float>(above / weights[i]);
    }
    parallel_for((rows + lanes - 1) / lanes, context.threads, context.poll,
                 [&](Index panel, Checkpoint& checkpoint) {
                     std::vector<float> row(columns_);
                     for (Index i = panel * lanes; i < std::min((panel + 1) * lanes, rows); ++i) {
                         checkpoint();
                         panels_.get(i, row.data());
                         near_.set(i, search_part(i, row.data(), 0, panel + 1));
                         set_limit(i);
                     }
                 });
}

// The squared height at which two clusters merge: of Ward 2ab/(a + b)·‖x − z‖² for weights a and b,
// as SciPy has it; of centroids ‖x − z‖².
double PointLinkage::cost(Index place, Index other) const {
    const double q = squared_distance(centers_.data() + place * columns_,
                                      centers_.data() + other * columns_, columns_);
    if (!is_ward()) return q;
    const double a = weights_[place], b = weights_[other];
    return 2 * (a / (a + b)) * b * q;
}

NearestOne PointLinkage::search_part(Index place, const float* row, Index first_panel,
                                     Index last_panel) const {
    NearestOne found;
    float limits[lanes], sums[lanes];
    const float own = inverse_weights_[place];
    float slope = 0, offset = 0;
    std::fill_n(limits, lanes, std::numeric_limits<float>::max());
    // Towards the first place: in the order of their content, the nearest rows are often the last
    // ones before.
    for (Index p = last_panel - 1; p >= first_panel; --p) {
        if (is_ward() && slope > 0)
            for (Index l = 0; l < lanes; ++l)
                limits[l] = slope * (own + inverse_weights_[p * lanes + l]) + offset;
        if (!measure_panel(row, panels_.panel(p), columns_, limits, sums)) continue;
        bool is_nearer = false;
        for (Index l = 0; l < lanes; ++l) {
            const Index other = p * lanes + l;
            // Written so that NaN, from numbers beyond float, rules out nothing.
            if (sums[l] > limits[l] || other >= place || weights_[other] == 0) continue;
            const double before = found.second;
            found.offer(cost(place, other), other);
            is_nearer |= found.second < before;
        }
        if (!is_nearer) continue;
        if (is_ward()) {
            // q ≤ cost · (1/a + 1/b)/2
            slope = FloatPanels::below_largest(panels_.slope() * found.second / 2 * above);
            offset = rounded_offset();
        } else {
            std::fill_n(limits, lanes, panels_.limit(found.second));
        }
    }
    return found;
}

// A new cluster may be nearer to one behind it than any other.
void PointLinkage::offer_part(Index place, const float* row, Index first_panel, Index last_panel) {
    float limits[lanes], sums[lanes];
    const float own = inverse_weights_[place], offset = rounded_offset();
    for (Index p = first_panel; p < last_panel; ++p) {
        const float *most = limit_.data() + p * lanes,
                    *weight = inverse_weights_.data() + p * lanes;
        for (Index l = 0; l < lanes; ++l)
            limits[l] = most[l] * (is_ward() ? (own + weight[l]) / 2 : 1.0f) + offset;
        if (!measure_panel(row, panels_.panel(p), columns_, limits, sums)) continue;
        for (Index l = 0; l < lanes; ++l) {
            const Index other = p * lanes + l;
            if (sums[l] > limits[l] || other <= place || other >= places_ || weights_[other] == 0)
                continue;
            // Those that one of both was nearest to know it already.
            if (near_.at(other) == place) continue;
            near_.offer(other, cost(place, other), place);
            set_limit(other);
        }
    }
}

float PointLinkage::rounded_offset() const { return static_cast<float>(panels_.offset() * above); }

void PointLinkage::set_limit(Index place) {
    limit_[place] = FloatPanels::below_largest(panels_.slope() * near_.second(place) * above);
}

// Call work(task, first panel, last panel) for all panels; returns the number of tasks.
template <class Work>
void PointLinkage::share(Index panels, Team& team, Work&& work) {
    const Index of_task =
        std::max<Index>(entries_of_task / (lanes * std::max<Index>(columns_, 1)), 1);
    const Index tasks = (panels + of_task - 1) / of_task;
    team.each(tasks, [&](Index task) {
        work(task, task * of_task, std::min((task + 1) * of_task, panels));
    });
}

void PointLinkage::search(Index place, Team& team) {
    std::vector<float> row(columns_);
    panels_.get(place, row.data());
    const Index panels = place / lanes + 1;
    std::vector<NearestOne> parts(panels);
    share(panels, team, [&](Index task, Index first, Index last) {
        parts[task] = search_part(place, row.data(), first, last);
    });
    NearestOne found;
    for (const NearestOne& part : parts) found.join(part);
    near_.set(place, found);
    set_limit(place);
}

void PointLinkage::merge(Index one, Index other, Team& team) {
    merges_.push_back({row_[one], row_[other], std::sqrt(cost(one, other))});
    double *center = centers_.data() + one * columns_, *gone = centers_.data() + other * columns_;
    const double total = weights_[one] + weights_[other], part = weights_[other] / total;
    // On the line between them, so that equal entries stay as they are.
    for (Index j = 0; j < columns_; ++j) center[j] += part * (gone[j] - center[j]);
    weights_[one] = total, weights_[other] = 0;
    inverse_weights_[one] = static_cast<float>(above / total);
    std::vector<float> row(columns_);
    panels_.convert(center, row.data());
    panels_.put(one, row.data());
    panels_.clear(other);
    near_.remove(other);
    limit_[other] = std::numeric_limits<float>::max();
    --alive_;
    for (const Index p : near_.nearest_to(one, other, one + 1, places_)) {
        near_.forget(p, near_.at(p));
        near_.offer(p, cost(p, one), one);
        set_limit(p);
    }
    // Of Ward, the new cluster is no nearer than the nearer of both was: behind the second one it
    // can be the nearest only where one of them was.
    const Index first = one / lanes, end = is_ward() ? other : places_;
    share(FloatPanels::panels_of(end) - first, team, [&](Index, Index begin, Index last) {
        offer_part(one, row.data(), first + begin, first + last);
    });
    search(one, team);
}

void PointLinkage::compact() {
    std::vector<std::int32_t> place_of(places_, -1);
    Index count = 0;
    for (Index p = 0; p < places_; ++p) {
        if (weights_[p] == 0) continue;
        place_of[p] = static_cast<std::int32_t>(count);
        if (count != p) {
            panels_.move(p, count);
            std::copy_n(centers_.data() + p * columns_, columns_,
                        centers_.data() + count * columns_);
            weights_[count] = weights_[p], inverse_weights_[count] = inverse_weights_[p];
            limit_[count] = limit_[p], row_[count] = row_[p];
        }
        near_.move(p, count, place_of);
        ++count;
    }
    for (Index p = count; p < places_; ++p) {
        panels_.clear(p);
        weights_[p] = 0, limit_[p] = std::numeric_limits<float>::max();
        near_.remove(p);
    }
    places_ = count;
}

void PointLinkage::advance(Index count, const Context& context) {
    Team team(useful_threads(static_cast<double>(places_) * static_cast<double>(columns_ + 4),
                             context.threads));
    Checkpoint checkpoint(context.poll);
    for (const Index end = std::min(done() + count, all()); done() < end;) {
        checkpoint();
        const auto found = near_.closest(places_, [](double value) { return value; });
        if (found.second < 0) {
            search(found.first, team);
            continue;
        }
        merge(found.first, found.second, team);
        if (static_cast<double>(alive_) < share_in_use * static_cast<double>(places_)) compact();
    }
}

}  // namespace gapless
