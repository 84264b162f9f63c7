#include "tree_predict.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <type_traits>
#include <vector>

namespace gapless {
namespace {

constexpr std::int32_t missing_flag = 1 << 30, category_flag = 1 << 29;
constexpr std::int32_t column_mask = category_flag - 1;
// Of where the words of a category begin, and of how many there are.
constexpr int word_bits = 24;
// Rows that walk together: their features fit the second-level cache beside a tree.
constexpr Index block_rows = 1024;

bool is_one_class(const double* value, Index width) {
    return std::count(value, value + width, 1.0) == 1 &&
           std::count(value, value + width, 0.0) == width - 1;
}

LeafKind kind_of(const double* value, Index width) {
    if (width == 1) return one_value;
    return is_one_class(value, width) ? one_class : table_row;
}

double packed_words(Index first, Index count) {
    return std::bit_cast<double>(first << word_bits | count);
}

bool has_level(double words, const std::uint32_t* all, double x) {
    const Index packed = std::bit_cast<Index>(words);
    const Index count = packed & ((Index{1} << word_bits) - 1);
    if (!(x >= 0 && x < static_cast<double>(32 * count))) return false;
    const Index level = static_cast<Index>(x);
    return all[(packed >> word_bits) + level / 32] >> (level % 32) & 1;
}

// Some rows of X as they are in memory.
template <class T>
struct RowBlock {
    const T* data;
    Index row_stride, column_stride;
    double at(Index i, Index j) const {
        return static_cast<double>(data[i * row_stride + j * column_stride]);
    }
};

template <class T>
RowBlock<T> rows_of(const Dense<T>& X, Index first) {
    if (X.order == Order::rows) return {X.data + first * X.columns, X.columns, 1};
    return {X.data + first, 1, X.rows};
}

// The same as doubles by rows.
template <class T>
RowBlock<double> copied(const RowBlock<T>& block, Index rows, Index columns,
                        std::vector<double>& copy) {
    copy.resize(rows * columns);
    for (Index i = 0; i < rows; ++i)
        for (Index j = 0; j < columns; ++j) copy[i * columns + j] = block.at(i, j);
    return {copy.data(), columns, 1};
}

// The same without a copy where it is so already.
RowBlock<double> as_doubles(const RowBlock<double>& block, Index rows, Index columns,
                            std::vector<double>& copy) {
    return block.column_stride == 1 ? block : copied(block, rows, columns, copy);
}

RowBlock<double> as_doubles(const RowBlock<float>& block, Index rows, Index columns,
                            std::vector<double>& copy) {
    return copied(block, rows, columns, copy);
}

// Rows that walk in step with each other, in vector registers.
constexpr Index lanes = 16;

// Whether the loop below gathers. Without, it takes two to three times as long as single rows.
bool has_gathers() {
#if defined(__x86_64__) && defined(__GLIBC__)
    static const bool has_avx2 = __builtin_cpu_supports("avx2");
    return has_avx2;
#else
    return false;
#endif
}

// Let rows, whose features begin at X[first[i]], walk from the root to their leaves. Written so
// that the compiler makes it a loop of vectors that gather what they need: the nodes are read as
// pairs of words, and a leaf is its own successor.
GAPLESS_CLONES
void walk_in_step(const PackedNode* nodes, const double* X, const Index* first,
                  Index* __restrict at) {
    const double* content = &nodes[0].content;
    const Index* meta = reinterpret_cast<const Index*>(nodes) + 1;
    Index moved;
    do {
        moved = 0;
        for (Index i = 0; i < lanes; ++i) {
            const Index here = at[i];
            const Index word = meta[2 * here];
            const double threshold = content[2 * here];
            const Index is_leaf = word & 0x80000000, is_missing_left = word & missing_flag;
            const Index column = is_leaf ? 0 : word & column_mask;
            const double x = X[first[i] + column];
            const Index is_up_to = x <= threshold ? 1 : 0;
            const Index is_left = x != x ? is_missing_left : is_up_to;
            const Index child = is_left ? here + 1 : word >> 32;
            const Index next = is_leaf ? here : child;
            at[i] = next;
            moved |= next ^ here;
        }
    } while (moved);
}

// Where each row of a block is in a tree.
class Walk {
public:
    Walk() : moving_(block_rows), node_(block_rows) {}

    // All rows that still move take a step together: their steps do not wait for each other, so
    // the processor overlaps what it reads from memory.
    template <class T>
    void run_scattered(const PackedTrees& trees, Index t, const RowBlock<T>& X,
                       const std::vector<std::int32_t>& rows) {
        const PackedNode* nodes = trees.nodes + trees.start[t];
        for (std::int32_t row : rows) node_[row] = 0;
        if (nodes[0].column < 0) return;
        std::copy(rows.begin(), rows.end(), moving_.begin());
        Index active = static_cast<Index>(rows.size());
        while (active > 0) active = step(nodes, trees.words, X, active);
    }

    // The same for trees that ask about numbers alone.
    void run_in_step(const PackedTrees& trees, Index t, const RowBlock<double>& X,
                     const std::vector<std::int32_t>& rows) {
        const PackedNode* nodes = trees.nodes + trees.start[t];
        const Index count = static_cast<Index>(rows.size());
        for (Index k = 0; k < count; k += lanes) {
            Index first[lanes], at[lanes];
            for (Index i = 0; i < lanes; ++i) {
                // The last ones walk more than once where lanes are left over.
                first[i] = rows[std::min(k + i, count - 1)] * X.row_stride;
                at[i] = 0;
            }
            walk_in_step(nodes, X.data, first, at);
            for (Index i = 0; i < std::min(lanes, count - k); ++i)
                node_[rows[k + i]] = static_cast<std::int32_t>(at[i]);
        }
    }

    std::int32_t operator[](Index row) const { return node_[row]; }

private:
    // One level down for the rows that move; returns how many of them have not reached a leaf.
    template <class T>
    Index step(const PackedNode* nodes, const std::uint32_t* words, const RowBlock<T>& X,
               Index active) {
        Index kept = 0;
        for (Index k = 0; k < active; ++k) {
            const std::int32_t row = moving_[k], here = node_[row];
            const PackedNode& node = nodes[here];
            const double x = X.at(row, node.column & column_mask);
            bool is_left = x <= node.content;
            if (node.column & category_flag) [[unlikely]]
                is_left = has_level(node.content, words, x);
            is_left |= (x != x) & ((node.column & missing_flag) != 0);
            // Without a branch, which could not be predicted.
            const std::int32_t mask = -static_cast<std::int32_t>(is_left);
            const std::int32_t next = node.right ^ ((node.right ^ (here + 1)) & mask);
            node_[row] = next;
            moving_[kept] = row;
            kept += nodes[next].column >= 0;
        }
        return kept;
    }

    std::vector<std::int32_t> moving_, node_;
};

// The rows of one block on their way through all trees. Trees with categories, rows so wide that
// copying them as doubles would take longer than the way, and processors that do not gather go
// without vectors.
template <class T>
class Passage {
public:
    Passage(const PackedTrees& trees, const Dense<T>& X, Index first, Index rows)
        : trees_(trees), block_(rows_of(X, first)) {
        const bool is_double = std::is_same_v<T, double> && X.order == Order::rows;
        const bool is_narrow = is_double || X.columns <= 64 + 4 * trees.count;
        in_step_ = has_gathers() && !trees.has_categories && is_narrow;
        if (in_step_) doubles_ = as_doubles(block_, rows, X.columns, copy_);
    }

    const Walk& through(Index t, const std::vector<std::int32_t>& rows) {
        if (in_step_)
            walk_.run_in_step(trees_, t, doubles_, rows);
        else
            walk_.run_scattered(trees_, t, block_, rows);
        return walk_;
    }

private:
    const PackedTrees& trees_;
    RowBlock<T> block_;
    RowBlock<double> doubles_{};
    std::vector<double> copy_;
    bool in_step_;
    Walk walk_;
};

void add_leaf(const PackedTrees& trees, const PackedNode& leaf, double* sums) {
    switch (leaf.column) {
        case one_value:
            sums[0] += leaf.content;
            break;
        case one_class:
            sums[leaf.right] += 1.0;
            break;
        default: {
            const double* value = trees.table + leaf.right * trees.width;
            for (Index k = 0; k < trees.width; ++k) sums[k] += value[k];
        }
    }
}

// visit(first row, number of rows, passage, checkpoint) for blocks of rows shared by threads.
template <class T, class Visit>
void visit_blocks(const PackedTrees& trees, const Dense<T>& X, const Context& context,
                  Visit&& visit) {
    const Index blocks = (X.rows + block_rows - 1) / block_rows;
    const int threads =
        useful_threads(20.0 * static_cast<double>(X.rows * trees.count), context.threads);
    parallel_for(blocks, threads, context.poll, [&](Index b, Checkpoint& checkpoint) {
        const Index first = b * block_rows, rows = std::min(block_rows, X.rows - first);
        Passage<T> passage(trees, X, first, rows);
        visit(first, rows, passage, checkpoint);
    });
}

// The rows of a block whose bit is 0.
void choose(const std::uint8_t* bits, Index first, Index rows, std::vector<std::int32_t>& chosen) {
    chosen.clear();
    for (Index i = 0; i < rows; ++i)
        if (!(bits[(first + i) / 8] >> ((first + i) % 8) & 1))
            chosen.push_back(static_cast<std::int32_t>(i));
}

std::vector<std::int32_t> counted_up(Index count) {
    std::vector<std::int32_t> all(count);
    std::iota(all.begin(), all.end(), 0);
    return all;
}

}  // namespace

Index table_rows(const TreeArrays& tree) {
    Index rows = 0;
    for (Index i = 0; i < tree.nodes; ++i)
        rows += tree.left[i] < 0 && kind_of(tree.values + i * tree.width, tree.width) == table_row;
    return rows;
}

bool pack_tree(const TreeArrays& tree, Index first_row, Index first_word, PackedNode* nodes,
               double* table) {
    for (Index i = 0; i < tree.nodes; ++i) {
        const double* value = tree.values + i * tree.width;
        if (tree.left[i] >= 0) {
            if (tree.left[i] != i + 1 || tree.right[i] <= i + 1 || tree.right[i] >= tree.nodes)
                return false;
            std::int32_t column = static_cast<std::int32_t>(tree.feature[i]);
            if (tree.missing_left[i]) column |= missing_flag;
            double content = tree.threshold[i];
            const Index first = tree.category_start ? tree.category_start[i] : 0;
            const Index count = tree.category_start ? tree.category_start[i + 1] - first : 0;
            if (count > 0) {
                column |= category_flag;
                content = packed_words(first_word + first, count);
            }
            nodes[i] = {content, column, static_cast<std::int32_t>(tree.right[i])};
            continue;
        }
        const LeafKind kind = kind_of(value, tree.width);
        nodes[i] = {0.0, kind, 0};
        if (kind == one_value) nodes[i].content = *value;
        if (kind == one_class)
            nodes[i].right =
                static_cast<std::int32_t>(std::find(value, value + tree.width, 1.0) - value);
        if (kind == table_row) {
            nodes[i].right = static_cast<std::int32_t>(first_row++);
            table = std::copy(value, value + tree.width, table);
        }
    }
    return true;
}

template <class T>
void find_leaves(const PackedTrees& trees, const Dense<T>& X, std::int64_t* out,
                 const Context& context) {
    auto visit = [&](Index first, Index rows, Passage<T>& passage, Checkpoint& checkpoint) {
        const std::vector<std::int32_t> all = counted_up(rows);
        for (Index t = 0; t < trees.count; ++t) {
            checkpoint();
            const Walk& walk = passage.through(t, all);
            for (Index i = 0; i < rows; ++i) out[(first + i) * trees.count + t] = walk[i];
        }
    };
    visit_blocks(trees, X, context, visit);
}

template <class T>
void sum_leaves(const PackedTrees& trees, const Dense<T>& X, const std::uint8_t* left_out,
                double* out, std::int64_t* used, const Context& context) {
    const Index stride = (X.rows + 7) / 8;
    auto visit = [&](Index first, Index rows, Passage<T>& passage, Checkpoint& checkpoint) {
        double* sums = out + first * trees.width;
        std::fill(sums, sums + rows * trees.width, 0.0);
        if (used) std::fill(used + first, used + first + rows, 0);
        std::vector<std::int32_t> chosen = counted_up(rows);
        for (Index t = 0; t < trees.count; ++t) {
            checkpoint();
            if (left_out) choose(left_out + t * stride, first, rows, chosen);
            const Walk& walk = passage.through(t, chosen);
            const PackedNode* nodes = trees.nodes + trees.start[t];
            for (std::int32_t i : chosen) add_leaf(trees, nodes[walk[i]], sums + i * trees.width);
            if (used)
                for (std::int32_t i : chosen) ++used[first + i];
        }
    };
    visit_blocks(trees, X, context, visit);
}

template void find_leaves(const PackedTrees&, const Dense<float>&, std::int64_t*, const Context&);
template void find_leaves(const PackedTrees&, const Dense<double>&, std::int64_t*, const Context&);
template void sum_leaves(const PackedTrees&, const Dense<float>&, const std::uint8_t*, double*,
                         std::int64_t*, const Context&);
template void sum_leaves(const PackedTrees&, const Dense<double>&, const std::uint8_t*, double*,
                         std::int64_t*, const Context&);

}  // namespace gapless
