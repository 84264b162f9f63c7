// Exact nearest neighbours in high dimension, by matrix products with a few columns.
//
// With an orthonormal basis B, u = B(x − m) and r the length of what B leaves over of x − m,
//     ‖x − z‖² ≥ ‖u − v‖² + (r − s)²,
// which is the distance of the rows (u, r) and (v, s), with one column more than the basis. These
// are compared in float, with all rounding accounted for: along the first directions by products,
// which rule out most rows; then along all of them, row by row. Only rows that survive both are
// measured in full. Near rows, and near queries, are grouped, so that queries meet their neighbours
// early and rule out more of what follows.
//
// Without a basis there is no remainder: the products then give the distance up to rounding,
// including an upper bound, and all but about k rows of a query are ruled out before any is
// measured.
#pragma once

#include "base/products.hpp"
#include "neighbors/distances.hpp"

namespace gapless {

// The origin and directions of projected rows; the basis (size × columns, by rows) is null for the
// columns themselves. The most informative directions come first. ‖BBᵀ − 1‖ is at most `defect`.
struct Frame {
    const double* mean;
    const double* basis;
    Index size;
    double defect;
};

// A row, and a lower bound on its distance, up to a term that all rows of a query share.
struct BoundedRow {
    float bound;
    Index row;
    bool operator<(const BoundedRow& other) const { return bound < other.bound; }
};

struct Hits;

template <class T>
class ProjectedRows {
public:
    // The rows x (n × d, by rows) must live as long as this does; mean and basis are copied.
    ProjectedRows(const T* x, Index rows, Index columns, const Frame& frame,
                  const Context& context);

    Index rows() const { return rows_; }
    Index columns() const { return columns_; }
    const Distance& distance() const { return distance_; }

    // Every query (by rows) offers its near rows to its collector, a `Nearest` or a `Within`.
    // Returns how many rows could have been measured in full by the work done row by row.
    template <class Collector>
    Index search(const T* queries, std::vector<Collector>& collectors, const Labels& labels,
                 const Context& context) const;

private:
    // Rows in the frame: (count × width) and, unless empty, (count × wide_width); the squared
    // lengths of the former, and those of x − m.
    struct Projection {
        std::vector<float> values, wide;
        std::vector<double> squares, lengths;
    };

    // A query: its row, its number, its projections, its collector, an upper bound on the squared
    // distance of a neighbour (in the units of the frame), the largest useful bounds of rows, by
    // products and along all directions, and rows that wait to be measured until others may have
    // ruled them out.
    template <class Collector>
    struct Question {
        const T* x;
        Index number;
        const float* wide;
        double square, length;
        Collector& collector;
        const Labels& labels;
        double most = std::numeric_limits<double>::infinity();
        float first_limit = 0, second_limit = 0;
        std::vector<BoundedRow> waiting{};
    };

    // Whether products give an upper bound on a distance.
    bool is_whole() const { return basis_.empty(); }
    // Directions of the products, and numbers of a row in them and in all directions.
    Index first_size() const;
    Index width() const { return first_size() + (basis_.empty() ? 0 : 1); }
    Index wide_width() const { return first_size() < size_ ? size_ + 1 : 0; }
    Projection room_for(Index count) const;
    void take_rows(const Projection& from, const Index* order, Index begin, Index count,
                   Projection& to) const;
    void project(const T* x, Index begin, Index count, const Blas& blas, Projection& out) const;
    void write(const double* along, double length, Index row, Projection& out) const;

    double moved() const { return error_ + 2 * error_ * error_; }
    double summed() const;
    double slack() const;
    double limit(double most, double square, double length) const;
    double wide_limit(double most, double length) const;
    double most_within(double bound, double square, double length) const;
    std::vector<Index> tiles_for(const Projection& queries) const;

    template <class Collector>
    void set_limits(Question<Collector>& asked) const;
    template <class Collector>
    Index search_some(const T* queries, Index first, Index last, Collector* collectors,
                      const Labels& labels, const Context& context) const;
    // These return how many entries of rows were compared.
    template <class Collector>
    Index search_block(const Projection& block, std::vector<Question<Collector>>& asked,
                       Checkpoint& checkpoint) const;
    template <class Collector>
    Index keep(const Hits& found, std::vector<float>& most, Question<Collector>& asked) const;
    template <class Collector>
    void tighten(std::vector<float>& most, Question<Collector>& asked) const;
    template <class Collector>
    Index measure_waiting(Question<Collector>& asked) const;
    template <class Collector>
    Index look_again(std::vector<BoundedRow>& near, std::size_t few,
                     Question<Collector>& asked) const;
    template <class Collector>
    Index measure(std::vector<BoundedRow>& near, std::size_t few, Question<Collector>& asked) const;

    const T* row_at(Index place) const { return x_ + order_[place] * columns_; }

    const T* x_;
    Index rows_, columns_;
    Distance distance_{Metric::euclidean};
    std::vector<double> mean_, basis_;
    Index size_;
    double scale_ = 1;       // a power of 2 that keeps float from overflowing
    double error_;           // of a projected row, as a part of its length
    double slack_, summed_;  // the results of the functions of these names
    // Rows are kept in an order in which those of a tile are near each other.
    std::vector<Index> order_;       // their numbers
    std::vector<float> tile_means_;  // tiles × width
    std::vector<float> values_;      // n × width, in panels by columns
    std::vector<float> halves_;      // from which products are subtracted
    std::vector<float> spread_;      // from the least to the largest possible distance, halved
    std::vector<float> wide_;        // n × wide_width
    std::vector<float> wide_slack_;  // subtracted from the distance along all directions
};

}  // namespace gapless
