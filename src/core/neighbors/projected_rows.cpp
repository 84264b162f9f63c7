#include "neighbors/projected_rows.hpp"

#include "neighbors/float_rows.hpp"
#include "neighbors/row_order.hpp"
#include "neighbors/tile_bounds.hpp"

namespace gapless {
namespace {

constexpr Index most_first = 47;  // directions of the products
constexpr double double_unit = 0x1p-53;
// What underflow in float may add to a product with the farthest query compared this way.
constexpr double underflow = 1e-30;
// Queries beyond this squared length, in units of the longest row, are compared in full.
constexpr double far_away = 1e24;
constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

template <class T>
ProjectedRows<T>::ProjectedRows(const T* x, Index rows, Index columns, const Frame& frame,
                                const Context& context)
    : x_(x),
      rows_(rows),
      columns_(columns),
      mean_(frame.mean, frame.mean + columns),
      size_(frame.size),
      halves_(in_whole_panels(rows), beyond_all) {
    if (frame.basis) basis_.assign(frame.basis, frame.basis + frame.size * columns);
    // Errors relative to the length of x − m: of the projection in double; of the length of the
    // remainder, whose square is a difference, so that √|a² − b²| ≥ |a − b| bounds it; of float.
    const double projecting =
        std::sqrt(static_cast<double>(size_)) * rounding_of_sum(columns + 2, double_unit) +
        frame.defect;
    const double rest =
        std::sqrt(2 * rounding_of_sum(columns + size_ + 4, double_unit) + 3 * projecting);
    error_ = (basis_.empty() ? 2 * double_unit : projecting + rest) + 2 * float_unit;
    slack_ = slack();
    summed_ = summed();

    scale_ = scale_to_float(x, rows, columns, frame.mean, context);

    Projection all = room_for(rows);
    for_blocks_of_rows(rows, context, [&](Index first, Index count) {
        project(x + first * columns, first, count, context.blas, all);
    });
    order_ = grouped(all.values, width(), rows, tile_rows);
    Projection sorted = room_for(rows);
    for_blocks_of_rows(rows, context, [&](Index first, Index count) {
        take_rows(all, order_.data(), first, count, sorted);
    });
    all = std::move(sorted);
    for (Index begin = 0; begin < rows; begin += tile_rows) {
        const Index size = std::min(tile_rows, rows - begin);
        const auto mean = mean_of(all.values.data() + begin * width(), size, width());
        tile_means_.insert(tile_means_.end(), mean.begin(), mean.end());
    }
    for (Index i = 0; i < rows; ++i)
        halves_[i] = static_cast<float>((all.squares[i] - slack_ * all.lengths[i]) / 2);
    if (is_whole()) {
        spread_.resize(rows);
        for (Index i = 0; i < rows; ++i) spread_[i] = rounded_up(1.5 * slack_ * all.lengths[i]);
    }
    values_ = panels_by_columns(all.values, rows, width(), panel_rows, context);
    wide_ = std::move(all.wide);
    if (wide_.empty()) return;
    wide_slack_.resize(rows);
    for (Index i = 0; i < rows; ++i)
        wide_slack_[i] = rounded_up(summed_ * moved() * all.lengths[i]);
}

template <class T>
Index ProjectedRows<T>::first_size() const {
    return basis_.empty() ? size_ : std::min(size_, most_first);
}

template <class T>
typename ProjectedRows<T>::Projection ProjectedRows<T>::room_for(Index count) const {
    return {std::vector<float>(count * width()), std::vector<float>(count * wide_width()),
            std::vector<double>(count), std::vector<double>(count)};
}

template <class T>
void ProjectedRows<T>::take_rows(const Projection& from, const Index* order, Index begin,
                                 Index count, Projection& to) const {
    take(from.values, order, begin, count, width(), to.values);
    take(from.wide, order, begin, count, wide_width(), to.wide);
    take(from.squares, order, begin, count, 1, to.squares);
    take(from.lengths, order, begin, count, 1, to.lengths);
}

// Rows x (count × columns) in the frame, as rows of `out` from `begin` on.
template <class T>
void ProjectedRows<T>::project(const T* x, Index begin, Index count, const Blas& blas,
                               Projection& out) const {
    const Index d = columns_, p = size_;
    std::vector<double> centred(count * d), along(basis_.empty() ? 0 : count * p);
    for (Index i = 0; i < count; ++i)
        centre(x + i * d, mean_.data(), scale_, d, centred.data() + i * d);
    if (!basis_.empty())
        gemm<double>(blas, p, count, d, {basis_.data(), d, Transpose::yes},
                     {centred.data(), d, Transpose::no}, 0.0, along.data(), p);
    const double* from = basis_.empty() ? centred.data() : along.data();
    for (Index i = 0; i < count; ++i)
        write(from + i * p, square_sum(centred.data() + i * d, nullptr, d), begin + i, out);
}

// A row, of this squared length, from its numbers along all directions.
template <class T>
void ProjectedRows<T>::write(const double* along, double length, Index row, Projection& out) const {
    const bool is_far = !(length <= far_away);
    auto put = [&](float* values, Index size) {
        for (Index j = 0; j < size; ++j) values[j] = is_far ? 0 : static_cast<float>(along[j]);
        if (!basis_.empty())
            values[size] = is_far ? 0
                                  : static_cast<float>(std::sqrt(
                                        std::max(length - square_sum(along, nullptr, size), 0.0)));
    };
    float* values = out.values.data() + row * width();
    put(values, first_size());
    if (wide_width()) put(out.wide.data() + row * wide_width(), size_);
    out.squares[row] = square_sum(values, nullptr, width());
    out.lengths[row] = length;
}

// The factor by which a sum in float over all directions may be too large.
template <class T>
double ProjectedRows<T>::summed() const {
    return 1 + 2 * rounding_of_sum(wide_width() + 3, float_unit);
}

// With errors e‖x‖ and e‖z‖ of the projected rows, g‖x‖‖z‖ of their product, and τ = ‖x − z‖²,
//     ‖u − v‖² ≤ (√τ + e‖x‖ + e‖z‖)² ≤ τ(1 + 2e) + (e + 2e²)(‖x‖² + ‖z‖²),
// and 2g‖x‖‖z‖ ≤ g(‖x‖² + ‖z‖²): this returns what ‖x‖² + ‖z‖² is multiplied with, with the few
// roundings in float of what is compared at the end.
template <class T>
double ProjectedRows<T>::slack() const {
    return moved() + 1.01 * rounding_of_sum(width() + 1, float_unit) + 8 * float_unit;
}

// The upper limit of ½‖v‖² − ½ slack ‖z‖² − ⟨u, v⟩ for rows z with ‖x − z‖² ≤ τ = `most`.
template <class T>
double ProjectedRows<T>::limit(double most, double square, double length) const {
    if (!(length <= far_away)) return infinity;
    const double twice = most * (1 + 3 * error_) + slack_ * length - square;
    return twice / 2 + float_unit * std::abs(twice) + underflow;
}

// The upper limit of ‖u − v‖² along all directions, summed in float, for rows z with ‖x − z‖² ≤ τ,
// without the part due to the length of z. Squares of differences have one sign, so that rounding
// only affects a part of the sum.
template <class T>
double ProjectedRows<T>::wide_limit(double most, double length) const {
    if (!(length <= far_away)) return infinity;
    return summed_ * (most * (1 + 3 * error_) + moved() * length) + underflow;
}

// What ‖x − z‖² is at most, if nothing is left over, for rows z whose number b = ½‖v‖² − ½ slack
// ‖z‖² − ⟨u, v⟩ plus their spread, (3/2) slack ‖z‖², is at most `bound`. As above,
//     τ ≤ (1 + 2e)‖u − v‖² + (e + 2e²)(‖x‖² + ‖z‖²)  and
//     ‖u − v‖² ≤ 2b + ‖u‖² + slack ‖z‖² + (slack − e − 2e²)(‖x‖² + ‖z‖²);
// that one more slack (‖x‖² + ‖z‖²) is added here makes up for rounding in float.
template <class T>
double ProjectedRows<T>::most_within(double bound, double square, double length) const {
    if (!(length <= far_away)) return infinity;
    return (1 + 3 * error_) * (2 * bound + square + 2 * slack_ * length) + underflow;
}

template class ProjectedRows<float>;
template class ProjectedRows<double>;

}  // namespace gapless
