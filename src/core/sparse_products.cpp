// Products with a sparse matrix, always by lines (rows or columns) whose results do not overlap.
#include <algorithm>
#include <vector>

#include "products.hpp"

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

// Call work(line) for every line, in tasks of about equal size.
template <class X, class Work>
void for_each_line(const Compressed<X>& a, Index outputs, const Context& context, Work work) {
    constexpr double task = 1 << 16;  // multiplications
    double operations = double(a.start[a.lines] + a.lines) * double(outputs);
    Index tasks =
        std::clamp<Index>(static_cast<Index>(operations / task), 1, std::max<Index>(a.lines, 1));
    parallel_for(tasks, useful_threads(operations, context.threads), context.poll,
                 [&](Index i, Checkpoint&) {
                     Index end = first_line(a, i + 1, tasks);
                     for (Index line = first_line(a, i, tasks); line < end; ++line) work(line);
                 });
}

// out[0 … outputs) = Σₚ valueₚ · w[indexₚ, :]
template <class X, class V>
void line_times(const X* value, const std::int32_t* index, Index count, const V* w, Index outputs,
                V* __restrict out) {
    std::fill_n(out, outputs, V(0));
    for (Index p = 0; p < count; ++p) {
        const V* row = w + index[p] * outputs;
        V x = static_cast<V>(value[p]);
        for (Index k = 0; k < outputs; ++k) out[k] += x * row[k];
    }
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
        double x = columns.value[p];
        if (weights) x *= weights[i];
        if (x == 0) continue;
        for (Index q = rows.start[i]; q < rows.start[i + 1] && rows.index[q] <= j; ++q)
            out[rows.index[q]] += x * static_cast<double>(rows.value[q]);
    }
}

}  // namespace

template <class X, class V>
void times(const Compressed<X>& a, const V* w, Index outputs, V* z, const Context& context) {
    for_each_line(a, outputs, context, [&](Index line) {
        const X* value = a.value + a.start[line];
        const std::int32_t* index = a.index + a.start[line];
        Index count = a.start[line + 1] - a.start[line];
        if (outputs == 1)
            z[line] = sparse_dot(value, index, w, count);
        else
            line_times(value, index, count, w, outputs, z + line * outputs);
    });
}

template <class X>
void column_square_sums(const Compressed<X>& columns, const double* center, const double* weights,
                        double total_weight, double* out, const Context& context) {
    for_each_line(columns, 1, context, [&](Index j) {
        double c = center ? center[j] : 0.0, sum = 0, weight = 0;
        for (Index p = columns.start[j]; p < columns.start[j + 1]; ++p) {
            double x = static_cast<double>(columns.value[p]) - c;
            double s = weights ? weights[columns.index[p]] : 1.0;
            sum += s * x * x;
            weight += s;
        }
        // The entries that are not stored are zero, hence −c after centring.
        out[j] = sum + std::max(total_weight - weight, 0.0) * c * c;
    });
}

template <class X>
void gram(const Compressed<X>& columns, const Compressed<X>& rows, const double* weights,
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
    mirror_lower(out, d, context);
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
template void column_square_sums(const Compressed<float>&, const double*, const double*, double,
                                 double*, const Context&);
template void column_square_sums(const Compressed<double>&, const double*, const double*, double,
                                 double*, const Context&);
template void gram(const Compressed<float>&, const Compressed<float>&, const double*, double*,
                   const Context&);
template void gram(const Compressed<double>&, const Compressed<double>&, const double*, double*,
                   const Context&);
template void gram(const Compressed<float>&, Columns, const double*, double*, const Context&);
template void gram(const Compressed<double>&, Columns, const double*, double*, const Context&);

}  // namespace gapless
