// Some columns of the data, copied into double: they lie one after another, include the scaling of
// their rows, and the loops over them need no template per type of the data.
#pragma once

#include <algorithm>
#include <vector>

#include "base/array.hpp"
#include "base/parallel.hpp"

namespace gapless {

// The columns of the data that take part, what the data has subtracted from each (one entry per
// column of the data, or null), and the slopes of a free bias (one per output), null without one.
struct ColumnChoice {
    const Index* which;
    Index count;
    const double* center;
    const double* bias_slope;

    double center_of(Index t) const { return center ? center[which[t]] : 0.0; }
};

// A column: values, their rows (null: all rows in order), their number.
struct Line {
    const double* value;
    const std::int32_t* index;
    Index count;

    Index row(Index p) const { return index ? index[p] : p; }
};

// Call f(t, i, x) for every stored entry x of the chosen columns, t the position among them and i
// the row.
template <class T, class F>
void for_each_entry(const Dense<T>& x, const ColumnChoice& choice, Checkpoint& checkpoint, F&& f) {
    const Index by_row = x.order == Order::rows ? x.columns : 1;
    const Index by_column = x.order == Order::rows ? 1 : x.rows;
    // A strip of rows at a time, so that reading across and writing along stay in the cache.
    constexpr Index strip = 64;
    for (Index first = 0; first < x.rows; first += strip) {
        const Index last = std::min(first + strip, x.rows);
        for (Index t = 0; t < choice.count; ++t) {
            const T* column = x.data + choice.which[t] * by_column;
            for (Index i = first; i < last; ++i) f(t, i, static_cast<double>(column[i * by_row]));
        }
        checkpoint();
    }
}

template <class T, class F>
void for_each_entry(const Compressed<T>& x, const ColumnChoice& choice, Checkpoint& checkpoint,
                    F&& f) {
    for (Index t = 0; t < choice.count; ++t) {
        const Index j = choice.which[t];
        for (Index p = x.start[j]; p < x.start[j + 1]; ++p)
            f(t, Index{x.index[p]}, static_cast<double>(x.value[p]));
        if (t % 64 == 0) checkpoint();
    }
}

class CopiedColumns {
public:
    // Rows are multiplied by `scale` if it is not null. From each column is subtracted: without a
    // free bias, its centre; with one, whatever is convenient, because the bias compensates: the
    // mean under `weights` (with the given stride) for dense data, nothing for sparse data.
    template <class T>
    CopiedColumns(const Dense<T>& x, const ColumnChoice& choice, const double* scale,
                  const double* weights, Index stride, Checkpoint& checkpoint)
        : rows_(x.rows), start_(choice.count + 1), shift_(choice.count) {
        if (choice.bias_slope) {
            double total = 0;
            for (Index i = 0; i < rows_; ++i) total += weights[i * stride];
            if (total > 0)
                for_each_entry(x, choice, checkpoint, [&](Index t, Index i, double value) {
                    shift_[t] += weights[i * stride] / total * value;
                });
        } else {
            for (Index t = 0; t < choice.count; ++t) shift_[t] = choice.center_of(t);
        }
        fill_dense(x, choice, scale, checkpoint);
    }

    template <class T>
    CopiedColumns(const Compressed<T>& x, const ColumnChoice& choice, const double* scale,
                  const double*, Index, Checkpoint& checkpoint)
        : rows_(x.length), start_(choice.count + 1), shift_(choice.count) {
        if (choice.center && !choice.bias_slope) {
            for (Index t = 0; t < choice.count; ++t) shift_[t] = choice.center_of(t);
            fill_dense(x, choice, scale, checkpoint);
            return;
        }
        is_sparse_ = true;
        Index total = 0;
        for (Index t = 0; t < choice.count; ++t)
            total += x.start[choice.which[t] + 1] - x.start[choice.which[t]];
        value_.reserve(total);
        index_.reserve(total);
        for_each_entry(x, choice, checkpoint, [&](Index t, Index i, double value) {
            const double scaled = scale ? scale[i] * value : value;
            if (scaled == 0) return;
            value_.push_back(scaled);
            index_.push_back(static_cast<std::int32_t>(i));
            ++start_[t + 1];
        });
        for (Index t = 0; t < choice.count; ++t) start_[t + 1] += start_[t];
    }

    Index rows() const { return rows_; }
    Index columns() const { return static_cast<Index>(start_.size()) - 1; }
    // What was subtracted from column t of the raw data.
    double shift(Index t) const { return shift_[t]; }
    Line line(Index t) const {
        return {value_.data() + start_[t], is_sparse_ ? index_.data() + start_[t] : nullptr,
                start_[t + 1] - start_[t]};
    }
    double dot(Index t, const double* v) const {
        const Line x = line(t);
        return is_sparse_ ? sparse_dot(x.value, x.index, v, x.count)
                          : gapless::dot(x.value, v, x.count);
    }
    void axpy(Index t, double scale, double* out) const {
        const Line x = line(t);
        if (is_sparse_)
            sparse_axpy(scale, x.value, x.index, out, x.count);
        else
            gapless::axpy(scale, x.value, out, x.count);
    }
    double squared_norm(Index t, const double* weights) const {
        const Line x = line(t);
        double sum = 0;
        for (Index p = 0; p < x.count; ++p) {
            const double square = x.value[p] * x.value[p];
            sum += weights ? weights[x.row(p)] * square : square;
        }
        return sum;
    }

private:
    template <class Matrix>
    void fill_dense(const Matrix& x, const ColumnChoice& choice, const double* scale,
                    Checkpoint& checkpoint) {
        value_.resize(choice.count * rows_);
        for (Index t = 0; t < choice.count; ++t) {
            start_[t + 1] = (t + 1) * rows_;
            std::fill(value_.data() + start_[t], value_.data() + start_[t + 1], -shift_[t]);
        }
        for_each_entry(x, choice, checkpoint,
                       [&](Index t, Index i, double value) { value_[t * rows_ + i] += value; });
        for (Index t = 0; scale && t < choice.count; ++t) {
            for (Index i = 0; i < rows_; ++i) value_[t * rows_ + i] *= scale[i];
            checkpoint();
        }
    }

    Index rows_;
    bool is_sparse_ = false;
    std::vector<Index> start_;
    std::vector<double> shift_, value_;
    std::vector<std::int32_t> index_;
};

static_assert(ColumnMatrix<CopiedColumns>);

}  // namespace gapless
