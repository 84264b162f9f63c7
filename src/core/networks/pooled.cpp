#include "networks/pooled.hpp"

#include <algorithm>
#include <vector>

#include "base/pieces.hpp"
#include "base/vectors.hpp"

namespace gapless {
namespace {

// Images that a thread takes at once: enough to pay for the sums that each chunk of them keeps.
constexpr Index images_at_once = 4, most_chunks = 32;

Index images_per_chunk(const Windows& w) {
    return std::max(images_at_once, ceil_div(w.images, most_chunks));
}

// An image with its margin of zeros, so that every window lies inside. A line of a window is
// contiguous, and vectors may read, or add zeros, a little beyond the end of the last one.
template <class T>
struct Padded {
    const Windows& w;
    Index width, line;  // of a row, in pixels and in numbers
    std::vector<T> x;

    explicit Padded(const Windows& w)
        : w(w),
          width(w.width + 2 * w.margin),
          line(width * w.channels),
          x((w.height + 2 * w.margin) * line + lanes_of<T>, T(0)) {}

    T* inside(Index row) { return x.data() + (row + w.margin) * line + w.margin * w.channels; }

    void read(const T* image) {
        const Index own = w.width * w.channels;
        for (Index i = 0; i < w.height; ++i) std::copy_n(image + i * own, own, inside(i));
    }
    void clear() { std::fill(x.begin(), x.end(), T(0)); }
    void write(T* image) {
        const Index own = w.width * w.channels;
        for (Index i = 0; i < w.height; ++i) std::copy_n(inside(i), own, image + i * own);
    }

    // Where the window of each of the four pixels of a cell begins, compared with the first.
    Index right() const { return w.stride * w.channels; }
    Index down() const { return w.stride * line; }
    Index cell(Index i, Index j) const { return 2 * (i * down() + j * right()); }
};

// ---- forward ----

// The filters `vectors` at a time: for each number of a window its weights, then the next number.
template <class T>
struct PackedFilters {
    static constexpr Index lanes = lanes_of<T>;
    Index window, filters, groups;  // groups of two vectors, the last one maybe half empty
    std::vector<T> weights, bias;

    PackedFilters(const T* w, const T* b, Index window, Index filters)
        : window(window),
          filters(filters),
          groups(ceil_div(filters, 2 * lanes)),
          weights(groups * window * 2 * lanes, T(0)),
          bias(groups * 2 * lanes, T(0)) {
        std::copy_n(b, filters, bias.data());
        for (Index g = 0; g < groups; ++g)
            for (Index k = 0; k < window; ++k)
                std::copy_n(w + k * filters + 2 * g * lanes, width(g), of_group(g) + 2 * k * lanes);
    }
    Index width(Index g) const { return std::min(2 * lanes, filters - 2 * g * lanes); }
    const T* of_group(Index g) const { return weights.data() + g * window * 2 * lanes; }
    T* of_group(Index g) { return weights.data() + g * window * 2 * lanes; }
};

// The convolution at four pixels for some vectors of filters, of which the largest is kept.
template <int vectors, class T>
GAPLESS_BODY void pooled_cell(const Padded<T>& image, const T* x, const T* weights, const T* bias,
                              T* y, std::uint8_t* place) {
    constexpr int lanes = lanes_of<T>;
    const Index length = image.w.size * image.w.channels;
    const Index step = image.right(), down = image.down();
    Vector<T> sum[4][vectors];
    for (int v = 0; v < vectors; ++v) {
        const Vector<T> b = load(bias + v * lanes);
        for (auto& pixel : sum) pixel[v] = b;
    }
    for (Index p = 0; p < image.w.size; ++p, x += image.line) {
        for (Index k = 0; k < length; ++k, weights += 2 * lanes) {
#pragma GCC unroll 2
            for (int v = 0; v < vectors; ++v) {
                const Vector<T> of_filters = load(weights + v * lanes);
                sum[0][v] += x[k] * of_filters;
                sum[1][v] += x[k + step] * of_filters;
                sum[2][v] += x[k + down] * of_filters;
                sum[3][v] += x[k + down + step] * of_filters;
            }
        }
    }
    for (int v = 0; v < vectors; ++v) {
        const Vector<T> zero = {};
        Vector<T> best = sum[0][v];
        auto where = best != best;  // whole numbers as wide as T, all 0
        where ^= where;
        for (int k = 1; k < 4; ++k) {
            const auto is_larger = sum[k][v] > best;
            best = is_larger ? sum[k][v] : best;
            where = is_larger ? where - where + k : where;
        }
        where = best > zero ? where : where - where + no_place;
        best = best < zero ? zero : best;
        std::memcpy(y + v * lanes, &best, sizeof best);
        for (int k = 0; k < lanes; ++k) place[v * lanes + k] = static_cast<std::uint8_t>(where[k]);
    }
}

template <class T>
void pool_image(const Padded<T>& image, const PackedFilters<T>& filters, T* y,
                std::uint8_t* place) {
    constexpr Index lanes = lanes_of<T>;
    const Index height = image.w.out_height() / 2, width = image.w.out_width() / 2;
    for (Index g = 0; g < filters.groups; ++g) {
        const Index count = filters.width(g);
        const T* weights = filters.of_group(g);
        const T* bias = filters.bias.data() + 2 * g * lanes;
        for (Index i = 0; i < height; ++i)
            for (Index j = 0; j < width; ++j) {
                const T* x = image.x.data() + image.cell(i, j);
                const Index to = (i * width + j) * filters.filters + 2 * g * lanes;
                if (count == 2 * lanes) {
                    pooled_cell<2>(image, x, weights, bias, y + to, place + to);
                    continue;
                }
                T found[2 * lanes];
                std::uint8_t where[2 * lanes];
                if (count > lanes)
                    pooled_cell<2>(image, x, weights, bias, found, where);
                else
                    pooled_cell<1>(image, x, weights, bias, found, where);
                std::copy_n(found, count, y + to);
                std::copy_n(where, count, place + to);
            }
    }
}

// ---- backward ----

// A derivative that goes back, and where the window of its pixel begins.
template <class T>
struct Slope {
    Index window;
    T value;
};

// The derivatives of an image that are not 0, filter by filter.
template <class T>
struct Slopes {
    Index cells;
    std::vector<Slope<T>> all;
    std::vector<Index> count;

    Slopes(Index cells, Index filters) : cells(cells), all(cells * filters + 1), count(filters) {}

    const Slope<T>* of_filter(Index f) const { return all.data() + f * cells; }

    void collect(const Padded<T>& image, const T* dy, const std::uint8_t* place) {
        const Index height = image.w.out_height() / 2, width = image.w.out_width() / 2;
        const Index filters = static_cast<Index>(count.size());
        const Index to_place[] = {0, image.right(), image.down(), image.down() + image.right(), 0};
        std::fill(count.begin(), count.end(), 0);
        for (Index i = 0; i < height; ++i)
            for (Index j = 0; j < width; ++j)
                for (Index f = 0; f < filters; ++f, ++dy, ++place) {
                    // Written anyway, counted if it matters: there is nothing to predict.
                    all[f * cells + count[f]] = {image.cell(i, j) + to_place[*place], *dy};
                    count[f] += *place != no_place && *dy != 0;
                }
    }
};

// Some lines and vectors of all windows of a filter, from a place of the window on: the sum of the
// windows, each times its slope; or the weights, times the slope, added to each window.
template <int lines, int vectors, class T>
GAPLESS_BODY void add_windows(const Slope<T>* slopes, Index count, const T* x, Index line, T* sums,
                              Index sums_line) {
    constexpr int lanes = lanes_of<T>;
    Vector<T> sum[lines][vectors] = {};
    for (Index e = 0; e < count; ++e) {
        const T* window = x + slopes[e].window;
#pragma GCC unroll 3
        for (int p = 0; p < lines; ++p)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v)
                sum[p][v] += slopes[e].value * load(window + p * line + v * lanes);
    }
    for (int p = 0; p < lines; ++p)
        for (int v = 0; v < vectors; ++v) {
            T* to = sums + p * sums_line + v * lanes;
            const Vector<T> total = load(to) + sum[p][v];
            std::memcpy(to, &total, sizeof total);
        }
}

template <int lines, int vectors, class T>
GAPLESS_BODY void spread_windows(const Slope<T>* slopes, Index count, T* x, Index line,
                                 const T* weights, Index weights_line) {
    constexpr int lanes = lanes_of<T>;
    Vector<T> of_filter[lines][vectors];
    for (int p = 0; p < lines; ++p)
        for (int v = 0; v < vectors; ++v)
            of_filter[p][v] = load(weights + p * weights_line + v * lanes);
    for (Index e = 0; e < count; ++e) {
        T* window = x + slopes[e].window;
#pragma GCC unroll 3
        for (int p = 0; p < lines; ++p)
#pragma GCC unroll 4
            for (int v = 0; v < vectors; ++v) {
                T* to = window + p * line + v * lanes;
                const Vector<T> total = load(to) + slopes[e].value * of_filter[p][v];
                std::memcpy(to, &total, sizeof total);
            }
    }
}

// Call each(first line, first vector) with the number of lines and vectors as constants, until all
// of a window is covered: three lines at a time, as most windows have, and up to four vectors.
template <class Each>
void for_blocks(Index lines, Index vectors, Each&& each) {
    const auto with = [&]<int n>(Index p, Index v, std::integral_constant<int, n> height) {
        using std::integral_constant;
        switch (vectors - v) {
            case 1:
                each(p, v, height, integral_constant<int, 1>());
                return Index(1);
            case 2:
                each(p, v, height, integral_constant<int, 2>());
                return Index(2);
            case 3:
            case 5:
            case 6:
                each(p, v, height, integral_constant<int, 3>());
                return Index(3);
            default:
                each(p, v, height, integral_constant<int, 4>());
                return Index(4);
        }
    };
    for (Index p = 0; p < lines;) {
        const bool are_three = lines - p >= 3;
        for (Index v = 0; v < vectors;)
            v += are_three ? with(p, v, std::integral_constant<int, 3>())
                           : with(p, v, std::integral_constant<int, 1>());
        p += are_three ? 3 : 1;
    }
}

// The filters one after the other, each by the lines of its window, which are filled up by zeros to
// whole vectors.
template <class T>
struct ByFilter {
    static constexpr Index lanes = lanes_of<T>;
    Index size, length, line, filters;

    ByFilter(const Windows& w, Index filters)
        : size(w.size),
          length(w.size * w.channels),
          line(ceil_div(length, lanes) * lanes),
          filters(filters) {}

    Index vectors() const { return line / lanes; }
    Index of_filter(Index f) const { return f * size * line; }
    Index count() const { return filters * size * line; }

    std::vector<T> packed(const T* weights) const {
        std::vector<T> out(count(), T(0));
        for (Index p = 0; p < size; ++p)
            for (Index k = 0; k < length; ++k)
                for (Index f = 0; f < filters; ++f)
                    out[of_filter(f) + p * line + k] = weights[(p * length + k) * filters + f];
        return out;
    }
    void add_to(const T* sums, T* weights) const {
        for (Index p = 0; p < size; ++p)
            for (Index k = 0; k < length; ++k)
                for (Index f = 0; f < filters; ++f)
                    weights[(p * length + k) * filters + f] += sums[of_filter(f) + p * line + k];
    }
};

}  // namespace

template <class T>
void convolve_and_pool(const Windows& w, const T* x, const T* weights, const T* bias, Index filters,
                       T* y, std::uint8_t* place, const Context& context) {
    const PackedFilters<T> packed(weights, bias, w.window(), filters);
    const Index cells = (w.out_height() / 2) * (w.out_width() / 2), image = w.pixels() * w.channels;
    const Index step = images_per_chunk(w);
    const double work = static_cast<double>(w.images * cells * 4 * w.window() * filters);
    parallel_for(ceil_div(w.images, step), useful_threads(work, context.threads), context.poll,
                 [&](Index k) {
                     Padded<T> padded(w);
                     const Range own = part(k, step, w.images);
                     for (Index i = own.begin; i < own.end; ++i) {
                         padded.read(x + i * image);
                         pool_image(padded, packed, y + i * cells * filters,
                                    place + i * cells * filters);
                     }
                 });
}

template <class T>
void convolve_and_pool_back(const Windows& w, const T* x, const T* weights, Index filters,
                            const T* dy, const std::uint8_t* place, T* dx, T* dweights, T* dbias,
                            const Context& context) {
    const ByFilter<T> by_filter(w, filters);
    const std::vector<T> packed = dx ? by_filter.packed(weights) : std::vector<T>();
    const Index cells = (w.out_height() / 2) * (w.out_width() / 2), image = w.pixels() * w.channels;
    const Index step = images_per_chunk(w), chunks = ceil_div(w.images, step);
    const Index each = by_filter.count() + filters;
    std::vector<T> sums(chunks * each, T(0));
    const double work = static_cast<double>(w.images * cells * w.window() * filters);
    const auto of_chunk = [&](Index k) {
        T* sum = sums.data() + k * each;
        Padded<T> padded(w), spread(w);
        Slopes<T> slopes(cells, filters);
        const Range own = part(k, step, w.images);
        for (Index i = own.begin; i < own.end; ++i) {
            padded.read(x + i * image);
            slopes.collect(padded, dy + i * cells * filters, place + i * cells * filters);
            if (dx) spread.clear();
            for (Index f = 0; f < filters; ++f) {
                const Slope<T>* found = slopes.of_filter(f);
                const Index count = slopes.count[f];
                for (Index e = 0; e < count; ++e) sum[by_filter.count() + f] += found[e].value;
                for_blocks(by_filter.size, by_filter.vectors(),
                           [&](Index p, Index v, auto lines, auto vectors) {
                               const Index at = v * lanes_of<T>;
                               const Index to = by_filter.of_filter(f) + p * by_filter.line + at;
                               const Index from = p * padded.line + at;
                               add_windows<lines(), vectors()>(found, count, padded.x.data() + from,
                                                               padded.line, sum + to,
                                                               by_filter.line);
                               if (dx)
                                   spread_windows<lines(), vectors()>(
                                       found, count, spread.x.data() + from, padded.line,
                                       packed.data() + to, by_filter.line);
                           });
            }
            if (dx) spread.write(dx + i * image);
        }
    };
    parallel_for(chunks, useful_threads(work, context.threads), context.poll, of_chunk);
    std::fill_n(dweights, w.window() * filters, T(0));
    std::fill_n(dbias, filters, T(0));
    for (Index k = 0; k < chunks; ++k) {
        const T* sum = sums.data() + k * each;
        by_filter.add_to(sum, dweights);
        for (Index f = 0; f < filters; ++f) dbias[f] += sum[by_filter.count() + f];
    }
}

template void convolve_and_pool(const Windows&, const float*, const float*, const float*, Index,
                                float*, std::uint8_t*, const Context&);
template void convolve_and_pool(const Windows&, const double*, const double*, const double*, Index,
                                double*, std::uint8_t*, const Context&);
template void convolve_and_pool_back(const Windows&, const float*, const float*, Index,
                                     const float*, const std::uint8_t*, float*, float*, float*,
                                     const Context&);
template void convolve_and_pool_back(const Windows&, const double*, const double*, Index,
                                     const double*, const std::uint8_t*, double*, double*, double*,
                                     const Context&);

}  // namespace gapless
