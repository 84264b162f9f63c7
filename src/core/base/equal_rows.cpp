#include "base/equal_rows.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>
#include <vector>

namespace gapless {
namespace {

constexpr Index rows_per_task = 1024;

// A bijection of 64 bits in which every input bit moves every output bit (Steele, Lea and Flood
// 2014, the finaliser of SplitMix64).
inline std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

// What a position adds to the bits of its entry.
inline std::uint64_t key(Index position) {
    return mix(static_cast<std::uint64_t>(position + 1) * 0x9e3779b97f4a7c15u);
}

// The term of one entry; +0 and −0 have none.
template <class X>
inline std::uint64_t term(X x, std::uint64_t key) {
    return x == X(0) ? 0 : mix(std::bit_cast<std::uint64_t>(static_cast<double>(x)) ^ key);
}

// The hash of a contiguous row.
template <class X>
inline std::uint64_t row_sum(const X* x, const std::uint64_t* keys, Index n) {
    std::uint64_t sum = 0;
    for (Index j = 0; j < n; ++j) sum += term(x[j], keys[j]);
    return sum;
}

// The terms of a contiguous piece of a column, added to the hashes of its rows.
template <class X>
inline void add_column(const X* x, std::uint64_t key, std::uint64_t* hashes, Index n) {
    for (Index i = 0; i < n; ++i) hashes[i] += term(x[i], key);
}

std::uint64_t hash_row(const double* x, const std::uint64_t* keys, Index n) {
    return row_sum(x, keys, n);
}
std::uint64_t hash_row(const float* x, const std::uint64_t* keys, Index n) {
    return row_sum(x, keys, n);
}
void hash_column(const double* x, std::uint64_t key, std::uint64_t* hashes, Index n) {
    add_column(x, key, hashes, n);
}
void hash_column(const float* x, std::uint64_t key, std::uint64_t* hashes, Index n) {
    add_column(x, key, hashes, n);
}

template <class X>
void add_hashes(const Dense<X>& x, const std::uint64_t* keys, Index begin, Index end,
                std::uint64_t* hashes) {
    if (x.order == Order::rows)
        for (Index i = begin; i < end; ++i)
            hashes[i] += hash_row(x.data + i * x.columns, keys, x.columns);
    else
        for (Index j = 0; j < x.columns; ++j)
            hash_column(x.data + j * x.rows + begin, keys[j], hashes + begin, end - begin);
}

template <class X>
void add_hashes(const Compressed<X>& x, const std::uint64_t* keys, Index begin, Index end,
                std::uint64_t* hashes) {
    for (Index i = begin; i < end; ++i)
        for (Index p = x.start[i]; p < x.start[i + 1]; ++p)
            hashes[i] += term(x.value[p], keys[x.index[p]]);
}

// ---- comparing: below 0, 0 or above 0, by the first entry that differs

template <class X>
int sign_of_difference(X a, X b) {
    return (a > b) - (a < b);
}

template <class X>
int compare(const Dense<X>& x, Index a, Index b) {
    Index across = x.order == Order::rows ? x.columns : 1,
          along = x.order == Order::rows ? 1 : x.rows;
    const X *first = x.data + a * across, *second = x.data + b * across;
    for (Index j = 0; j < x.columns; ++j)
        if (int sign = sign_of_difference(first[j * along], second[j * along])) return sign;
    return 0;
}

template <class X>
int compare(const Compressed<X>& x, Index a, Index b) {
    Index p = x.start[a], q = x.start[b], p_end = x.start[a + 1], q_end = x.start[b + 1];
    while (p < p_end || q < q_end) {
        Index i = p < p_end ? x.index[p] : x.length, j = q < q_end ? x.index[q] : x.length;
        X first = i <= j ? x.value[p++] : X(0), second = j <= i ? x.value[q++] : X(0);
        if (int sign = sign_of_difference(first, second)) return sign;
    }
    return 0;
}

template <class Matrix>
int compare(const Rows<Matrix>& rows, Index a, Index b) {
    if (int sign = compare(rows.x, a, b)) return sign;
    for (Index k = 0; k < rows.outputs; ++k)
        if (int sign =
                sign_of_difference(rows.y[a * rows.outputs + k], rows.y[b * rows.outputs + k]))
            return sign;
    return 0;
}

// ---- labelling

struct Hashed {
    std::uint64_t hash;
    Index row;
    bool operator<(const Hashed& other) const {
        return hash != other.hash ? hash < other.hash : row < other.row;
    }
};

// Label the rows of one hash from `first_label` on; returns the number of classes.
template <class Matrix>
Index label_run(const Rows<Matrix>& rows, const Hashed* begin, const Hashed* end, Index first_label,
                std::int64_t* labels, Checkpoint& checkpoint) {
    if (end - begin == 1) {
        labels[begin->row] = first_label;
        return 1;
    }
    std::vector<Index> examples;  // one row of each class: a second class is a collision
    std::vector<Index> classes;
    for (const Hashed* at = begin; at < end; ++at) {
        checkpoint();
        Index c = 0, count = static_cast<Index>(examples.size());
        while (c < count && compare(rows, examples[c], at->row) != 0) ++c;
        if (c == count) examples.push_back(at->row);
        classes.push_back(c);
    }
    std::vector<Index> order(examples.size()), rank(examples.size());
    std::iota(order.begin(), order.end(), Index{0});
    std::sort(order.begin(), order.end(),
              [&](Index a, Index b) { return compare(rows, examples[a], examples[b]) < 0; });
    for (std::size_t r = 0; r < order.size(); ++r) rank[order[r]] = static_cast<Index>(r);
    for (const Hashed* at = begin; at < end; ++at)
        labels[at->row] = first_label + rank[classes[at - begin]];
    return static_cast<Index>(examples.size());
}

// The rows sorted into buckets by the leading bits of their hashes, so that tasks stay short.
struct Buckets {
    static constexpr int bits = 8;
    static constexpr Index count = 1 << bits;
    std::vector<Hashed> rows;
    std::vector<Index> start;

    Buckets(const std::uint64_t* hashes, Index n) : rows(n), start(count + 1, 0) {
        auto bucket = [&](Index i) { return static_cast<Index>(hashes[i] >> (64 - bits)); };
        for (Index i = 0; i < n; ++i) ++start[bucket(i) + 1];
        std::partial_sum(start.begin(), start.end(), start.begin());
        std::vector<Index> next(start.begin(), start.end() - 1);
        for (Index i = 0; i < n; ++i) rows[next[bucket(i)]++] = {hashes[i], i};
    }
};

}  // namespace

template <class Matrix>
void hash_rows(const Rows<Matrix>& rows, std::uint64_t* hashes, const Context& context) {
    std::vector<std::uint64_t> keys(rows.features + rows.outputs);
    for (std::size_t j = 0; j < keys.size(); ++j) keys[j] = key(static_cast<Index>(j));
    Index tasks = (rows.count + rows_per_task - 1) / rows_per_task;
    double operations = double(rows.count) * double(keys.size());
    parallel_for(tasks, useful_threads(operations, context.threads), context.poll, [&](Index task) {
        Index begin = task * rows_per_task, end = std::min(begin + rows_per_task, rows.count);
        Index outputs = rows.outputs;
        for (Index i = begin; i < end; ++i)
            hashes[i] = hash_row(rows.y + i * outputs, keys.data() + rows.features, outputs);
        add_hashes(rows.x, keys.data(), begin, end, hashes);
    });
}

template <class Matrix>
Index label_rows(const Rows<Matrix>& rows, const std::uint64_t* hashes, std::int64_t* labels,
                 const Context& context) {
    Buckets buckets(hashes, rows.count);
    std::vector<Index> classes(Buckets::count + 1, 0);
    int threads = useful_threads(double(rows.count) * 64, context.threads);
    parallel_for(Buckets::count, threads, context.poll, [&](Index bucket, Checkpoint& checkpoint) {
        Hashed* end = buckets.rows.data() + buckets.start[bucket + 1];
        Hashed* run = buckets.rows.data() + buckets.start[bucket];
        std::sort(run, end);
        while (run < end) {
            Hashed* next = run;
            while (next < end && next->hash == run->hash) ++next;
            classes[bucket + 1] +=
                label_run(rows, run, next, classes[bucket + 1], labels, checkpoint);
            run = next;
        }
    });
    std::partial_sum(classes.begin(), classes.end(), classes.begin());
    for (Index bucket = 0; bucket < Buckets::count; ++bucket)
        for (Index p = buckets.start[bucket]; p < buckets.start[bucket + 1]; ++p)
            labels[buckets.rows[p].row] += classes[bucket];
    return classes.back();
}

template void hash_rows(const Rows<Dense<float>>&, std::uint64_t*, const Context&);
template void hash_rows(const Rows<Dense<double>>&, std::uint64_t*, const Context&);
template void hash_rows(const Rows<Compressed<float>>&, std::uint64_t*, const Context&);
template void hash_rows(const Rows<Compressed<double>>&, std::uint64_t*, const Context&);
template Index label_rows(const Rows<Dense<float>>&, const std::uint64_t*, std::int64_t*,
                          const Context&);
template Index label_rows(const Rows<Dense<double>>&, const std::uint64_t*, std::int64_t*,
                          const Context&);
template Index label_rows(const Rows<Compressed<float>>&, const std::uint64_t*, std::int64_t*,
                          const Context&);
template Index label_rows(const Rows<Compressed<double>>&, const std::uint64_t*, std::int64_t*,
                          const Context&);

}  // namespace gapless
