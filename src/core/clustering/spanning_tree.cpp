#include "clustering/spanning_tree.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "clustering/nearest_before.hpp"
#include "clustering/panel_distances.hpp"

namespace gapless {
namespace {

// Entries that one task compares: with fewer, waking another thread would take longer.
constexpr Index entries_of_task = 1 << 15;
constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

SpanningTree::SpanningTree(const double* x, Index rows, Index columns, const Context& context)
    : x_(x),
      rows_(rows),
      columns_(columns),
      left_(rows),
      panels_(x, rows, columns, context),
      key_(FloatPanels::panels_of(rows) * FloatPanels::lanes, infinity),
      least_(FloatPanels::panels_of(rows), infinity),
      limit_(FloatPanels::panels_of(rows) * FloatPanels::lanes, std::numeric_limits<float>::max()),
      from_(rows, 0),
      row_(rows) {
    for (Index i = 0; i < rows; ++i) row_[i] = i;
    edges_.reserve(rows - 1);
    remove(0);
}

void SpanningTree::remove(Index place) {
    const Index last = --left_;
    if (place != last) {
        panels_.move(last, place);
        key_[place] = key_[last], limit_[place] = limit_[last];
        from_[place] = from_[last], row_[place] = row_[last];
    }
    panels_.clear(last);
    // An empty place is infinitely far, which is not within this.
    key_[last] = infinity, limit_[last] = std::numeric_limits<float>::max();
    find_least(place / FloatPanels::lanes);
    find_least(last / FloatPanels::lanes);
}

void SpanningTree::find_least(Index panel) {
    least_[panel] = least_of(key_.data() + panel * FloatPanels::lanes, FloatPanels::lanes);
}

// Whether the edge to the row at a place comes before the one at another, of the same length.
bool SpanningTree::comes_before(Index place, Index other) const {
    const auto edge = [&](Index p) { return std::minmax(row_[p], from_[p]); };
    return edge(place) < edge(other);
}

void SpanningTree::compare(Index first_panel, Index last_panel, Index added, const float* row) {
    constexpr Index lanes = FloatPanels::lanes;
    const double* own = x_ + added * columns_;
    float sums[lanes];
    for (Index p = first_panel; p < last_panel; ++p) {
        float* limits = limit_.data() + p * lanes;
        if (!measure_panel(row, panels_.panel(p), columns_, limits, sums)) continue;
        bool is_nearer = false;
        for (Index l = 0; l < lanes; ++l) {
            const Index place = p * lanes + l;
            // Written so that NaN, from numbers beyond float, rules out nothing.
            if (sums[l] > limits[l] || place >= left_) continue;
            const double found = squared_distance(own, x_ + row_[place] * columns_, columns_);
            if (found > key_[place]) continue;
            if (found == key_[place] &&
                std::minmax(row_[place], from_[place]) < std::minmax(row_[place], added))
                continue;
            key_[place] = found, from_[place] = added;
            limits[l] = panels_.limit(found);
            is_nearer = true;
        }
        if (is_nearer) find_least(p);
    }
}

// The place in some panels whose row is nearest to the tree.
Index SpanningTree::nearest(Index first_panel, Index last_panel) const {
    constexpr Index lanes = FloatPanels::lanes;
    const double least = least_of(least_.data() + first_panel, last_panel - first_panel);
    Index found = -1;
    for (Index panel = first_panel; panel < last_panel; ++panel) {
        if (least_[panel] != least) continue;
        for (Index p = panel * lanes; p < std::min((panel + 1) * lanes, left_); ++p)
            if (key_[p] == least && (found < 0 || comes_before(p, found))) found = p;
    }
    return found;
}

void SpanningTree::advance(Index count, const Context& context) {
    constexpr Index lanes = FloatPanels::lanes;
    const Index panels_of_task =
        std::max<Index>(entries_of_task / (lanes * std::max<Index>(columns_, 1)), 1);
    Team team(useful_threads(static_cast<double>(left_) * static_cast<double>(columns_ + 4),
                             context.threads));
    Checkpoint checkpoint(context.poll);
    std::vector<float> row(columns_);
    std::vector<Index> best;
    for (const Index end = std::min(done() + count, all()); done() < end;) {
        checkpoint();
        panels_.convert(x_ + last_ * columns_, row.data());
        const Index panels = FloatPanels::panels_of(left_);
        const Index tasks = (panels + panels_of_task - 1) / panels_of_task;
        best.assign(tasks, -1);
        team.each(tasks, [&](Index task) {
            const Index first = task * panels_of_task,
                        last = std::min(first + panels_of_task, panels);
            compare(first, last, last_, row.data());
            best[task] = nearest(first, last);
        });
        Index place = best[0];
        for (Index task = 1; task < tasks; ++task) {
            const Index other = best[task];
            if (key_[other] < key_[place] ||
                (key_[other] == key_[place] && comes_before(other, place)))
                place = other;
        }
        last_ = row_[place];
        edges_.push_back({from_[place], last_, std::sqrt(key_[place])});
        remove(place);
    }
}

void sort_edges(std::vector<Merge>& edges) {
    std::sort(edges.begin(), edges.end(), [](const Merge& one, const Merge& other) {
        const auto order = [](const Merge& edge) {
            return std::tuple(edge.height, std::min(edge.one, edge.other),
                              std::max(edge.one, edge.other));
        };
        return order(one) < order(other);
    });
}

}  // namespace gapless
