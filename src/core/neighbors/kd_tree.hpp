// Exact nearest neighbours in low dimension: a tree of boxes (Friedman, Bentley and Finkel 1977,
// ACM TOMS 3) with 16 children per node and leaves of 32 rows, so that the bounds of all children,
// or the distances of all rows of a leaf, are computed side by side. That is done in float; rows
// that are not ruled out, with all rounding accounted for, are measured in full. Queries are taken
// in the order of their leaves: those of one chunk visit the same boxes and rows.
#pragma once

#include "base/products.hpp"
#include "neighbors/distances.hpp"

namespace gapless {

constexpr Index kd_leaf_rows = 32, kd_children = 16;

// The smallest distance of a query, in the units of the tree, to each child's box, side by side.
void bound_children(Metric by, const float* query, const float* boxes, Index d, float* out);
// The distance of a query to each row of a leaf; returns the smallest.
float measure_leaf(Metric by, const float* query, const float* leaf, Index d, float* out);

template <class T>
class KdTree {
public:
    // The most columns; with more, boxes rule out little.
    static constexpr Index most_columns = 16;
    static constexpr Index leaf_rows = kd_leaf_rows, children = kd_children;

    // Rows at places begin … end, and children first … first + count; a leaf has none.
    struct Node {
        Index begin, end, first = 0, count = 0;
        float length = 0;  // of a leaf: that of its longest row, in its own units
    };

    // The rows x (n × d, by rows) must live as long as this does. `distance` has one of the first
    // four metrics, with a power of at least 1.
    KdTree(const T* x, Index rows, Index columns, const Distance& distance, const Context& context);

    Index rows() const { return rows_; }
    Index columns() const { return columns_; }
    const Distance& distance() const { return distance_; }

    // Every query (by rows) offers its near rows to its collector, a `Nearest` or a `Within`.
    // Returns how many rows were measured in full.
    template <class Collector>
    Index search(const T* queries, std::vector<Collector>& collectors, const Labels& labels,
                 const Context& context) const;

    // ---- the parts of the tree, for searches of other kinds ----

    // The root comes first, children after their parents.
    const std::vector<Node>& nodes() const { return nodes_; }
    // The row at a place.
    Index row_at(Index place) const { return row_[place]; }
    // The boxes of the children of a node, and the rows of a leaf, as the functions below take
    // them.
    const float* boxes(Index node) const { return boxes_.data() + 2 * columns_ * children * node; }
    const float* values(const Node& leaf) const { return values_.data() + leaf.begin * columns_; }
    // The largest distance in float of a row whose reduced distance is at most the given one;
    // `lengths` is the sum of those of both rows, or for a box that of the query.
    float limit(double reduced, double lengths) const;

private:
    // A query in the units of the boxes.
    struct Query {
        Index number;
        const T* row;
        float values[most_columns];
        double length;
    };

    void split(Index begin, Index end, Index parts, Index size);
    void fill(Index node, std::vector<double>& ends);
    Query placed(const T* queries, Index number) const;
    Index leaf_of(const Query& query) const;
    std::vector<Index> by_leaf(const T* queries, Index count, const Context& context) const;
    template <class Collector>
    Index visit(const Query& query, Collector& collector, const Labels& labels) const;
    template <class Collector>
    Index look_at(const Node& leaf, const Query& query, Collector& collector,
                  const Labels& labels) const;

    const T* x_;
    Index rows_, columns_;
    Distance distance_;
    Metric by_;      // the metric compared in float: Euclidean in place of Minkowski,
    double factor_;  // which is at most this many times as large
    std::vector<double> mean_;
    double scale_;
    std::vector<Node> nodes_;
    std::vector<float> boxes_;   // for the children of a node: lowest values by columns, highest
    std::vector<float> values_;  // for each leaf its columns, one after another
    std::vector<Index> row_;     // the row at each place
};

}  // namespace gapless
