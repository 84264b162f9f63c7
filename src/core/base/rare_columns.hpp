// Gram matrices of tables in which many columns are nearly always 0, such as one-hot codes: such a
// column costs the rows in which it is not 0, and only the others are multiplied in full.
#pragma once

#include <algorithm>
#include <bit>
#include <vector>

#include "base/panels.hpp"

namespace gapless {

// The entries of a vector that are not 0, as bits.
#if defined(__AVX2__) && !defined(__AVX512F__)
GAPLESS_BODY unsigned filled_lanes(const double* x) {
    return static_cast<unsigned>(__builtin_ia32_movmskpd256((Vector<double>)(load(x) != 0.0)));
}
GAPLESS_BODY unsigned filled_lanes(const float* x) {
    return static_cast<unsigned>(__builtin_ia32_movmskps256((Vector<float>)(load(x) != 0.0f)));
}
#else
template <class X>
GAPLESS_BODY unsigned filled_lanes(const X* x) {
    unsigned filled = 0;
    for (int j = 0; j < lanes_of<X>; ++j) filled |= unsigned(x[j] != X(0)) << j;
    return filled;
}
#endif

// Which columns are rare: not 0 in at most one of eight rows, judged by some of them.
struct RareColumns {
    std::vector<Index> common, rare;   // positions in X
    std::vector<std::int32_t> number;  // of each column of X among the rare ones, or −1
    std::vector<std::uint64_t> masks;  // a bit for each column of X that is rare

    template <class X, class V>
    RareColumns(const PackedRows<X, V>& rows, Index columns, Index count)
        : number(columns, -1), masks(ceil_div(columns, 64)) {
        constexpr Index looked_at = 512, rarest = 8;
        const Index step = std::max<Index>(count / looked_at, 1);
        std::vector<Index> filled(columns);
        Index seen = 0;
        for (Index i = 0; i < count; i += step, ++seen) {
            const X* x = rows.x + (rows.index ? rows.index[i] : i) * rows.stride;
            for (Index j = 0; j < columns; ++j) filled[j] += x[j] != X(0);
        }
        for (Index j = 0; j < columns; ++j) {
            if (rarest * filled[j] > seen) {
                common.push_back(j);
                continue;
            }
            number[j] = static_cast<std::int32_t>(rare.size());
            rare.push_back(j);
            masks[j / 64] |= std::uint64_t(1) << (j % 64);
        }
    }

    // Whether leaving them out saves most of the work.
    bool are_most() const { return rare.size() >= 16 && rare.size() >= 2 * common.size(); }
};

// Sums over rows, scaled, with the common columns centred and the rare ones as they are. A column
// of ones next to the common ones gives what centring the rare ones takes.
template <class X, class V>
class RareGram {
public:
    static constexpr Index longest = 128;  // rows of a piece

    RareGram(const RareColumns& columns, const PackedRows<X, V>& rows, Index all)
        : columns_(columns),
          rows_(rows),
          all_(all),
          width_(ceil_div(common() + 1, PanelsOf::width) * PanelsOf::width),
          panels_(width_),
          center_(common()),
          packed_(longest * width_),
          filled_(all) {
        for (Index k = 0; k < common() && rows.center; ++k)
            center_[k] = rows.center[columns.common[k]];
    }

    Index common() const { return static_cast<Index>(columns_.common.size()); }
    Index rare() const { return static_cast<Index>(columns_.rare.size()); }
    // Entries of the sums of a lane: common × common, rare × common, rare × rare.
    Index size() const { return (width_ + rare()) * width_ + rare() * rare(); }

    void add(Range piece, bool is_first, V* sums) {
        V* with_common = sums + width_ * width_;
        V* with_rare = with_common + rare() * width_;
        if (is_first) std::fill(with_common, sums + size(), V(0));
        // First all rows are packed: what was just written by numbers is not read well by vectors.
        for (Index i = piece.begin; i < piece.end; ++i) pack(i, packed(i - piece.begin));
        for (Index i = piece.begin; i < piece.end; ++i) {
            const X* x = row(i);
            const V* common_part = packed(i - piece.begin);
            const V scale = common_part[common()];
            const Index count = find_rare(x);
            for (Index p = 0; p < count; ++p) {
                const V value = static_cast<V>(x[columns_.rare[filled_[p]]]) * scale;
                V* to = with_common + filled_[p] * width_;
#pragma omp simd
                for (Index k = 0; k < width_; ++k) to[k] += value * common_part[k];
                for (Index q = 0; q <= p; ++q)
                    with_rare[filled_[p] * rare() + filled_[q]] +=
                        value * (static_cast<V>(x[columns_.rare[filled_[q]]]) * scale);
            }
        }
        const PackedRows<V, V> common_rows{packed(0), width_, nullptr, nullptr, nullptr};
        panels_.add(common_rows, {0, piece.size()}, is_first, sums);
    }

    // Entry (i, j) of the Gram matrix, j ≤ i, from the sums of all lanes, in place of the first.
    V entry(const V* sums, Index i, Index j) const {
        const Index a = columns_.number[i], b = columns_.number[j];
        const V* with_common = sums + width_ * width_;
        const auto of_common = [&](Index column) {
            const auto& known = columns_.common;
            return std::lower_bound(known.begin(), known.end(), column) - known.begin();
        };
        const auto mean = [&](Index column) { return rows_.center ? rows_.center[column] : V(0); };
        // The lower triangle of the panels: the ones come last.
        const auto total = [&](Index k) { return sums[common() * width_ + k]; };
        if (a < 0 && b < 0) return sums[of_common(i) * width_ + of_common(j)];
        if (a >= 0 && b >= 0) {
            const V sum_a = with_common[a * width_ + common()];
            const V sum_b = with_common[b * width_ + common()];
            return with_common[rare() * width_ + a * rare() + b] - mean(j) * sum_a -
                   mean(i) * (sum_b - mean(j) * total(common()));
        }
        const Index k = of_common(a < 0 ? i : j), r = a < 0 ? b : a;
        return with_common[r * width_ + k] - mean(a < 0 ? j : i) * total(k);
    }

private:
    using PanelsOf = Panels<2, V, V>;

    const X* row(Index i) const {
        return rows_.x + (rows_.index ? rows_.index[i] : i) * rows_.stride;
    }
    V* packed(Index i) { return packed_.data() + i * width_; }

    // The common columns of a row, centred and scaled, and its scale.
    void pack(Index i, V* out) const {
        const X* x = row(i);
        const V scale = rows_.scale ? rows_.scale[i] : V(1);
        for (Index k = 0; k < common(); ++k)
            out[k] = (static_cast<V>(x[columns_.common[k]]) - center_[k]) * scale;
        out[common()] = scale;
    }

    // The rare columns that are not 0 in a row: their numbers are put into filled_.
    Index find_rare(const X* x) {
        Index count = 0;
        for (Index first = 0, k = 0; first < all_; first += 64, ++k) {
            const Index end = std::min<Index>(64, all_ - first);
            std::uint64_t bits = 0;
            Index j = 0;
            for (; j + lanes_of<X> <= end; j += lanes_of<X>)
                bits |= std::uint64_t(filled_lanes(x + first + j)) << j;
            for (; j < end; ++j) bits |= std::uint64_t(x[first + j] != X(0)) << j;
            // The number of rare ones hardly varies from row to row, so this loop is predicted.
            for (bits &= columns_.masks[k]; bits; bits &= bits - 1)
                filled_[count++] = columns_.number[first + std::countr_zero(bits)];
        }
        return count;
    }

    const RareColumns& columns_;
    PackedRows<X, V> rows_;
    Index all_, width_;
    PanelsOf panels_;
    std::vector<V> center_, packed_;
    std::vector<std::int32_t> filled_;
};

}  // namespace gapless
