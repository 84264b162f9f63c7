// Squared distances of rows to centres: of one row to one centre, and of a panel of rows to all
// centres at once. Each comes with a bound of its rounding error, and an exact one settles ties.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/array.hpp"
#include "base/pieces.hpp"
#include "base/vectors.hpp"
#include "clustering/lloyd.hpp"

namespace gapless {

// A squared distance, and how far it is at most from the true one.
struct Measured {
    double square, error;
    double low() const { return std::sqrt(std::max(square - error, 0.0)); }
    double high() const { return std::sqrt(square + error); }
};

// The nearest and the second nearest centre of each row of a panel.
template <class V, Index rows>
struct NearestTwo {
    V first[rows], second[rows], error[rows];
    std::int32_t label[rows];
};

template <class X>
class RowsAndCenters;

// Swap the blocks off the diagonal of squares of twice `apart` rows and columns.
template <int apart, class T, int... lane>
GAPLESS_BODY void swap_blocks(Vector<T>& one, Vector<T>& two, std::integer_sequence<int, lane...>) {
    constexpr int lanes = lanes_of<T>;
    const Vector<T> first = one;
    one = __builtin_shufflevector(first, two, ((lane & apart) ? lanes + (lane ^ apart) : lane)...);
    two = __builtin_shufflevector(first, two, ((lane & apart) ? lanes + lane : (lane ^ apart))...);
}

// A square of vectors, transposed: blocks of half its size first, single numbers last.
template <class T, int apart = lanes_of<T> / 2>
GAPLESS_BODY void transpose(Vector<T> (&square)[lanes_of<T>]) {
#pragma GCC unroll 16
    for (int l = 0; l < lanes_of<T>; ++l)
        if (!(l & apart))
            swap_blocks<apart, T>(square[l], square[l + apart],
                                  std::make_integer_sequence<int, lanes_of<T>>());
    if constexpr (apart > 1) transpose<T, apart / 2>(square);
}

// ---- dense rows ----

template <class T>
class RowsAndCenters<Dense<T>> {
public:
    using Value = T;
    static constexpr int vectors = 2;
    static constexpr Index panel_rows = vectors * lanes_of<T>;
    // Centres whose sums stay in registers together.
    static constexpr int together = vector_bytes == 64 ? 8 : 4;

    RowsAndCenters(const Dense<T>& x, const Centers<T>& centers)
        : x_(x.data),
          n_(x.rows),
          d_(x.columns),
          k_(centers.k),
          centers_(centers.data),
          origin_(uninitialized<T>(d_)),
          packed_(uninitialized<T>(ceil_div(k_, together) * together * d_)),
          norms_(uninitialized<T>(k_)) {
        for (Index j = 0; j < d_; ++j) origin_[j] = static_cast<T>(centers.origin[j]);
        std::fill_n(packed_.get(), ceil_div(k_, together) * together * d_, T(0));
        for (Index c = 0; c < k_; ++c) {
            double norm = 0;
            T* to = packed_.get() + c / together * together * d_ + c % together;
            for (Index j = 0; j < d_; ++j) {
                const T moved = static_cast<T>(double(centers_[c * d_ + j]) - double(origin_[j]));
                to[j * together] = moved;
                norm += double(moved) * double(moved);
            }
            norms_[c] = static_cast<T>(norm);
            farthest_ = std::max(farthest_, std::sqrt(norm));
        }
    }

    Index rows() const { return n_; }
    Index centers() const { return k_; }
    // Numbers read to measure one row and one centre.
    Index entries() const { return d_; }

    // Fetch the first numbers of a row.
    void prefetch(Index i) const {
        constexpr Index line = 64 / sizeof(T);
        for (Index j = 0; j < std::min(d_, 2 * line); j += line)
            __builtin_prefetch(x_ + i * d_ + j);
    }

    // From differences, so that the error is a part of the distance itself.
    Measured distance(Index i, Index c) const {
        constexpr int lanes = lanes_of<T>, chains = 4;
        const T* x = x_ + i * d_;
        const T* z = centers_ + c * d_;
        Vector<T> sums[chains] = {};
        Index j = 0;
        for (; j + chains * lanes <= d_; j += chains * lanes)
#pragma GCC unroll 4
            for (int s = 0; s < chains; ++s) {
                const Vector<T> apart = load(x + j + s * lanes) - load(z + j + s * lanes);
                sums[s] += apart * apart;
            }
        for (; j + lanes <= d_; j += lanes) {
            const Vector<T> apart = load(x + j) - load(z + j);
            sums[0] += apart * apart;
        }
        const Vector<T> all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
        T square = 0;
        for (int l = 0; l < lanes; ++l) square += all[l];
        for (; j < d_; ++j) square += (x[j] - z[j]) * (x[j] - z[j]);
        return {double(square), double(square) * relative_error()};
    }

    // The same in double precision.
    double exact(Index i, Index c) const {
        const T* x = x_ + i * d_;
        const T* z = centers_ + c * d_;
        double square = 0;
#pragma omp simd reduction(+ : square)
        for (Index j = 0; j < d_; ++j) {
            const double apart = double(x[j]) - double(z[j]);
            square += apart * apart;
        }
        return square;
    }

    class Panel {
    public:
        explicit Panel(const RowsAndCenters& all)
            : all_(&all), values_(uninitialized<T>(panel_rows * all.d_)) {}

        // Squared distances of up to panel_rows rows: out[c · panel_rows + r]; error[r] holds for
        // all of row r.
        void measure(const Index* rows, Index count, T* out, T* error) {
            pack(rows, count);
            errors(error);
            each_center([&](Index c, const Vector<T>(&squares)[vectors]) {
                for (int v = 0; v < vectors; ++v) {
                    const Vector<T> square = larger(squares[v] + norms_[v], Vector<T>{});
                    std::memcpy(out + c * panel_rows + v * lanes_of<T>, &square, sizeof square);
                }
            });
        }

        void nearest_two(const Index* rows, Index count, NearestTwo<T, panel_rows>& out) {
            using Int = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
            pack(rows, count);
            errors(out.error);
            Vector<T> first[vectors], second[vectors];
            Vector<Int> label[vectors] = {};
            for (int v = 0; v < vectors; ++v)
                first[v] = second[v] = Vector<T>{} + std::numeric_limits<T>::infinity();
            each_center([&](Index c, const Vector<T>(&squares)[vectors]) {
                for (int v = 0; v < vectors; ++v) {
                    const auto is_nearer = squares[v] < first[v];
                    second[v] = smaller(second[v], larger(first[v], squares[v]));
                    label[v] = is_nearer ? Vector<Int>{} + static_cast<Int>(c) : label[v];
                    first[v] = is_nearer ? squares[v] : first[v];
                }
            });
            for (int v = 0; v < vectors; ++v) {
                first[v] = larger(first[v] + norms_[v], Vector<T>{});
                second[v] = larger(second[v] + norms_[v], Vector<T>{});
                std::memcpy(out.first + v * lanes_of<T>, &first[v], sizeof first[v]);
                std::memcpy(out.second + v * lanes_of<T>, &second[v], sizeof second[v]);
                for (int l = 0; l < lanes_of<T>; ++l)
                    out.label[v * lanes_of<T> + l] = static_cast<std::int32_t>(label[v][l]);
            }
        }

    private:
        GAPLESS_BODY static Vector<T> larger(const Vector<T>& x, const Vector<T>& y) {
            return x < y ? y : x;
        }

        // Column by column, less the origin; a panel that is not full repeats its last row.
        void pack(const Index* rows, Index count) {
            constexpr int lanes = lanes_of<T>;
            const Index d = all_->d_;
            for (int v = 0; v < vectors; ++v) {
                const T* x[lanes];
                for (int l = 0; l < lanes; ++l)
                    x[l] = all_->x_ + rows[std::min<Index>(v * lanes + l, count - 1)] * d;
                Vector<T> norm = {};
                T* to = values_.get() + v * lanes;
                Index j = 0;
                for (; j + lanes <= d; j += lanes) {
                    Vector<T> square[lanes];
                    const Vector<T> origin = load(&all_->origin_[j]);
#pragma GCC unroll 16
                    for (int l = 0; l < lanes; ++l) square[l] = load(x[l] + j) - origin;
                    transpose<T>(square);
#pragma GCC unroll 16
                    for (int l = 0; l < lanes; ++l) {
                        std::memcpy(to + (j + l) * panel_rows, &square[l], sizeof square[l]);
                        norm += square[l] * square[l];
                    }
                }
                for (; j < d; ++j) {
                    Vector<T> column;
                    for (int l = 0; l < lanes; ++l) column[l] = x[l][j] - all_->origin_[j];
                    std::memcpy(to + j * panel_rows, &column, sizeof column);
                    norm += column * column;
                }
                norms_[v] = norm;
            }
        }

        // Sums of d products have an error of at most d roundings of ‖x‖‖c‖ (Higham 2002, 3.5).
        void errors(T* out) const {
            const T part =
                static_cast<T>(double(all_->d_ + 16) * double(std::numeric_limits<T>::epsilon()));
            for (Index r = 0; r < panel_rows; ++r) {
                const T norm = norms_[r / lanes_of<T>][r % lanes_of<T>];
                const T both = std::sqrt(norm) + static_cast<T>(all_->farthest_);
                out[r] = part * both * both;
            }
        }

        // Call visit(c, ‖c‖² − 2⟨x, c⟩ of all rows) for all centres in turn.
        template <class Visit>
        GAPLESS_BODY void each_center(Visit&& visit) {
            const Index d = all_->d_, k = all_->k_;
            for (Index c = 0; c < k; c += together) {
                Vector<T> sums[together][vectors] = {};
                const T* x = values_.get();
                const T* z = all_->packed_.get() + c * d;
                for (Index j = 0; j < d; ++j, x += panel_rows, z += together) {
                    Vector<T> row[vectors];
#pragma GCC unroll 2
                    for (int v = 0; v < vectors; ++v) row[v] = load(x + v * lanes_of<T>);
#pragma GCC unroll 8
                    for (int q = 0; q < together; ++q)
#pragma GCC unroll 2
                        for (int v = 0; v < vectors; ++v) sums[q][v] += row[v] * z[q];
                }
#pragma GCC unroll 8
                for (int q = 0; q < together; ++q) {
                    if (c + q >= k) break;
                    Vector<T> squares[vectors];
                    for (int v = 0; v < vectors; ++v)
                        squares[v] = all_->norms_[c + q] - (sums[q][v] + sums[q][v]);
                    visit(c + q, squares);
                }
            }
        }

        const RowsAndCenters* all_;
        std::unique_ptr<T[]> values_;
        Vector<T> norms_[vectors];
    };

private:
    double relative_error() const {
        return double(d_ / (4 * lanes_of<T>)+16) * double(std::numeric_limits<T>::epsilon());
    }

    const T* x_;
    Index n_, d_, k_;
    const T* centers_;
    std::unique_ptr<T[]> origin_, packed_, norms_;
    double farthest_ = 0;
};

// ---- sparse rows ----

template <class T>
class RowsAndCenters<Compressed<T>> {
public:
    using Value = double;
    static constexpr Index panel_rows = 1;

    RowsAndCenters(const Compressed<T>& x, const Centers<T>& centers)
        : x_(x),
          k_(centers.k),
          centers_(centers.data),
          columns_(uninitialized<T>(x.length * k_)),
          norms_(uninitialized<double>(k_)) {
        for (Index c = 0; c < k_; ++c) {
            const T* z = centers_ + c * x_.length;
            norms_[c] = square_sum(z, nullptr, x_.length);
            largest_ = std::max(largest_, norms_[c]);
            for (Index j = 0; j < x_.length; ++j) columns_[j * k_ + c] = z[j];
        }
    }

    Index rows() const { return x_.lines; }
    Index centers() const { return k_; }
    Index entries() const { return x_.start[x_.lines] / std::max<Index>(x_.lines, 1) + 1; }

    void prefetch(Index i) const { __builtin_prefetch(x_.value + x_.start[i]); }

    Measured distance(Index i, Index c) const {
        const T* z = centers_ + c * x_.length;
        double product = 0, norm = 0;
        for (Index p = x_.start[i]; p < x_.start[i + 1]; ++p) {
            product += double(x_.value[p]) * double(z[x_.index[p]]);
            norm += double(x_.value[p]) * double(x_.value[p]);
        }
        return {std::max(norm + norms_[c] - 2 * product, 0.0), error(i, norm, norms_[c])};
    }

    // Differences where the row has entries, and the rest of the centre's norm.
    double exact(Index i, Index c) const {
        const T* z = centers_ + c * x_.length;
        double square = 0;
        Index j = 0;
        for (Index p = x_.start[i]; p < x_.start[i + 1]; ++p, ++j) {
            for (; j < x_.index[p]; ++j) square += double(z[j]) * double(z[j]);
            const double apart = double(x_.value[p]) - double(z[j]);
            square += apart * apart;
        }
        for (; j < x_.length; ++j) square += double(z[j]) * double(z[j]);
        return square;
    }

    class Panel {
    public:
        explicit Panel(const RowsAndCenters& all)
            : all_(&all), squares_(uninitialized<double>(all.k_)) {}

        void measure(const Index* rows, Index, double* out, double* error) {
            const Index k = all_->k_, i = rows[0];
            const Compressed<T>& x = all_->x_;
            double norm = 0;
            std::fill_n(out, k, 0.0);
            for (Index p = x.start[i]; p < x.start[i + 1]; ++p) {
                const double value = double(x.value[p]);
                norm += value * value;
                axpy(value, all_->columns_.get() + x.index[p] * k, out, k);
            }
            for (Index c = 0; c < k; ++c)
                out[c] = std::max(norm + all_->norms_[c] - 2 * out[c], 0.0);
            error[0] = all_->error(i, norm, all_->largest_);
        }

        void nearest_two(const Index* rows, Index count, NearestTwo<double, 1>& out) {
            measure(rows, count, squares_.get(), out.error);
            out.first[0] = out.second[0] = std::numeric_limits<double>::infinity();
            out.label[0] = 0;
            for (Index c = 0; c < all_->k_; ++c) {
                const double square = squares_[c];
                if (square < out.first[0]) {
                    out.second[0] = out.first[0];
                    out.first[0] = square;
                    out.label[0] = static_cast<std::int32_t>(c);
                } else {
                    out.second[0] = std::min(out.second[0], square);
                }
            }
        }

    private:
        const RowsAndCenters* all_;
        std::unique_ptr<double[]> squares_;
    };

private:
    double error(Index i, double norm, double other) const {
        const Index count = x_.start[i + 1] - x_.start[i];
        return 2 * double(count + x_.length + 16) * std::numeric_limits<double>::epsilon() *
               (norm + other);
    }

    Compressed<T> x_;
    Index k_;
    const T* centers_;
    std::unique_ptr<T[]> columns_;  // the centres by columns: d × k
    std::unique_ptr<double[]> norms_;
    double largest_ = 0;
};

}  // namespace gapless
