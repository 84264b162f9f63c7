// Sums over the rows of each class, and the distances of rows from the classes: the passes over the
// data of Bayes. Sums are double, and their order depends on the shape of the data alone.
#pragma once

#include "base/array.hpp"
#include "base/products.hpp"

namespace gapless {

// The rows of X with their classes 0 … classes−1 and their weights.
template <class X>
struct ClassRows {
    const Dense<X>& x;
    const std::int32_t* y;
    const double* weights;
    Index classes;
};

// sums (classes × d) = Σ weightᵢ xᵢ over the rows of each class. If counts (classes × d) is not
// null, NaN is a missing value that adds nothing, and counts is the weight of the others.
template <class X>
void class_sums(const ClassRows<X>& rows, double* sums, double* counts, const Context& context);

// squares and rests (classes × d) = Σ weightᵢ (xᵢ − mean)² and Σ weightᵢ (xᵢ − mean), with the
// means (classes × d) of the classes; the latter is the rounding error of the means. NaN adds
// nothing.
template <class X>
void class_squares(const ClassRows<X>& rows, const double* means, double* squares, double* rests,
                   const Context& context);

// counts (classes × columns) = Σ weightᵢ xᵢ over the rows of each class of a sparse X given by its
// rows; their entries may be in any order, and several in the same column.
template <class X>
void class_counts(const Compressed<X>& x, const std::int32_t* y, const double* weights,
                  Index classes, double* counts, const Context& context);

// A centre and a scale for each class and column, (classes × d).
struct ClassShapes {
    Index classes;
    const double* means;
    const double* precisions;
    const double* offsets;  // may be null
};

// out (n × classes) = Σⱼ precision (xⱼ − mean)². With offsets, NaN is a missing value, and the sum
// of the offsets of all others is added.
template <class X>
void class_distances(const Dense<X>& x, const ClassShapes& shapes, double* out,
                     const Context& context);

}  // namespace gapless
