// Distances between two rows, and the order of neighbours that follows from them.
//
// Distances are compared in a reduced form, before taking a root. Every search measures rows by the
// function `reduced`, in double, so that all agree to the last bit and find the same neighbours;
// earlier steps only rule out rows that are farther.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "base/loops.hpp"

namespace gapless {

enum class Metric {
    euclidean,        // √Σ (xⱼ − zⱼ)²
    manhattan,        // Σ |xⱼ − zⱼ|
    chebyshev,        // max |xⱼ − zⱼ|
    minkowski,        // (Σ |xⱼ − zⱼ|ᵖ)^(1/p)
    hamming,          // the share of columns that differ
    mixed_sum,        // Σ of the differences of numbers, in parts of their range, and of categories
    mixed_euclidean,  // the root of the sum of their squares
};

struct Distance {
    Metric metric;
    double power = 2;   // p of Minkowski's distance
    Index numbers = 0;  // of mixed rows: leading columns that are numbers; the rest are categories
};

// The reduced distance of rows x and z (of d columns).
double reduced(const Distance& distance, const float* x, const float* z, Index d);
double reduced(const Distance& distance, const double* x, const double* z, Index d);

// The distance itself, and the reduced form of a given distance.
double finished(const Distance& distance, double reduced, Index d);
double reduced_form(const Distance& distance, double value, Index d);

// ---- what a search collects ----

struct Neighbor {
    double distance;  // reduced
    Index row;
    // The nearer row comes first, and of equally near ones the first; without a branch, because
    // heaps make unpredictable comparisons.
    [[gnu::always_inline]] bool operator<(const Neighbor& other) const {
        return (distance < other.distance) | ((distance == other.distance) & (row < other.row));
    }
};

// The k nearest rows so far.
class Nearest {
public:
    explicit Nearest(Index k) : k_(k) {}

    // How many rows are wanted.
    Index wanted() const { return k_; }
    // Rows farther away are of no use.
    double limit() const {
        return static_cast<Index>(heap_.size()) < k_ ? std::numeric_limits<double>::infinity()
                                                     : heap_.front().distance;
    }
    void offer(Neighbor candidate) {
        if (static_cast<Index>(heap_.size()) < k_) {
            if (heap_.empty()) heap_.reserve(k_);
            // A heap is needed only once something must be removed.
            heap_.push_back(candidate);
            if (static_cast<Index>(heap_.size()) == k_) std::make_heap(heap_.begin(), heap_.end());
        } else if (candidate < heap_.front()) {
            replace_farthest(candidate);
        }
    }
    // All of them, the nearest first; nothing may be offered afterwards.
    const std::vector<Neighbor>& sorted() {
        std::sort(heap_.begin(), heap_.end());
        return heap_;
    }

private:
    // In one pass down the heap, where pop and push would go down and up.
    void replace_farthest(Neighbor candidate) {
        Index hole = 0;
        for (Index child; (child = 2 * hole + 1) < k_; hole = child) {
            if (child + 1 < k_) child += heap_[child] < heap_[child + 1];
            if (!(candidate < heap_[child])) break;
            heap_[hole] = heap_[child];
        }
        heap_[hole] = candidate;
    }

    Index k_;
    std::vector<Neighbor> heap_;
};

// All rows within a distance.
class Within {
public:
    explicit Within(double limit) : limit_(limit) {}
    Index wanted() const { return std::numeric_limits<Index>::max(); }
    double limit() const { return limit_; }
    void offer(Neighbor candidate) {
        if (candidate.distance <= limit_) found_.push_back(candidate);
    }
    std::vector<Neighbor>& sorted() {
        std::sort(found_.begin(), found_.end());
        return found_;
    }

private:
    double limit_;
    std::vector<Neighbor> found_;
};

// Rows that a query must not find, such as itself: those of its own label. Null if all count.
struct Labels {
    const std::int64_t* of_query;
    const std::int64_t* of_row;

    bool hides(Index query, Index row) const { return of_query && of_query[query] == of_row[row]; }
};

}  // namespace gapless
