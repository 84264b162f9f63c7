#include "trees/tree.hpp"

#include <algorithm>

#include "trees/grower.hpp"
#include "trees/numbers.hpp"

namespace gapless {

namespace {

using namespace growing;

template <class Target>
GrownTree grow_for(const TreeData& data, const TreeSample& sample, const TreeOptions& options,
                   const WeightSummary& weights, std::uint64_t seed, const Context& context,
                   Checkpoint& checkpoint) {
    Target target(data, sample, options.criterion, weights);
    Grower<Target> grower(data, sample, options, target, weights.total, context);
    return grower.grow(seed, checkpoint);
}

GrownTree grow_one(const TreeData& data, const TreeSample& sample, const TreeOptions& options,
                   std::uint64_t seed, const Context& context, Checkpoint& checkpoint) {
    WeightSummary weights = summary_of(sample.weights, data.rows);
    auto grow = [&]<class Target>() {
        return grow_for<Target>(data, sample, options, weights, seed, context, checkpoint);
    };
    if (data.values)
        return options.criterion == Criterion::absolute_error ? grow.template operator()<Medians>()
                                                              : grow.template operator()<Sums>();
    using Whole = Classes<std::uint32_t>;
    bool fits_table = options.criterion == Criterion::gini || weights.total <= Whole::longest_table;
    return weights.are_whole && fits_table ? grow.template operator()<Whole>()
                                           : grow.template operator()<Classes<std::int64_t>>();
}

}  // namespace

GrownTree grow_tree(const TreeData& data, const TreeSample& sample, const TreeOptions& options,
                    std::uint64_t seed, const Context& context) {
    Checkpoint checkpoint(context.poll);
    return grow_one(data, sample, options, seed, context, checkpoint);
}

void draw_rows(const Bootstrap& bootstrap, Index rows, std::uint64_t seed, std::uint32_t* counts) {
    KeyedRandom random(KeyedRandom::key(seed, 0));
    std::fill_n(counts, rows, 0u);
    const double* cumulated = bootstrap.cumulated;
    for (Index k = 0; k < bootstrap.draws; ++k) {
        if (!cumulated) {
            ++counts[random.below(rows)];
            continue;
        }
        double place = random.uniform() * cumulated[rows - 1];
        ++counts[std::upper_bound(cumulated, cumulated + rows - 1, place) - cumulated];
    }
}

std::vector<GrownTree> grow_forest(const TreeData& data, const TreeSample& sample,
                                   const Bootstrap& bootstrap, const TreeOptions& options,
                                   const std::vector<std::uint64_t>& seeds,
                                   const Context& context) {
    std::vector<GrownTree> trees(seeds.size());
    const Poll never;
    const Context alone{context.blas, 1, never};
    parallel_for(static_cast<Index>(seeds.size()), context.threads, context.poll,
                 [&](Index t, Checkpoint& checkpoint) {
                     if (bootstrap.draws == 0) {
                         trees[t] = grow_one(data, sample, options, seeds[t], alone, checkpoint);
                         return;
                     }
                     std::vector<std::uint32_t> counts(data.rows);
                     draw_rows(bootstrap, data.rows, seeds[t], counts.data());
                     std::vector<double> weights(data.rows);
                     for (Index i = 0; i < data.rows; ++i)
                         weights[i] = counts[i] * sample.weights[i];
                     TreeSample drawn{weights.data(), counts.data()};
                     trees[t] = grow_one(data, drawn, options, seeds[t], alone, checkpoint);
                 });
    return trees;
}

}  // namespace gapless
