#include "trees/grower.hpp"

#include <queue>

#include "trees/numbers.hpp"
#include "trees/partition.hpp"

namespace gapless::growing {

namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

}  // namespace

// ---- one node ----

template <class Target>
Grower<Target>::Grower(const TreeData& data, const TreeSample& sample, const TreeOptions& options,
                       const Target& target, double total_weight, const Context& context)
    : data_(data),
      sample_(sample),
      options_(options),
      target_(target),
      total_weight_(total_weight),
      context_(context) {
    rows_.reserve(data.rows);
    for (Index i = 0; i < data.rows; ++i) {
        if (sample.weights[i] > 0) rows_.push_back(static_cast<std::uint32_t>(i));
        counts_are_weights_ &= sample.weights[i] == sample.counts[i];
    }
}

template <class Target>
std::unique_ptr<Worker<Target>> Grower<Target>::make_worker() const {
    auto work = std::make_unique<Work>();
    work->search = std::make_unique<ColumnSearch<Target>>(data_, target_, options_);
    return work;
}

template <class Target>
PendingNode Grower<Target>::make_root(std::uint64_t seed, Work& work) const {
    work.columns.resize(data_.columns.size());
    std::iota(work.columns.begin(), work.columns.end(), 0u);
    PendingNode root;
    root.end = static_cast<Index>(rows_.size());
    root.seed = seed;
    root.columns_end = static_cast<Index>(work.columns.size());
    return root;
}

template <class Target>
bool Grower<Target>::is_leaf(const PendingNode& node, const TreeNode& grown) const {
    return node.depth >= options_.max_depth || grown.count < options_.min_samples_split ||
           grown.count < 2 * options_.min_samples_leaf ||
           grown.weight < 2 * options_.min_weight_leaf || grown.impurity <= epsilon;
}

template <class Target>
bool Grower<Target>::open(PendingNode& node, Work& work, GrownTree& tree, Split& split,
                          bool is_shared) {
    const std::uint32_t* rows = rows_.data() + node.begin;
    Index count = node.end - node.begin, width = data_.outputs * data_.classes;
    target_.gather(rows, count, work.targets);
    TreeNode grown;
    grown.impurity = target_.impurity(work.targets);
    grown.weight = target_.weight(work.targets);
    if (counts_are_weights_)
        grown.count = static_cast<std::int64_t>(grown.weight);
    else
        for (Index i = 0; i < count; ++i) grown.count += sample_.counts[rows[i]];
    auto id = static_cast<std::int32_t>(tree.nodes.size());
    if (node.parent >= 0)
        (node.is_left ? tree.nodes[node.parent].left : tree.nodes[node.parent].right) = id;
    tree.nodes.push_back(grown);
    tree.values.resize(tree.values.size() + width);
    double* value = tree.values.data() + id * width;
    target_.value(work.targets, value);
    if (options_.monotonic) {
        double center = target_.center(work.targets);
        double inside = std::clamp(center, node.bounds.lower, node.bounds.upper);
        if (inside != center) target_.set_center(inside, value);
    }
    if (is_leaf(node, grown)) return false;
    NodeRows described{rows, count, sample_.counts, grown.count, node.seed, node.bounds, ++opened_};
    double own_score = target_.own_score(work.targets);
    split = find_split(node, described, own_score, work, is_shared);
    if (!split.is_found()) return false;
    split.gain = (split.score - own_score) / total_weight_;
    return split.gain + epsilon >= options_.min_impurity_decrease;
}

// ---- columns ----

// Checking the clock takes as long as searching a few rows.
template <class Target>
void Grower<Target>::pause_at(Index rows, Work& work) const {
    constexpr Index many_rows = 1000, many_steps = 64;
    const bool is_long = rows > many_rows || ++work.steps % many_steps == 0;
    if (work.checkpoint && is_long) (*work.checkpoint)();
}

template <class Target>
void Grower<Target>::search_one(const NodeRows& rows, std::uint32_t column, Work& work) {
    pause_at(rows.count, work);
    Split split;
    if (!work.search->search(rows, work.targets, static_cast<std::int32_t>(column), split))
        work.constants.push_back(column);
    else
        work.splits.push_back(std::move(split));
}

template <class Target>
void Grower<Target>::search_all(const PendingNode& node, const NodeRows& rows, Work& work) {
    for (Index k = node.columns_begin; k < node.columns_end; ++k)
        search_one(rows, work.columns[k], work);
}

// The columns of a large node, shared by threads; those of a bundle go to one thread.
template <class Target>
void Grower<Target>::search_shared(const PendingNode& node, const NodeRows& rows, Work& work) {
    Index columns = node.columns_end - node.columns_begin;
    const std::uint32_t* list = work.columns.data() + node.columns_begin;
    std::vector<std::vector<Index>> parts, of_bundle(data_.bundles.size());
    for (Index k = 0; k < columns; ++k) {
        std::int32_t bundle = data_.columns[list[k]].bundle;
        if (bundle >= 0)
            of_bundle[bundle].push_back(k);
        else
            parts.push_back({k});
    }
    for (auto& members : of_bundle)
        if (!members.empty()) parts.push_back(std::move(members));
    std::vector<Split> splits(columns);
    std::vector<char> is_constant(columns, 0);
    parallel_for(static_cast<Index>(parts.size()), context_.threads, context_.poll, [&](Index p) {
        auto search = borrow_search();
        for (Index k : parts[p])
            is_constant[k] =
                !search->search(rows, work.targets, static_cast<std::int32_t>(list[k]), splits[k]);
        std::lock_guard lock(mutex_);
        idle_.push_back(std::move(search));
    });
    for (Index k = 0; k < columns; ++k)
        if (is_constant[k])
            work.constants.push_back(list[k]);
        else
            work.splits.push_back(std::move(splits[k]));
}

template <class Target>
std::unique_ptr<ColumnSearch<Target>> Grower<Target>::borrow_search() {
    std::lock_guard lock(mutex_);
    if (idle_.empty()) return std::make_unique<ColumnSearch<Target>>(data_, target_, options_);
    auto search = std::move(idle_.back());
    idle_.pop_back();
    return search;
}

// Columns drawn without replacement until enough of them are not constant here. The list is
// restored to its order, which must not depend on which nodes came before.
template <class Target>
void Grower<Target>::search_drawn(const PendingNode& node, const NodeRows& rows, Work& work) {
    KeyedRandom random(KeyedRandom::key(node.seed, ~std::uint64_t{0}));
    std::uint32_t* list = work.columns.data() + node.columns_begin;
    Index count = node.columns_end - node.columns_begin;
    work.swaps.clear();
    for (Index k = 0; k < count; ++k) {
        if (static_cast<Index>(work.splits.size()) == options_.max_features) break;
        Index other = k + static_cast<Index>(random.below(count - k));
        std::swap(list[k], list[other]);
        work.swaps.push_back(other);
        search_one(rows, list[k], work);
    }
    for (Index k = static_cast<Index>(work.swaps.size()) - 1; k >= 0; --k)
        std::swap(list[k], list[work.swaps[k]]);
}

template <class Target>
void Grower<Target>::drop_constants(PendingNode& node, Work& work) const {
    if (work.constants.empty()) return;
    std::sort(work.constants.begin(), work.constants.end());
    auto end = static_cast<Index>(work.columns.size());
    auto constant = work.constants.begin();
    for (Index k = node.columns_begin; k < node.columns_end; ++k) {
        std::uint32_t column = work.columns[k];
        if (constant != work.constants.end() && *constant == column)
            ++constant;
        else
            work.columns.push_back(column);
    }
    node.columns_begin = end;
    node.columns_end = static_cast<Index>(work.columns.size());
}

template <class Target>
Split Grower<Target>::choose(const NodeRows&, double own_score, Work& work) const {
    Split* best = nullptr;
    // Quinlan (1993): the best gain ratio among the columns whose gain is not below the average,
    // because a tiny gain with an even smaller information of the split has a large ratio.
    bool by_ratio = options_.criterion == Criterion::gain_ratio;
    double average = 0;
    Index found = 0;
    for (const Split& split : work.splits)
        if (split.is_found()) average += split.score - own_score, ++found;
    average /= static_cast<double>(std::max<Index>(found, 1));
    auto merit = [&](const Split& split) {
        if (!by_ratio) return split.score;
        double gain = split.score - own_score;
        return gain >= average * (1 - 1e-12) ? gain / split.information
                                             : -std::numeric_limits<double>::infinity();
    };
    for (Split& split : work.splits) {
        if (!split.is_found()) continue;
        if (!best || merit(split) > merit(*best) ||
            (merit(split) == merit(*best) && split.column < best->column))
            best = &split;
    }
    return best ? std::move(*best) : Split{};
}

template <class Target>
Split Grower<Target>::find_split(PendingNode& node, const NodeRows& rows, double own_score,
                                 Work& work, bool is_shared) {
    work.splits.clear();
    work.constants.clear();
    bool searches_all = node.columns_end - node.columns_begin <= options_.max_features;
    if (!searches_all)
        search_drawn(node, rows, work);
    else if (is_shared)
        search_shared(node, rows, work);
    else
        search_all(node, rows, work);
    drop_constants(node, work);
    return choose(rows, own_score, work);
}

template <class Target>
std::pair<PendingNode, PendingNode> Grower<Target>::divide(const PendingNode& node, std::int32_t id,
                                                           Split& split, Work& work,
                                                           GrownTree& tree) {
    const CodedColumn& column = data_.columns[split.column];
    std::uint32_t* rows = rows_.data() + node.begin;
    const Index count = node.end - node.begin;
    const Index middle = node.begin + part_rows(column, split, rows, count, work.buffer);
    TreeNode& grown = tree.nodes[id];
    grown.feature = split.column;
    grown.threshold = split.threshold;
    grown.missing_left = split.missing_left;
    grown.follows_majority = !split.has_missing;
    if (column.is_category) {
        if (grown.follows_majority) {
            std::int64_t left = 0;
            for (Index i = node.begin; i < middle; ++i) left += sample_.counts[rows_[i]];
            grown.missing_left = 2 * left > grown.count;
        }
        write_levels(column, split, rows, count, grown, tree.sets);
    }
    PendingNode left = node, right = node;
    left.parent = right.parent = id;
    left.depth = right.depth = node.depth + 1;
    left.is_left = true;
    right.is_left = false;
    left.end = right.begin = middle;
    left.seed = KeyedRandom::key(node.seed, 1);
    right.seed = KeyedRandom::key(node.seed, 2);
    if (options_.monotonic && options_.monotonic[split.column] != 0) {
        double between = (split.left_center + split.right_center) / 2;
        bool rises = options_.monotonic[split.column] > 0;
        (rises ? left : right).bounds.upper = between;
        (rises ? right : left).bounds.lower = between;
    }
    return {left, right};
}

// ---- the whole tree ----

template <class Target>
void Grower<Target>::grow_deep(const PendingNode& root, Work& work, GrownTree& tree,
                               Checkpoint& checkpoint) {
    work.checkpoint = &checkpoint;
    std::vector<PendingNode> waiting{root};
    Split split;
    while (!waiting.empty()) {
        PendingNode node = waiting.back();
        waiting.pop_back();
        work.columns.resize(node.columns_end);
        pause_at(node.end - node.begin, work);
        if (!open(node, work, tree, split, false)) continue;
        auto id = static_cast<std::int32_t>(tree.nodes.size()) - 1;
        auto [left, right] = divide(node, id, split, work, tree);
        waiting.push_back(right);
        waiting.push_back(left);
    }
}

template <class Target>
void Grower<Target>::grow_best_first(const PendingNode& root, Work& work, GrownTree& tree,
                                     Checkpoint& checkpoint) {
    work.checkpoint = &checkpoint;
    std::priority_queue<Candidate> candidates;
    auto consider = [&](PendingNode node) {
        checkpoint();
        Split split;
        auto id = static_cast<std::int32_t>(tree.nodes.size());
        bool is_shared = is_worth_sharing(node);
        if (open(node, work, tree, split, is_shared))
            candidates.push({node, id, split, split.gain});
    };
    consider(root);
    for (Index leaves = 1; leaves < options_.max_leaf_nodes && !candidates.empty(); ++leaves) {
        Candidate best = candidates.top();
        candidates.pop();
        auto [left, right] = divide(best.node, best.id, best.split, work, tree);
        consider(left);
        consider(right);
    }
}

template <class Target>
bool Grower<Target>::is_worth_sharing(const PendingNode& node) const {
    constexpr double enough = 5e5;
    double rows = static_cast<double>(node.end - node.begin);
    double columns = static_cast<double>(node.columns_end - node.columns_begin);
    return context_.threads > 1 && rows * columns >= enough &&
           static_cast<Index>(columns) <= options_.max_features;
}

// Large nodes by columns shared among threads; then each thread grows whole branches.
template <class Target>
GrownTree Grower<Target>::grow_shared(const PendingNode& root, Work& work) {
    struct Branch {
        PendingNode node;
        std::vector<std::uint32_t> columns;
    };
    Index least = static_cast<Index>(rows_.size()) / (4 * context_.threads);
    GrownTree top;
    std::vector<Branch> branches;
    std::vector<PendingNode> waiting{root};
    Split split;
    while (!waiting.empty()) {
        PendingNode node = waiting.back();
        waiting.pop_back();
        work.columns.resize(node.columns_end);
        if (!is_worth_sharing(node) || node.end - node.begin < least) {
            if (node.parent >= 0) {
                TreeNode& parent = top.nodes[node.parent];
                (node.is_left ? parent.left : parent.right) =
                    -2 - static_cast<std::int32_t>(branches.size());
            }
            auto begin = work.columns.begin();
            branches.push_back({node, {begin + node.columns_begin, begin + node.columns_end}});
            continue;
        }
        if (!open(node, work, top, split, true)) continue;
        auto id = static_cast<std::int32_t>(top.nodes.size()) - 1;
        auto [left, right] = divide(node, id, split, work, top);
        waiting.push_back(right);
        waiting.push_back(left);
    }
    std::vector<GrownTree> grown(branches.size());
    std::vector<Index> order(branches.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
        return branches[a].node.end - branches[a].node.begin >
               branches[b].node.end - branches[b].node.begin;
    });
    parallel_for(static_cast<Index>(branches.size()), context_.threads, context_.poll,
                 [&](Index k, Checkpoint& checkpoint) {
                     Branch& branch = branches[order[k]];
                     auto own = make_worker();
                     own->columns = std::move(branch.columns);
                     PendingNode node = branch.node;
                     node.parent = -1;
                     node.columns_begin = 0;
                     node.columns_end = static_cast<Index>(own->columns.size());
                     grow_deep(node, *own, grown[order[k]], checkpoint);
                 });
    return joined(top, grown, data_.outputs * data_.classes);
}

template <class Target>
GrownTree Grower<Target>::grow(std::uint64_t seed, Checkpoint& checkpoint) {
    GrownTree tree;
    if (rows_.empty()) {
        // A draw may have hit only rows of weight 0.
        tree.nodes.emplace_back();
        tree.values.assign(data_.outputs * data_.classes, 0.0);
        return tree;
    }
    // Pages of memory that a small tree leaves untouched cost nothing.
    const auto most = static_cast<Index>(2 * rows_.size() - 1);
    const Index leaves = options_.max_leaf_nodes > 0 ? options_.max_leaf_nodes : most;
    const Index deepest = options_.max_depth < 30 ? Index{2} << options_.max_depth : most;
    const Index nodes = std::min({most, 2 * leaves, deepest});
    tree.nodes.reserve(nodes);
    tree.values.reserve(nodes * data_.outputs * data_.classes);
    auto work = make_worker();
    PendingNode root = make_root(seed, *work);
    if (options_.max_leaf_nodes > 0)
        grow_best_first(root, *work, tree, checkpoint);
    else if (is_worth_sharing(root))
        tree = grow_shared(root, *work);
    else
        grow_deep(root, *work, tree, checkpoint);
    // Missing values not seen in a node go with the majority of its rows.
    for (TreeNode& node : tree.nodes)
        if (node.follows_majority) node.missing_left = 2 * tree.nodes[node.left].count > node.count;
    return tree;
}

template class Grower<Classes<std::uint32_t>>;
template class Grower<Classes<std::int64_t>>;
template class Grower<Sums>;
template class Grower<Medians>;

}  // namespace gapless::growing
