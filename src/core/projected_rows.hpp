// Exact nearest neighbours in high dimension, by matrix products with a few columns.
//
// With an orthonormal basis B, u = B(x − m) and r the length of what B leaves over of x − m,
//     ‖x − z‖² ≥ ‖u − v‖² + (r − s)²,
// which is the distance of the rows (u, r) and (v, s) of one column more than the basis has. These
// are compared by products in float; only rows that are not ruled out by them, with all roundings
// counted, are measured in full.
#pragma once

#include "distances.hpp"
#include "products.hpp"

namespace gapless {

// What projected rows are measured from and along; the basis (size × columns, by rows) is null for
// the columns themselves. ‖BBᵀ − 1‖ is at most `defect`.
struct Frame {
    const double* mean;
    const double* basis;
    Index size;
    double defect;
};

// A row, and what its distance is at least, up to what all rows of a query share.
struct BoundedRow {
    float bound;
    Index row;
    // The least bound on top of a heap.
    bool operator<(const BoundedRow& other) const { return bound > other.bound; }
};

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
    // Returns how many rows were measured in full.
    template <class Collector>
    Index search(const T* queries, std::vector<Collector>& collectors, const Labels& labels,
                 const Context& context) const;

private:
    Index width() const { return size_ + (basis_.empty() ? 0 : 1); }
    double slack() const;
    void project(const T* x, Index count, const Blas& blas, float* values, double* squares,
                 double* lengths) const;
    double limit(double reduced, double square, double length) const;
    void prefetch(const std::vector<BoundedRow>& near) const;
    template <class Collector>
    Index search_block(const T* queries, Index first, Index last, Collector* collectors,
                       const Labels& labels, const Blas& blas, Checkpoint& checkpoint) const;

    const T* x_;
    Index rows_, columns_;
    Distance distance_{Metric::euclidean};
    std::vector<double> mean_, basis_;
    Index size_;
    double scale_ = 1;           // a power of 2 that keeps float from overflowing
    double error_;               // of a projected row, as a part of its length
    std::vector<float> values_;  // n × width
    std::vector<float> halves_;  // what products are subtracted from
};

}  // namespace gapless
