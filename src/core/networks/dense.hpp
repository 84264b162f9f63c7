// Training a network of dense layers: the gradient for a batch, or a step for each of several
// batches, in one call: the same numbers as layer by layer, without the passes over memory and the
// calls between them.
//
// The rows of a batch are read where they are. If most of their entries are 0, both products of
// the first layer leave these out, two columns at a time. Work is cut into tasks that depend on the
// network and the batch alone, so that results have the same bits for any number of threads.
#pragma once

#include "base/products.hpp"
#include "networks/steps.hpp"

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

    Index size_of(Index layer) const;  // its number of parameters
    Index size() const;                // that of all layers
};

// Rows of X with their targets, of which one is null, and weights.
template <class X, class T>
struct Data {
    const X* x;
    const std::int64_t* position;  // where the rows are in X; null if they are in order
    const std::int64_t* classes;
    const T* targets;
    const double* weights;
};

// Which of the rows.
struct RowList {
    const std::int64_t* index;
    Index n;
};

// Memory for what a batch of n rows and d columns needs of them, kept between calls: new memory is
// cleared by the system each time. `index` has room for half of scratch_size(n, d).
template <class T>
struct Scratch {
    std::int32_t* index;
    T* value;
};
Index scratch_size(Index n, Index d);

// gradient = that of Σ sᵢ ℓᵢ/n + ½ strength ‖W‖² over the batch. Writes the outputs of the rows
// into z (all rows × outputs) and returns Σ sᵢ ℓᵢ.
template <class X, class T>
double dense_gradient(const DenseNetwork& network, const Data<X, T>& data, const RowList& batch,
                      const T* theta, T strength, double* z, T* gradient, const Scratch<T>& scratch,
                      const Context& context);

// A step of a rule by the gradient of each batch of so many rows, one after the other; the last may
// have fewer. Returns Σ sᵢ ℓᵢ over all of them, each before its step. `gradient` is memory for one.
template <class X, class T>
double dense_steps(const DenseNetwork& network, const Data<X, T>& data, const RowList& rows,
                   Index batch, const Rule<T>& rule, T* theta, T strength, double* z, T* gradient,
                   const Scratch<T>& scratch, const Context& context);

}  // namespace gapless
