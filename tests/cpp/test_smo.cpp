// Pair steps in a box with fixed sums, for the sanitizers: optimality at the end, groups, rows by
// name and by slot, padding, and shapes of 0 and 1.
#include <algorithm>
#include <limits>
#include <random>
#include <vector>

#include "check.hpp"
#include "kernels/smo.hpp"

using namespace gapless;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Problem {
    Index lines, count;
    std::vector<double> k;  // lines × lines
    std::vector<Index> rows, group;
    std::vector<double> diagonal, linear, absolute, lower, upper, theta, gradient;

    SumProblem view() {
        return {count,        rows.data(),  diagonal.data(), linear.data(), absolute.data(),
                lower.data(), upper.data(), group.data(),    theta.data(),  gradient.data()};
    }
};

// A kernel matrix AAᵀ + I, every third variable without room.
Problem make(Index lines, Index count, Index groups, double absolute, std::mt19937_64& random) {
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform(0.5, 2);
    Problem p{lines, count, std::vector<double>(lines * lines), {}, {}, {}, {}, {}, {}, {}, {}, {}};
    std::vector<double> a(lines * 3);
    for (double& x : a) x = normal(random);
    for (Index i = 0; i < lines; ++i)
        for (Index j = 0; j < lines; ++j) {
            double sum = i == j;
            for (Index c = 0; c < 3; ++c) sum += a[i * 3 + c] * a[j * 3 + c];
            p.k[i * lines + j] = sum;
        }
    for (Index v = 0; v < count; ++v) {
        p.rows.push_back(count == lines ? v : static_cast<Index>(random() % lines));
        p.group.push_back(static_cast<Index>(random() % groups));
        p.diagonal.push_back(p.k[p.rows[v] * (lines + 1)]);
        p.linear.push_back(normal(random));
        p.absolute.push_back(absolute);
        p.lower.push_back(v % 3 == 2 ? 0.0 : -uniform(random));
        p.upper.push_back(v % 3 == 2 ? 0.0 : uniform(random));
    }
    p.theta.assign(count, 0.0);
    p.gradient = p.linear;
    return p;
}

template <class T>
SumProgress descend(Problem& p, const std::vector<T>& data, const Index* slot, int threads) {
    Poll never;
    Checkpoint checkpoint(never);
    GramRows<T> rows{data.data(), p.lines, slot};
    return descend_sums(rows, p.view(), 1e-6, 1000000, threads, checkpoint);
}

void check_solution(const Problem& p, const std::vector<bool>& may_move) {
    for (Index v = 0; v < p.count; ++v) {
        double sum = p.linear[v];
        for (Index u = 0; u < p.count; ++u)
            sum += p.k[p.rows[v] * p.lines + p.rows[u]] * p.theta[u];
        CHECK(std::abs(sum - p.gradient[v]) <= 1e-4);  // K may have been float
        CHECK(p.lower[v] <= p.theta[v] && p.theta[v] <= p.upper[v]);
        CHECK(may_move[v] || p.theta[v] == 0);
    }
    const Index groups = p.count ? *std::max_element(p.group.begin(), p.group.end()) + 1 : 0;
    const bool may_all = std::find(may_move.begin(), may_move.end(), false) == may_move.end();
    std::vector<GroupSlopes> slopes(groups);
    group_slopes({p.count, p.theta.data(), p.gradient.data(), p.absolute.data(), p.lower.data(),
                  p.upper.data(), p.group.data()},
                 slopes);
    for (Index g = 0; g < groups; ++g) {
        double rise = infinity, fall = -infinity, sum = 0;
        for (Index v = 0; v < p.count; ++v) {
            if (p.group[v] != g || !may_move[v]) continue;
            const double t = p.theta[v], a = p.absolute[v];
            if (t < p.upper[v]) rise = std::min(rise, p.gradient[v] + (t >= 0 ? a : -a));
            if (t > p.lower[v]) fall = std::max(fall, p.gradient[v] + (t > 0 ? a : -a));
            sum += t;
        }
        CHECK(fall - rise <= 1e-6);
        CHECK(std::abs(sum) <= 1e-9);
        CHECK(slopes[g].rise <= rise && slopes[g].fall >= fall);
        CHECK(!may_all || (slopes[g].rise == rise && slopes[g].fall == fall));
        CHECK(!(slopes[g].free < slopes[g].rise) && !(slopes[g].free > slopes[g].fall));
    }
}

void check_shape(Index lines, Index count, Index groups, double absolute, bool has_slots,
                 std::mt19937_64& random) {
    Problem p = make(lines, count, groups, absolute, random);
    std::vector<Index> slot(lines);
    std::vector<double> data;
    Index there = 0;
    for (Index r = 0; r < lines; ++r) {
        slot[r] = has_slots && r % 4 == 1 ? -1 : there++;
        if (slot[r] >= 0)
            data.insert(data.end(), p.k.begin() + r * lines, p.k.begin() + (r + 1) * lines);
    }
    std::vector<bool> may_move(count);
    for (Index v = 0; v < count; ++v) may_move[v] = slot[p.rows[v]] >= 0;
    Problem single = p;
    SumProgress done = descend(p, data, has_slots ? slot.data() : nullptr, 2);
    CHECK(done.status == SumStatus::optimal && done.violation <= 1e-6);
    check_solution(p, may_move);
    std::vector<float> rounded(data.begin(), data.end());
    done = descend(single, rounded, has_slots ? slot.data() : nullptr, 1);
    CHECK(done.status == SumStatus::optimal);
    check_solution(single, may_move);
}

}  // namespace

int main() {
    std::mt19937_64 random(1);
    for (Index lines : {0, 1, 5, 16, 33, 100})
        for (Index groups : {1, 2})
            for (double absolute : {0.0, 0.2})
                for (bool has_slots : {false, true}) {
                    check_shape(lines, lines, groups, absolute, has_slots, random);
                    if (lines) check_shape(lines, lines + 7, groups, absolute, has_slots, random);
                }
    return report();
}
