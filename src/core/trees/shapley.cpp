// A leaf is reached by a mixture of row x and background row b if every player on the way to it
// passes all of its splits there with its own value, that of x or that of b. Of the players whose
// values pass in only one of the two rows, let a be those of x and f those of b. The leaf is then
// reached by the coalitions that contain all of the first and none of the second, and a leaf of
// value v gives
//     + v (a−1)! f! / (a+f)!  to each of the a players,  − v a! (f−1)! / (a+f)!  to each of the f
// (Lundberg et al. 2020, Nature Machine Intelligence 2, algorithm 3; Laberge and Pequignot 2022,
// arXiv:2209.15123, section 4). A walk for each pair of rows would visit the same nodes again and
// again. Here row x walks once, with the set of all background rows that can still be mixed with it
// to get to the node, as bits; and what a leaf gives depends on x only by which players pass, so it
// is remembered for the following rows (as the tables of Zern, Broelemann and Kasneci 2023, AAAI
// 37, but only for the patterns that occur).
#include "trees/shapley.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

namespace gapless {
namespace {

using Word = std::uint64_t;
constexpr Index word_bits = 64;
// Trees are prepared together up to this memory.
constexpr Index most_bytes = Index{1} << 26;
// Leaves with at most so many players remember, as long as a tree's tables have room.
constexpr Index remembered_players = 10, most_entries = Index{1} << 20;
constexpr std::int32_t unknown = -1, nothing = -2;

// (p−1)! q! / (p+q)! for all p ≥ 1 and q ≥ 0 that can occur.
class Coefficients {
public:
    explicit Coefficients(Index most) : side_(most + 1), values_(side_ * side_, 0.0) {
        for (Index p = 1; p < side_; ++p) {
            double value = 1.0 / static_cast<double>(p);
            for (Index q = 0; q < side_; ++q) {
                if (q > 0) value *= static_cast<double>(q) / static_cast<double>(p + q);
                values_[p * side_ + q] = value;
            }
        }
    }
    double operator()(Index p, Index q) const { return values_[p * side_ + q]; }

private:
    Index side_;
    std::vector<double> values_;
};

// A node with what a walk needs at hand.
struct Node {
    double content;        // a threshold, or the number of a set of levels
    std::int32_t next;     // the right child; for leaves ~r, where r is the row of the table
    std::int32_t feature;  // the column of X; for leaves where their table begins, or −1
    std::int32_t player;
    std::int32_t slot;  // the player's place among those on the way; for leaves, how many they are
    bool is_first;      // whether it is the player's first split on the way
    bool is_category, is_missing_left;

    bool is_leaf() const { return next < 0; }
};

bool goes_left(const AskedColumns& asked, const Node& node, double x) {
    if (x != x) return node.is_missing_left;
    return node.is_category ? asked.has_level(node.content, x) : x <= node.content;
}

// A tree, and for each node which background rows go left there.
struct PreparedTree {
    std::vector<Node> nodes;
    std::vector<Word> left;
    Index depth = 0, slots = 0, entries = 0;
};

PreparedTree prepare(const PackedTrees& trees, Index t, const ShapleyGame& game, Index words,
                     Checkpoint& checkpoint) {
    const AskedColumns& asked = trees.asked;
    const PackedNode* packed = trees.nodes + trees.start[t];
    const Index size = trees.size(t), m = game.background.rows;
    PreparedTree tree;
    tree.nodes.resize(size);
    tree.left.assign(size * words, 0);
    std::vector<std::int32_t> slot_of(game.player_count, -1);
    // A node to enter, with its depth and the players above it; or ~node, to be left.
    struct Step {
        std::int32_t node;
        std::int32_t depth, above;
    };
    std::vector<Step> steps{{0, 0, 0}};
    while (!steps.empty()) {
        const Step step = steps.back();
        steps.pop_back();
        if (step.node < 0) {
            slot_of[tree.nodes[~step.node].player] = -1;
            continue;
        }
        Node& node = tree.nodes[step.node];
        node = {};
        node.next = packed[step.node].next;
        tree.depth = std::max<Index>(tree.depth, step.depth);
        tree.slots = std::max<Index>(tree.slots, step.above);
        if (node.is_leaf()) {
            node.slot = step.above;
            node.feature = -1;
            const Index patterns = step.above > remembered_players ? 0 : Index{1} << step.above;
            if (patterns > 0 && tree.entries + patterns <= most_entries) {
                node.feature = static_cast<std::int32_t>(tree.entries);
                tree.entries += patterns;
            }
            continue;
        }
        const std::uint32_t question = packed[step.node].question;
        const Index column = asked.column(question);
        node.content = asked.content_of(question);
        node.feature = asked.feature[column];
        node.is_category = asked.is_category[column] != 0;
        node.is_missing_left = asked.is_missing_left(question);
        node.player = game.players[node.feature];
        std::int32_t& slot = slot_of[node.player];
        node.is_first = slot < 0;
        if (node.is_first) {
            slot = step.above;
            steps.push_back({~step.node, 0, 0});
        }
        node.slot = slot;
        const std::int32_t above = step.above + node.is_first;
        steps.push_back({node.next, step.depth + 1, above});
        steps.push_back({step.node + 1, step.depth + 1, above});
        const double* x = game.background.data + node.feature * m;
        Word* bits = tree.left.data() + step.node * words;
        for (Index b = 0; b < m; ++b)
            bits[b / word_bits] |= Word{goes_left(asked, node, x[b])} << (b % word_bits);
        checkpoint();
    }
    return tree;
}

// The walk of one row after another through one tree after another.
class Walk {
public:
    Walk(const PackedTrees& trees, const ShapleyGame& game, const Coefficients& coefficients,
         Index words)
        : trees_(trees), game_(game), coefficients_(coefficients), words_(words) {}

    void begin(const PreparedTree& tree) {
        tree_ = &tree;
        frames_.resize(tree.depth + 1);
        compatible_.resize((tree.depth + 1) * words_);
        saved_.resize((tree.depth + 1) * words_);
        passing_.resize((tree.slots + 1) * words_);
        row_passes_.assign(tree.slots + 1, 1);
        players_.resize(tree.slots + 1);
        found_.resize(tree.slots + 1);
        fails_.resize(tree.slots + 1);
        known_.assign(tree.entries, unknown);
        remembered_.clear();
        for (Index w = 0; w < words_; ++w) {
            const Index left = game_.background.rows - w * word_bits;
            compatible_[w] = left >= word_bits ? ~Word{0} : (Word{1} << left) - 1;
        }
    }

    // Add the values of a row of X, x(column), to out (players × stride).
    template <class Row>
    void through(const Row& x, Index stride, double* out) {
        Index depth = 0;
        frames_[0] = {0, 0, false, false, 0, 0};
        for (;;) {
            Frame& frame = frames_[depth];
            const Node& node = tree_->nodes[frame.node];
            if (node.is_leaf()) {
                add_leaf(node, depth, frame, stride, out);
                if (depth-- == 0) return;
                continue;
            }
            if (frame.side == 2) {
                leave(node, depth, frame);
                if (depth-- == 0) return;
                continue;
            }
            if (frame.side == 0) enter(node, depth, frame, x(node.feature));
            const bool to_left = frame.side++ == 0;
            if (descend(node, depth, frame, to_left)) ++depth;
        }
    }

private:
    struct Frame {
        std::int32_t node;
        std::uint8_t side;      // how many children have been visited
        bool is_left;           // where the row itself goes
        bool passed;            // whether it passed all splits of the player above this one
        std::int32_t fails;     // players that it does not pass
        std::uint32_t pattern;  // bits of the first players that it passes
    };

    void enter(const Node& node, Index depth, Frame& frame, double x) {
        frame.is_left = goes_left(trees_.asked, node, x);
        frame.passed = node.is_first || row_passes_[node.slot];
        players_[node.slot] = node.player;
        if (!node.is_first)
            std::copy_n(&passing_[node.slot * words_], words_, &saved_[depth * words_]);
    }

    void leave(const Node& node, Index depth, const Frame& frame) {
        if (node.is_first) return;
        row_passes_[node.slot] = frame.passed;
        std::copy_n(&saved_[depth * words_], words_, &passing_[node.slot * words_]);
    }

    // Go to a child; false if no mixture of the row and a background row reaches it.
    bool descend(const Node& node, Index depth, const Frame& frame, bool to_left) {
        const bool passes = frame.passed && frame.is_left == to_left;
        const Word* left = &tree_->left[frame.node * words_];
        const Word* before = &saved_[depth * words_];
        const Word* compatible = &compatible_[depth * words_];
        Word* own = &passing_[node.slot * words_];
        Word* below = &compatible_[(depth + 1) * words_];
        const Word flip = to_left ? 0 : ~Word{0};
        Word any = 0;
        for (Index w = 0; w < words_; ++w) {
            const Word there = (left[w] ^ flip) & (node.is_first ? ~Word{0} : before[w]);
            own[w] = there;
            below[w] = passes ? compatible[w] : compatible[w] & there;
            any |= below[w];
        }
        if (any == 0) return false;
        row_passes_[node.slot] = passes;
        const bool is_new_failure = frame.passed && !passes;
        const std::uint32_t bit = node.slot < 32 ? std::uint32_t{1} << node.slot : 0;
        frames_[depth + 1] = {to_left ? frame.node + 1 : node.next,
                              0,
                              false,
                              false,
                              frame.fails + is_new_failure,
                              passes ? frame.pattern | bit : frame.pattern & ~bit};
        return true;
    }

    void add_leaf(const Node& leaf, Index depth, const Frame& frame, Index stride, double* out) {
        const double* found = values_of(leaf, depth, frame);
        if (found == nullptr) return;
        const Index width = trees_.width;
        const double* value = trees_.table + static_cast<Index>(~leaf.next) * width;
        for (Index s = 0; s < leaf.slot; ++s) {
            double* own = out + players_[s] * stride;
            for (Index k = 0; k < width; ++k) own[k] += found[s] * value[k];
        }
    }

    // What a leaf of value 1 gives to each player on the way; null if nothing.
    const double* values_of(const Node& leaf, Index depth, const Frame& frame) {
        if (leaf.feature < 0) return compute(leaf, depth, frame) ? found_.data() : nullptr;
        std::int32_t& known = known_[leaf.feature + frame.pattern];
        if (known == unknown) {
            known = nothing;
            if (compute(leaf, depth, frame)) {
                known = static_cast<std::int32_t>(remembered_.size());
                remembered_.insert(remembered_.end(), found_.begin(), found_.begin() + leaf.slot);
            }
        }
        return known == nothing ? nullptr : remembered_.data() + known;
    }

    bool compute(const Node& leaf, Index depth, const Frame& frame) {
        std::fill_n(found_.begin(), leaf.slot, 0.0);
        double of_failing = 0.0;
        bool is_any = false;
        for (Index w = 0; w < words_; ++w) {
            for (Word rest = compatible_[depth * words_ + w]; rest; rest &= rest - 1) {
                const int bit = std::countr_zero(rest);
                Index count = 0;  // the players that only the row passes
                for (Index s = 0; s < leaf.slot; ++s)
                    if (row_passes_[s] && !(passing_[s * words_ + w] >> bit & 1))
                        fails_[count++] = s;
                if (count + frame.fails == 0) continue;
                is_any = true;
                const double share = game_.shares[w * word_bits + bit];
                if (frame.fails > 0) of_failing -= share * coefficients_(frame.fails, count);
                if (count == 0) continue;
                const double each = share * coefficients_(count, frame.fails);
                for (Index k = 0; k < count; ++k) found_[fails_[k]] += each;
            }
        }
        for (Index s = 0; s < leaf.slot; ++s)
            if (!row_passes_[s]) found_[s] = of_failing;
        return is_any;
    }

    const PackedTrees& trees_;
    const ShapleyGame& game_;
    const Coefficients& coefficients_;
    const Index words_;
    const PreparedTree* tree_ = nullptr;
    std::vector<Frame> frames_;
    // Background rows as bits: by depth, those that can be mixed with the row to get there, and
    // those of a slot before the split there; by slot, those that pass the player's splits.
    std::vector<Word> compatible_, saved_, passing_;
    std::vector<std::uint8_t> row_passes_;
    std::vector<std::int32_t> players_;
    std::vector<double> found_;
    std::vector<Index> fails_;
    // Where the values of a leaf and a pattern begin among those remembered.
    std::vector<std::int32_t> known_;
    std::vector<double> remembered_;
};

}  // namespace

template <class T>
void sum_shapley_values(const PackedTrees& trees, const Dense<T>& X, const ShapleyGame& game,
                        double* out, const Context& context) {
    const Index n = X.rows, words = (game.background.rows + word_bits - 1) / word_bits;
    const Index stride = trees.width * trees.groups, per_row = game.player_count * stride;
    const Index step_i = X.order == Order::rows ? X.columns : 1;
    const Index step_j = X.order == Order::rows ? 1 : X.rows;
    const Index bytes = static_cast<Index>(sizeof(Node)) + words * 8;
    const Index block = std::clamp<Index>(n / (4 * std::max(context.threads, 1)), 16, 512);
    for (Index first = 0, last = 0; first < trees.count; first = last) {
        last = first + 1;
        while (last < trees.count &&
               (trees.start[last + 1] - trees.start[first]) * bytes <= most_bytes)
            ++last;
        std::vector<PreparedTree> ready(last - first);
        parallel_for(last - first, context.threads, context.poll,
                     [&](Index t, Checkpoint& checkpoint) {
                         ready[t] = prepare(trees, first + t, game, words, checkpoint);
                     });
        Index slots = 0;
        for (const PreparedTree& tree : ready) slots = std::max(slots, tree.slots);
        const Coefficients coefficients(slots);
        parallel_for((n + block - 1) / block, context.threads, context.poll,
                     [&](Index k, Checkpoint& checkpoint) {
                         Walk walk(trees, game, coefficients, words);
                         const Index end = std::min(n, (k + 1) * block);
                         for (Index t = first; t < last; ++t) {
                             walk.begin(ready[t - first]);
                             for (Index i = k * block; i < end; ++i) {
                                 checkpoint();
                                 const T* x = X.data + i * step_i;
                                 walk.through(
                                     [&](Index j) { return static_cast<double>(x[j * step_j]); },
                                     stride, out + i * per_row + t % trees.groups * trees.width);
                             }
                         }
                     });
    }
}

template void sum_shapley_values(const PackedTrees&, const Dense<float>&, const ShapleyGame&,
                                 double*, const Context&);
template void sum_shapley_values(const PackedTrees&, const Dense<double>&, const ShapleyGame&,
                                 double*, const Context&);

}  // namespace gapless
