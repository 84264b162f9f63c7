#include "trees/predict.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <numeric>
#include <vector>

#include "trees/walks.hpp"

namespace gapless {
namespace {

using walking::Passage;
using walking::Way;

// visit(first row, number of rows, passage, checkpoint) for blocks of rows shared by threads.
template <class T, class Visit>
void visit_blocks(const PackedTrees& trees, const Dense<T>& X, const Context& context,
                  Visit&& visit) {
    const int threads =
        useful_threads(20.0 * static_cast<double>(X.rows * trees.count), context.threads);
    const Way way = walking::way_down(trees, X.columns);
    const Index size = walking::rows_together(way, X.rows, threads);
    parallel_for((X.rows + size - 1) / size, threads, context.poll,
                 [&](Index b, Checkpoint& checkpoint) {
                     const Index first = b * size, rows = std::min(size, X.rows - first);
                     Passage<T> passage(trees, way, walking::rows_of(X, first), rows);
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

// Add the values of the rows' leaves to their sums, `stride` apart.
void add_leaves(const PackedTrees& trees, const PackedNode* nodes,
                const std::vector<std::int32_t>& rows, const std::vector<std::int32_t>& at,
                Index stride, double* sums) {
    const Index width = trees.width;
    if (width == 1) {
        for (std::int32_t i : rows) sums[i * stride] += trees.table[nodes[at[i]].row()];
        return;
    }
    for (std::int32_t i : rows) {
        const Index row = nodes[at[i]].row();
        double* sum = sums + i * stride;
        if (row < width) {
            sum[row] += 1.0;
            continue;
        }
        const double* value = trees.table + row * width;
        for (Index k = 0; k < width; ++k) sum[k] += value[k];
    }
}

}  // namespace

template <class T>
void find_leaves(const PackedTrees& trees, const Dense<T>& X, std::int64_t* out,
                 const Context& context) {
    auto visit = [&](Index first, Index rows, Passage<T>& passage, Checkpoint& checkpoint) {
        const std::vector<std::int32_t> all = counted_up(rows);
        for (Index t = 0; t < trees.count; ++t) {
            checkpoint();
            const std::vector<std::int32_t>& at = passage.through(t, all);
            for (Index i = 0; i < rows; ++i) out[(first + i) * trees.count + t] = at[i];
        }
    };
    visit_blocks(trees, X, context, visit);
}

template <class T>
void sum_leaves(const PackedTrees& trees, const Dense<T>& X, const std::uint8_t* left_out,
                double* out, std::int64_t* used, const Context& context) {
    const Index bytes = (X.rows + 7) / 8, stride = trees.width * trees.groups;
    auto visit = [&](Index first, Index rows, Passage<T>& passage, Checkpoint& checkpoint) {
        double* sums = out + first * stride;
        std::fill(sums, sums + rows * stride, 0.0);
        if (used) std::fill(used + first, used + first + rows, 0);
        std::vector<std::int32_t> chosen = counted_up(rows);
        for (Index t = 0; t < trees.count; ++t) {
            checkpoint();
            if (left_out) choose(left_out + t * bytes, first, rows, chosen);
            const std::vector<std::int32_t>& at = passage.through(t, chosen);
            add_leaves(trees, trees.nodes + trees.start[t], chosen, at, stride,
                       sums + t % trees.groups * trees.width);
            if (used)
                for (std::int32_t i : chosen) ++used[first + i];
        }
    };
    visit_blocks(trees, X, context, visit);
}

Index number_rows(const double* values, Index rows, Index width, std::int32_t* number,
                  std::int64_t* first) {
    const std::uint64_t slots = std::bit_ceil(static_cast<std::uint64_t>(2 * rows + 1));
    std::vector<std::int32_t> known(slots, -1);
    std::int32_t count = 0;
    for (Index i = 0; i < rows; ++i) {
        const double* row = values + i * width;
        std::uint64_t mixed = 0;
        for (Index k = 0; k < width; ++k)
            mixed =
                std::rotl(mixed, 29) * 0x9E3779B97F4A7C15u ^ std::bit_cast<std::uint64_t>(row[k]);
        // The product spreads differences over the highest bits.
        std::uint64_t slot = mixed * 0x9E3779B97F4A7C15u >> 32 & (slots - 1);
        auto is_other = [&](std::int32_t c) {
            return std::memcmp(row, values + first[c] * width, width * sizeof(double)) != 0;
        };
        while (known[slot] >= 0 && is_other(known[slot])) slot = (slot + 1) & (slots - 1);
        if (known[slot] < 0) {
            first[count] = i;
            known[slot] = count++;
        }
        number[i] = known[slot];
    }
    return count;
}

template void find_leaves(const PackedTrees&, const Dense<float>&, std::int64_t*, const Context&);
template void find_leaves(const PackedTrees&, const Dense<double>&, std::int64_t*, const Context&);
template void sum_leaves(const PackedTrees&, const Dense<float>&, const std::uint8_t*, double*,
                         std::int64_t*, const Context&);
template void sum_leaves(const PackedTrees&, const Dense<double>&, const std::uint8_t*, double*,
                         std::int64_t*, const Context&);

}  // namespace gapless
