// Convolution, max(0, ·) and the largest of 2 × 2 pixels in one pass, and back.
//
// Only what is pooled is ever stored. On the way back, a pooled number has its derivative from one
// of four pixels, or from none if it is 0, so three quarters and more of the products of a plain
// convolution are with zeros and are left out.
#pragma once

#include "networks/images.hpp"

namespace gapless {

// The place of a pooled number that is 0: no derivative goes through it.
constexpr std::uint8_t no_place = 4;

// y (images × pooled × filters), where pooled is half the height and the width of the convolution,
// and which of the four pixels each number is from.
template <class T>
void convolve_and_pool(const Windows& w, const T* x, const T* weights, const T* bias, Index filters,
                       T* y, std::uint8_t* place, const Context& context);

// The derivatives with respect to x (unless dx is null), to the weights and to the bias, for the
// derivative dy of y.
template <class T>
void convolve_and_pool_back(const Windows& w, const T* x, const T* weights, Index filters,
                            const T* dy, const std::uint8_t* place, T* dx, T* dweights, T* dbias,
                            const Context& context);

}  // namespace gapless
