// Single linkage: the edges of a minimum spanning tree of points (Gower and Ross 1969, Applied
// Statistics 18), in memory linear in their number.
//
// Prim's algorithm, vertex by vertex: the distances of the last vertex to all that remain are
// compared in float with the best so far of each, and measured in double where they may be smaller.
// Edges are ordered by their length and then by their rows, so that the tree is the only one.
#pragma once

#include "base/team.hpp"
#include "clustering/float_panels.hpp"
#include "clustering/merges.hpp"

namespace gapless {

class SpanningTree {
public:
    // The rows x (n × d) must live as long as this does; n ≥ 1.
    SpanningTree(const double* x, Index rows, Index columns, const Context& context);

    // Add up to `count` edges.
    void advance(Index count, const Context& context);
    // The edges so far.
    std::vector<Merge>& edges() { return edges_; }
    Index done() const { return static_cast<Index>(edges_.size()); }
    Index all() const { return rows_ - 1; }

private:
    void compare(Index first_panel, Index last_panel, Index added, const float* row);
    Index nearest(Index first_panel, Index last_panel) const;
    void find_least(Index panel);
    bool comes_before(Index place, Index other) const;
    void remove(Index place);

    const double* x_;
    Index rows_, columns_, left_;
    FloatPanels panels_;
    std::vector<double> key_;    // squared distance to the tree
    std::vector<double> least_;  // the least of each panel
    std::vector<float> limit_;   // the same in float, for all lanes of the last panel
    std::vector<Index> from_;    // the row of the tree at that distance
    std::vector<Index> row_;     // the row at each place
    Index last_ = 0;             // the last row that joined the tree
    std::vector<Merge> edges_;
};

// Edges in the order of their lengths and, if equal, of their rows.
void sort_edges(std::vector<Merge>& edges);

}  // namespace gapless
