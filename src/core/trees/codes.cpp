#include "trees/codes.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

namespace gapless::walking {
namespace {

// Values looked up together: they stay in the first-level cache.
constexpr Index together = 512;

// place[i] = how many of the increasing thresholds are below x[i]. By bisection; the halves do not
// depend on x, so that all rows take the same steps.
void count_below(const double* thresholds, Index count, const double* x, Index rows,
                 std::int32_t* __restrict place) {
    for (Index i = 0; i < rows; ++i) place[i] = 0;
    for (auto length = static_cast<std::int32_t>(count); length > 0;) {
        const std::int32_t half = (length + 1) / 2;
        for (Index i = 0; i < rows; ++i)
            place[i] += thresholds[place[i] + half - 1] < x[i] ? half : 0;
        length -= half;
    }
}

// The values of a split column, in blocks of rows.
class Column {
public:
    explicit Column(const AskedColumns& asked) : asked_(asked) {}

    template <class T>
    void read(const RowBlock<T>& X, Index v, Index begin, Index count) {
        const Index feature = asked_.feature[v];
        for (Index i = 0; i < count; ++i) x_[i] = X.at(begin + i, feature);
        if (asked_.is_category[v]) {
            for (Index i = 0; i < count; ++i)
                place_[i] =
                    x_[i] >= 0 && x_[i] < unknown_level ? static_cast<int>(x_[i]) : unknown_level;
            return;
        }
        const Index first = asked_.first[v];
        count_below(asked_.content + first, asked_.first[v + 1] - first, x_.data(), count,
                    place_.data());
    }
    template <class Code>
    void write(Code* out, Index stride, Index count) const {
        const auto missing = static_cast<Code>(asked_.largest_code());
        for (Index i = 0; i < count; ++i)
            out[i * stride] = std::isnan(x_[i]) ? missing : static_cast<Code>(place_[i]);
    }

private:
    const AskedColumns& asked_;
    std::array<double, together> x_;
    std::array<std::int32_t, together> place_;
};

// Write the codes of all columns, that of row i in column v to out[i · row_stride + v · stride].
template <class T, class Code>
void code(const AskedColumns& asked, const RowBlock<T>& X, Index rows, Code* out, Index row_stride,
          Index column_stride) {
    Column column(asked);
    for (Index begin = 0; begin < rows; begin += together) {
        const Index count = std::min(together, rows - begin);
        for (Index v = 0; v < asked.count; ++v) {
            column.read(X, v, begin, count);
            column.write(out + begin * row_stride + v * column_stride, row_stride, count);
        }
    }
}

}  // namespace

double coding_steps(const AskedColumns& asked) {
    double steps = 0;
    for (Index v = 0; v < asked.count; ++v)
        steps +=
            1 + std::bit_width(static_cast<std::uint64_t>(asked.first[v + 1] - asked.first[v]));
    return steps;
}

bool are_levels_short(const AskedColumns& asked) {
    for (Index v = 0; v < asked.count; ++v) {
        if (!asked.is_category[v]) continue;
        for (Index k = asked.first[v]; k < asked.first[v + 1]; ++k) {
            const std::int64_t* at = asked.set_start + static_cast<Index>(asked.content[k]);
            if (at[1] - at[0] == 8 && asked.words[at[1] - 1] >> 30 == 0) continue;
            if (at[1] - at[0] >= 8) return false;
        }
    }
    return true;
}

template <class T>
void code_by_columns(const AskedColumns& asked, const RowBlock<T>& X, Index rows,
                     std::uint8_t* out) {
    code(asked, X, rows, out, 1, rows);
}

Index words_per_row(const AskedColumns& asked) { return (asked.count * asked.code_bits + 31) / 32; }

template <class T>
void code_by_rows(const AskedColumns& asked, const RowBlock<T>& X, Index rows, std::uint32_t* out) {
    const Index words = words_per_row(asked);
    if (asked.code_bits == 8)
        code(asked, X, rows, reinterpret_cast<std::uint8_t*>(out), 4 * words, 1);
    else
        code(asked, X, rows, reinterpret_cast<std::uint16_t*>(out), 2 * words, 1);
}

template void code_by_columns(const AskedColumns&, const RowBlock<float>&, Index, std::uint8_t*);
template void code_by_columns(const AskedColumns&, const RowBlock<double>&, Index, std::uint8_t*);
template void code_by_rows(const AskedColumns&, const RowBlock<float>&, Index, std::uint32_t*);
template void code_by_rows(const AskedColumns&, const RowBlock<double>&, Index, std::uint32_t*);

}  // namespace gapless::walking
