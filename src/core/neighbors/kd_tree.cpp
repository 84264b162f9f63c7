#include "neighbors/kd_tree.hpp"

#include <atomic>
#include <numeric>

#include "neighbors/float_rows.hpp"

namespace gapless {
namespace {

#define GAPLESS_BODY [[gnu::always_inline]] inline

constexpr Index leaf_rows = kd_leaf_rows, children = kd_children;
constexpr Index stretch = 64;     // queries of one task
constexpr Index looked_at = 256;  // rows that determine which column varies most
constexpr double underflow = 1e-40;
constexpr float infinity = std::numeric_limits<float>::infinity();

// ---- bounds of children, distances of rows in a leaf ----

struct Square {
    GAPLESS_BODY float operator()(float sum, float t) const { return sum + t * t; }
};
struct Sum {
    GAPLESS_BODY float operator()(float sum, float t) const { return sum + t; }
};
struct Maximum {
    GAPLESS_BODY float operator()(float sum, float t) const { return sum < t ? t : sum; }
};

template <class Join>
GAPLESS_BODY void fold_boxes(const float* query, const float* boxes, Index d, float* out,
                             Join join) {
    float sum[children] = {};
    for (Index j = 0; j < d; ++j) {
        const float *low = boxes + j * children, *high = boxes + (d + j) * children;
        const float q = query[j];
#pragma omp simd
        for (Index l = 0; l < children; ++l) {
            const float outside = std::max(low[l] - q, q - high[l]);
            sum[l] = join(sum[l], std::max(outside, 0.0f));
        }
    }
    std::copy_n(sum, children, out);
}

template <class Join>
GAPLESS_BODY float fold_leaf(const float* query, const float* leaf, Index d, float* out,
                             Join join) {
    float sum[leaf_rows] = {};
    for (Index j = 0; j < d; ++j) {
        const float* column = leaf + j * leaf_rows;
        const float q = query[j];
#pragma omp simd
        for (Index l = 0; l < leaf_rows; ++l) sum[l] = join(sum[l], std::abs(q - column[l]));
    }
    float least = infinity;
#pragma omp simd reduction(min : least)
    for (Index l = 0; l < leaf_rows; ++l) {
        out[l] = sum[l];
        least = std::min(least, sum[l]);
    }
    return least;
}

}  // namespace

void bound_children(Metric by, const float* query, const float* boxes, Index d, float* out) {
    if (by == Metric::manhattan) return fold_boxes(query, boxes, d, out, Sum{});
    if (by == Metric::chebyshev) return fold_boxes(query, boxes, d, out, Maximum{});
    fold_boxes(query, boxes, d, out, Square{});
}

float measure_leaf(Metric by, const float* query, const float* leaf, Index d, float* out) {
    if (by == Metric::manhattan) return fold_leaf(query, leaf, d, out, Sum{});
    if (by == Metric::chebyshev) return fold_leaf(query, leaf, d, out, Maximum{});
    return fold_leaf(query, leaf, d, out, Square{});
}

namespace {

// The length of a row by the metric.
double length_of(Metric by, const float* x, Index d) {
    double sum = 0, largest = 0;
    for (Index j = 0; j < d; ++j) {
        const double t = std::abs(static_cast<double>(x[j]));
        sum += by == Metric::euclidean ? t * t : t;
        largest = std::max(largest, t);
    }
    if (by == Metric::chebyshev) return largest;
    return by == Metric::euclidean ? std::sqrt(sum) : sum;
}

// The column that varies most among some of the rows.
template <class T>
Index widest(const T* x, Index d, const Index* rows, Index count) {
    const Index step = std::max<Index>(count / looked_at, 1);
    Index best = 0;
    double width = -1;
    for (Index j = 0; j < d; ++j) {
        T low = x[rows[0] * d + j], high = low;
        for (Index i = 0; i < count; i += step) {
            const T value = x[rows[i] * d + j];
            low = std::min(low, value), high = std::max(high, value);
        }
        const double own = static_cast<double>(high) - static_cast<double>(low);
        if (own > width) best = j, width = own;
    }
    return best;
}

Index rounded_up(Index n, Index to) { return (n + to - 1) / to; }

// How many leaves each child of a node with this many leaves has, so that few nodes have few
// children.
Index leaves_of_child(Index leaves) {
    Index most = 1;
    while (most * children < leaves) most *= children;
    return rounded_up(leaves, rounded_up(leaves, most));
}

}  // namespace

// ---- building ----

template <class T>
KdTree<T>::KdTree(const T* x, Index rows, Index columns, const Distance& distance,
                  const Context& context)
    : x_(x),
      rows_(rows),
      columns_(columns),
      distance_(distance),
      by_(distance.metric == Metric::minkowski ? Metric::euclidean : distance.metric),
      factor_(1),
      mean_(columns),
      row_(rows) {
    // ‖x‖₂ ≤ ‖x‖ₚ for p ≤ 2, and ≤ d^(1/2 − 1/p) ‖x‖ₚ beyond.
    if (distance.metric == Metric::minkowski && distance.power > 2)
        factor_ = std::pow(static_cast<double>(columns), 0.5 - 1 / distance.power);
    for (Index i = 0; i < rows; ++i)
        for (Index j = 0; j < columns; ++j)
            mean_[j] += static_cast<double>(x[i * columns + j]) / static_cast<double>(rows);
    scale_ = scale_to_float(x, rows, columns, mean_.data(), context);
    std::iota(row_.begin(), row_.end(), Index{0});
    nodes_.push_back({0, rows});
    // Level by level: the nodes of one level are split at the same time.
    for (Index begin = 0, end = 1; begin < end;) {
        for (Index i = begin; i < end; ++i) {
            const Node node = nodes_[i];
            const Index leaves = rounded_up(node.end - node.begin, leaf_rows);
            if (leaves <= 1) continue;
            const Index size = leaves_of_child(leaves) * leaf_rows;
            nodes_[i].first = static_cast<Index>(nodes_.size());
            for (Index p = node.begin; p < node.end; p += size, ++nodes_[i].count)
                nodes_.push_back({p, std::min(p + size, node.end)});
        }
        parallel_for(end - begin, useful_threads(32.0 * static_cast<double>(rows), context.threads),
                     context.poll, [&](Index i) {
                         const Node& node = nodes_[begin + i];
                         if (node.count) {
                             const Node& child = nodes_[node.first];
                             split(node.begin, node.end, node.count, child.end - child.begin);
                         }
                     });
        begin = end, end = static_cast<Index>(nodes_.size());
    }
    values_.assign(rounded_up(rows, leaf_rows) * leaf_rows * columns, infinity);
    boxes_.assign(nodes_.size() * 2 * columns * children, infinity);
    std::vector<double> ends(nodes_.size() * 2 * columns);
    Checkpoint checkpoint(context.poll);
    for (Index i = static_cast<Index>(nodes_.size()) - 1; i >= 0; --i) {
        fill(i, ends);
        if (i % 1024 == 0) checkpoint();
    }
}

// Divide the rows at places begin … end into parts of a size, halving along the widest columns.
template <class T>
void KdTree<T>::split(Index begin, Index end, Index parts, Index size) {
    if (parts <= 1) return;
    const Index half = parts / 2, middle = begin + half * size, d = columns_;
    Index* rows = row_.data();
    const Index axis = widest(x_, d, rows + begin, end - begin);
    std::nth_element(rows + begin, rows + middle, rows + end,
                     [=, this](Index a, Index b) { return x_[a * d + axis] < x_[b * d + axis]; });
    split(begin, middle, half, size);
    split(middle, end, parts - half, size);
}

// The boxes of a node's children and the ends of its own, which is filled last; for a leaf its
// values.
template <class T>
void KdTree<T>::fill(Index i, std::vector<double>& ends) {
    Node& node = nodes_[i];
    const Index d = columns_;
    double *low = ends.data() + 2 * d * i, *high = low + d;
    std::fill_n(low, d, std::numeric_limits<double>::infinity());
    std::fill_n(high, d, -std::numeric_limits<double>::infinity());
    float* boxes = boxes_.data() + 2 * d * children * i;
    for (Index c = 0; c < node.count; ++c)
        for (Index j = 0; j < d; ++j) {
            const double* own = ends.data() + 2 * d * (node.first + c);
            low[j] = std::min(low[j], own[j]), high[j] = std::max(high[j], own[d + j]);
            // Rounded outwards.
            boxes[j * children + c] = std::nextafterf(static_cast<float>(own[j]), -infinity);
            boxes[(d + j) * children + c] =
                std::nextafterf(static_cast<float>(own[d + j]), infinity);
        }
    if (node.count) return;
    float* leaf = values_.data() + node.begin * d;
    for (Index p = node.begin; p < node.end; ++p) {
        const Query row = placed(x_, row_[p]);
        node.length = std::max(node.length, static_cast<float>(row.length));
        for (Index j = 0; j < d; ++j) {
            const double value = (static_cast<double>(x_[row_[p] * d + j]) - mean_[j]) * scale_;
            leaf[j * leaf_rows + p - node.begin] = row.values[j];
            low[j] = std::min(low[j], value), high[j] = std::max(high[j], value);
        }
    }
}

// ---- searching ----

template <class T>
typename KdTree<T>::Query KdTree<T>::placed(const T* queries, Index number) const {
    Query query{number, queries + number * columns_, {}, 0};
    for (Index j = 0; j < columns_; ++j)
        query.values[j] =
            static_cast<float>((static_cast<double>(query.row[j]) - mean_[j]) * scale_);
    query.length = length_of(by_, query.values, columns_);
    return query;
}

template <class T>
Index KdTree<T>::leaf_of(const Query& query) const {
    float bounds[children];
    Index i = 0;
    while (nodes_[i].count) {
        bound_children(by_, query.values, boxes(i), columns_, bounds);
        i = nodes_[i].first + (std::min_element(bounds, bounds + nodes_[i].count) - bounds);
    }
    return nodes_[i].begin;
}

template <class T>
std::vector<Index> KdTree<T>::by_leaf(const T* queries, Index count, const Context& context) const {
    std::vector<std::pair<Index, Index>> leaf(count);
    for_blocks_of_rows(count, context, [&](Index first, Index size) {
        for (Index i = first; i < first + size; ++i) leaf[i] = {leaf_of(placed(queries, i)), i};
    });
    std::sort(leaf.begin(), leaf.end());
    std::vector<Index> order(count);
    for (Index i = 0; i < count; ++i) order[i] = leaf[i].second;
    return order;
}

// With errors u‖x‖ and u‖z‖ of rows in float, ‖x − z‖ grows by at most their sum; the sum over the
// columns has a relative error. Boxes are rounded outwards, and have none of their own.
template <class T>
float KdTree<T>::limit(double reduced, double lengths) const {
    if (!std::isfinite(reduced) || !(lengths < 1e15)) return infinity;
    const double error = 1.01 * float_unit;
    const double rounding = 1 + 2 * rounding_of_sum(columns_ + 8, float_unit);
    const double distance = finished(distance_, reduced, columns_) * (1 + error) * scale_ * factor_;
    const double most = distance + error * lengths + underflow;
    // Squares may underflow too.
    const double compared = rounding * (by_ == Metric::euclidean ? most * most : most) + underflow;
    return static_cast<float>(std::min(compared, 1e38)) * (1 + 0x1p-23f);
}

template <class T>
template <class Collector>
Index KdTree<T>::look_at(const Node& leaf, const Query& query, Collector& collector,
                         const Labels& labels) const {
    float found[leaf_rows];
    const float least = measure_leaf(by_, query.values, values(leaf), columns_, found);
    const double lengths = query.length + leaf.length;
    double known = collector.limit();
    float most = limit(known, lengths);
    // Written so that NaN, from numbers beyond float, rules out nothing.
    if (least > most) return 0;
    Index measured = 0;
    for (Index p = leaf.begin; p < leaf.end; ++p) {
        if (found[p - leaf.begin] > most || labels.hides(query.number, row_[p])) continue;
        const T* row = x_ + row_[p] * columns_;
        collector.offer({reduced(distance_, query.row, row, columns_), row_[p]});
        // Finding the limit in float takes as long as measuring a row or two.
        if (collector.limit() < known / 2) known = collector.limit(), most = limit(known, lengths);
        ++measured;
    }
    return measured;
}

template <class T>
template <class Collector>
Index KdTree<T>::visit(const Query& query, Collector& collector, const Labels& labels) const {
    struct Waiting {
        float bound;
        Index node;
    };
    // Enough for any tree: 16 children on each of 15 levels.
    Waiting stack[children * 16];
    int waiting = 0;
    stack[waiting++] = {0.0f, 0};
    float bounds[children];
    Index measured = 0;
    while (waiting) {
        const auto [bound, i] = stack[--waiting];
        const float most = limit(collector.limit(), query.length);
        if (bound > most) continue;
        const Node& node = nodes_[i];
        if (!node.count) {
            measured += look_at(node, query, collector, labels);
            continue;
        }
        bound_children(by_, query.values, boxes(i), columns_, bounds);
        const int below = waiting;
        for (Index c = 0; c < node.count; ++c) {
            if (bounds[c] > most) continue;
            // The nearest on top.
            int place = waiting++;
            for (; place > below && stack[place - 1].bound < bounds[c]; --place)
                stack[place] = stack[place - 1];
            stack[place] = {bounds[c], node.first + c};
        }
    }
    return measured;
}

template <class T>
template <class Collector>
Index KdTree<T>::search(const T* queries, std::vector<Collector>& collectors, const Labels& labels,
                        const Context& context) const {
    const Index count = static_cast<Index>(collectors.size());
    if (!rows_) return 0;
    std::atomic<Index> measured{0};
    const std::vector<Index> order = by_leaf(queries, count, context);
    parallel_for(rounded_up(count, stretch), context.threads, context.poll,
                 [&](Index task, Checkpoint& checkpoint) {
                     const Index end = std::min(stretch * (task + 1), count);
                     for (Index p = stretch * task; p < end; ++p) {
                         checkpoint();
                         measured += visit(placed(queries, order[p]), collectors[order[p]], labels);
                     }
                 });
    return measured;
}

#define GAPLESS_KD_TREE(T)                                                           \
    template class KdTree<T>;                                                        \
    template Index KdTree<T>::search(const T*, std::vector<Nearest>&, const Labels&, \
                                     const Context&) const;                          \
    template Index KdTree<T>::search(const T*, std::vector<Within>&, const Labels&,  \
                                     const Context&) const;
GAPLESS_KD_TREE(float)
GAPLESS_KD_TREE(double)

}  // namespace gapless
