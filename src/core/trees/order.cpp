#include "trees/order.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <type_traits>

namespace gapless::growing {

namespace {

// sorted = the keys in order; `padded` is their number rounded up to a multiple of 16, filled with
// the largest number.
void sort_by_rank(const std::int32_t* keys, Index padded, Index count, std::uint32_t* sorted) {
    for (Index i = 0; i < count; ++i) {
        std::int32_t key = keys[i], smaller = 0;
        for (Index k = 0; k < padded; ++k) smaller += keys[k] < key;
        sorted[smaller] = static_cast<std::uint32_t>(key);
    }
}

// One digit of a radix sort that begins at bit `low`.
template <int width, class Key>
void sort_digit(const Key* from, Key* to, Index count, int low) {
    std::array<std::uint32_t, 1 << width> begin{};
    constexpr Key mask = (1 << width) - 1;
    for (Index i = 0; i < count; ++i) ++begin[(from[i] >> low) & mask];
    std::uint32_t before = 0;
    for (auto& bucket : begin) {
        std::uint32_t here = bucket;
        bucket = before;
        before += here;
    }
    for (Index i = 0; i < count; ++i) to[begin[(from[i] >> low) & mask]++] = from[i];
}

}  // namespace

bool CodeOrder::sort(const CodedColumn& column, const std::uint32_t* rows, Index count) {
    count_ = count;
    shift_ = count <= few ? 6 : std::bit_width(static_cast<std::uint64_t>(count - 1));
    // One bit less than available, because few keys are compared as signed numbers.
    is_narrow_ = std::bit_width(column.count) + shift_ < 32;
    bool differ = false;
    with_codes(column, [&](const auto* codes) {
        differ = is_narrow_ ? sort_keys(codes, rows, narrow_) : sort_keys(codes, rows, wide_);
    });
    return differ;
}

template <class Key, class Code>
bool CodeOrder::sort_keys(const Code* codes, const std::uint32_t* rows, Buffers<Key>& buffers) {
    auto room = static_cast<std::size_t>(std::max(count_, few));
    if (buffers.keys.size() < room) {
        buffers.keys.resize(room);
        buffers.other.resize(room);
    }
    Key* keys = buffers.keys.data();
    Key first = codes[rows[0]], differences = 0;
    for (Index i = 0; i < count_; ++i) {
        Key code = codes[rows[i]];
        differences |= code ^ first;
        keys[i] = code << shift_ | static_cast<Key>(i);
    }
    if (differences == 0) return false;
    if constexpr (std::is_same_v<Key, std::uint32_t>)
        if (count_ <= few) {
            sort_few(buffers.keys);
            return true;
        }
    // The cheaper width: for each digit, two visits of all keys and one of the buckets.
    auto cost = [&](int width) {
        int digits = (std::bit_width(differences) + width - 1) / width;
        return digits * (2 * count_ + (Index{1} << width));
    };
    int width = cost(6) < cost(8) ? 6 : 8;
    for (int low = 0; differences >> low; low += width) {
        if (((differences >> low) & ((1 << width) - 1)) == 0) continue;
        const Key* from = buffers.keys.data();
        if (width == 6)
            sort_digit<6>(from, buffers.other.data(), count_, shift_ + low);
        else
            sort_digit<8>(from, buffers.other.data(), count_, shift_ + low);
        buffers.keys.swap(buffers.other);
    }
    return true;
}

void CodeOrder::sort_few(std::vector<std::uint32_t>& keys) {
    std::array<std::int32_t, few> copy;
    copy.fill(std::numeric_limits<std::int32_t>::max());
    for (Index i = 0; i < count_; ++i) copy[i] = static_cast<std::int32_t>(keys[i]);
    sort_by_rank(copy.data(), (count_ + 15) / 16 * 16, count_, keys.data());
}

void CodeOrder::list_groups(std::vector<CodeGroup>& groups) {
    order_.resize(std::max(order_.size(), static_cast<std::size_t>(count_)));
    groups.clear();
    with_keys([&](const auto& sorted) {
        for (Index k = 0; k < count_; ++k) {
            std::uint32_t code = sorted.code(k), at = static_cast<std::uint32_t>(k);
            order_[k] = sorted.position(k);
            if (k == 0 || groups.back().code != code) groups.push_back({code, at, at});
            groups.back().end = at + 1;
        }
    });
}

}  // namespace gapless::growing
