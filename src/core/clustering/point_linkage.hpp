// Ward's and centroid linkage of weighted points, in memory linear in their number: a cluster is
// its mean and its weight.
//
// In each step the two closest clusters are merged. A cluster remembers the nearest one among those
// before it (by their first rows), and a lower bound on the distances of all others before it, so
// that few merges make it search again (after Müllner 2011, arXiv:1109.2378, section 3.1, where the
// second bound is missing). Searches rule out clusters in float and measure the rest in double. Of
// several closest pairs, the one with the first cluster is merged, and of those the one whose other
// cluster comes first.
#pragma once

#include "base/team.hpp"
#include "clustering/float_panels.hpp"
#include "clustering/merges.hpp"
#include "clustering/nearest_before.hpp"

namespace gapless {

enum class PointMethod { ward, centroid };

class PointLinkage {
public:
    PointLinkage(PointMethod method, const double* x, const double* weights, Index rows,
                 Index columns, const Context& context);

    // Make up to `count` merges.
    void advance(Index count, const Context& context);
    std::vector<Merge>& merges() { return merges_; }
    Index done() const { return static_cast<Index>(merges_.size()); }
    Index all() const { return rows_ - 1; }

private:
    bool is_ward() const { return method_ == PointMethod::ward; }
    double cost(Index place, Index other) const;
    float rounded_offset() const;
    void set_limit(Index place);
    void search(Index place, Team& team);
    NearestOne search_part(Index place, const float* row, Index first_panel,
                           Index last_panel) const;
    void offer_part(Index place, const float* row, Index first_panel, Index last_panel);
    void merge(Index one, Index other, Team& team);
    void compact();
    template <class Work>
    void share(Index panels, Team& team, Work&& work);

    PointMethod method_;
    Index rows_, columns_, places_, alive_;
    FloatPanels panels_;
    std::vector<double> centers_, weights_;
    std::vector<float> inverse_weights_;  // of Ward, for all lanes of the last panel
    NearestBefore near_;
    std::vector<float> limit_;  // the second bound in float, for all lanes of the last panel
    std::vector<Index> row_;    // the first row of the cluster at each place
    std::vector<Merge> merges_;
};

}  // namespace gapless
