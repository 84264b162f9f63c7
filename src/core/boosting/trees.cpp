#include "boosting/trees.hpp"

#include <memory>

#include "boosting/grower.hpp"

namespace gapless {
namespace {

template <class T>
void grow_one(const BoostingRound<T>& round, Index tree, const GrowthLimits& limits,
              const Totals& totals, const GrownTrees& out, GrowingSpace& spaces, Team& team,
              Checkpoint& checkpoint) {
    const Index n = round.bins.rows;
    const double most_g = largest(round.gradient + tree * n, n);
    const double most_h = round.curvature ? largest(round.curvature + tree * n, n) : 1;
    std::unique_ptr<TreeSpace> space = spaces.take();
    const int shift = bits_of(totals.rows) + 1;
    const int left = most_bits - shift;
    const double per_g = per_unit(most_g, totals.weight, most_bits);
    const auto grow = [&](const auto& layout, int bits) {
        const Units units{per_g, per_unit(most_h, totals.weight, bits), totals.per_weight};
        Grower(round, tree, limits, totals, layout, units, *space, team, checkpoint).grow(out);
    };
    if (left - bits_of(totals.weight) >= few_bits)
        grow(Packed{shift}, left);
    else
        grow(Wide{}, most_bits);
    spaces.give_back(std::move(space));
}

}  // namespace

template <class T>
void grow_boosted(const BoostingRound<T>& round, const GrowthLimits& limits, const GrownTrees& out,
                  GrowingSpace& space, const Context& context) {
    const Totals totals(round.weights, round.repeats, round.bins.rows);
    const GrowthLimits scaled = limits.of_weights(totals.per_weight);
    const double work = static_cast<double>(round.bins.rows) * round.bins.width;
    if (round.trees >= context.threads) {
        const int threads = useful_threads(work * round.trees, context.threads);
        parallel_for(round.trees, threads, context.poll, [&](Index tree, Checkpoint& checkpoint) {
            Team alone(1);
            grow_one(round, tree, scaled, totals, out, space, alone, checkpoint);
        });
        return;
    }
    Team team(useful_threads(work, context.threads));
    Checkpoint checkpoint(context.poll);
    for (Index tree = 0; tree < round.trees; ++tree)
        grow_one(round, tree, scaled, totals, out, space, team, checkpoint);
}

template <class T>
void add_leaf_values(const std::int32_t* leaf, Index rows, Index trees, const double* values,
                     Index capacity, T* scores, const Context& context) {
    constexpr Index chunk = 16384;
    const Index chunks = (rows + chunk - 1) / chunk;
    const int threads = useful_threads(static_cast<double>(rows) * trees, context.threads);
    parallel_for(chunks * trees, threads, context.poll, [&](Index c) {
        const Index k = c / chunks, first = (c % chunks) * chunk;
        const double* own = values + k * capacity;
        for (Index i = k * rows + first; i < k * rows + std::min(rows, first + chunk); ++i)
            scores[i] += static_cast<T>(own[leaf[i]]);
    });
}

template void grow_boosted(const BoostingRound<float>&, const GrowthLimits&, const GrownTrees&,
                           GrowingSpace&, const Context&);
template void grow_boosted(const BoostingRound<double>&, const GrowthLimits&, const GrownTrees&,
                           GrowingSpace&, const Context&);
template void add_leaf_values(const std::int32_t*, Index, Index, const double*, Index, float*,
                              const Context&);
template void add_leaf_values(const std::int32_t*, Index, Index, const double*, Index, double*,
                              const Context&);

}  // namespace gapless
