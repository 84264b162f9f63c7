// Windows of images: convolution and pooling, for batches of images stored row by row, the channels
// of a pixel together.
//
// A batch is cut into chunks of images whose size depends on the shapes alone, and sums over images
// are added chunk by chunk, so results have the same bits for any number of threads.
#pragma once

#include <cstdint>

#include "base/products.hpp"

namespace gapless {

// n images, of which windows of size × size pixels, `stride` apart, become the pixels of others.
// `margin` zeros are imagined on each side.
struct Windows {
    Index images, height, width, channels;
    Index size, stride, margin;

    Index out_height() const { return (height + 2 * margin - size) / stride + 1; }
    Index out_width() const { return (width + 2 * margin - size) / stride + 1; }
    Index pixels() const { return height * width; }
    Index out_pixels() const { return out_height() * out_width(); }
    Index window() const { return size * size * channels; }
};

// y (images × out × filters) = windows of x times W (window × filters) + b.
template <class T>
void convolve(const Windows& w, const T* x, const T* weights, const T* bias, Index filters, T* y,
              const Context& context);

// dx = the derivative of convolve with respect to x, for the derivative dy of y.
template <class T>
void convolve_back(const Windows& w, const T* dy, const T* weights, Index filters, T* dx,
                   const Context& context);

// dW = Σ windowsᵀ dy and db = Σ dy over all images and pixels.
template <class T>
void convolve_weights(const Windows& w, const T* x, const T* dy, Index filters, T* dweights,
                      T* dbias, const Context& context);

// The largest number of each window of each channel, and which pixel of the window it is.
template <class T>
void pool_largest(const Windows& w, const T* x, T* y, std::int16_t* place, const Context& context);
template <class T>
void pool_largest_back(const Windows& w, const T* dy, const std::int16_t* place, T* dx,
                       const Context& context);

// The mean of each window of each channel.
template <class T>
void pool_mean(const Windows& w, const T* x, T* y, const Context& context);
template <class T>
void pool_mean_back(const Windows& w, const T* dy, T* dx, const Context& context);

}  // namespace gapless
