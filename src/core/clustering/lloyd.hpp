// Lloyd's steps: every row to its nearest centre, and the sums of the rows of each centre.
//
// A step gives the labels that comparing all distances would give, ties going to the first centre,
// but compares only those that the centres' ways since the last comparison have put in doubt:
// dense rows of few columns by one bound for each row (Hamerly 2010), all others by one for each
// row and group of centres too (Elkan 2003; Ding et al. 2015, Yinyang k-means).
#pragma once

#include "base/array.hpp"
#include "base/products.hpp"

namespace gapless {

// k centres, stored by rows in the type of X. Products with dense rows are taken of differences
// from the origin: were it far from the data, rounding would hide the distances.
template <class T>
struct Centers {
    const T* data;
    Index k;
    const double* origin;  // one number per column; null for sparse rows
};

// The nearest centre of each row and, if `squares` is not null, its squared distance.
template <class X, class T>
void nearest_centers(const X& x, const Centers<T>& centers, std::int32_t* labels, double* squares,
                     const Context& context);

// out (n × k): squared distances; those near 0 are exact, and 0 for a row that is a centre.
template <class X, class T>
void center_distances(const X& x, const Centers<T>& centers, double* out, const Context& context);

// What is known of the distances of rows from earlier steps. Bounds are stored as if no centre had
// moved since the first step: those of a row stay valid, and unchanged, while the ways of the
// centres grow.
struct LloydBounds {
    // Of each row: how much farther the second nearest centre is than the nearest.
    float* room;
    // Of each row and group, how far the nearest other centre of the group is at least; may be
    // null.
    float* low;
    Index groups;  // of equal size, the last may be smaller
    // By label, what its own way and the longest one of another centre have taken from `room`.
    const float* ways;
    // By group, the longest way of its centres: what it has taken from `low`.
    const float* group_ways;
};

// Whether k centres make so many groups of equal size, of which the last may be smaller.
inline bool is_partition(Index k, Index groups) {
    const Index size = (k + groups - 1) / groups;
    return (k + size - 1) / size == groups;
}

// Sums over the rows of each centre: k × d of weight · (x − origin), k weights, k numbers of rows.
struct CenterSums {
    double* sums;
    double* weights;
    std::int64_t* counts;
};

// Whether all labels are numbers of centres.
bool are_labels(const std::int32_t* labels, Index n, Index k);

// One step from the labels and bounds of the last one, or from nothing if it is the first; returns
// how many rows have changed their label. `weights` may be null.
template <class X, class T>
Index lloyd_step(const X& x, const Centers<T>& centers, const double* weights, bool is_first,
                 std::int32_t* labels, const LloydBounds& bounds, const CenterSums& sums,
                 const Context& context);

// The sums for these labels alone, afresh.
template <class X>
void center_sums(const X& x, const double* origin, const double* weights, Index k,
                 const std::int32_t* labels, const CenterSums& sums, const Context& context);

}  // namespace gapless
