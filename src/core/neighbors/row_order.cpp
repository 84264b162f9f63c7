#include "neighbors/row_order.hpp"

#include <numeric>

namespace gapless {
namespace {

constexpr Index spread_sample = 1024;  // rows that determine the column of largest spread

// The column along which rows have the largest spread.
Index widest_column(const float* values, Index w, const Index* begin, const Index* end) {
    std::vector<double> sums(w), squares(w);
    const Index step = std::max<Index>((end - begin) / spread_sample, 1);
    double count = 0;
    for (const Index* row = begin; row < end; row += std::min<Index>(step, end - row), ++count)
        for (Index j = 0; j < w; ++j) {
            const double value = values[*row * w + j];
            sums[j] += value;
            squares[j] += value * value;
        }
    for (Index j = 0; j < w; ++j) squares[j] -= sums[j] * sums[j] / count;
    return std::max_element(squares.begin(), squares.end()) - squares.begin();
}

void group(const float* values, Index w, Index unit, Index* begin, Index* end) {
    const Index groups = (end - begin + unit - 1) / unit;
    if (groups < 2) return;
    const Index widest = widest_column(values, w, begin, end);
    Index* middle = begin + groups / 2 * unit;
    std::nth_element(begin, middle, end, [&](Index a, Index b) {
        const float left = values[a * w + widest], right = values[b * w + widest];
        return left < right || (left == right && a < b);
    });
    group(values, w, unit, begin, middle);
    group(values, w, unit, middle, end);
}

}  // namespace

std::vector<Index> grouped(const std::vector<float>& values, Index w, Index count, Index unit) {
    std::vector<Index> order(count);
    std::iota(order.begin(), order.end(), Index{0});
    group(values.data(), w, unit, order.data(), order.data() + count);
    return order;
}

std::vector<float> panels_by_columns(const std::vector<float>& values, Index rows, Index w,
                                     Index unit, const Context& context) {
    const Index panels = (rows + unit - 1) / unit;
    std::vector<float> out(panels * unit * w);
    parallel_for(panels, context.threads, context.poll, [&](Index panel) {
        const Index begin = panel * unit, end = std::min(begin + unit, rows);
        float* to = out.data() + begin * w;
        for (Index i = begin; i < end; ++i)
            for (Index j = 0; j < w; ++j) to[j * unit + i - begin] = values[i * w + j];
    });
    return out;
}

std::vector<float> mean_of(const float* values, Index count, Index w) {
    std::vector<float> mean(w);
    for (Index i = 0; i < count; ++i)
        for (Index j = 0; j < w; ++j) mean[j] += values[i * w + j];
    for (float& entry : mean) entry /= static_cast<float>(count);
    return mean;
}

}  // namespace gapless
