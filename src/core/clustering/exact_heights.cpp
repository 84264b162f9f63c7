#include "clustering/exact_heights.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "clustering/panel_distances.hpp"

namespace gapless {
namespace {

constexpr Index lanes = FloatPanels::lanes;
// So few pairs are measured in double.
constexpr Index few_pairs = 256;
// The mean is taken in float if distances are this many times the error of a single one.
constexpr double large = 5e5;
constexpr Index rows_of_task = 64;
constexpr Index panels_of_sum = 16;

// The rows in an order in which every cluster is a range: the first of both, and then the other.
struct Ranges {
    std::vector<Index> order, begin, middle, end;

    Ranges(const Index* pairs, Index rows) : order(rows), begin(rows), middle(rows), end(rows) {
        std::vector<Index> next(rows, -1), last(rows), size(rows, 1), first(rows), sizes(2 * rows);
        std::iota(last.begin(), last.end(), Index{0});
        for (Index t = 0; t < rows - 1; ++t) {
            const Index one = pairs[2 * t], other = pairs[2 * t + 1];
            sizes[2 * t] = size[one], sizes[2 * t + 1] = size[other];
            next[last[one]] = other, last[one] = last[other];
            size[one] += size[other];
        }
        std::vector<Index> position(rows);
        // The first row of all is never the other one of a merge.
        std::vector<char> is_other(rows, 0);
        for (Index t = 0; t < rows - 1; ++t) is_other[pairs[2 * t + 1]] = 1;
        Index row = 0;
        while (is_other[row]) ++row;
        for (Index p = 0; p < rows; ++p, row = next[row]) order[p] = row, position[row] = p;
        for (Index t = 0; t < rows - 1; ++t) {
            begin[t] = position[pairs[2 * t]];
            middle[t] = begin[t] + sizes[2 * t];
            end[t] = middle[t] + sizes[2 * t + 1];
        }
    }
};

// Rows first … last of one side of merge t against all of the other side, first2 … last2.
struct Task {
    Index merge, first, last, other_first, other_last;
};

class Measuring {
public:
    Measuring(MatrixMethod method, const double* x, const double* weights, Index rows,
              Index columns, const Context& context)
        : method_(method),
          x_(x),
          weights_(weights),
          columns_(columns),
          panels_(x, rows, columns, context),
          weight_in_float_(FloatPanels::panels_of(rows) * lanes) {
        for (Index i = 0; i < rows; ++i) weight_in_float_[i] = static_cast<float>(weights[i]);
    }

    // The sum of weighted distances, or the largest distance.
    double measure(const Task& task, double about) const {
        const Index pairs = (task.last - task.first) * (task.other_last - task.other_first);
        if (method_ == MatrixMethod::complete)
            return pairs <= few_pairs ? in_double(task) : largest(task);
        const bool is_rough = pairs > few_pairs && about > large * panels_.absolute_error() / 2;
        return is_rough ? sum(task) : in_double(task);
    }

private:
    double distance(Index i, Index j) const {
        return std::sqrt(squared_distance(x_ + i * columns_, x_ + j * columns_, columns_));
    }

    double in_double(const Task& task) const {
        double found = 0;
        for (Index i = task.first; i < task.last; ++i)
            for (Index j = task.other_first; j < task.other_last; ++j) {
                if (method_ == MatrixMethod::complete)
                    found = std::max(found, distance(i, j));
                else
                    found += weights_[i] * weights_[j] * distance(i, j);
            }
        return found;
    }

    double sum(const Task& task) const {
        std::vector<float> row(columns_);
        double found = 0;
        float sums[lanes];
        const Index first = task.other_first / lanes, last = (task.other_last - 1) / lanes;
        for (Index i = task.first; i < task.last; ++i) {
            panels_.get(i, row.data());
            double of_row = 0;
            for (Index begin = first; begin <= last; begin += panels_of_sum) {
                float some[lanes] = {};
                for (Index p = begin; p <= std::min(begin + panels_of_sum - 1, last); ++p) {
                    measure_panel(row.data(), panels_.panel(p), columns_, sums);
                    const float* own = weight_in_float_.data() + p * lanes;
                    if (p * lanes >= task.other_first && (p + 1) * lanes <= task.other_last) {
                        for (Index l = 0; l < lanes; ++l) some[l] += own[l] * std::sqrt(sums[l]);
                    } else {
                        for (Index l = 0; l < lanes; ++l)
                            if (p * lanes + l >= task.other_first &&
                                p * lanes + l < task.other_last)
                                some[l] += own[l] * std::sqrt(sums[l]);
                    }
                }
                for (Index l = 0; l < lanes; ++l) of_row += static_cast<double>(some[l]);
            }
            found += weights_[i] * of_row;
        }
        return panels_.unscaled(found);
    }

    double largest(const Task& task) const {
        std::vector<float> row(columns_);
        double found = 0;
        float sums[lanes], most = -1;
        const Index first = task.other_first / lanes, last = (task.other_last - 1) / lanes;
        for (Index i = task.first; i < task.last; ++i) {
            panels_.get(i, row.data());
            for (Index p = first; p <= last; ++p) {
                measure_panel(row.data(), panels_.panel(p), columns_, sums);
                float peak = -1;
                for (Index l = 0; l < lanes; ++l) peak = sums[l] > peak ? sums[l] : peak;
                if (peak <= most) continue;
                for (Index l = 0; l < lanes; ++l) {
                    const Index j = p * lanes + l;
                    if (sums[l] <= most || j < task.other_first || j >= task.other_last) continue;
                    found = std::max(found, distance(i, j));
                }
                most = most_without(found);
            }
        }
        return found;
    }

    // No pair whose distance in float is at most this is farther apart than `distance`.
    float most_without(double distance) const {
        const double error = panels_.absolute_error();
        const double least = std::max(distance - error, 0.0) / panels_.unscaled(1);
        return static_cast<float>(least * least * (1 - 4 * panels_.relative_error()));
    }

    MatrixMethod method_;
    const double *x_, *weights_;
    Index columns_;
    FloatPanels panels_;
    std::vector<float> weight_in_float_;
};

}  // namespace

void measure_heights(MatrixMethod method, const double* x, const double* weights, Index rows,
                     Index columns, const Index* pairs, double* heights, const Context& context) {
    const Ranges ranges(pairs, rows);
    std::vector<double> ordered(rows * columns), own_weights(rows), before(rows + 1, 0.0);
    for (Index p = 0; p < rows; ++p) {
        std::copy_n(x + ranges.order[p] * columns, columns, ordered.data() + p * columns);
        own_weights[p] = weights[ranges.order[p]];
        before[p + 1] = before[p] + own_weights[p];
    }
    std::vector<Task> tasks;
    std::vector<Index> first_task(rows, 0);
    for (Index t = 0; t < rows - 1; ++t) {
        first_task[t] = static_cast<Index>(tasks.size());
        Index a = ranges.begin[t], b = ranges.middle[t], c = b, d = ranges.end[t];
        // The larger side is the one whose panels are passed.
        if (b - a > d - c) std::swap(a, c), std::swap(b, d);
        for (Index i = a; i < b; i += rows_of_task)
            tasks.push_back({t, i, std::min(i + rows_of_task, b), c, d});
    }
    first_task[rows - 1] = static_cast<Index>(tasks.size());
    const Measuring measuring(method, ordered.data(), own_weights.data(), rows, columns, context);
    std::vector<double> found(tasks.size());
    parallel_for(static_cast<Index>((tasks.size() + 15) / 16), context.threads, context.poll,
                 [&](Index chunk, Checkpoint& checkpoint) {
                     const std::size_t end = std::min<std::size_t>((chunk + 1) * 16, tasks.size());
                     for (std::size_t i = chunk * 16; i < end; ++i) {
                         checkpoint();
                         found[i] = measuring.measure(tasks[i], heights[tasks[i].merge]);
                     }
                 });
    for (Index t = 0; t < rows - 1; ++t) {
        double sum = 0, most = 0;
        for (Index i = first_task[t]; i < first_task[t + 1]; ++i)
            sum += found[i], most = std::max(most, found[i]);
        const double one = before[ranges.middle[t]] - before[ranges.begin[t]],
                     other = before[ranges.end[t]] - before[ranges.middle[t]];
        heights[t] = method == MatrixMethod::complete ? most : sum / one / other;
    }
}

}  // namespace gapless
