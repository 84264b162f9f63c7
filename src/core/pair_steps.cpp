#include "pair_steps.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

// Vectors are passed between functions that are always inlined, so their ABI does not matter.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace gapless {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr Index lanes = PairSteps::lanes;

// One vector of the widest instruction set; the compiler splits it for the others.
using Floats = float __attribute__((vector_size(lanes * sizeof(float))));
using Ints = std::int32_t __attribute__((vector_size(lanes * sizeof(std::int32_t))));

#define GAPLESS_BODY [[gnu::always_inline]] inline

GAPLESS_BODY Floats load(const float* x) {
    Floats v;
    std::memcpy(&v, x, sizeof v);
    return v;
}

GAPLESS_BODY void store(float* x, const Floats& v) { std::memcpy(x, &v, sizeof v); }

GAPLESS_BODY Floats all(float x) { return Floats{} + x; }

GAPLESS_BODY Ints first_lanes() {
    return Ints{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
}

// The smallest of values over all lanes, and the first position that has it.
struct Best {
    float value;
    Index at;
};

GAPLESS_BODY Best smallest(const Floats& values, const Ints& positions) {
    Best best{values[0], positions[0]};
    for (Index l = 1; l < lanes; ++l)
        if (values[l] < best.value || (values[l] == best.value && positions[l] < best.at))
            best = {values[l], positions[l]};
    return best;
}

// slope += a·x + b·y for members [begin, end).
GAPLESS_CLONES
void add_two(float* slope, float a, const float* x, float b, const float* y, Index begin,
             Index end) {
    for (Index p = begin; p < end; p += lanes)
        store(slope + p, load(slope + p) + (all(a) * load(x + p) + all(b) * load(y + p)));
}

struct Extremes {
    Best rise;   // where θ had best grow
    float fall;  // the largest slope of a θ that may fall
};

GAPLESS_CLONES
Extremes scan(const float* slope, const float* up, const float* down, Index begin, Index end) {
    Floats rise = all(infinity), fall = all(-infinity);
    Ints at = first_lanes() + static_cast<std::int32_t>(begin), here = at;
    for (Index p = begin; p < end; p += lanes, here += static_cast<std::int32_t>(lanes)) {
        const Floats g = load(slope + p), r = g + load(up + p), f = g + load(down + p);
        const Ints is_less = r < rise;
        rise = is_less ? r : rise;
        at = is_less ? here : at;
        fall = f > fall ? f : fall;
    }
    float most = fall[0];
    for (Index l = 1; l < lanes; ++l) most = std::max(most, fall[l]);
    return {smallest(rise, at), most};
}

// The member j that may fall and with which i gains most: (fallⱼ − riseᵢ)² / curvature.
GAPLESS_CLONES
Best partner(const float* slope, const float* down, const float* diagonal, const float* row,
             float rise, float diagonal_i, float least, Index begin, Index end) {
    Floats gain = all(0.0f);
    Ints at = first_lanes() + static_cast<std::int32_t>(begin), here = at;
    for (Index p = begin; p < end; p += lanes, here += static_cast<std::int32_t>(lanes)) {
        const Floats b = (load(slope + p) + load(down + p)) - rise;
        Floats a = (load(diagonal + p) + diagonal_i) - 2.0f * load(row + p);
        a = a > least ? a : all(least);
        // The gain is negated, so that the smallest is the best.
        Floats g = -b * (b / a);
        g = b > 0.0f ? g : all(0.0f);
        const Ints is_less = g < gain;
        gain = is_less ? g : gain;
        at = is_less ? here : at;
    }
    return smallest(gain, at);
}

}  // namespace

void PairSteps::clear() {
    variables_.clear();
    columns_.clear();
    groups_.clear();
    is_fetched_.clear();
}

void PairSteps::push(std::int32_t column, const Variable& variable) {
    columns_.push_back(column);
    variables_.push_back(variable);
}

void PairSteps::close_group() {
    const Index begin = groups_.empty() ? 0 : groups_.back().end;
    // The padding has the kernel values of a member but no room, hence is never chosen.
    while (size() > begin && size() % lanes != 0) push(columns_.back(), {0, 0, 0, 0, 0});
    groups_.push_back({begin, size()});
    for (auto* v : {&slope_, &up_, &down_, &diagonal_}) v->resize(size());
    side_.resize(size());
    is_fetched_.assign(size(), 0);
    for (Index k = begin; k < size(); ++k)
        diagonal_[k] = static_cast<float>(variables_[k].diagonal);
    if (size() * size() > capacity_) {
        capacity_ = size() * size();
        rows_ = std::make_unique_for_overwrite<float[]>(capacity_);
    }
}

void PairSteps::set_slope(Index k, double slope) {
    const Variable& v = variables_[k];
    // Of the two slopes at the kink, the one that is nearer to the level keeps all its digits.
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
    if (!is_fetched_[k]) fetch(k, place(k));
    is_fetched_[k] = 1;
    return place(k);
}

// θᵢ grows and θⱼ falls by the minimiser along that line.
void PairSteps::step(Index i, Index j, double difference, double curvature) {
    Variable &up = variables_[i], &down = variables_[j];
    const double above = up.room_above(), below = down.room_below();
    const double t = std::min(difference / curvature, std::min(above, below));
    // What reaches the end of its room gets that value to the last bit.
    up.theta = t < above ? up.theta + t : up.theta < 0 && up.absolute > 0 ? 0.0 : up.upper;
    down.theta = t < below                             ? down.theta - t
                 : down.theta > 0 && down.absolute > 0 ? 0.0
                                                       : down.lower;
    refresh(i);
    refresh(j);
    step_i_ = t;
    step_j_ = -t;
}

PairSteps::Outcome PairSteps::descend(const Fetch& fetch, double target, Index most,
                                      Checkpoint& checkpoint) {
    float largest = 0;
    for (float d : diagonal_) largest = std::max(largest, std::abs(d));
    // q ≤ 0 happens for equal rows and indefinite kernels; this keeps the step finite (as τ in
    // Fan, Chen and Lin 2005), and float cannot tell smaller curvatures from 0.
    const float least = std::max(1e-30f, 2.5e-7f * largest);
    Outcome done{0, 0};
    while (true) {
        Extremes worst{};
        Group group{};
        done.violation = -infinity;
        for (const Group& g : groups_) {
            const Extremes e = scan(slope_.data(), up_.data(), down_.data(), g.begin, g.end);
            const double violation = static_cast<double>(e.fall) - e.rise.value;
            if (!(violation > done.violation)) continue;
            done.violation = violation;
            worst = e;
            group = g;
        }
        if (!(done.violation > target) || done.steps >= most) return done;
        const Index i = worst.rise.at;
        const float* row_i = fetched(i, fetch);
        const Best best = partner(slope_.data(), down_.data(), diagonal_.data(), row_i,
                                  worst.rise.value, diagonal_[i], least, group.begin, group.end);
        if (!(best.value < 0)) return done;  // kernel values that are not numbers
        const Index j = best.at;
        const float* row_j = fetched(j, fetch);
        const float curvature = std::max(least, diagonal_[i] + diagonal_[j] - 2.0f * row_i[j]);
        step(i, j, static_cast<double>(slope_[j] + down_[j]) - worst.rise.value, curvature);
        add_two(slope_.data(), static_cast<float>(step_i_), row_i, static_cast<float>(step_j_),
                row_j, 0, size());
        if (++done.steps % 1024 == 0) checkpoint();
    }
}

}  // namespace gapless
