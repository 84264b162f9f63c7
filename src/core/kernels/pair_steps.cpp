#include "kernels/pair_steps.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/vectors.hpp"

namespace gapless {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr Index lanes = lanes_of<float>;
static_assert(PairSteps::padding % lanes == 0);

using Floats = Vector<float>;
using Ints = Vector<std::int32_t>;

// The last entries of a row, as many as it has: none in a vector of padding alone.
GAPLESS_BODY Floats load_end(const float* x, Index count) {
    Floats v{};
    std::memcpy(&v, x, std::clamp<Index>(count, 0, lanes) * sizeof(float));
    return v;
}

GAPLESS_BODY void store(float* x, const Floats& v) { std::memcpy(x, &v, sizeof v); }

GAPLESS_BODY Floats all(float x) { return Floats{} + x; }

GAPLESS_BODY Ints first_lanes() {
    Ints v;
    for (int l = 0; l < lanes; ++l) v[l] = l;
    return v;
}

// The smallest of some values, and its first position.
struct Best {
    float value;
    Index at;
};

GAPLESS_BODY Best smallest(const Floats& values, const Ints& at) {
    const Floats least = smallest_of(values);
    const Ints nowhere = Ints{} + std::numeric_limits<std::int32_t>::max();
    return {least[0], smallest_of(values == least ? at : nowhere)[0]};
}

// The members' slopes: of the smooth part, and what to add when θ grows and when it falls.
struct Slopes {
    float *smooth, *up, *down;
};

// Members [begin, end) of a group; rows have `width` entries.
struct Span {
    Index begin, end, width;
};

struct Extremes {
    Best rise;   // where θ should grow first
    float fall;  // the largest slope of a θ that may fall
};

// The smooth slopes += by·(x − y), and their new extremes.
[[gnu::noinline]] Extremes move(const Slopes& slopes, float by, const float* x, const float* y,
                                const Span& span) {
    Floats rise = all(infinity), fall = all(infinity);  // the fall is negated
    Ints at = first_lanes() + static_cast<std::int32_t>(span.begin), here = at;
    auto visit = [&](Index p, const Floats& xp, const Floats& yp) __attribute__((always_inline)) {
        const Floats g = load(slopes.smooth + p) + by * (xp - yp);
        store(slopes.smooth + p, g);
        const Floats r = g + load(slopes.up + p), f = -(g + load(slopes.down + p));
        const Ints is_less = r < rise;
        rise = is_less ? r : rise;
        at = is_less ? here : at;
        fall = f < fall ? f : fall;
        here += static_cast<std::int32_t>(lanes);
    };
    Index p = span.begin;
    for (const Index end = std::min(span.end, span.width - lanes + 1); p < end; p += lanes)
        visit(p, load(x + p), load(y + p));
    for (; p < span.end; p += lanes)
        visit(p, load_end(x + p, span.width - p), load_end(y + p, span.width - p));
    return {smallest(rise, at), -smallest_of(fall)[0]};
}

// A member that grows: its slope, its K(x, x), its kernel row; `least` curvature of a pair.
struct Growing {
    float rise, diagonal;
    const float* row;
    float least;
};

// The member that may fall with which i gains most: (fallⱼ − riseᵢ)² / curvature.
[[gnu::noinline]] Best partner(const Slopes& slopes, const float* diagonal, const Growing& i,
                               const Span& span) {
    Floats gain = all(0.0f);  // negated
    Ints at = first_lanes() + static_cast<std::int32_t>(span.begin), here = at;
    auto visit = [&](Index p, const Floats& row) __attribute__((always_inline)) {
        const Floats b = (load(slopes.smooth + p) + load(slopes.down + p)) - i.rise;
        Floats a = (load(diagonal + p) + i.diagonal) - 2.0f * row;
        a = a > i.least ? a : all(i.least);
        const Floats g = b > 0.0f ? -b * (b / a) : all(0.0f);
        const Ints is_less = g < gain;
        gain = is_less ? g : gain;
        at = is_less ? here : at;
        here += static_cast<std::int32_t>(lanes);
    };
    Index p = span.begin;
    for (const Index end = std::min(span.end, span.width - lanes + 1); p < end; p += lanes)
        visit(p, load(i.row + p));
    for (; p < span.end; p += lanes) visit(p, load_end(i.row + p, span.width - p));
    return smallest(gain, at);
}

}  // namespace

void PairSteps::close_group() {
    const Index begin = groups_.empty() ? 0 : groups_.back().end;
    while (size() % padding != 0) push({0, 0, 0, 0, 0});
    groups_.push_back({begin, size()});
    for (auto* v : {&slope_, &up_, &down_, &diagonal_}) v->resize(size());
    side_.resize(size());
    rows_.resize(size());
    copies_.resize(size());
    for (Index k = begin; k < size(); ++k) {
        diagonal_[k] = static_cast<float>(variables_[k].diagonal);
        set_slope(k, 0.0);
    }
}

void PairSteps::set_slope(Index k, double slope) {
    const Variable& v = variables_[k];
    // Of the two slopes at the kink, the one nearer to the level keeps all its digits.
    const bool is_above = v.theta > 0 || (v.theta == 0 && slope < 0);
    side_[k] = is_above ? 1 : -1;
    slope_[k] = static_cast<float>(slope + side_[k] * v.absolute);
    refresh(k);
}

void PairSteps::refresh(Index k) {
    const double side = side_[k] * variables_[k].absolute;
    up_[k] = static_cast<float>(variables_[k].rise(-side));
    down_[k] = static_cast<float>(variables_[k].fall(-side));
}

const float* PairSteps::fetched(Index k, const Fetch& fetch) {
    if (rows_[k]) return rows_[k];
    if (!copies_[k]) copies_[k] = std::make_unique_for_overwrite<float[]>(size());
    return rows_[k] = fetch(k, copies_[k].get());
}

// θᵢ grows and θⱼ falls by the returned amount, to the minimiser along that line.
double PairSteps::step(Index i, Index j, double difference, double curvature) {
    Variable &up = variables_[i], &down = variables_[j];
    const double above = up.room_above(), below = down.room_below();
    const double t = std::min(difference / curvature, std::min(above, below));
    // A variable that reaches the end of its room gets that value to the last bit.
    up.theta = t < above ? up.theta + t : up.theta < 0 && up.absolute > 0 ? 0.0 : up.upper;
    down.theta = t < below                             ? down.theta - t
                 : down.theta > 0 && down.absolute > 0 ? 0.0
                                                       : down.lower;
    refresh(i);
    refresh(j);
    return t;
}

PairSteps::Outcome PairSteps::descend(const Fetch& fetch, Index width, double target, Index most,
                                      Checkpoint& checkpoint) {
    float largest = 0;
    for (float d : diagonal_) largest = std::max(largest, std::abs(d));
    // q ≤ 0 happens for equal rows and indefinite kernels; this keeps the step finite (as τ in Fan,
    // Chen and Lin 2005), and float cannot tell smaller curvatures from 0.
    const float least = std::max(1e-30f, 2.5e-7f * largest);
    const Slopes slopes{slope_.data(), up_.data(), down_.data()};
    Outcome done{0, 0};
    float by = 0;  // by which i has grown and j has fallen
    const float *row_i = slope_.data(), *row_j = slope_.data();
    while (true) {
        Extremes worst{};
        Span span{};
        done.violation = -infinity;
        for (const Group& group : groups_) {
            const Span members{group.begin, group.end, width};
            const Extremes e = move(slopes, by, row_i, row_j, members);
            const double violation = static_cast<double>(e.fall) - e.rise.value;
            if (!(violation > done.violation)) continue;
            done.violation = violation;
            worst = e;
            span = members;
        }
        if (!(done.violation > target) || done.steps >= most) return done;
        const Index i = worst.rise.at;
        row_i = fetched(i, fetch);
        const Best best =
            partner(slopes, diagonal_.data(), {worst.rise.value, diagonal_[i], row_i, least}, span);
        if (!(best.value < 0)) return done;  // kernel values that are not numbers
        const Index j = best.at;
        row_j = fetched(j, fetch);
        const float curvature = std::max(least, diagonal_[i] + diagonal_[j] - 2.0f * row_i[j]);
        const double difference = static_cast<double>(slope_[j] + down_[j]) - worst.rise.value;
        by = static_cast<float>(step(i, j, difference, curvature));
        if (++done.steps % 256 == 0) checkpoint();
    }
}

}  // namespace gapless
