// One tree being grown: the rows of every node side by side in one array, partitioned in place.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "trees/splits.hpp"

namespace gapless::growing {

// A node waiting to be split.
struct PendingNode {
    Index begin = 0, end = 0;  // its rows
    Index depth = 0;
    std::int32_t parent = -1;
    bool is_left = false;
    Bounds bounds;
    std::uint64_t seed = 0;
    Index columns_begin = 0, columns_end = 0;  // in Worker::columns: those not known as constant
};

// What one thread needs to grow; kept from node to node.
template <class Target>
struct Worker {
    typename Target::Node targets;
    std::unique_ptr<ColumnSearch<Target>> search;
    std::vector<std::uint32_t> buffer;     // rows on their way to the right
    std::vector<std::uint32_t> columns;    // increasing lists, those of pending nodes
    std::vector<std::uint32_t> constants;  // found in the current node
    std::vector<Index> swaps;
    std::vector<Split> splits;
    Checkpoint* checkpoint = nullptr;
    Index steps = 0;  // short ones since the start, of nodes and of columns
};

template <class Target>
class Grower {
public:
    Grower(const TreeData& data, const TreeSample& sample, const TreeOptions& options,
           const Target& target, double total_weight, const Context& context);

    GrownTree grow(std::uint64_t seed, Checkpoint& checkpoint);

private:
    using Work = Worker<Target>;

    // A node that has been searched, for growing the best one first.
    struct Candidate {
        PendingNode node;
        std::int32_t id;
        Split split;
        double improvement;
        bool operator<(const Candidate& other) const {
            return improvement != other.improvement ? improvement < other.improvement
                                                    : id > other.id;
        }
    };

    std::unique_ptr<Work> make_worker() const;
    PendingNode make_root(std::uint64_t seed, Work& work) const;
    void grow_deep(const PendingNode& root, Work& work, GrownTree& tree, Checkpoint& checkpoint);
    void grow_best_first(const PendingNode& root, Work& work, GrownTree& tree,
                         Checkpoint& checkpoint);
    GrownTree grow_shared(const PendingNode& root, Work& work);

    // Append a node with its value, and find its split; false for a leaf. `node` becomes the
    // template of its children, as far as columns are concerned.
    bool open(PendingNode& node, Work& work, GrownTree& tree, Split& split, bool is_shared);
    bool is_leaf(const PendingNode& node, const TreeNode& grown) const;
    Split find_split(PendingNode& node, const NodeRows& rows, double own_score, Work& work,
                     bool is_shared);
    void search_all(const PendingNode& node, const NodeRows& rows, Work& work);
    void search_shared(const PendingNode& node, const NodeRows& rows, Work& work);
    std::unique_ptr<ColumnSearch<Target>> borrow_search();
    void search_drawn(const PendingNode& node, const NodeRows& rows, Work& work);
    // Check whether it is time to stop, before a step of many rows or after many small steps.
    void pause_at(Index rows, Work& work) const;
    void search_one(const NodeRows& rows, std::uint32_t column, Work& work);
    Split choose(const NodeRows& rows, double own_score, Work& work) const;
    void drop_constants(PendingNode& node, Work& work) const;
    // Partition the rows, and write the split into the tree; the children are left then right.
    std::pair<PendingNode, PendingNode> divide(const PendingNode& node, std::int32_t id,
                                               Split& split, Work& work, GrownTree& tree);
    bool is_worth_sharing(const PendingNode& node) const;

    const TreeData& data_;
    const TreeSample& sample_;
    const TreeOptions& options_;
    const Target& target_;
    const double total_weight_;
    const Context& context_;
    std::vector<std::uint32_t> rows_;
    bool counts_are_weights_ = true;
    std::mutex mutex_;
    std::vector<std::unique_ptr<ColumnSearch<Target>>> idle_;
    std::atomic<std::uint64_t> opened_{0};
};

}  // namespace gapless::growing
