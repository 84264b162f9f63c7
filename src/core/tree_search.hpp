// The best split of one node by one column: its rows in groups of equal code, the groups in order,
// and every place between two of them tried.
//
// Groups are found in O(rows) either way. Where the column has few codes for the rows, a table of
// counts by code is filled. Otherwise rows are put in order by a set of bits: each row sets the bit
// of its code and joins the list of that code; the bits are then read in increasing order, through
// two further levels of bits that say which words are not empty. No comparison, no second pass, and
// nothing to clear but what was set.
#pragma once

#include <bit>
#include <numeric>

#include "tree_random.hpp"
#include "tree_targets.hpp"

namespace gapless::growing {

struct Split {
    double score = -std::numeric_limits<double>::infinity();
    double gain = 0, information = 1;  // decrease of impurity; of the split itself (gain ratio)
    std::int32_t column = -1;
    std::uint32_t left_code = 0;  // numbers up to this code go left
    double threshold = 0;
    bool missing_left = false, has_missing = false;
    std::vector<std::uint32_t> left_levels;  // for categories, increasing
    double left_center = 0, right_center = 0;

    bool is_found() const { return column >= 0; }
};

// The bounds that monotonic constraints higher up put on the predictions of a node.
struct Bounds {
    double lower = -std::numeric_limits<double>::infinity();
    double upper = std::numeric_limits<double>::infinity();
};

// What a search must know of a node besides its targets.
struct NodeRows {
    const std::uint32_t* rows;
    Index count;
    const std::uint32_t* counts;  // per row of the data: how many rows it stands for
    std::int64_t total;           // their sum over the node
    std::uint64_t seed;
    Bounds bounds;
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

// Rows put in the order of their codes by a set of bits in three levels.
class CodeOrder {
public:
    struct Group {
        std::uint32_t code, begin, end;  // positions order[begin … end−1]
    };

    void fit(Index rows, std::uint32_t codes) {
        next_.resize(std::max<std::size_t>(next_.size(), rows));
        order_.resize(std::max<std::size_t>(order_.size(), rows));
        if (head_.size() >= codes) return;
        head_.resize(codes);
        for (int level = 0; level < 3; ++level)
            bits_[level].resize((codes >> (6 * (level + 1))) + 1, 0);
    }

    template <class Code>
    void sort(const Code* codes, const std::uint32_t* rows, Index count,
              std::vector<Group>& groups) {
        constexpr std::uint32_t none = ~0u;
        for (Index i = 0; i < count; ++i) {
            std::uint32_t code = codes[rows[i]];
            std::uint64_t bit = std::uint64_t{1} << (code & 63);
            std::uint64_t& word = bits_[0][code >> 6];
            next_[i] = word & bit ? head_[code] : none;
            head_[code] = static_cast<std::uint32_t>(i);
            word |= bit;
            bits_[1][code >> 12] |= std::uint64_t{1} << ((code >> 6) & 63);
            bits_[2][code >> 18] |= std::uint64_t{1} << ((code >> 12) & 63);
        }
        groups.clear();
        std::uint32_t filled = 0;
        for (std::size_t top = 0; top < bits_[2].size(); ++top)
            each_bit(bits_[2][top], top << 6, [&](std::size_t middle) {
                each_bit(bits_[1][middle], middle << 6, [&](std::size_t word) {
                    each_bit(bits_[0][word], word << 6, [&](std::size_t code) {
                        std::uint32_t begin = filled;
                        for (std::uint32_t i = head_[code]; i != none; i = next_[i])
                            order_[filled++] = i;
                        groups.push_back({static_cast<std::uint32_t>(code), begin, filled});
                    });
                });
            });
    }
    const std::uint32_t* order() const { return order_.data(); }

private:
    // Visit the bits of a word in increasing order, and clear it.
    template <class Visit>
    static void each_bit(std::uint64_t& word, std::size_t offset, Visit visit) {
        std::uint64_t left = word;
        word = 0;
        for (; left; left &= left - 1) visit(offset + std::countr_zero(left));
    }

    std::vector<std::uint64_t> bits_[3];
    std::vector<std::uint32_t> head_, next_, order_;
};

// One thread's search. Kept from node to node, so that nothing is allocated on the way.
template <class Target>
class ColumnSearch {
public:
    using Node = typename Target::Node;
    using Cell = typename Target::Cell;
    using Group = CodeOrder::Group;

    ColumnSearch(const TreeData& data, const Target& target, const TreeOptions& options)
        : data_(data), target_(target), options_(options) {}

    // The best split by a column; returns false if the column is constant in the node.
    bool search(const NodeRows& node, const Node& targets, std::int32_t j, Split& best);

private:
    enum class Form { table, ordered };

    Form form(const CodedColumn& column, Index rows) const {
        // A table costs a look at all of its cells, an ordered row about as much as eight of them.
        bool is_small = (column.count + 1.0) * static_cast<double>(target_.cells()) <=
                        8.0 * static_cast<double>(rows);
        return Target::has_cells && is_small ? Form::table : Form::ordered;
    }

    void fill_table(const NodeRows& node, const Node& targets, const CodedColumn& column);
    void fill_ordered(const NodeRows& node, const Node& targets, const CodedColumn& column);
    void order_levels(const Node& targets, std::size_t groups);
    void clear_cells();
    Index cell_of(const Group& group) const {
        return (form_ == Form::table ? group.code : group.begin) * target_.cells();
    }
    void move(const NodeRows& node, const Group& group);
    void try_places(const NodeRows& node, const Node& targets, std::int32_t j, Split& best);
    void try_random(const NodeRows& node, const Node& targets, std::int32_t j, Split& best);
    void consider(const NodeRows& node, std::int32_t j, std::size_t place, bool missing_left,
                  Split& best);
    double threshold_after(const CodedColumn& column, std::size_t place) const;

    const TreeData& data_;
    const Target& target_;
    const TreeOptions& options_;
    Form form_ = Form::table;
    CodeOrder sorter_;
    std::vector<Group> groups_;
    std::vector<Cell> cells_;            // zero between searches
    std::vector<std::uint32_t> counts_;  // rows by code, where leaves need several rows
    std::vector<double> keys_, profile_;
    typename Target::Sides sides_;
    std::int64_t count_left_ = 0;
    bool has_missing_ = false;
    std::size_t best_place_ = 0;
};

}  // namespace gapless::growing
