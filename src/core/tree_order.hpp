// The rows of a node in the order of their codes, in groups of equal code.
//
// Many rows are put in order by a set of bits: each row sets the bit of its code and joins the list
// of that code; the bits are then read in increasing order, through further levels of bits that say
// which words are not empty where words are many. No comparison, no second pass, and nothing to
// clear but what was set. Few rows are put in order by counting how many are smaller than each.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "tree.hpp"

namespace gapless::growing {

struct CodeGroup {
    std::uint32_t code, begin, end;  // positions order[begin … end−1]
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
    void sort(const CodedColumn& column, const std::uint32_t* rows, Index count,
              std::vector<CodeGroup>& groups);
    const std::uint32_t* order() const { return order_.data(); }

private:
    // Up to so many rows are compared with each other.
    static constexpr Index few = 64;
    static constexpr std::uint32_t none = ~0u;

    void fit(Index rows, std::uint32_t codes);
    template <class Code>
    void sort_few(const Code* codes, const std::uint32_t* rows, Index count,
                  std::vector<CodeGroup>& groups);
    template <class Code, bool has_levels>
    void enlist(const Code* codes, const std::uint32_t* rows, Index count);
    void collect(std::uint32_t codes, bool has_levels, std::vector<CodeGroup>& groups);

    std::vector<std::uint64_t> bits_[3];
    std::vector<std::uint32_t> head_, next_, order_;
};

}  // namespace gapless::growing
