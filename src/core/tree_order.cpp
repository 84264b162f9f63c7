#include "tree_order.hpp"

namespace gapless::growing {

namespace {

// rank[i] = the number of keys below key i; `padded` counts keys up to a multiple of 16.
GAPLESS_CLONES void count_smaller(const std::int32_t* keys, Index padded, Index count,
                                  std::int32_t* rank) {
    for (Index i = 0; i < count; ++i) {
        std::int32_t key = keys[i], smaller = 0;
        for (Index k = 0; k < padded; ++k) smaller += keys[k] < key;
        rank[i] = smaller;
    }
}

// Visit the bits of a word in increasing order, and clear it.
template <class Visit>
void each_bit(std::uint64_t& word, std::size_t offset, Visit visit) {
    std::uint64_t left = word;
    word = 0;
    for (; left; left &= left - 1) visit(offset + std::countr_zero(left));
}

}  // namespace

void CodeOrder::fit(Index rows, std::uint32_t codes) {
    if (static_cast<Index>(next_.size()) < rows) {
        next_.resize(rows);
        order_.resize(rows);
    }
    if (head_.size() >= codes) return;
    head_.resize(codes);
    for (int level = 0; level < 3; ++level) bits_[level].resize((codes >> (6 * level + 6)) + 1, 0);
}

void CodeOrder::sort(const CodedColumn& column, const std::uint32_t* rows, Index count,
                     std::vector<CodeGroup>& groups) {
    std::uint32_t codes = column.count + 1;
    fit(std::max(count, few), codes);
    groups.clear();
    // A key is a code and a position below 64 in 31 bits.
    constexpr std::uint32_t largest_key_code = 1u << 25;
    with_codes(column, [&](const auto* code) {
        if (count <= few && codes < largest_key_code) {
            sort_few(code, rows, count, groups);
            return;
        }
        // Levels pay where most words of bits would be empty.
        bool has_levels = codes / 64 > static_cast<std::uint32_t>(count);
        if (has_levels)
            enlist<std::remove_cvref_t<decltype(*code)>, true>(code, rows, count);
        else
            enlist<std::remove_cvref_t<decltype(*code)>, false>(code, rows, count);
        collect(codes, has_levels, groups);
    });
}

template <class Code>
void CodeOrder::sort_few(const Code* codes, const std::uint32_t* rows, Index count,
                         std::vector<CodeGroup>& groups) {
    std::int32_t keys[few], rank[few], sorted[few];
    Index padded = (count + 15) / 16 * 16;
    for (Index i = 0; i < count; ++i)
        keys[i] = static_cast<std::int32_t>((std::uint32_t{codes[rows[i]]} << 6) |
                                            static_cast<std::uint32_t>(i));
    for (Index i = count; i < padded; ++i) keys[i] = std::numeric_limits<std::int32_t>::max();
    count_smaller(keys, padded, count, rank);
    for (Index i = 0; i < count; ++i) sorted[rank[i]] = keys[i];
    for (Index i = 0; i < count; ++i) {
        auto code = static_cast<std::uint32_t>(sorted[i] >> 6);
        order_[i] = static_cast<std::uint32_t>(sorted[i] & 63);
        if (i == 0 || groups.back().code != code)
            groups.push_back({code, static_cast<std::uint32_t>(i), 0});
        groups.back().end = static_cast<std::uint32_t>(i + 1);
    }
}

// Set the bits of all codes, and link the rows of each.
template <class Code, bool has_levels>
void CodeOrder::enlist(const Code* codes, const std::uint32_t* rows, Index count) {
    std::uint64_t* bits = bits_[0].data();
    std::uint32_t *head = head_.data(), *next = next_.data();
    for (Index i = 0; i < count; ++i) {
        std::uint32_t code = codes[rows[i]];
        std::uint64_t bit = std::uint64_t{1} << (code & 63);
        std::uint64_t& word = bits[code >> 6];
        next[i] = word & bit ? head[code] : none;
        head[code] = static_cast<std::uint32_t>(i);
        word |= bit;
        if constexpr (has_levels) {
            bits_[1][code >> 12] |= std::uint64_t{1} << ((code >> 6) & 63);
            bits_[2][code >> 18] |= std::uint64_t{1} << ((code >> 12) & 63);
        }
    }
}

void CodeOrder::collect(std::uint32_t codes, bool has_levels, std::vector<CodeGroup>& groups) {
    std::uint32_t filled = 0;
    auto visit_word = [&](std::size_t word) {
        each_bit(bits_[0][word], word << 6, [&](std::size_t code) {
            std::uint32_t begin = filled;
            for (std::uint32_t i = head_[code]; i != none; i = next_[i]) order_[filled++] = i;
            groups.push_back({static_cast<std::uint32_t>(code), begin, filled});
        });
    };
    if (!has_levels) {
        for (std::size_t word = 0; word <= (codes - 1) >> 6; ++word) visit_word(word);
        return;
    }
    for (std::size_t top = 0; top <= (codes - 1) >> 18; ++top)
        each_bit(bits_[2][top], top << 6,
                 [&](std::size_t middle) { each_bit(bits_[1][middle], middle << 6, visit_word); });
}

}  // namespace gapless::growing
