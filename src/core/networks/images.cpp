#include "networks/images.hpp"

#include <algorithm>
#include <vector>

namespace gapless {
namespace {

// Windows laid out for a matrix product should stay in the cache: about this many numbers.
constexpr Index numbers_at_once = 1 << 16;
// Sums over images are kept for each chunk; more chunks than this would cost memory and time.
constexpr Index most_chunks = 32;

struct Chunks {
    Index images, size;

    Index count() const { return (images + size - 1) / size; }
    Index begin(Index k) const { return k * size; }
    Index end(Index k) const { return std::min(images, (k + 1) * size); }
};

Chunks chunks_of(const Windows& w, Index numbers_per_image) {
    const Index at_once =
        std::max<Index>(1, numbers_at_once / std::max<Index>(1, numbers_per_image));
    const Index enough = (w.images + most_chunks - 1) / most_chunks;
    return {w.images, std::max<Index>({1, at_once, enough})};
}

int threads_for(const Windows& w, Index per_pixel, int threads) {
    return useful_threads(static_cast<double>(w.images * w.out_pixels() * per_pixel), threads);
}

// The windows of an image as rows: a matrix (out pixels × window).
template <class T>
void lay_out(const Windows& w, const T* x, T* rows) {
    const Index c = w.channels, line = w.size * c;
    for (Index i = 0; i < w.out_height(); ++i)
        for (Index j = 0; j < w.out_width(); ++j) {
            const Index left = j * w.stride - w.margin;
            const Index first = std::max<Index>(0, -left), last = std::min(w.size, w.width - left);
            for (Index p = 0; p < w.size; ++p, rows += line) {
                const Index at = i * w.stride - w.margin + p;
                if (at < 0 || at >= w.height || last <= first) {
                    std::fill_n(rows, line, T(0));
                    continue;
                }
                std::fill_n(rows, first * c, T(0));
                std::copy_n(x + (at * w.width + left + first) * c, (last - first) * c,
                            rows + first * c);
                std::fill_n(rows + last * c, (w.size - last) * c, T(0));
            }
        }
}

// The reverse: each number of the rows is added to its pixel.
template <class T>
void add_back(const Windows& w, const T* rows, T* x) {
    const Index c = w.channels, line = w.size * c;
    for (Index i = 0; i < w.out_height(); ++i)
        for (Index j = 0; j < w.out_width(); ++j) {
            const Index left = j * w.stride - w.margin;
            const Index first = std::max<Index>(0, -left), last = std::min(w.size, w.width - left);
            for (Index p = 0; p < w.size; ++p, rows += line) {
                const Index at = i * w.stride - w.margin + p;
                if (at < 0 || at >= w.height) continue;
                T* to = x + (at * w.width + left) * c;
#pragma omp simd
                for (Index k = first * c; k < last * c; ++k) to[k] += rows[k];
            }
        }
}

}  // namespace

// A matrix stored by rows is, for BLAS, its transpose stored by columns: Y = A W is Yᵀ = Wᵀ Aᵀ.
template <class T>
void convolve(const Windows& w, const T* x, const T* weights, const T* bias, Index filters, T* y,
              const Context& context) {
    const Index out = w.out_pixels(), window = w.window(), image = w.pixels() * w.channels;
    const Chunks chunks = chunks_of(w, out * window);
    const int threads = threads_for(w, window * filters, context.threads);
    parallel_for(chunks.count(), threads, context.poll, [&](Index k) {
        std::vector<T> rows(out * window);
        for (Index i = chunks.begin(k); i < chunks.end(k); ++i) {
            lay_out(w, x + i * image, rows.data());
            T* to = y + i * out * filters;
            for (Index p = 0; p < out; ++p) std::copy_n(bias, filters, to + p * filters);
            gemm<T>(context.blas, filters, out, window, {weights, filters, Transpose::no},
                    {rows.data(), window, Transpose::no}, T(1), to, filters);
        }
    });
}

template <class T>
void convolve_back(const Windows& w, const T* dy, const T* weights, Index filters, T* dx,
                   const Context& context) {
    const Index out = w.out_pixels(), window = w.window(), image = w.pixels() * w.channels;
    const Chunks chunks = chunks_of(w, out * window);
    const int threads = threads_for(w, window * filters, context.threads);
    parallel_for(chunks.count(), threads, context.poll, [&](Index k) {
        std::vector<T> rows(out * window);
        for (Index i = chunks.begin(k); i < chunks.end(k); ++i) {
            gemm<T>(context.blas, window, out, filters, {weights, filters, Transpose::yes},
                    {dy + i * out * filters, filters, Transpose::no}, T(0), rows.data(), window);
            std::fill_n(dx + i * image, image, T(0));
            add_back(w, rows.data(), dx + i * image);
        }
    });
}

template <class T>
void convolve_weights(const Windows& w, const T* x, const T* dy, Index filters, T* dweights,
                      T* dbias, const Context& context) {
    const Index out = w.out_pixels(), window = w.window(), image = w.pixels() * w.channels;
    const Chunks chunks = chunks_of(w, out * window);
    const int threads = threads_for(w, window * filters, context.threads);
    const Index all = window * filters, each = all + filters;
    std::vector<T> sums(chunks.count() * each, T(0));
    parallel_for(chunks.count(), threads, context.poll, [&](Index k) {
        std::vector<T> rows(out * window);
        T* sum = sums.data() + k * each;
        for (Index i = chunks.begin(k); i < chunks.end(k); ++i) {
            lay_out(w, x + i * image, rows.data());
            const T* from = dy + i * out * filters;
            gemm<T>(context.blas, filters, window, out, {from, filters, Transpose::no},
                    {rows.data(), window, Transpose::yes}, T(1), sum, filters);
            for (Index p = 0; p < out; ++p)
#pragma omp simd
                for (Index f = 0; f < filters; ++f) sum[all + f] += from[p * filters + f];
        }
    });
    std::fill_n(dweights, all, T(0));
    std::fill_n(dbias, filters, T(0));
    for (Index k = 0; k < chunks.count(); ++k) {
        const T* sum = sums.data() + k * each;
        for (Index i = 0; i < all; ++i) dweights[i] += sum[i];
        for (Index f = 0; f < filters; ++f) dbias[f] += sum[all + f];
    }
}

namespace {

// Call each(image, out pixel, first pixel of its window) for all windows of a chunk of images.
template <class Each>
void for_windows(const Windows& w, const Context& context, Each&& each) {
    const Chunks chunks = chunks_of(w, w.pixels() * w.channels);
    const int threads = threads_for(w, w.window(), context.threads);
    parallel_for(chunks.count(), threads, context.poll, [&](Index k) {
        for (Index i = chunks.begin(k); i < chunks.end(k); ++i)
            for (Index p = 0; p < w.out_height(); ++p)
                for (Index q = 0; q < w.out_width(); ++q)
                    each(i, p * w.out_width() + q, p * w.stride * w.width + q * w.stride);
    });
}

}  // namespace

template <class T>
void pool_largest(const Windows& w, const T* x, T* y, std::int16_t* place, const Context& context) {
    const Index c = w.channels;
    for_windows(w, context, [&](Index i, Index to, Index from) {
        const T* image = x + i * w.pixels() * c;
        T* best = y + (i * w.out_pixels() + to) * c;
        std::int16_t* where = place + (i * w.out_pixels() + to) * c;
        std::copy_n(image + from * c, c, best);
        std::fill_n(where, c, std::int16_t(0));
        for (Index k = 1; k < w.size * w.size; ++k) {
            const T* other = image + (from + k / w.size * w.width + k % w.size) * c;
            const auto number = static_cast<std::int16_t>(k);
#pragma omp simd
            for (Index j = 0; j < c; ++j) {
                const bool is_larger = other[j] > best[j];
                best[j] = is_larger ? other[j] : best[j];
                where[j] = is_larger ? number : where[j];
            }
        }
    });
}

template <class T>
void pool_largest_back(const Windows& w, const T* dy, const std::int16_t* place, T* dx,
                       const Context& context) {
    const Index c = w.channels;
    std::fill_n(dx, w.images * w.pixels() * c, T(0));
    for_windows(w, context, [&](Index i, Index to, Index from) {
        T* image = dx + i * w.pixels() * c;
        const Index at = (i * w.out_pixels() + to) * c;
        for (Index k = 0; k < w.size * w.size; ++k) {
            T* pixel = image + (from + k / w.size * w.width + k % w.size) * c;
#pragma omp simd
            for (Index j = 0; j < c; ++j) pixel[j] += place[at + j] == k ? dy[at + j] : T(0);
        }
    });
}

template <class T>
void pool_mean(const Windows& w, const T* x, T* y, const Context& context) {
    const Index c = w.channels;
    const T share = T(1) / static_cast<T>(w.size * w.size);
    for_windows(w, context, [&](Index i, Index to, Index from) {
        const T* image = x + i * w.pixels() * c;
        T* mean = y + (i * w.out_pixels() + to) * c;
        std::fill_n(mean, c, T(0));
        for (Index k = 0; k < w.size * w.size; ++k) {
            const T* pixel = image + (from + k / w.size * w.width + k % w.size) * c;
#pragma omp simd
            for (Index j = 0; j < c; ++j) mean[j] += share * pixel[j];
        }
    });
}

template <class T>
void pool_mean_back(const Windows& w, const T* dy, T* dx, const Context& context) {
    const Index c = w.channels;
    const T share = T(1) / static_cast<T>(w.size * w.size);
    std::fill_n(dx, w.images * w.pixels() * c, T(0));
    for_windows(w, context, [&](Index i, Index to, Index from) {
        T* image = dx + i * w.pixels() * c;
        const T* mean = dy + (i * w.out_pixels() + to) * c;
        for (Index k = 0; k < w.size * w.size; ++k) {
            T* pixel = image + (from + k / w.size * w.width + k % w.size) * c;
#pragma omp simd
            for (Index j = 0; j < c; ++j) pixel[j] += share * mean[j];
        }
    });
}

template void convolve(const Windows&, const float*, const float*, const float*, Index, float*,
                       const Context&);
template void convolve_back(const Windows&, const float*, const float*, Index, float*,
                            const Context&);
template void convolve_weights(const Windows&, const float*, const float*, Index, float*, float*,
                               const Context&);
template void pool_largest(const Windows&, const float*, float*, std::int16_t*, const Context&);
template void pool_largest_back(const Windows&, const float*, const std::int16_t*, float*,
                                const Context&);
template void pool_mean(const Windows&, const float*, float*, const Context&);
template void pool_mean_back(const Windows&, const float*, float*, const Context&);

template void convolve(const Windows&, const double*, const double*, const double*, Index, double*,
                       const Context&);
template void convolve_back(const Windows&, const double*, const double*, Index, double*,
                            const Context&);
template void convolve_weights(const Windows&, const double*, const double*, Index, double*,
                               double*, const Context&);
template void pool_largest(const Windows&, const double*, double*, std::int16_t*, const Context&);
template void pool_largest_back(const Windows&, const double*, const std::int16_t*, double*,
                                const Context&);
template void pool_mean(const Windows&, const double*, double*, const Context&);
template void pool_mean_back(const Windows&, const double*, double*, const Context&);

}  // namespace gapless
