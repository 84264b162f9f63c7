// The gradient of a network of dense layers for a batch, in one call: the same numbers as layer by
// layer, without the passes over memory and the calls between them.
//
// The rows of the batch are read where they are. If most of their entries are 0, both products of
// the first layer leave these out, four rows at a time. Work is cut into tasks that depend on the
// network and the batch alone, so that results have the same bits for any number of threads.
#pragma once

#include "base/products.hpp"

namespace gapless {

// What follows xW + b.
enum class Bend : std::int64_t { identity, relu, tanh, sigmoid };
// Σ over outputs: softmax cross-entropy (targets are classes), ½(z − y)², log(1 + exp(−yz)).
enum class OutputLoss : std::int64_t { softmax, squared, logistic };

// `sizes` are those of the input and of each layer; the parameters are W (inputs × units) and b of
// one layer after the other.
struct DenseNetwork {
    Index layers;
    const Index* sizes;
    const std::int64_t* bends;
    OutputLoss loss;
};

// Some rows of X with their targets, of which one is null, and weights; all indexed by `rows`.
template <class X, class T>
struct Batch {
    const X* x;
    const std::int64_t* position;  // where the rows are in X; null if they are in order
    const std::int64_t* rows;
    Index n;
    const std::int64_t* classes;
    const T* targets;
    const double* weights;
};

// Memory for what a batch of n rows and d columns needs of them, kept between calls: new memory is
// cleared by the system each time. `index` has room for a quarter of scratch_size(n, d).
template <class T>
struct Scratch {
    std::int32_t* index;
    T* value;
};
Index scratch_size(Index n, Index d);

// gradient = that of Σ sᵢ ℓᵢ/n + ½ strength ‖W‖² over the batch. Writes the outputs of the rows
// into z (all rows × outputs) and returns Σ sᵢ ℓᵢ.
template <class X, class T>
double dense_gradient(const DenseNetwork& network, const Batch<X, T>& batch, const T* theta,
                      T strength, double* z, T* gradient, const Scratch<T>& scratch,
                      const Context& context);

}  // namespace gapless
