// Single linkage of points with few columns: a minimum spanning tree by Borůvka's algorithm
// (Nešetřil, Milková and Nešetřilová 2001, Discrete Mathematics 233) on a kd-tree.
//
// In each round every component finds the shortest edge that leaves it (March, Ram and Gray 2010,
// KDD, section 3). The rows of a leaf search together: what is farther than the shortest edge so
// far of the component of each is passed over, and so are boxes whose rows are all of one component
// with them. A row remembers its nearest row of another component, which often stays so. Edges are
// ordered as in spanning_tree.hpp, so that both find the same tree.
#pragma once

#include <cstdint>

#include "clustering/merges.hpp"
#include "neighbors/kd_tree.hpp"

namespace gapless {

class BoruvkaTree {
public:
    static constexpr Index most_columns = KdTree<double>::most_columns;

    // The rows x (n × d) must live as long as this does; n ≥ 1, d ≤ most_columns.
    BoruvkaTree(const double* x, Index rows, Index columns, const Context& context);

    // To be called first: the share of all rows that each row is compared with in the first round,
    // by a sample. With a large one the tree saves nothing.
    double share_compared();
    // Rounds until there are `count` more edges, or all.
    void advance(Index count, const Context& context);
    // The edges so far.
    std::vector<Merge>& edges() { return edges_; }
    Index done() const { return static_cast<Index>(edges_.size()); }
    Index all() const { return rows_ - 1; }

private:
    using Tree = KdTree<double>;
    struct Searching;

    void start_round();
    // How many leaves its rows were compared with, one by one.
    Index search_from(const Tree::Node& leaf);
    void look_at_children(Index node, Searching& rows,
                          std::vector<std::pair<float, Index>>& waiting);
    void look(const Tree::Node& leaf, Searching& rows, Index i);
    void measure(Index place, Searching& rows, Index i);
    void end_round();

    Index rows_, columns_, components_;
    Tree tree_;
    std::vector<double> values_;           // the rows by places
    std::vector<Index> leaves_;            // the numbers of the nodes that are leaves
    std::vector<std::int32_t> component_;  // of the row at each place, and some more
    std::vector<std::int32_t> of_node_;    // the component of all rows of a node, or −1
    std::vector<std::int32_t> other_;      // the nearest row of another component, or −1
    std::vector<double> nearest_;          // its squared distance; without one a lower bound
    std::vector<double> most_;             // longer edges of a component are of no use
    std::vector<Merge> edges_;
};

}  // namespace gapless
