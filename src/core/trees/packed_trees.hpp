// Trees as they are stored and walked: eight bytes for each node.
#pragma once

#include <cstdint>

#include "base/loops.hpp"

namespace gapless {

// A node. Nodes of a tree are in preorder: the left child is the next one.
struct PackedNode {
    std::uint32_t question;  // see AskedColumns; for leaves, how many training rows they had
    std::int32_t next;       // the right child; for leaves ~r, where r is the row of the table

    bool is_leaf() const { return next < 0; }
    Index row() const { return ~next; }
};

// What the nodes split on. All thresholds that a column of X is compared with, in all trees, are
// numbered in increasing order, so that every node knows a value by a short code: the number of
// thresholds below it. A column with more thresholds than there are codes counts as several.
//
// A question is, from the highest bit on: the column; a bit m that says whether missing values go
// left; `code_bits` bits for the last code that goes left, plus m. Missing values have the largest
// code, which becomes the smallest by adding m. If the column has categories, the code is the
// number of the set of levels that go left.
struct AskedColumns {
    Index count;
    const std::int32_t* feature;  // the column of X
    const std::int64_t* first;    // count + 1 offsets into the contents
    const std::uint8_t* is_category;
    const double* content;          // thresholds; or, for categories, numbers of sets
    const std::int64_t* set_start;  // where the words of a set begin, and one more
    const std::uint32_t* words;     // bit `level` of a set: that level goes left
    int code_bits;                  // 8 or 16
    bool has_categories;

    std::uint32_t largest_code() const { return (1u << code_bits) - 1; }
    Index column(std::uint32_t question) const { return question >> (code_bits + 1); }
    bool is_missing_left(std::uint32_t question) const { return question >> code_bits & 1; }
    double content_of(std::uint32_t question) const {
        const Index code = (question & largest_code()) - is_missing_left(question);
        return content[first[column(question)] + code];
    }
    bool has_level(double set, double x) const {
        const std::int64_t* at = set_start + static_cast<Index>(set);
        if (!(x >= 0 && x < static_cast<double>(32 * (at[1] - at[0])))) return false;
        const Index level = static_cast<Index>(x);
        return words[at[0] + level / 32] >> (level % 32) & 1;
    }
};

// Trees one after another: tree t has the nodes start[t] … start[t+1] − 1.
struct PackedTrees {
    const PackedNode* nodes;
    const std::int64_t* start;
    Index count;
    // Values of leaves. If they are several numbers, the first `width` rows are those with a single
    // 1: pure leaves of every class.
    const double* table;
    Index width;
    Index groups;  // tree t adds to the sums of group t % groups
    AskedColumns asked;

    Index size(Index t) const { return start[t + 1] - start[t]; }
};

}  // namespace gapless
