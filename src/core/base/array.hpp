// Views of memory owned by the caller: dense matrices, compressed sparse matrices, and the one
// concept that the coordinate-wise solvers need, access to a column.
#pragma once

#include <concepts>
#include <cstdint>

#include "base/loops.hpp"

namespace gapless {

// Which index runs slowest in memory: `rows` is NumPy's C order, `columns` its F order.
enum class Order { rows, columns };

template <class T>
struct Dense {
    const T* data;
    Index rows, columns;
    Order order;

    // The same memory read as the transposed matrix.
    Dense transposed() const {
        return {data, columns, rows, order == Order::rows ? Order::columns : Order::rows};
    }
};

// `lines` sparse vectors of length `length`: the rows of a CSR or the columns of a CSC matrix.
template <class T>
struct Compressed {
    Index lines, length;
    const std::int64_t* start;  // lines + 1 offsets into index and value
    const std::int32_t* index;  // increasing within a line
    const T* value;
};

// What coordinate descent needs of a matrix. `v` has one entry per row, `weights` may be null.
template <class A>
concept ColumnMatrix = requires(const A& a, Index j, double scale, const double* v, double* out,
                                const double* weights) {
    { a.rows() } -> std::convertible_to<Index>;
    { a.columns() } -> std::convertible_to<Index>;
    { a.dot(j, v) } -> std::convertible_to<double>;
    { a.axpy(j, scale, out) };
    { a.squared_norm(j, weights) } -> std::convertible_to<double>;
};

// A dense matrix whose columns are contiguous (NumPy's F order).
template <class T>
class DenseColumns {
public:
    DenseColumns(const T* data, Index rows, Index columns)
        : data_(data), rows_(rows), columns_(columns) {}
    Index rows() const { return rows_; }
    Index columns() const { return columns_; }
    const T* column(Index j) const { return data_ + j * rows_; }
    double dot(Index j, const double* v) const { return gapless::dot(column(j), v, rows_); }
    void axpy(Index j, double scale, double* out) const {
        gapless::axpy(scale, column(j), out, rows_);
    }
    double squared_norm(Index j, const double* weights) const {
        return gapless::square_sum(column(j), weights, rows_);
    }

private:
    const T* data_;
    Index rows_, columns_;
};

// The columns of a CSC matrix.
template <class T>
class SparseColumns {
public:
    explicit SparseColumns(Compressed<T> x) : x_(x) {}
    Index rows() const { return x_.length; }
    Index columns() const { return x_.lines; }
    double dot(Index j, const double* v) const {
        return sparse_dot(x_.value + x_.start[j], x_.index + x_.start[j], v, count(j));
    }
    void axpy(Index j, double scale, double* out) const {
        sparse_axpy(scale, x_.value + x_.start[j], x_.index + x_.start[j], out, count(j));
    }
    // Prefetch the column's memory, when columns are visited in random order.
    void prefetch(Index j) const {
        __builtin_prefetch(x_.index + x_.start[j]);
        __builtin_prefetch(x_.value + x_.start[j]);
    }
    double squared_norm(Index j, const double* weights) const {
        double sum = 0;
        for (Index p = x_.start[j]; p < x_.start[j + 1]; ++p) {
            double x = x_.value[p];
            sum += weights ? weights[x_.index[p]] * x * x : x * x;
        }
        return sum;
    }

private:
    Index count(Index j) const { return x_.start[j + 1] - x_.start[j]; }
    Compressed<T> x_;
};

}  // namespace gapless
