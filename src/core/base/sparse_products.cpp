// Products with a sparse matrix, always by lines (rows or columns) whose results do not overlap.
#include <algorithm>
#include <vector>

#include "base/products.hpp"

namespace gapless {
namespace {

// A compressed matrix that owns its memory.
template <class X>
struct Owned {
    Index length;
    std::vector<std::int64_t> start;
    std::vector<std::int32_t> index;
    std::vector<X> value;

    Compressed<X> view() const {
        return {static_cast<Index>(start.size()) - 1, length, start.data(), index.data(),
                value.data()};
    }
};

template <class X>
Owned<X> select(const Compressed<X>& a, Columns chosen) {
    Owned<X> out{a.length, {0}, {}, {}};
    out.start.reserve(chosen.count + 1);
    for (Index j = 0; j < chosen.count; ++j) {
        Index line = chosen.index[j];
        out.start.push_back(out.start.back() + a.start[line + 1] - a.start[line]);
    }
    out.index.reserve(out.start.back());
    out.value.reserve(out.start.back());
    for (Index j = 0; j < chosen.count; ++j) {
        Index begin = a.start[chosen.index[j]], end = a.start[chosen.index[j] + 1];
        out.index.insert(out.index.end(), a.index + begin, a.index + end);
        out.value.insert(out.value.end(), a.value + begin, a.value + end);
    }
    return out;
}

template <class X>
Owned<X> transpose(const Compressed<X>& a) {
    Index entries = a.start[a.lines];
    Owned<X> out{a.lines, std::vector<std::int64_t>(a.length + 1, 0), {}, {}};
    out.index.resize(entries);
    out.value.resize(entries);
    for (Index p = 0; p < entries; ++p) ++out.start[a.index[p] + 1];
    for (Index i = 0; i < a.length; ++i) out.start[i + 1] += out.start[i];
    std::vector<std::int64_t> next(out.start.begin(), out.start.end() - 1);
    for (Index j = 0; j < a.lines; ++j)
        for (Index p = a.start[j]; p < a.start[j + 1]; ++p) {
            Index q = next[a.index[p]]++;
            out.index[q] = static_cast<std::int32_t>(j);
            out.value[q] = a.value[p];
        }
    return out;
}

// The lines of task `i` when the work (entries, and a little per line) is cut into equal parts.
template <class X>
Index first_line(const Compressed<X>& a, Index i, Index tasks) {
    double target = double(a.start[a.lines] + a.lines) * double(i) / double(tasks);
    Index low = 0, high = a.lines;
    while (low < high) {
        Index middle = (low + high) / 2;
        if (double(a.start[middle] + middle) < target)
            low = middle + 1;
        else
            high = middle;
    }
    return i == tasks ? a.lines : low;
}

// Call work(begin, end) for ranges of lines of about equal size.
template <class X, class Work>
void for_each_range(const Compressed<X>& a, Index outputs, const Context& context, Work work) {
    constexpr double task = 1 << 16;  // multiplications
    double operations = double(a.start[a.lines] + a.lines) * double(outputs);
    Index tasks =
        std::clamp<Index>(static_cast<Index>(operations / task), 1, std::max<Index>(a.lines, 1));
    parallel_for(tasks, useful_threads(operations, context.threads), context.poll,
                 [&](Index i) { work(first_line(a, i, tasks), first_line(a, i + 1, tasks)); });
}

// One row of the lower triangle: out[l] = Σᵢ Dᵢ xᵢⱼ xᵢₗ for l ≤ j, through the rows i that column j
// touches (the row-wise product of Gustavson 1978, whose accumulator is the dense result itself).
template <class X>
void gram_row(const Compressed<X>& columns, const Compressed<X>& rows, const double* weights,
              Index j, double* __restrict out, Checkpoint& checkpoint) {
    constexpr Index check_mask = 255;
    std::fill_n(out, j + 1, 0.0);
    for (Index p = columns.start[j]; p < columns.start[j + 1]; ++p) {
        if ((p & check_mask) == 0) checkpoint();
        Index i = columns.index[p];
        double weight = weights ? weights[i] : 1.0;
        if (weight == 0) continue;
        double x = weight * static_cast<double>(columns.value[p]);
        for (Index q = rows.start[i]; q < rows.start[i + 1] && rows.index[q] <= j; ++q)
            out[rows.index[q]] += x * static_cast<double>(rows.value[q]);
    }
}

template <class X>
void gram_by_columns(const Compressed<X>& columns, const Compressed<X>& rows, const double* weights,
                     double* out, const Context& context) {
    Index d = columns.lines;
    Index step = std::clamp<Index>(d / 64, 1, 16);
    Index tasks = (d + step - 1) / step;
    double mean_row = double(rows.start[rows.lines]) / double(std::max<Index>(rows.lines, 1));
    int threads = useful_threads(double(rows.start[rows.lines]) * mean_row, context.threads);
    parallel_for(tasks, threads, context.poll, [&](Index task, Checkpoint& checkpoint) {
        // The last rows of the triangle are the longest; they go first.
        Index begin = (tasks - 1 - task) * step;
        for (Index j = begin; j < std::min(begin + step, d); ++j)
            gram_row(columns, rows, weights, j, out + j * d, checkpoint);
    });
}

// The lower triangle for a small d, which stays in the cache: the outer product of each row with
// itself, in lanes that are added in order.
template <class X>
void gram_by_rows(const Compressed<X>& rows, const double* weights, double* out,
                  const Context& context) {
    constexpr Index check_every = 1 << 20, lanes_size = Index(1) << 22;
    Index d = rows.length, size = d * d;
    double operations = 0;
    for (Index i = 0; i < rows.lines; ++i) {
        double count = double(rows.start[i + 1] - rows.start[i]);
        if (!weights || weights[i] != 0) operations += 0.5 * count * count;
    }
    // A lane must be worth its clearing and adding, and all together must not take too much memory.
    Index max_lanes = std::clamp<Index>(lanes_size / std::max<Index>(size, 1), 4, 16);
    Index lanes = std::clamp<Index>(static_cast<Index>(operations / (4.0 * double(size) + 1e4)), 1,
                                    max_lanes);
    std::vector<double> sums(static_cast<std::size_t>((lanes - 1) * size));
    std::fill_n(out, size, 0.0);
    parallel_for(lanes, useful_threads(operations, context.threads), context.poll,
                 [&](Index lane, Checkpoint& checkpoint) {
                     double* to = lane == 0 ? out : sums.data() + (lane - 1) * size;
                     Index end = first_line(rows, lane + 1, lanes), work = 0;
                     for (Index i = first_line(rows, lane, lanes); i < end; ++i) {
                         work += (rows.start[i + 1] - rows.start[i]) *
                                 (rows.start[i + 1] - rows.start[i]);
                         if (work > check_every) {
                             checkpoint();
                             work = 0;
                         }
                         double weight = weights ? weights[i] : 1.0;
                         if (weight == 0) continue;
                         for (Index p = rows.start[i]; p < rows.start[i + 1]; ++p)
                             sparse_axpy(weight * static_cast<double>(rows.value[p]),
                                         rows.value + rows.start[i], rows.index + rows.start[i],
                                         to + rows.index[p] * d, p + 1 - rows.start[i]);
                     }
                 });
    for (Index lane = 1; lane < lanes; ++lane)
        axpy(1.0, sums.data() + (lane - 1) * size, out, size);
}

}  // namespace

template <class X, class V>
void times(const Compressed<X>& a, const V* w, Index outputs, V* z, const Context& context) {
    for_each_range(a, outputs, context, [&](Index begin, Index end) {
        if (outputs != 1) {
            sparse_times(a.value, a.index, a.start, begin, end, w, outputs, z);
            return;
        }
        for (Index line = begin; line < end; ++line)
            z[line] = sparse_dot(a.value + a.start[line], a.index + a.start[line], w,
                                 a.start[line + 1] - a.start[line]);
    });
}

template <class X, class V>
void transposed_times(const Compressed<X>& rows, const V* r, V* g, const Context& context) {
    constexpr Index check_every = 1 << 20;
    Checkpoint checkpoint(context.poll);
    std::fill_n(g, rows.length, V(0));
    Index work = 0;
    for (Index i = 0; i < rows.lines; ++i) {
        if (r[i] == 0) continue;
        Index begin = rows.start[i], count = rows.start[i + 1] - begin;
        sparse_axpy(r[i], rows.value + begin, rows.index + begin, g, count);
        work += count;
        if (work > check_every) {
            checkpoint();
            work = 0;
        }
    }
}

template <class X>
void column_square_sums(const Compressed<X>& columns, const double* center, const double* weights,
                        double total_weight, double* out, const Context& context) {
    auto square_sum = [&](Index j) {
        double c = center ? center[j] : 0.0, sum = 0, weight = 0;
        for (Index p = columns.start[j]; p < columns.start[j + 1]; ++p) {
            double x = static_cast<double>(columns.value[p]) - c;
            double s = weights ? weights[columns.index[p]] : 1.0;
            sum += s * x * x;
            weight += s;
        }
        // The entries that are not stored are zero, hence −c after centring.
        return sum + std::max(total_weight - weight, 0.0) * c * c;
    };
    for_each_range(columns, 1, context, [&](Index begin, Index end) {
        for (Index j = begin; j < end; ++j) out[j] = square_sum(j);
    });
}

template <class X>
void row_square_sums(const Compressed<X>& rows, const double* center, const double* weights,
                     double* out, const Context& context) {
    // Σⱼ wⱼ (xⱼ − cⱼ)² = Σⱼ wⱼ cⱼ² + Σⱼ wⱼ xⱼ (xⱼ − 2cⱼ), and the last sum is over stored entries.
    double rest = 0;
    for (Index j = 0; center && j < rows.length; ++j) rest += weights[j] * center[j] * center[j];
    for_each_range(rows, 1, context, [&](Index begin, Index end) {
        for (Index i = begin; i < end; ++i) {
            double sum = rest;
            for (Index p = rows.start[i]; p < rows.start[i + 1]; ++p) {
                Index j = rows.index[p];
                double x = rows.value[p];
                sum += weights[j] * x * (center ? x - 2 * center[j] : x);
            }
            out[i] = sum;
        }
    });
}

template <class X>
void gram(const Compressed<X>& columns, const Compressed<X>& rows, const double* weights,
          double* out, const Context& context) {
    constexpr Index largest_lane = 1024;
    if (columns.lines <= largest_lane)
        gram_by_rows(rows, weights, out, context);
    else
        gram_by_columns(columns, rows, weights, out, context);
    mirror_lower(out, columns.lines, context);
}

template <class X>
void gram(const Compressed<X>& columns, Columns chosen, const double* weights, double* out,
          const Context& context) {
    Owned<X> by_column = select(columns, chosen);
    Owned<X> by_row = transpose(by_column.view());
    gram(by_column.view(), by_row.view(), weights, out, context);
}

template void times(const Compressed<float>&, const float*, Index, float*, const Context&);
template void times(const Compressed<float>&, const double*, Index, double*, const Context&);
template void times(const Compressed<double>&, const double*, Index, double*, const Context&);
template void transposed_times(const Compressed<float>&, const float*, float*, const Context&);
template void transposed_times(const Compressed<float>&, const double*, double*, const Context&);
template void transposed_times(const Compressed<double>&, const double*, double*, const Context&);
template void column_square_sums(const Compressed<float>&, const double*, const double*, double,
                                 double*, const Context&);
template void column_square_sums(const Compressed<double>&, const double*, const double*, double,
                                 double*, const Context&);
template void row_square_sums(const Compressed<float>&, const double*, const double*, double*,
                              const Context&);
template void row_square_sums(const Compressed<double>&, const double*, const double*, double*,
                              const Context&);
template void gram(const Compressed<float>&, const Compressed<float>&, const double*, double*,
                   const Context&);
template void gram(const Compressed<double>&, const Compressed<double>&, const double*, double*,
                   const Context&);
template void gram(const Compressed<float>&, Columns, const double*, double*, const Context&);
template void gram(const Compressed<double>&, Columns, const double*, double*, const Context&);

}  // namespace gapless
