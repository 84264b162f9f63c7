#include "clustering/float_panels.hpp"

#include "neighbors/float_rows.hpp"

namespace gapless {
namespace {

// η of the limits: it costs a thousandth of the pairs that could be ruled out.
constexpr double loosening = 1e-3;
// Two rows of length at most 1, each rounded to float; a little more for their subtraction.
constexpr double error_of_rows = 2 * 1.01 * float_unit;
constexpr double underflow = 1e-36;

}  // namespace

FloatPanels::FloatPanels(const double* x, Index rows, Index columns, const Context& context)
    : columns_(columns), mean_(columns) {
    for (Index i = 0; i < rows; ++i)
        for (Index j = 0; j < columns; ++j)
            mean_[j] += x[i * columns + j] / static_cast<double>(rows);
    scale_ = scale_to_float(x, rows, columns, mean_.data(), context);
    const double rounding = 1 + 2 * rounding_of_sum(columns + 8, float_unit);
    slope_ = rounding * (1 + loosening) * scale_ * scale_;
    offset_ = rounding * (1 + 1 / loosening) * error_of_rows * error_of_rows + underflow;
    values_.assign(panels_of(rows) * lanes * columns, std::numeric_limits<float>::infinity());
    for_blocks_of_rows(rows, context, [&](Index first, Index count) {
        std::vector<float> row(columns);
        for (Index i = first; i < first + count; ++i) {
            convert(x + i * columns, row.data());
            put(i, row.data());
        }
    });
}

double FloatPanels::absolute_error() const { return error_of_rows / scale_; }

double FloatPanels::relative_error() const { return rounding_of_sum(columns_ + 8, float_unit); }

void FloatPanels::convert(const double* row, float* out) const {
    for (Index j = 0; j < columns_; ++j) out[j] = static_cast<float>((row[j] - mean_[j]) * scale_);
}

void FloatPanels::put(Index place, const float* row) {
    float* own = values_.data() + place / lanes * lanes * columns_ + place % lanes;
    for (Index j = 0; j < columns_; ++j) own[j * lanes] = row[j];
}

void FloatPanels::get(Index place, float* row) const {
    const float* own = values_.data() + place / lanes * lanes * columns_ + place % lanes;
    for (Index j = 0; j < columns_; ++j) row[j] = own[j * lanes];
}

void FloatPanels::move(Index from, Index to) {
    const float* source = values_.data() + from / lanes * lanes * columns_ + from % lanes;
    float* target = values_.data() + to / lanes * lanes * columns_ + to % lanes;
    for (Index j = 0; j < columns_; ++j) target[j * lanes] = source[j * lanes];
}

void FloatPanels::clear(Index place) {
    float* own = values_.data() + place / lanes * lanes * columns_ + place % lanes;
    for (Index j = 0; j < columns_; ++j) own[j * lanes] = std::numeric_limits<float>::infinity();
}

}  // namespace gapless
