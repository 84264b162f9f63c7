// The best split of one node by one column: its rows in groups of equal code, the groups in order,
// and every place between two of them tried.
//
// Groups are found in O(rows) either way: if the column has few codes for the rows, by a table of
// counts by code, else by sorting the rows.
#pragma once

#include <numeric>
#include <span>

#include "trees/classes.hpp"
#include "trees/random.hpp"

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

// What a search must know about a node besides its targets.
struct NodeRows {
    const std::uint32_t* rows;
    Index count;
    const std::uint32_t* counts;  // per row of the data: how many rows it stands for
    std::int64_t total;           // their sum over the node
    std::uint64_t seed;
    Bounds bounds;
    std::uint64_t number;  // tells the nodes of one tree apart; from 1
};

// One thread's search. Kept from node to node, so that nothing is allocated during a search.
template <class Target>
class ColumnSearch {
public:
    using Node = typename Target::Node;
    using Cell = typename Target::Cell;
    using Group = CodeGroup;

    ColumnSearch(const TreeData& data, const Target& target, const TreeOptions& options)
        : data_(data),
          target_(target),
          options_(options),
          is_plain_(options.min_samples_leaf <= 1 && options.min_weight_leaf <= 0 &&
                    !options.monotonic && !options.random_thresholds && target.can_scan()),
          bundles_(data.bundles.size()) {}

    // The best split by a column; returns false if the column is constant in the node.
    bool search(const NodeRows& node, const Node& targets, std::int32_t j, Split& best);

private:
    enum class Form { table, ordered };

    // Counts by the codes of a bundle, and the node they belong to.
    struct BundleTable {
        std::vector<Cell> cells;
        std::vector<std::int64_t> counts;
        std::uint64_t node = 0;
    };

    Form form(const CodedColumn& column, Index rows) const {
        // A table costs a visit to all of its cells, a sorted row about as much as four of them.
        bool is_small = (column.count + 1.0) * static_cast<double>(target_.cells()) <=
                        4.0 * static_cast<double>(rows);
        return Target::has_cells && is_small ? Form::table : Form::ordered;
    }

    template <class Code>
    void count_codes(const Code* codes, std::uint32_t size, const NodeRows& node,
                     const Node& targets, std::vector<Cell>& cells,
                     std::vector<std::int64_t>& counts);
    void fill_table(const NodeRows& node, const Node& targets, const CodedColumn& column);
    void fill_bundled(const NodeRows& node, const Node& targets, const CodedColumn& column);
    void list_groups(const CodedColumn& column);
    bool find_groups(const NodeRows& node, const Node& targets, const CodedColumn& column);
    void search_groups(const NodeRows& node, const Node& targets, std::int32_t j, Split& best);
    void scan_sorted(const Node& targets, std::int32_t j, Split& best);
    void add_levels(const NodeRows& node, const Node& targets);
    void order_levels(const Node& targets, std::size_t groups);
    void clear_cells();
    Index cell_of(const Group& group) const {
        return (form_ == Form::table ? group.code : group.begin) * target_.cells();
    }
    void move(const NodeRows& node, const Group& group);
    void try_places(const NodeRows& node, const Node& targets, std::int32_t j, Split& best);
    void try_random(const NodeRows& node, const Node& targets, std::int32_t j, Split& best);
    bool is_admissible(const NodeRows& node, std::int32_t j) const;
    void note_sides(Split& best) const;
    void note_place(const NodeRows& node, const Node& targets, Split& best);
    bool search_random(const NodeRows& node, const Node& targets, std::int32_t j, Split& best);

    const TreeData& data_;
    const Target& target_;
    const TreeOptions& options_;
    const bool is_plain_;  // no conditions: the best place can be found in one go
    Form form_ = Form::table;
    CodeOrder sorter_;
    std::vector<Group> groups_;
    std::vector<Cell> cells_;           // zero between searches
    std::vector<std::int64_t> counts_;  // rows by code, if leaves need several rows
    std::vector<std::uint32_t> codes_;  // of the rows, if thresholds are drawn
    std::vector<double> keys_, profile_;
    typename Target::Sides sides_;
    std::int64_t count_left_ = 0;
    bool has_missing_ = false;
    BestPlace best_;
    std::vector<BundleTable> bundles_;
};

}  // namespace gapless::growing
