#include "boosting/partition.hpp"

#include <algorithm>
#include <vector>

namespace gapless {

Sides sides(const BinnedColumn& column, const Split& split) {
    const auto goes_left = [&](std::int32_t c) {
        if (column.is_categorical) return split.holds(c);
        const bool is_missing = column.has_missing && c == column.codes - 1;
        return is_missing ? split.missing_left : c <= split.code;
    };
    Sides left;
    // A bin of another column of the bundle means the most frequent code of this one.
    left.fill(column.frequent >= 0 && goes_left(column.frequent));
    for (std::int32_t c = 0; c < column.codes; ++c)
        if (c != column.frequent) left[column.bin(c)] = goes_left(c);
    return left;
}

Index divide_rows(const std::uint8_t* code, const Sides& left, const NodeRows& node, Team& team) {
    const auto [rows, spare, count] = node;
    const Index pieces = std::clamp<Index>(count / rows_per_piece, 1, team.size());
    std::vector<Index> lefts(pieces);
    const auto first = [&, count = count](Index p) { return count * p / pieces; };
    team.each(pieces, [&, rows = rows, spare = spare](Index p) {
        std::uint32_t *to = rows + first(p), *away = spare + first(p);
        for (Index i = first(p); i < first(p + 1); ++i) {
            const std::uint32_t row = rows[i];
            const bool goes_left = left[code[row]];
            *to = row, to += goes_left;
            *away = row, away += !goes_left;
        }
        lefts[p] = to - (rows + first(p));
    });
    Index total = lefts[0];
    for (Index p = 1; p < pieces; ++p) {
        std::copy_n(rows + first(p), lefts[p], rows + total);
        total += lefts[p];
    }
    for (Index p = 0, at = total; p < pieces; ++p) {
        const Index rights = first(p + 1) - first(p) - lefts[p];
        std::copy_n(spare + first(p), rights, rows + at);
        at += rights;
    }
    return total;
}

}  // namespace gapless
