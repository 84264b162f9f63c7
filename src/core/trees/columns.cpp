#include "trees/columns.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

namespace gapless {

namespace {

// Unsigned numbers in the order of the floats.
template <class X>
auto ordered_bits(X x) {
    using Bits = std::conditional_t<sizeof(X) == 4, std::uint32_t, std::uint64_t>;
    constexpr Bits sign = Bits{1} << (8 * sizeof(X) - 1);
    auto bits = std::bit_cast<Bits>(x + X{0});  // −0 becomes 0
    return bits & sign ? ~bits : bits | sign;
}

template <class Bits>
struct Entry {
    Bits key;
    std::uint32_t row;
};

// Least significant digit first; a digit that all keys share costs no pass.
template <class Bits>
void radix_sort(std::vector<Entry<Bits>>& entries) {
    constexpr int width = 11, buckets = 1 << width;
    constexpr int digits = (8 * sizeof(Bits) + width - 1) / width;
    std::vector<std::array<std::uint32_t, buckets>> counts(digits);
    for (auto& digit : counts) digit.fill(0);
    for (const auto& entry : entries)
        for (int k = 0; k < digits; ++k) ++counts[k][(entry.key >> (k * width)) & (buckets - 1)];
    std::vector<Entry<Bits>> sorted(entries.size());
    for (int k = 0; k < digits; ++k) {
        auto digit = [&](Bits key) { return (key >> (k * width)) & (buckets - 1); };
        if (counts[k][digit(entries[0].key)] == entries.size()) continue;
        std::uint32_t before = 0;
        for (auto& count : counts[k]) {
            std::uint32_t here = count;
            count = before;
            before += here;
        }
        for (const auto& entry : entries) sorted[counts[k][digit(entry.key)]++] = entry;
        entries.swap(sorted);
    }
}

struct Extent {
    double low = std::numeric_limits<double>::infinity();
    double high = -std::numeric_limits<double>::infinity();
    bool are_whole = true;
};

template <class X>
Extent extent_of(const X* x, Index rows) {
    Extent extent;
    for (Index i = 0; i < rows; ++i) {
        double value = x[i];
        if (std::isnan(value)) continue;
        extent.low = std::min(extent.low, value);
        extent.high = std::max(extent.high, value);
        extent.are_whole &= value == std::floor(value);
    }
    return extent;
}

// Integers in a short range: which of them occur, and how many are below each.
template <class X>
Index rank_whole(const X* x, Index rows, const Extent& extent, std::uint32_t* ranks,
                 double* distinct) {
    std::vector<std::uint32_t> rank(static_cast<std::size_t>(extent.high - extent.low) + 1, 0);
    auto place = [&](X value) { return static_cast<std::size_t>(value - extent.low); };
    for (Index i = 0; i < rows; ++i)
        if (!std::isnan(x[i])) rank[place(x[i])] = 1;
    std::uint32_t count = 0;
    for (std::size_t k = 0; k < rank.size(); ++k) {
        if (!rank[k]) continue;
        distinct[count] = extent.low + static_cast<double>(k);
        rank[k] = count++;
    }
    for (Index i = 0; i < rows; ++i) ranks[i] = std::isnan(x[i]) ? count : rank[place(x[i])];
    return count;
}

template <class X>
Index rank_any(const X* x, Index rows, std::uint32_t* ranks, double* distinct) {
    std::vector<Entry<decltype(ordered_bits(X{}))>> entries;
    entries.reserve(rows);
    for (Index i = 0; i < rows; ++i)
        if (!std::isnan(x[i]))
            entries.push_back({ordered_bits(x[i]), static_cast<std::uint32_t>(i)});
    if (!entries.empty()) radix_sort(entries);
    std::uint32_t count = 0;
    for (std::size_t k = 0; k < entries.size(); ++k) {
        if (k == 0 || entries[k].key != entries[k - 1].key) distinct[count++] = x[entries[k].row];
        ranks[entries[k].row] = count - 1;
    }
    for (Index i = 0; i < rows; ++i)
        if (std::isnan(x[i])) ranks[i] = count;
    return count;
}

}  // namespace

template <class X>
void rank_columns(const X* x, Index rows, Index columns, std::uint32_t* ranks, double* distinct,
                  std::int64_t* counts, const Context& context) {
    int threads =
        useful_threads(static_cast<double>(rows) * static_cast<double>(columns), context.threads);
    parallel_for(columns, threads, context.poll, [&](Index j) {
        const X* column = x + j * rows;
        Extent extent = extent_of(column, rows);
        bool is_short = extent.are_whole && extent.high - extent.low <= 4.0 * rows + 256;
        counts[j] = is_short && extent.low <= extent.high
                        ? rank_whole(column, rows, extent, ranks + j * rows, distinct + j * rows)
                        : rank_any(column, rows, ranks + j * rows, distinct + j * rows);
    });
}

template void rank_columns(const float*, Index, Index, std::uint32_t*, double*, std::int64_t*,
                           const Context&);
template void rank_columns(const double*, Index, Index, std::uint32_t*, double*, std::int64_t*,
                           const Context&);

}  // namespace gapless
