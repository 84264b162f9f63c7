#include "clustering/lloyd.hpp"

#include <vector>

#include "clustering/center_distances.hpp"

namespace gapless {
namespace {

// Bounds are floats: a stored one is lowered by this part of what it was made from.
constexpr float slack = 1e-6f;
// Distances of a task, so that it takes about a millisecond and a row of centres stays in the
// cache.
constexpr double task_work = 2e6;
// The most rows of a task: memory for their numbers is reused, not returned to the system.
constexpr Index most_rows = 1 << 12;
// Sums are divided among at most this many parts of the rows, of at least so many rows a centre,
// since the parts must be added; and among so many columns.
constexpr Index most_parts = 16, rows_per_center = 8, some_columns = 256;
constexpr Index most_numbers = 1 << 23;

template <class All>
Index task_rows(const All& all) {
    const double one = double(all.entries() * all.centers());
    const auto rows = static_cast<Index>(task_work / std::max(one, 1.0));
    return std::clamp<Index>(rows, 4 * All::panel_rows, most_rows) / All::panel_rows *
           All::panel_rows;
}

template <class All>
int threads_for(const All& all, const Context& context) {
    const double work = double(all.rows()) * double(all.entries());
    return useful_threads(work, context.threads);
}

// ---- settling ties ----

// The nearest centre by distances in double precision.
template <class All>
std::int32_t settle(const All& all, Index i) {
    std::int32_t label = 0;
    double nearest = all.exact(i, 0);
    for (Index c = 1; c < all.centers(); ++c) {
        const double square = all.exact(i, c);
        if (square < nearest) label = static_cast<std::int32_t>(c), nearest = square;
    }
    return label;
}

// Two squared distances that rounding may have swapped.
template <class V>
bool in_doubt(V first, V second, V error) {
    return second - first <= 2 * error;
}

// ---- moving rows between sums ----

struct Move {
    Index row;
    std::int32_t from, to;  // from −1: it was nowhere
};

template <class T>
void add_row(const Dense<T>& x, const double* origin, Index row, double scale, Range columns,
             double* sum) {
    const T* values = x.data + row * x.columns;
#pragma omp simd
    for (Index j = columns.begin; j < columns.end; ++j)
        sum[j] += scale * (double(values[j]) - origin[j]);
}
template <class T>
void add_row(const Compressed<T>& x, const double*, Index row, double scale, Range, double* sum) {
    const Index start = x.start[row];
    sparse_axpy(scale, x.value + start, x.index + start, sum, x.start[row + 1] - start);
}

template <class T>
Index column_blocks(const Dense<T>& x) {
    return ceil_div(x.columns, some_columns);
}
template <class T>
Index column_blocks(const Compressed<T>&) {
    return 1;
}
template <class T>
Index width(const Dense<T>& x) {
    return x.columns;
}
template <class T>
Index width(const Compressed<T>& x) {
    return x.length;
}

// Apply count moves, of which move(t) is the t-th, to the sums. The parts and the order of their
// sums depend on the numbers of moves, centres and columns alone.
template <class X, class Moves>
void move_rows(const X& x, const double* origin, const double* weights, Index k, Index count,
               Moves&& move, const CenterSums& to, const Context& context) {
    const Index d = width(x), blocks = column_blocks(x);
    const Index most = std::max<Index>(most_numbers / std::max<Index>(k * d, 1), 1);
    const Index parts =
        std::clamp<Index>(count / (rows_per_center * k), 1, std::min(most, most_parts));
    for (Index t = 0; t < count; ++t) {
        const Move m = move(t);
        const double weight = weights ? weights[m.row] : 1.0;
        to.weights[m.to] += weight;
        ++to.counts[m.to];
        if (m.from < 0) continue;
        to.weights[m.from] -= weight;
        --to.counts[m.from];
    }
    const auto own = uninitialized<double>(parts > 1 ? parts * k * d : 0);
    const Index step = ceil_div(count, parts);
    const int threads = useful_threads(double(count) * double(d), context.threads);
    parallel_for(parts * blocks, threads, context.poll, [&](Index task, Checkpoint& checkpoint) {
        const Index p = task / blocks;
        const Range columns = part(task % blocks, blocks == 1 ? d : some_columns, d);
        double* sums = parts > 1 ? own.get() + p * k * d : to.sums;
        if (parts > 1)
            for (Index c = 0; c < k; ++c)
                std::fill(sums + c * d + columns.begin, sums + c * d + columns.end, 0.0);
        const Range rows = part(p, step, count);
        for (Index t = rows.begin; t < rows.end; ++t) {
            if (t % 64 == 0) checkpoint();
            const Move m = move(t);
            const double weight = weights ? weights[m.row] : 1.0;
            add_row(x, origin, m.row, weight, columns, sums + m.to * d);
            if (m.from >= 0) add_row(x, origin, m.row, -weight, columns, sums + m.from * d);
        }
    });
    if (parts > 1)
        for (Index p = 0; p < parts; ++p) axpy(1.0, own.get() + p * k * d, to.sums, k * d);
    for (Index c = 0; c < k; ++c) {
        if (to.counts[c] != 0) continue;
        to.weights[c] = 0;
        std::fill_n(to.sums + c * d, d, 0.0);
    }
}

// ---- bounds ----

float stored(double bound, float way) {
    if (std::isinf(bound)) return std::numeric_limits<float>::infinity();  // there is no other
    const float sum = static_cast<float>(bound) + way;
    return sum - slack * (std::abs(sum) + way);
}

// By one bound for each row: a row in doubt is compared with all centres.
template <class All>
class ByRow {
public:
    ByRow(const All& all, std::int32_t* labels, const LloydBounds& bounds)
        : all_(all), labels_(labels), bounds_(bounds) {}

    void step(Range rows, bool is_first, std::vector<Move>& moves, Checkpoint& checkpoint) const {
        const auto doubtful = uninitialized<Index>(rows.size());
        Index count = 0;
        if (is_first) {
            for (; count < rows.size(); ++count) doubtful[count] = rows.begin + count;
        } else {
            for (Index i = rows.begin; i < rows.end; ++i) {
                doubtful[count] = i;
                count += !(bounds_.room[i] > bounds_.ways[labels_[i]]);
            }
        }
        typename All::Panel panel(all_);
        Found found;
        for (Index begin = 0; begin < count; begin += panel_rows) {
            checkpoint();
            const Index size = std::min(panel_rows, count - begin);
            // Rows in doubt lie apart: those of the panel after next are fetched meanwhile.
            for (Index r = begin + 2 * panel_rows; r < std::min(begin + 3 * panel_rows, count); ++r)
                all_.prefetch(doubtful[r]);
            panel.nearest_two(doubtful.get() + begin, size, found);
            take(doubtful.get() + begin, size, found, is_first, moves);
        }
    }

private:
    using Value = typename All::Value;
    static constexpr Index panel_rows = All::panel_rows;
    using Found = NearestTwo<Value, panel_rows>;

    void take(const Index* rows, Index size, const Found& found, bool is_first,
              std::vector<Move>& moves) const {
        float room[panel_rows];
#pragma omp simd
        for (Index r = 0; r < panel_rows; ++r) {
            const Value low = std::sqrt(std::max(found.second[r] - found.error[r], Value(0)));
            const Value high = std::sqrt(found.first[r] + found.error[r]);
            room[r] = static_cast<float>(low - high - Value(slack) * (low + high));
        }
        for (Index r = 0; r < size; ++r) {
            const Index i = rows[r];
            std::int32_t label = found.label[r];
            if (in_doubt(found.first[r], found.second[r], found.error[r])) label = settle(all_, i);
            // Of a tie that was settled the room is at most 0: it is settled again in each step.
            bounds_.room[i] = stored(room[r], bounds_.ways[label]);
            if (is_first) {
                labels_[i] = label;
            } else if (label != labels_[i]) {
                moves.push_back({i, labels_[i], label});
                labels_[i] = label;
            }
        }
    }

    const All& all_;
    std::int32_t* labels_;
    const LloydBounds& bounds_;
};

// By bounds for each row and group of centres: only groups in doubt are compared.
template <class All>
class ByGroup {
public:
    ByGroup(const All& all, std::int32_t* labels, const LloydBounds& bounds)
        : all_(all),
          labels_(labels),
          bounds_(bounds),
          size_(ceil_div(all.centers(), bounds.groups)) {}

    void step(Range rows, bool is_first, std::vector<Move>& moves, Checkpoint& checkpoint) const {
        if (is_first) return begin(rows, checkpoint);
        std::vector<float> low(bounds_.groups);
        for (Index i = rows.begin; i < rows.end; ++i) {
            const std::int32_t label = labels_[i];
            if (bounds_.room[i] > bounds_.ways[label]) continue;
            checkpoint();
            const std::int32_t nearest = compare(i, low.data());
            if (nearest == label) continue;
            moves.push_back({i, label, nearest});
            labels_[i] = nearest;
        }
    }

private:
    Range members(Index group) const { return part(group, size_, all_.centers()); }

    // All distances, and all bounds from them.
    void begin(Range rows, Checkpoint& checkpoint) const {
        using Value = typename All::Value;
        constexpr Index panel_rows = All::panel_rows;
        typename All::Panel panel(all_);
        std::vector<Value> squares(panel_rows * all_.centers());
        Value errors[panel_rows];
        Index chosen[panel_rows];
        for (Index i = rows.begin; i < rows.end; i += panel_rows) {
            checkpoint();
            const Index size = std::min(panel_rows, rows.end - i);
            for (Index r = 0; r < size; ++r) chosen[r] = i + r;
            panel.measure(chosen, size, squares.data(), errors);
            for (Index r = 0; r < size; ++r)
                labels_[i + r] = set_bounds(i + r, squares.data() + r, double(errors[r]));
        }
    }

    // squares[c · panel_rows] is the distance to centre c.
    template <class Value>
    std::int32_t set_bounds(Index i, const Value* squares, double error) const {
        constexpr double infinity = std::numeric_limits<double>::infinity();
        std::int32_t label = 0;
        double first = infinity, second = infinity;
        for (Index c = 0; c < all_.centers(); ++c) {
            const double square = double(squares[c * All::panel_rows]);
            if (square < first) {
                second = first, first = square;
                label = static_cast<std::int32_t>(c);
            } else {
                second = std::min(second, square);
            }
        }
        if (in_doubt(first, second, error)) label = settle(all_, i);
        const double own = double(squares[label * All::panel_rows]);
        double nearest = infinity;
        for (Index g = 0; g < bounds_.groups; ++g) {
            double square = infinity;
            for (Index c = members(g).begin; c < members(g).end; ++c)
                if (c != label) square = std::min(square, double(squares[c * All::panel_rows]));
            nearest = std::min(nearest, square);
            keep(i, g, Measured{square, error}.low());
        }
        keep_room(i, label, Measured{nearest, error}.low() - Measured{own, error}.high());
        return label;
    }

    void keep(Index i, Index group, double low) const {
        bounds_.low[i * bounds_.groups + group] =
            stored(low * (1 - double(slack)), bounds_.group_ways[group]);
    }
    void keep_room(Index i, std::int32_t label, double room) const {
        bounds_.room[i] = stored(room, bounds_.ways[label]);
    }

    std::int32_t compare(Index i, float* low) const {
        const float* kept = bounds_.low + i * bounds_.groups;
        std::int32_t label = labels_[i];
        Measured own = all_.distance(i, label);
        float reach = up(own.high());
#pragma omp simd
        for (Index g = 0; g < bounds_.groups; ++g) low[g] = kept[g] - bounds_.group_ways[g];
        if (least(low) <= reach) {
            for (Index g = 0; g < bounds_.groups; ++g) {
                if (low[g] > reach) continue;
                label = compare_group(i, g, low, label, own);
                reach = up(own.high());
            }
        }
        keep_room(i, label, double(least(low)) - double(reach));
        return label;
    }

    // The nearest of the centre `label` and those of a group; `own` becomes its distance.
    std::int32_t compare_group(Index i, Index g, float* low, std::int32_t label,
                               Measured& own) const {
        const std::int32_t before = label;
        double others = std::numeric_limits<double>::infinity();
        for (Index c = members(g).begin; c < members(g).end; ++c) {
            if (c == before) continue;
            const Measured other = all_.distance(i, c);
            if (is_nearer(i, c, other, label, own)) {
                leave(i, g, label, own, low, others);
                label = static_cast<std::int32_t>(c);
                own = other;
            } else {
                others = std::min(others, other.low());
            }
        }
        low[g] = down(others);
        keep(i, g, others);
        return label;
    }

    bool is_nearer(Index i, Index c, const Measured& other, std::int32_t label,
                   const Measured& own) const {
        if (std::abs(other.square - own.square) > other.error + own.error)
            return other.square < own.square;
        const double one = all_.exact(i, c), two = all_.exact(i, label);
        return one < two || (one == two && c < label);
    }

    // The centre that was the nearest so far is one of the others of its group again.
    void leave(Index i, Index g, std::int32_t label, const Measured& own, float* low,
               double& others) const {
        const Index group = label / size_;
        if (group == g) {
            others = std::min(others, own.low());
        } else if (own.low() < double(low[group])) {
            low[group] = down(own.low());
            keep(i, group, own.low());
        }
    }

    float least(const float* low) const {
        float found = std::numeric_limits<float>::infinity();
#pragma omp simd reduction(min : found)
        for (Index g = 0; g < bounds_.groups; ++g) found = std::min(found, low[g]);
        return found;
    }

    static float up(double x) { return static_cast<float>(x) * (1 + slack); }
    static float down(double x) { return static_cast<float>(x) * (1 - slack); }

    const All& all_;
    std::int32_t* labels_;
    const LloydBounds& bounds_;
    Index size_;
};

template <class T>
const double* origin_of(const Dense<T>&, const Centers<T>& centers) {
    return centers.origin;
}
template <class T>
const double* origin_of(const Compressed<T>&, const Centers<T>&) {
    return nullptr;
}

// A step that is stopped leaves the labels as they were.
void take_back(const std::vector<Move>& moves, std::int32_t* labels) {
    for (const Move& move : moves) labels[move.row] = move.from;
}

template <class Bounds, class All>
std::vector<Move> all_moves(const All& all, bool is_first, std::int32_t* labels,
                            const LloydBounds& bounds, const Context& context) {
    const Bounds by(all, labels, bounds);
    const Index step = task_rows(all), tasks = ceil_div(all.rows(), step);
    std::vector<std::vector<Move>> of_task(tasks);
    try {
        parallel_for(tasks, threads_for(all, context), context.poll,
                     [&](Index task, Checkpoint& checkpoint) {
                         by.step(part(task, step, all.rows()), is_first, of_task[task], checkpoint);
                     });
    } catch (const Stopped&) {
        for (const auto& some : of_task) take_back(some, labels);
        throw;
    }
    std::vector<Move> moves;
    for (const auto& some : of_task) moves.insert(moves.end(), some.begin(), some.end());
    return moves;
}

}  // namespace

template <class X, class T>
Index lloyd_step(const X& x, const Centers<T>& centers, const double* weights, bool is_first,
                 std::int32_t* labels, const LloydBounds& bounds, const CenterSums& sums,
                 const Context& context) {
    const RowsAndCenters<X> all(x, centers);
    using All = RowsAndCenters<X>;
    const std::vector<Move> moves =
        bounds.low ? all_moves<ByGroup<All>>(all, is_first, labels, bounds, context)
                   : all_moves<ByRow<All>>(all, is_first, labels, bounds, context);
    const double* origin = origin_of(x, centers);
    if (is_first) {
        center_sums(x, origin, weights, centers.k, labels, sums, context);
        return all.rows();
    }
    const auto count = static_cast<Index>(moves.size());
    try {
        move_rows(
            x, origin, weights, centers.k, count, [&](Index t) { return moves[t]; }, sums, context);
    } catch (const Stopped&) {
        take_back(moves, labels);
        throw;
    }
    return count;
}

bool are_labels(const std::int32_t* labels, Index n, Index k) {
    std::uint32_t largest = 0;
#pragma omp simd reduction(max : largest)
    for (Index i = 0; i < n; ++i)
        largest = std::max(largest, static_cast<std::uint32_t>(labels[i]));
    return n == 0 || Index(largest) < k;
}

template <class X>
void center_sums(const X& x, const double* origin, const double* weights, Index k,
                 const std::int32_t* labels, const CenterSums& sums, const Context& context) {
    std::fill_n(sums.sums, k * width(x), 0.0);
    std::fill_n(sums.weights, k, 0.0);
    std::fill_n(sums.counts, k, std::int64_t{0});
    const Index n = [&] {
        if constexpr (requires { x.lines; })
            return x.lines;
        else
            return x.rows;
    }();
    move_rows(
        x, origin, weights, k, n, [&](Index t) { return Move{t, -1, labels[t]}; }, sums, context);
}

template <class X, class T>
void nearest_centers(const X& x, const Centers<T>& centers, std::int32_t* labels, double* squares,
                     const Context& context) {
    using All = RowsAndCenters<X>;
    const All all(x, centers);
    const Index step = task_rows(all);
    parallel_for(ceil_div(all.rows(), step), threads_for(all, context), context.poll,
                 [&](Index task, Checkpoint& checkpoint) {
                     const Range rows = part(task, step, all.rows());
                     typename All::Panel panel(all);
                     NearestTwo<typename All::Value, All::panel_rows> found;
                     Index chosen[All::panel_rows];
                     for (Index i = rows.begin; i < rows.end; i += All::panel_rows) {
                         checkpoint();
                         const Index size = std::min(All::panel_rows, rows.end - i);
                         for (Index r = 0; r < size; ++r) chosen[r] = i + r;
                         panel.nearest_two(chosen, size, found);
                         for (Index r = 0; r < size; ++r) {
                             std::int32_t label = found.label[r];
                             if (in_doubt(found.first[r], found.second[r], found.error[r]))
                                 label = settle(all, i + r);
                             labels[i + r] = label;
                             if (squares) squares[i + r] = all.exact(i + r, label);
                         }
                     }
                 });
}

template <class X, class T>
void center_distances(const X& x, const Centers<T>& centers, double* out, const Context& context) {
    using All = RowsAndCenters<X>;
    using Value = typename All::Value;
    const All all(x, centers);
    const Index step = task_rows(all), k = centers.k;
    parallel_for(ceil_div(all.rows(), step), threads_for(all, context), context.poll,
                 [&](Index task, Checkpoint& checkpoint) {
                     constexpr Index panel_rows = All::panel_rows;
                     const Range rows = part(task, step, all.rows());
                     typename All::Panel panel(all);
                     std::vector<Value> squares(panel_rows * k);
                     Value errors[panel_rows];
                     Index chosen[panel_rows];
                     for (Index i = rows.begin; i < rows.end; i += panel_rows) {
                         checkpoint();
                         const Index size = std::min(panel_rows, rows.end - i);
                         for (Index r = 0; r < size; ++r) chosen[r] = i + r;
                         panel.measure(chosen, size, squares.data(), errors);
                         for (Index r = 0; r < size; ++r)
                             for (Index c = 0; c < k; ++c) {
                                 const Value square = squares[c * panel_rows + r];
                                 const bool is_near = square <= 64 * errors[r];
                                 out[(i + r) * k + c] = is_near ? all.exact(i + r, c) : square;
                             }
                     }
                 });
}

#define GAPLESS_LLOYD(X, T)                                                                       \
    template void nearest_centers(const X&, const Centers<T>&, std::int32_t*, double*,            \
                                  const Context&);                                                \
    template void center_distances(const X&, const Centers<T>&, double*, const Context&);         \
    template Index lloyd_step(const X&, const Centers<T>&, const double*, bool, std::int32_t*,    \
                              const LloydBounds&, const CenterSums&, const Context&);             \
    template void center_sums(const X&, const double*, const double*, Index, const std::int32_t*, \
                              const CenterSums&, const Context&);
GAPLESS_LLOYD(Dense<float>, float)
GAPLESS_LLOYD(Dense<double>, double)
GAPLESS_LLOYD(Compressed<float>, float)
GAPLESS_LLOYD(Compressed<double>, double)

}  // namespace gapless
