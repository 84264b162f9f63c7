// Points in float, 16 side by side, for searches that rule out most of them before any is measured
// in double. Rows are centred and scaled so that none is longer than 1, and stay so when they are
// replaced by means of rows.
#pragma once

#include <limits>
#include <vector>

#include "base/products.hpp"

namespace gapless {

class FloatPanels {
public:
    static constexpr Index lanes = 16;

    FloatPanels(const double* x, Index rows, Index columns, const Context& context);

    Index columns() const { return columns_; }
    static Index panels_of(Index places) { return (places + lanes - 1) / lanes; }
    const float* panel(Index p) const { return values_.data() + p * lanes * columns_; }

    // The row as floats, in the units of the panels.
    void convert(const double* row, float* out) const;
    void put(Index place, const float* row);
    void get(Index place, float* row) const;
    void move(Index from, Index to);
    // Nothing is near an empty place.
    void clear(Index place);

    // The distance in units of the data of a squared one in those of the panels.
    double unscaled(double distance) const { return distance / scale_; }
    // How far a distance in float may be from the true one, in units of the data, besides its
    // relative rounding error.
    double absolute_error() const;
    double relative_error() const;

    // A pair whose squared distance is at most q has a squared distance in float of at most
    // slope · q + offset: with e the error of both rows, (√q + e)² ≤ (1 + η) q + (1 + 1/η) e².
    double slope() const { return slope_; }
    double offset() const { return offset_; }
    float limit(double q) const { return below_largest(slope_ * q + offset_); }
    static float below_largest(double value) {
        return value < 1e38 ? static_cast<float>(value) : std::numeric_limits<float>::max();
    }

private:
    Index columns_;
    std::vector<double> mean_;
    double scale_, slope_, offset_;
    std::vector<float> values_;
};

}  // namespace gapless
