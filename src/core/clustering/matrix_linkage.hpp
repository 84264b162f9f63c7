// Single, complete and average linkage on a matrix of distances, of which the lower triangle is
// kept, row by row, and overwritten.
//
// As long as many clusters are each other's nearest, all of those are merged at once; then the two
// closest ones in each step, found as in point_linkage.hpp. The row of a new cluster takes the
// place of the first of both. Merges do not come in the order of their heights, but none comes
// before one that it contains. A matrix in float may come with the points it was made from:
// distances that it does not tell apart are then compared in double.
#pragma once

#include "base/products.hpp"
#include "base/team.hpp"
#include "clustering/linkage_rules.hpp"
#include "clustering/merges.hpp"
#include "clustering/nearest_before.hpp"

namespace gapless {

// Points whose Euclidean distances the matrix has; x is null for none.
struct Points {
    const double* x;
    Index columns;
    double relative_error, absolute_error;  // of distances in the matrix
};

template <class T>
class MatrixLinkage {
public:
    // The triangle (rows·(rows − 1)/2) and the points must live as long as this does.
    MatrixLinkage(MatrixMethod method, T* triangle, const double* weights, Index rows,
                  const Points& points);

    void advance(Index count, const Context& context);
    std::vector<Merge>& merges() { return merges_; }
    Index done() const { return static_cast<Index>(merges_.size()); }
    Index all() const { return rows_ - 1; }

private:
    using Pair = std::pair<Index, Index>;  // of places, the first one before the other

    T* row(Index place) const { return triangle_ + place * (place - 1) / 2; }
    T between(const Pair& pair) const { return row(pair.second)[pair.first]; }
    // Merge all that are clearly each other's nearest, unless those are few.
    bool merge_reciprocal(const Context& context);
    void search_all(const Context& context);
    NearestOf<T> search(Index place) const;
    double exact(const Pair& pair) const;
    // Two distances of which one is at most this may be equal to the other, given by its value.
    T limit(T value) const;
    Pair resolved(Pair pair, const std::vector<Index>& near) const;
    void record(const Pair& pair, double height);
    void merge(const Pair& pair, Team& team);
    template <class Rule>
    void update_behind(const Pair& pair, Index begin, Index end, const Rule& rule);
    void compact();

    MatrixMethod method_;
    T* triangle_;
    Index rows_, places_, alive_;
    Points points_;
    std::vector<double> weights_, row_weights_;
    std::vector<T> gone_;     // infinity where no cluster is any more, else 0
    bool is_compact_ = true;  // whether there is a cluster at every place
    bool is_searched_ = false;
    NearestBeforeOf<T> near_;         // if they were searched
    std::vector<Index> row_;          // the first row of the cluster at each place
    std::vector<Index> next_, last_;  // the rows of a cluster, one after another
    std::vector<Merge> merges_;
};

// The lower triangle of the Euclidean distances of points in float, row by row.
void fill_triangle(const double* x, Index rows, Index columns, float* triangle, Points& points,
                   const Context& context);
void fill_triangle(const double* x, Index rows, Index columns, double* triangle, Points& points,
                   const Context& context);

}  // namespace gapless
