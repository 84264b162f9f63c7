#include "trees/walks.hpp"

#include <algorithm>
#include <array>
#include <bit>

namespace gapless::walking {
namespace {

// A tree for the walk by nodes has positions that fit in a byte.
constexpr Index few_nodes = 255;
// Rows of the walk by levels whose codes stay in the first-level cache, in whole vectors.
constexpr Index tile_rows = 256, lanes = 16;

// Whether loops over tables can use gathering vectors.
#if defined(__AVX2__)
constexpr bool has_gathers = true;
#else
constexpr bool has_gathers = false;
#endif

// ---- by level ----

// One step down for all rows at[0 … count−1], whose codes begin at codes[first[k]]. Leaves are
// their own successors.
template <int bits>
[[gnu::always_inline]] inline void step_down(const std::uint32_t* nodes, const std::uint32_t* codes,
                                             const std::int32_t* first, Index count,
                                             std::int32_t* __restrict at) {
    constexpr std::uint32_t largest = (1u << bits) - 1, per_word = 32 / bits;
    for (Index k = 0; k < count; ++k) {
        const std::int32_t here = at[k];
        const std::uint32_t question = nodes[2 * here];
        const auto next = static_cast<std::int32_t>(nodes[2 * here + 1]);
        const std::uint32_t column = next < 0 ? 0 : question >> (bits + 1);
        const std::uint32_t word = codes[first[k] + static_cast<std::int32_t>(column / per_word)];
        const std::uint32_t code = word >> (column % per_word * bits);
        const std::uint32_t shifted = (code + (question >> bits & 1)) & largest;
        const std::int32_t child = shifted > (question & largest) ? next : here + 1;
        at[k] = next < 0 ? here : child;
    }
}

void step_by_bytes(const std::uint32_t* nodes, const std::uint32_t* codes,
                   const std::int32_t* first, Index count, std::int32_t* at) {
    step_down<8>(nodes, codes, first, count, at);
}

void step_by_pairs(const std::uint32_t* nodes, const std::uint32_t* codes,
                   const std::int32_t* first, Index count, std::int32_t* at) {
    step_down<16>(nodes, codes, first, count, at);
}

// ---- by node ----

// Rows at a node that splits on a number move to the next node, or `skip` nodes further.
void pass_threshold(const std::uint8_t* codes, std::uint8_t here, std::uint8_t shift,
                    std::uint8_t last, std::uint8_t skip, Index rows, std::uint8_t* __restrict at) {
    for (Index i = 0; i < rows; ++i) {
        const auto shifted = static_cast<std::uint8_t>(codes[i] + shift);
        const std::uint8_t move = shifted > last ? skip : 1;
        at[i] = static_cast<std::uint8_t>(at[i] + (at[i] == here ? move : 0));
    }
}

// The same if the move depends on the level: moves[level].
void pass_levels(const std::uint8_t* codes, std::uint8_t here,
                 const std::array<std::uint8_t, 256>& moves, Index rows, std::uint8_t* at) {
    for (Index i = 0; i < rows; ++i)
        at[i] = static_cast<std::uint8_t>(at[i] + (at[i] == here ? moves[codes[i]] : 0));
}

std::array<std::uint8_t, 256> moves_by_level(const AskedColumns& asked, std::uint32_t question,
                                             std::uint8_t skip) {
    std::array<std::uint8_t, 256> moves;
    const double set = asked.content_of(question);
    for (int level = 0; level < 256; ++level) moves[level] = asked.has_level(set, level) ? 1 : skip;
    moves[unknown_level] = skip;
    moves[missing_level] = asked.is_missing_left(question) ? 1 : skip;
    return moves;
}

}  // namespace

// ---- the choice ----

Way way_down(const PackedTrees& trees, Index columns) {
    const AskedColumns& asked = trees.asked;
    Index largest = 0;
    for (Index t = 0; t < trees.count; ++t) largest = std::max(largest, trees.size(t));
    const double count = static_cast<double>(trees.count);
    const double by_numbers = 4 * count * std::bit_width(static_cast<std::uint64_t>(largest));
    // Codes of rows wider than all questions do no harm, but many columns do.
    if (coding_steps(asked) > by_numbers || asked.count > 4 * columns + 64) return Way::scattered;
    if (largest <= few_nodes && asked.code_bits == 8 &&
        (!asked.has_categories || are_levels_short(asked)))
        return Way::by_node;
    return has_gathers && !asked.has_categories ? Way::by_level : Way::scattered;
}

Index rows_together(Way way, Index rows, int threads) {
    // Trees of the walk by level fill the second-level cache and are worth many rows; otherwise
    // rows should stay in the first.
    const Index most = way == Way::by_level ? 4096 : 1024, least = 256;
    const Index share = rows / (4 * std::max(threads, 1)) / least * least;
    return std::clamp(share, least, most);
}

// ---- the walks ----

template <class T>
Passage<T>::Passage(const PackedTrees& trees, Way way, const RowBlock<T>& X, Index rows)
    : trees_(trees), way_(way), X_(X), rows_(rows), node_(rows) {
    if (way == Way::by_node) {
        codes_.resize((rows * trees.asked.count + 3) / 4);
        place_.resize(rows);
        code_by_columns(trees.asked, X, rows, reinterpret_cast<std::uint8_t*>(codes_.data()));
        return;
    }
    moving_.resize(std::max(rows, tile_rows));
    if (way == Way::scattered) return;
    codes_.resize(std::max<Index>(rows * words_per_row(trees.asked), 1));
    first_.resize(tile_rows);
    at_.resize(tile_rows);
    code_by_rows(trees.asked, X, rows, codes_.data());
}

template <class T>
const std::vector<std::int32_t>& Passage<T>::through(Index t,
                                                     const std::vector<std::int32_t>& rows) {
    const PackedNode* nodes = trees_.nodes + trees_.start[t];
    if (way_ == Way::by_node)
        walk_by_node(t);
    else if (way_ == Way::by_level)
        walk_by_level(nodes, trees_.size(t), rows);
    else
        walk_scattered(nodes, rows);
    return node_;
}

// All rows that still move take a step together: their steps do not wait for each other, so the
// processor overlaps its reads from memory.
template <class T>
void Passage<T>::walk_scattered(const PackedNode* nodes, const std::vector<std::int32_t>& rows) {
    const AskedColumns& asked = trees_.asked;
    for (std::int32_t row : rows) node_[row] = 0;
    if (nodes[0].is_leaf()) return;
    std::copy(rows.begin(), rows.end(), moving_.begin());
    auto active = static_cast<Index>(rows.size());
    while (active > 0) {
        Index kept = 0;
        for (Index k = 0; k < active; ++k) {
            const std::int32_t row = moving_[k], here = node_[row];
            const PackedNode node = nodes[here];
            const Index column = asked.column(node.question);
            const double x = X_.at(row, asked.feature[column]);
            const double content = asked.content_of(node.question);
            bool is_left = x <= content;
            if (asked.has_categories && asked.is_category[column]) [[unlikely]]
                is_left = asked.has_level(content, x);
            is_left |= (x != x) & asked.is_missing_left(node.question);
            // Without a branch, which could not be predicted.
            const std::int32_t mask = -static_cast<std::int32_t>(is_left);
            const std::int32_t next = node.next ^ ((node.next ^ (here + 1)) & mask);
            node_[row] = next;
            moving_[kept] = row;
            kept += !nodes[next].is_leaf();
        }
        active = kept;
    }
}

// Some rows at a time, so that their codes stay in the first-level cache. Those at leaves leave
// after every few steps; the first steps of a large tree reach hardly any.
template <class T>
void Passage<T>::walk_by_level(const PackedNode* nodes, Index size,
                               const std::vector<std::int32_t>& rows) {
    const auto* words = reinterpret_cast<const std::uint32_t*>(nodes);
    const auto width = static_cast<std::int32_t>(words_per_row(trees_.asked));
    const auto step = trees_.asked.code_bits == 8 ? step_by_bytes : step_by_pairs;
    const int at_first = std::max<int>(std::bit_width(static_cast<std::uint64_t>(size)) - 2, 1);
    const auto count = static_cast<Index>(rows.size());
    for (Index begin = 0; begin < count; begin += tile_rows) {
        Index active = std::min(tile_rows, count - begin);
        for (Index k = 0; k < active; ++k) {
            moving_[k] = rows[begin + k];
            first_[k] = moving_[k] * width;
        }
        // All of them: the padding of a vector must not be where an earlier, larger tree left it.
        std::fill(at_.begin(), at_.end(), 0);
        for (int steps = at_first; active > 0; steps = 3) {
            // Whole vectors: behind the active rows are rows that have arrived.
            const Index padded = (active + lanes - 1) / lanes * lanes;
            for (int s = 0; s < steps; ++s)
                step(words, codes_.data(), first_.data(), padded, at_.data());
            active = keep_moving(nodes, active);
        }
    }
}

// Record where the active rows are, and compact those that are not in leaves.
template <class T>
Index Passage<T>::keep_moving(const PackedNode* nodes, Index active) {
    Index kept = 0;
    for (Index k = 0; k < active; ++k) {
        const std::int32_t row = moving_[k], here = at_[k], first = first_[k];
        node_[row] = here;
        moving_[kept] = row;
        first_[kept] = first;
        at_[kept] = here;
        kept += !nodes[here].is_leaf();
    }
    return kept;
}

// At every node, in preorder, the rows there move on: no row is visited out of turn, and nothing
// has to be looked up.
template <class T>
void Passage<T>::walk_by_node(Index t) {
    const AskedColumns& asked = trees_.asked;
    const PackedNode* nodes = trees_.nodes + trees_.start[t];
    const auto* codes = reinterpret_cast<const std::uint8_t*>(codes_.data());
    std::fill(place_.begin(), place_.end(), std::uint8_t{0});
    for (Index n = 0; n < trees_.size(t); ++n) {
        if (nodes[n].is_leaf()) continue;
        const std::uint32_t question = nodes[n].question;
        const Index column = asked.column(question);
        const auto here = static_cast<std::uint8_t>(n);
        const auto skip = static_cast<std::uint8_t>(nodes[n].next - n);
        const std::uint8_t* of_rows = codes + column * rows_;
        if (asked.is_category[column])
            pass_levels(of_rows, here, moves_by_level(asked, question, skip), rows_, place_.data());
        else
            pass_threshold(of_rows, here, asked.is_missing_left(question),
                           static_cast<std::uint8_t>(question & asked.largest_code()), skip, rows_,
                           place_.data());
    }
    std::copy(place_.begin(), place_.end(), node_.begin());
}

template class Passage<float>;
template class Passage<double>;

}  // namespace gapless::walking
