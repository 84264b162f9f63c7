// Products with a dense matrix. All follow one scheme: an `outer` side that the result keeps and an
// `inner` side that is summed over. The inner side is cut into a few lanes that are added in order
// at the end, the outer side into blocks; a task is one lane of one block.
#include "base/products.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "base/narrow.hpp"
#include "base/panels.hpp"
#include "base/pieces.hpp"
#include "base/rare_columns.hpp"

namespace gapless {
namespace {

// A dense matrix seen as outer × inner, and the operations on its entries while they are read.
template <class X, class V>
struct Source {
    const X* data;
    Index stride;
    bool inner_is_rows;  // the rows in memory run along the inner side
    // Everything below may be null. Centre and scale are indexed by the choice, not by the data.
    const V* inner_center = nullptr;  // subtracted; at most one of the two
    const V* outer_center = nullptr;
    const V* inner_scale = nullptr;             // multiplied, afterwards
    const std::int64_t* inner_index = nullptr;  // the chosen positions of either side
    const std::int64_t* outer_index = nullptr;

    Block<X, V> block(Range outer, Range inner) const {
        Range rows = inner_is_rows ? inner : outer, columns = inner_is_rows ? outer : inner;
        const V* of_inner = inner_center ? inner_center + inner.begin : nullptr;
        const V* of_outer = outer_center ? outer_center + outer.begin : nullptr;
        return {data + rows.begin * stride + columns.begin,
                stride,
                rows.size(),
                columns.size(),
                inner_is_rows ? of_inner : of_outer,
                inner_is_rows ? of_outer : of_inner};
    }

    // The block as a BLAS operand outer × inner: the data itself if it needs no change, or a copy.
    Operand<V> load(Range outer, Range inner, V* buffer) const {
        auto transpose = inner_is_rows ? Transpose::no : Transpose::yes;
        Block<X, V> b = block(outer, inner);
        bool is_plain =
            !inner_center && !outer_center && !inner_scale && !inner_index && !outer_index;
        if constexpr (std::is_same_v<X, V>)
            if (is_plain) return {b.x, stride, transpose};
        const V* scale = inner_scale ? inner_scale + inner.begin : nullptr;
        const V* row_scale = inner_is_rows ? scale : nullptr;
        const V* column_scale = inner_is_rows ? nullptr : scale;
        if (inner_index || outer_index)
            gather(b, outer, inner, row_scale, column_scale, buffer);
        else
            copy(b, row_scale, column_scale, buffer);
        return {buffer, b.columns, transpose};
    }

private:
    void gather(const Block<X, V>& b, Range outer, Range inner, const V* row_scale,
                const V* column_scale, V* buffer) const {
        Range rows = inner_is_rows ? inner : outer, columns = inner_is_rows ? outer : inner;
        const std::int64_t* row_index = inner_is_rows ? inner_index : outer_index;
        const std::int64_t* column_index = inner_is_rows ? outer_index : inner_index;
        std::vector<X> picked(column_index ? b.columns : 0);
        for (Index i = 0; i < b.rows; ++i) {
            const X* x = data + (row_index ? row_index[rows.begin + i] : rows.begin + i) * stride;
            if (column_index)
                for (Index j = 0; j < b.columns; ++j)
                    picked[j] = x[column_index[columns.begin + j]];
            Block<X, V> row{
                column_index ? picked.data() : x + columns.begin, stride,         1, b.columns,
                b.row_center ? b.row_center + i : nullptr,        b.column_center};
            copy(row, row_scale ? row_scale + i : nullptr, column_scale, buffer + i * b.columns);
        }
    }
};

// ---- products with vectors ----

struct Plan {
    Index block, blocks;  // outer positions per block
    Index lane, lanes;    // inner positions per lane
};

constexpr Index task_entries = Index(1) << 18;  // some 100 µs of reading memory

Plan plan_product(Index outer, Index inner, Index outputs, bool inner_is_rows) {
    constexpr Index max_lanes = 32;
    constexpr Index lanes_size = Index(1) << 23;  // memory of all lanes together
    constexpr Index cached = Index(1) << 16;      // memory for the outputs of a block
    Plan plan;
    plan.block = inner_is_rows
                     ? std::clamp<Index>(cached / outputs, 64, 2048)
                     : std::max<Index>(task_entries / std::max<Index>(inner, 1) / 4 * 4, 64);
    plan.blocks = ceil_div(outer, plan.block);
    Index tasks = ceil_div(outer * inner, task_entries);
    Index most = std::min(max_lanes / plan.blocks, lanes_size / (outer * outputs));
    plan.lanes = std::clamp<Index>(tasks / plan.blocks, 1, std::max<Index>(most, 1));
    plan.lane = std::max<Index>(ceil_div(ceil_div(inner, plan.lanes), 4) * 4, 4);
    return plan;
}

// out = one lane of one block, for one output.
template <class X, class V>
void multiply_vector(const Source<X, V>& a, Range outer, Range inner, Entry entry, const V* v,
                     V* out, Checkpoint& checkpoint) {
    std::fill_n(out, outer.size(), V(0));
    Index step = std::max<Index>(task_entries / outer.size() / 4 * 4, 64);
    for (Index i = inner.begin; i < inner.end; i += step) {
        checkpoint();
        Range slice{i, std::min(i + step, inner.end)};
        Block<X, V> b = a.block(outer, slice);
        if (a.inner_is_rows)
            add_transposed(b, entry, v + slice.begin, out);
        else
            add_times(b, entry, v + slice.begin, out);
    }
}

// How a block is cut for several outputs, by matrix products on pieces that fit the cache.
struct Pieces {
    Index outer, inner;

    Pieces(Range outer_range, Range inner_range, bool inner_is_rows, Index outputs) {
        // Up to 10⁶ multiplications OpenBLAS does not repack its operands, which for few outputs
        // costs more than the product itself; a piece that would become too thin is better packed.
        constexpr Index unpacked = 1000000, thin = 16, packed = 256;
        constexpr Index buffer = Index(1) << 16;  // entries
        Index length =
            std::min<Index>(inner_is_rows ? outer_range.size() : inner_range.size(), 1024);
        Index height = unpacked / (outputs * length);
        height = std::min(height < thin ? packed : height, std::max(buffer / length, thin));
        outer = inner_is_rows ? length : height;
        inner = inner_is_rows ? height : length;
    }
};

// Whether register tiles are fastest for so many outputs.
template <class V>
bool suits_tiles(Index outputs, bool inner_is_rows) {
    const Index fewest = lanes_of<V> / 2, most = inner_is_rows ? 48 : 256;
    return has_narrow && outputs >= fewest && outputs <= most;
}

// One lane of one block for several outputs, by register tiles.
template <class X, class V>
void multiply_by_tiles(const Source<X, V>& a, Range outer, Range inner, const V* v, Index outputs,
                       V* out, Checkpoint& checkpoint) {
    const Index step = a.inner_is_rows ? NarrowLeft<V>::longest : NarrowRight<V>::longest;
    auto buffer = uninitialized<V>(std::min(step, inner.size()) * outer.size());
    // Lines that are a power of two apart would share a place in the cache.
    const Index apart = outer.size() + 64 / static_cast<Index>(sizeof(V));
    auto turned = uninitialized<V>(a.inner_is_rows ? apart * outputs : 0);
    NarrowRight<V> right(a.inner_is_rows ? 0 : outputs);
    NarrowLeft<V> left;
    for (Index i = inner.begin; i < inner.end; i += step) {
        checkpoint();
        Range slice{i, std::min(i + step, inner.end)};
        Operand<V> x = a.load(outer, slice, buffer.get());
        const V* w = v + slice.begin * outputs;
        bool is_first = i == inner.begin;
        if (a.inner_is_rows) {
            left.multiply(x.data, x.stride, slice.size(), outer.size(), w, outputs, turned.get(),
                          apart, is_first);
            continue;
        }
        right.pack(w, slice.size());
        right.multiply(x.data, x.stride, outer.size(), out, is_first);
    }
    if (a.inner_is_rows)
        for (Index j = 0; j < outer.size(); ++j)
            for (Index k = 0; k < outputs; ++k) out[j * outputs + k] = turned[k * apart + j];
}

// The same by BLAS.
template <class X, class V>
void multiply_matrix(const Source<X, V>& a, Range outer, Range inner, const V* v, Index outputs,
                     V* out, const Context& context, Checkpoint& checkpoint) {
    if (inner.size() == 0) {
        std::fill_n(out, outer.size() * outputs, V(0));
        return;
    }
    if (suits_tiles<V>(outputs, a.inner_is_rows))
        return multiply_by_tiles(a, outer, inner, v, outputs, out, checkpoint);
    Pieces pieces(outer, inner, a.inner_is_rows, outputs);
    auto buffer = uninitialized<V>(pieces.outer * pieces.inner);
    // The long contiguous side should be the first of the result: if it is the outer one, the
    // result is computed by columns and transposed at the end.
    auto turned = uninitialized<V>(a.inner_is_rows ? pieces.outer * outputs : 0);
    for (Index o = outer.begin; o < outer.end; o += pieces.outer) {
        Range rows{o, std::min(o + pieces.outer, outer.end)};
        V* to = out + (o - outer.begin) * outputs;
        for (Index i = inner.begin; i < inner.end; i += pieces.inner) {
            checkpoint();
            Range slice{i, std::min(i + pieces.inner, inner.end)};
            Operand<V> x = a.load(rows, slice, buffer.get());
            Operand<V> w{v + slice.begin * outputs, outputs, Transpose::no};
            V beta = i == inner.begin ? V(0) : V(1);
            if (a.inner_is_rows)
                gemm(context.blas, rows.size(), outputs, slice.size(), x, transposed(w), beta,
                     turned.get(), rows.size());
            else
                gemm(context.blas, outputs, rows.size(), slice.size(), w, transposed(x), beta, to,
                     outputs);
        }
        if (a.inner_is_rows)
            for (Index j = 0; j < rows.size(); ++j)
                for (Index k = 0; k < outputs; ++k)
                    to[j * outputs + k] = turned[k * rows.size() + j];
    }
}

// out (outer × outputs) = A v with v (inner × outputs)
template <class X, class V>
void product(const Source<X, V>& a, Index outer, Index inner, Entry entry, const V* v,
             Index outputs, V* out, const Context& context) {
    if (outer == 0 || outputs == 0) return;
    Plan plan = plan_product(outer, inner, outputs, a.inner_is_rows);
    Index size = outer * outputs;
    auto lanes = plan.lanes > 1 ? uninitialized<V>(plan.lanes * size) : nullptr;
    int threads = useful_threads(double(outer) * double(inner) * double(outputs), context.threads);
    parallel_for(plan.blocks * plan.lanes, threads, context.poll,
                 [&](Index task, Checkpoint& checkpoint) {
                     Index l = task % plan.lanes;
                     Range rows = part(task / plan.lanes, plan.block, outer);
                     Range slice = part(l, plan.lane, inner);
                     V* to = (lanes ? lanes.get() + l * size : out) + rows.begin * outputs;
                     if (outputs == 1 && !a.outer_index)
                         multiply_vector(a, rows, slice, entry, v, to, checkpoint);
                     else
                         multiply_matrix(a, rows, slice, v, outputs, to, context, checkpoint);
                 });
    if (!lanes) return;
    std::copy_n(lanes.get(), size, out);
    for (Index l = 1; l < plan.lanes; ++l) {
        const V* lane = lanes.get() + l * size;
        for (Index i = 0; i < size; ++i) out[i] += lane[i];
    }
}

// The centre of the chosen columns in the type of the sums, converted only if that differs.
template <class V>
class Center {
public:
    Center(const double* center, Columns columns) {
        if constexpr (std::is_same_v<V, double>) data_ = center;
        if (!center || (data_ && !columns.index)) return;
        converted_.resize(columns.count);
        for (Index j = 0; j < columns.count; ++j)
            converted_[j] = static_cast<V>(center[columns.index ? columns.index[j] : j]);
        data_ = converted_.data();
    }
    const V* data() const { return data_; }

private:
    std::vector<V> converted_;
    const V* data_ = nullptr;
};

template <class V, class X>
Source<X, V> source(const Dense<X>& x, bool inner_is_features, const V* center) {
    bool by_rows = x.order == Order::rows;
    return {.data = x.data,
            .stride = by_rows ? x.columns : x.rows,
            .inner_is_rows = by_rows != inner_is_features,
            .inner_center = inner_is_features ? center : nullptr,
            .outer_center = inner_is_features ? nullptr : center};
}

// ---- the Hessian of a loss with several scores ----

// Rows from `rows.begin` on: turned (outputs × features) += (their part of XᵀC)ᵀ, sums += that of
// 1ᵀC.
template <class X>
void add_curved(const Source<X, X>& xt, Range rows, Index features, const RowHessians<X>& h,
                const X* v, const X* shift, X* buffer, X* u, X* turned, double* sums,
                const Context& context) {
    const Index K = h.outputs;
    Operand<X> x = xt.load({0, features}, rows, buffer);
    gemm(context.blas, K, rows.size(), features, Operand<X>{v, K, Transpose::no}, x, X(0), u, K);
    for (Index i = 0; i < rows.size(); ++i) {
        const X* a = h.a + (rows.begin + i) * K;
        const X* f = h.f ? h.f + (rows.begin + i) * K : nullptr;
        X *c = u + i * K, along = 0;
        for (Index k = 0; k < K; ++k) c[k] += shift[k];
        for (Index k = 0; f && k < K; ++k) along += f[k] * c[k];
        for (Index k = 0; k < K; ++k) c[k] = a[k] * c[k] - (f ? f[k] * along : X(0));
        for (Index k = 0; k < K; ++k) sums[k] += static_cast<double>(c[k]);
    }
    gemm(context.blas, features, K, rows.size(), x, Operand<X>{u, K, Transpose::yes}, X(1), turned,
         features);
}

// ---- Gram matrices ----

// The lower triangle (by rows) of A Aᵀ, small outer side: lanes over the inner side.
template <class X, class V>
void gram_by_lanes(const Source<X, V>& a, Index outer, Index inner, V* out,
                   const Context& context) {
    constexpr Index buffer_size = Index(1) << 17, lanes_size = Index(1) << 22;
    Index size = outer * outer;
    Index step = std::clamp<Index>(buffer_size / outer, 256, 2048);
    Index lanes = std::clamp<Index>(inner / step, 1, std::clamp<Index>(lanes_size / size, 4, 32));
    Index lane = ceil_div(ceil_div(inner, lanes), step) * step;
    lanes = ceil_div(inner, lane);
    auto sums = lanes > 1 ? uninitialized<V>((lanes - 1) * size) : nullptr;
    int threads = useful_threads(double(size) * double(inner), context.threads);
    parallel_for(lanes, threads, context.poll, [&](Index l, Checkpoint& checkpoint) {
        auto buffer = uninitialized<V>(step * outer);
        V* to = l == 0 ? out : sums.get() + (l - 1) * size;
        Range slice = part(l, lane, inner);
        for (Index i = slice.begin; i < slice.end; i += step) {
            checkpoint();
            Range piece{i, std::min(i + step, slice.end)};
            auto x = a.load({0, outer}, piece, buffer.get());
            syrk(context.blas, outer, piece.size(), x, i == slice.begin ? V(0) : V(1), to, outer);
        }
    });
    for (Index l = 1; l < lanes; ++l) {
        const V* lane_sum = sums.get() + (l - 1) * size;
        for (Index i = 0; i < outer; ++i)
            for (Index j = 0; j <= i; ++j) out[i * outer + j] += lane_sum[i * outer + j];
    }
}

// The same by panels of `vectors` vectors, for data in the order of its inner side.
template <int vectors, class X, class V>
void gram_by_panels(const Source<X, V>& a, Index outer, Index inner, V* out,
                    const Context& context) {
    using PanelsOf = Panels<vectors, X, V>;
    constexpr Index shortest_lane = 1024, max_lanes = 32;
    const PackedRows<X, V> rows{a.data, a.stride, a.inner_index, a.outer_center, a.inner_scale};
    const PanelsOf whole(outer);
    Index lanes = std::clamp<Index>(inner / shortest_lane, 1, max_lanes);
    Index lane = ceil_div(inner, lanes), side = whole.side();
    lanes = ceil_div(inner, lane);
    auto sums = uninitialized<V>(lanes * side * side);
    int threads = useful_threads(double(outer) * double(outer) * double(inner), context.threads);
    parallel_for(lanes, threads, context.poll, [&](Index l, Checkpoint& checkpoint) {
        PanelsOf panels(outer);
        Range slice = part(l, lane, inner);
        for (Index i = slice.begin; i < slice.end; i += PanelsOf::longest) {
            checkpoint();
            panels.add(rows, {i, std::min(i + PanelsOf::longest, slice.end)}, i == slice.begin,
                       sums.get() + l * side * side);
        }
    });
    for (Index i = 0; i < outer; ++i)
        for (Index j = 0; j <= i; ++j) {
            const V* entry = sums.get() + whole.place(i) * side + whole.place(j);
            V sum = entry[0];
            for (Index l = 1; l < lanes; ++l) sum += entry[l * side * side];
            out[i * outer + j] = sum;
        }
}

// The same where most columns are rare. Lanes are added in order.
template <class X, class V>
void gram_by_rare_columns(const RareColumns& columns, const PackedRows<X, V>& rows, Index outer,
                          Index inner, V* out, const Context& context) {
    constexpr Index shortest_lane = 1024, lanes_size = Index(1) << 22;
    using Sums = RareGram<X, V>;
    const Sums whole(columns, rows, outer);
    const Index size = whole.size();
    Index lanes = std::clamp<Index>(lanes_size / size, 4, 32);
    lanes = std::clamp<Index>(inner / shortest_lane, 1, lanes);
    const Index lane = ceil_div(inner, lanes);
    lanes = ceil_div(inner, lane);
    auto sums = uninitialized<V>(lanes * size);
    int threads = useful_threads(double(outer) * double(inner), context.threads);
    parallel_for(lanes, threads, context.poll, [&](Index l, Checkpoint& checkpoint) {
        Sums of_lane(columns, rows, outer);
        Range slice = part(l, lane, inner);
        for (Index i = slice.begin; i < slice.end; i += Sums::longest) {
            checkpoint();
            of_lane.add({i, std::min(i + Sums::longest, slice.end)}, i == slice.begin,
                        sums.get() + l * size);
        }
    });
    for (Index l = 1; l < lanes; ++l)
        for (Index k = 0; k < size; ++k) sums[k] += sums[l * size + k];
    for (Index i = 0; i < outer; ++i)
        for (Index j = 0; j <= i; ++j) out[i * outer + j] = whole.entry(sums.get(), i, j);
}

// Whether panels are fastest; with more columns BLAS makes better use of the caches.
template <class X, class V>
bool suits_panels(const Source<X, V>& a, Index outer) {
    constexpr Index fewest = 2 * lanes_of<V>, most = 96;
    return a.inner_is_rows && !a.outer_index && !a.inner_center && outer >= fewest && outer <= most;
}

// The same for a large outer side: tiles, each summed over the whole inner side by one task.
template <class X, class V>
void gram_by_tiles(const Source<X, V>& a, Index outer, Index inner, V* out,
                   const Context& context) {
    constexpr Index step = 384;
    // Larger tiles multiply faster, more of them share better.
    const Index side = outer < 4096 ? 512 : 1024;
    Index sides = ceil_div(outer, side);
    parallel_for(sides * (sides + 1) / 2, context.threads, context.poll,
                 [&](Index task, Checkpoint& checkpoint) {
                     TriangleTile tile(task);
                     Range rows = part(tile.row, side, outer);
                     Range columns = part(tile.column, side, outer);
                     auto left = uninitialized<V>(side * step);
                     auto right = uninitialized<V>(side * step);
                     V* to = out + rows.begin * outer + columns.begin;
                     for (Index i = 0; i < inner; i += step) {
                         checkpoint();
                         Range piece{i, std::min(i + step, inner)};
                         V beta = i == 0 ? V(0) : V(1);
                         auto r = a.load(rows, piece, right.get());
                         if (rows.begin == columns.begin) {
                             syrk(context.blas, rows.size(), piece.size(), r, beta, to, outer);
                             continue;
                         }
                         auto l = a.load(columns, piece, left.get());
                         gemm<V>(context.blas, columns.size(), rows.size(), piece.size(), l,
                                 transposed(r), beta, to, outer);
                     }
                 });
}

// out (outer × outer) = A diag(weights) Aᵀ; weights of length `inner`, or null.
template <class X, class V>
void symmetric_product(Source<X, V> a, Index outer, Index inner, const double* weights, V* out,
                       const Context& context) {
    constexpr Index largest_lane = 1024;
    std::vector<V> scale, center;
    std::vector<std::int64_t> used;
    if (weights) {
        for (Index i = 0; i < inner; ++i)
            if (weights[i] != 0) {
                used.push_back(i);
                scale.push_back(static_cast<V>(std::sqrt(weights[i])));
                if (a.inner_center) center.push_back(a.inner_center[i]);
            }
        a.inner_scale = scale.data();
        if (a.inner_center) a.inner_center = center.data();
        if (static_cast<Index>(used.size()) < inner) a.inner_index = used.data();
        inner = static_cast<Index>(used.size());
    }
    if (outer == 0) return;
    if (inner == 0) {
        std::fill_n(out, outer * outer, V(0));
        return;
    }
    constexpr Index fewest_rows = 1024;
    if (has_panels && a.inner_is_rows && !a.outer_index && !a.inner_center &&
        outer <= largest_lane && inner >= fewest_rows) {
        const PackedRows<X, V> rows{a.data, a.stride, a.inner_index, a.outer_center, a.inner_scale};
        const RareColumns columns(rows, outer, inner);
        if (columns.are_most()) {
            gram_by_rare_columns(columns, rows, outer, inner, out, context);
            mirror_lower(out, outer, context);
            return;
        }
    }
    const auto form = [&] {
        if constexpr (has_panels)
            if (suits_panels(a, outer))
                // Narrow panels waste less at the edges, wide ones read less.
                return outer < 12 * lanes_of<V> ? gram_by_panels<2, X, V> : gram_by_panels<3, X, V>;
        return outer <= largest_lane ? gram_by_lanes<X, V> : gram_by_tiles<X, V>;
    }();
    form(a, outer, inner, out, context);
    mirror_lower(out, outer, context);
}

}  // namespace

template <class V>
void mirror_lower(V* out, Index n, const Context& context) {
    constexpr Index side = 64;  // two squares of 64 × 64 fit the first-level cache
    int threads = useful_threads(double(n) * double(n), context.threads);
    parallel_for(ceil_div(n, side), threads, context.poll, [&](Index task) {
        Range rows = part(task, side, n);
        for (Index j0 = 0; j0 < rows.end; j0 += side)
            for (Index i = rows.begin; i < rows.end; ++i)
                for (Index j = j0; j < std::min(j0 + side, i); ++j) out[j * n + i] = out[i * n + j];
    });
}

template <class X, class V>
void times(const Dense<X>& x, const double* center, const V* w, Index outputs, V* z,
           const Context& context) {
    Center<V> mean(center, {nullptr, x.columns});
    product(source<V>(x, true, mean.data()), x.rows, x.columns, Entry::value, w, outputs, z,
            context);
}

template <class X, class V>
void transposed_times(const Dense<X>& x, const double* center, Columns columns, const V* r,
                      Index outputs, V* g, const Context& context) {
    Center<V> mean(center, columns);
    auto a = source<V>(x, false, mean.data());
    a.outer_index = columns.index;
    product(a, columns.count, x.rows, Entry::value, r, outputs, g, context);
}

template <class X>
void hessian_times(const Dense<X>& x, const double* center, const RowHessians<X>& h, const X* v,
                   const X* shift, X* w, double* b, const Context& context) {
    constexpr Index max_lanes = 32, lanes_size = Index(1) << 23;
    const Index d = x.columns, K = h.outputs, size = d * K;
    Center<X> mean(center, {nullptr, d});
    Source<X, X> xt = source<X>(x, false, mean.data());
    // As in `Pieces`: small products are not repacked. X is read from memory once.
    const Index height = std::clamp<Index>(1000000 / std::max<Index>(size, 1), 16, 256);
    const Index most = std::min(max_lanes, lanes_size / std::max<Index>(size, 1));
    Index lane = ceil_div(ceil_div(x.rows, std::max<Index>(most, 1)), height) * height;
    lane = std::max(lane, height);
    const Index lanes = std::max<Index>(ceil_div(x.rows, lane), 1);
    std::vector<X> turned(lanes * size);
    std::vector<double> sums(lanes * K);
    int threads = useful_threads(double(x.rows) * double(size), context.threads);
    parallel_for(lanes, threads, context.poll, [&](Index l, Checkpoint& checkpoint) {
        auto buffer = uninitialized<X>(height * d);
        auto u = uninitialized<X>(height * K);
        Range rows = part(l, lane, x.rows);
        for (Index i = rows.begin; i < rows.end; i += height) {
            checkpoint();
            add_curved(xt, {i, std::min(i + height, rows.end)}, d, h, v, shift, buffer.get(),
                       u.get(), turned.data() + l * size, sums.data() + l * K, context);
        }
    });
    std::fill_n(b, K, 0.0);
    std::fill_n(w, size, X(0));
    for (Index l = 0; l < lanes; ++l) {
        for (Index k = 0; k < K; ++k) b[k] += sums[l * K + k];
        for (Index j = 0; j < d; ++j)
            for (Index k = 0; k < K; ++k) w[j * K + k] += turned[l * size + k * d + j];
    }
}

template <class X>
void column_square_sums(const Dense<X>& x, const double* center, const double* weights, double* out,
                        const Context& context) {
    std::vector<double> ones;
    if (!weights) {
        ones.assign(x.rows, 1.0);
        weights = ones.data();
    }
    product(source(x, false, center), x.columns, x.rows, Entry::square, weights, 1, out, context);
}

template <class X>
void row_square_sums(const Dense<X>& x, const double* center, const double* weights, double* out,
                     const Context& context) {
    product(source(x, true, center), x.rows, x.columns, Entry::square, weights, 1, out, context);
}

template <class X, class V>
void gram(const Dense<X>& x, const double* center, const double* weights, Columns columns, V* out,
          const Context& context) {
    Center<V> mean(center, columns);
    auto a = source<V>(x, false, mean.data());
    a.outer_index = columns.index;
    symmetric_product(a, columns.count, x.rows, weights, out, context);
}

template <class X>
void outer_gram(const Dense<X>& x, const double* center, const double* weights, double* out,
                const Context& context) {
    symmetric_product(source(x, true, center), x.rows, x.columns, weights, out, context);
}

template void mirror_lower(float*, Index, const Context&);
template void mirror_lower(double*, Index, const Context&);
template void times(const Dense<float>&, const double*, const float*, Index, float*,
                    const Context&);
template void times(const Dense<float>&, const double*, const double*, Index, double*,
                    const Context&);
template void times(const Dense<double>&, const double*, const double*, Index, double*,
                    const Context&);
template void transposed_times(const Dense<float>&, const double*, Columns, const float*, Index,
                               float*, const Context&);
template void transposed_times(const Dense<float>&, const double*, Columns, const double*, Index,
                               double*, const Context&);
template void transposed_times(const Dense<double>&, const double*, Columns, const double*, Index,
                               double*, const Context&);
template void hessian_times(const Dense<float>&, const double*, const RowHessians<float>&,
                            const float*, const float*, float*, double*, const Context&);
template void hessian_times(const Dense<double>&, const double*, const RowHessians<double>&,
                            const double*, const double*, double*, double*, const Context&);
template void column_square_sums(const Dense<float>&, const double*, const double*, double*,
                                 const Context&);
template void column_square_sums(const Dense<double>&, const double*, const double*, double*,
                                 const Context&);
template void row_square_sums(const Dense<float>&, const double*, const double*, double*,
                              const Context&);
template void row_square_sums(const Dense<double>&, const double*, const double*, double*,
                              const Context&);
template void gram(const Dense<float>&, const double*, const double*, Columns, float*,
                   const Context&);
template void gram(const Dense<float>&, const double*, const double*, Columns, double*,
                   const Context&);
template void gram(const Dense<double>&, const double*, const double*, Columns, double*,
                   const Context&);
template void outer_gram(const Dense<float>&, const double*, const double*, double*,
                         const Context&);
template void outer_gram(const Dense<double>&, const double*, const double*, double*,
                         const Context&);

}  // namespace gapless
