// The rows of a node in the order of their codes.
//
// A key is a code above a position. Few keys are sorted by counting how many are smaller than each,
// many by their digits from the lowest on; digits that all codes share cost nothing. Either way no
// branch depends on the data.
#pragma once

#include <cstdint>
#include <vector>

#include "trees/tree.hpp"

namespace gapless::growing {

// Rows of equal code: positions order[begin … end−1].
struct CodeGroup {
    std::uint32_t code, begin, end;
};

// Keys in order.
template <class Key>
struct SortedKeys {
    const Key* keys;
    Index count;
    int shift;

    std::uint32_t code(Index k) const { return static_cast<std::uint32_t>(keys[k] >> shift); }
    std::uint32_t position(Index k) const {
        return static_cast<std::uint32_t>(keys[k] & ((Key{1} << shift) - 1));
    }
};

// Call work(codes) with the codes in their own width.
template <class Work>
void with_codes(const CodedColumn& column, Work&& work) {
    if (column.width == 1)
        work(static_cast<const std::uint8_t*>(column.codes));
    else if (column.width == 2)
        work(static_cast<const std::uint16_t*>(column.codes));
    else
        work(static_cast<const std::uint32_t*>(column.codes));
}

class CodeOrder {
public:
    // Sort the rows of a node; returns false if all have the same code.
    bool sort(const CodedColumn& column, const std::uint32_t* rows, Index count);

    // Call work(keys) with the keys as they are sorted, narrow or wide.
    template <class Work>
    void with_keys(Work&& work) const {
        if (is_narrow_)
            work(SortedKeys<std::uint32_t>{narrow_.keys.data(), count_, shift_});
        else
            work(SortedKeys<std::uint64_t>{wide_.keys.data(), count_, shift_});
    }

    // The same as groups of equal code, with the positions of their rows.
    void list_groups(std::vector<CodeGroup>& groups);
    const std::uint32_t* order() const { return order_.data(); }

private:
    // Up to this many rows are compared with each other.
    static constexpr Index few = 64;

    template <class Key>
    struct Buffers {
        std::vector<Key> keys, other;
    };

    template <class Key, class Code>
    bool sort_keys(const Code* codes, const std::uint32_t* rows, Buffers<Key>& buffers);
    void sort_few(std::vector<std::uint32_t>& keys);

    Index count_ = 0;
    int shift_ = 0;
    bool is_narrow_ = true;
    Buffers<std::uint32_t> narrow_;
    Buffers<std::uint64_t> wide_;
    std::vector<std::uint32_t> order_;
};

}  // namespace gapless::growing
