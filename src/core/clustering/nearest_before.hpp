// For each cluster the nearest one among those at places before it, and how far the others are at
// least. When the nearest one has been merged, a cluster falls back on the bound for the others; it
// is searched again only if that bound becomes the smallest of all.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "base/loops.hpp"

namespace gapless {

// The nearest cluster, and the distance of the second nearest. Of equally near ones the first
// counts.
template <class T>
struct NearestOf {
    T best = std::numeric_limits<T>::infinity(), second = std::numeric_limits<T>::infinity();
    Index at = -1;

    void offer(T value, Index place) {
        if (value < best || (value == best && place < at)) {
            second = best, best = value, at = place;
        } else if (value < second) {
            second = value;
        }
    }
    // The same of two sets of places.
    void join(const NearestOf& other) {
        const T larger = std::max(best, other.best);
        if (other.best < best || (other.best == best && other.at >= 0 && (at < 0 || other.at < at)))
            best = other.best, at = other.at;
        second = std::min({second, other.second, larger});
    }
};
using NearestOne = NearestOf<double>;

// The smallest of n numbers; infinity if there are none. With `added`, of the sums of both.
template <class T>
T least_of(const T* x, Index n);
template <class T>
T least_of(const T* x, const T* added, Index n);

// Where x[begin … end) is one of two numbers.
std::vector<Index> places_of(const std::int32_t* x, Index one, Index other, Index begin, Index end);

template <class T>
class NearestBeforeOf {
public:
    explicit NearestBeforeOf(Index places)
        : best_(places, none),
          second_(places, none),
          least_(places / block + 1),
          is_touched_(places / block + 1, 1),
          at_(places, nobody) {}

    T best(Index place) const { return best_[place]; }
    T second(Index place) const { return second_[place]; }
    std::int32_t at(Index place) const { return at_[place]; }
    bool is_stale(Index place) const { return at_[place] == unknown; }

    void set(Index place, const NearestOf<T>& found) {
        touch(place);
        best_[place] = found.best, second_[place] = found.second;
        at_[place] = found.at < 0 ? nobody : static_cast<std::int32_t>(found.at);
    }
    void remove(Index place) {
        touch(place);
        best_[place] = second_[place] = none, at_[place] = nobody;
    }
    void move(Index from, Index to, const std::vector<std::int32_t>& place_of) {
        touch(to);
        best_[to] = best_[from], second_[to] = second_[from];
        at_[to] = at_[from] < 0 ? at_[from] : place_of[at_[from]];
    }

    // The cluster at `place` is no longer what it was: those nearest to it fall back.
    void forget(Index place, Index gone) {
        if (at_[place] != gone) return;
        touch(place);
        best_[place] = second_[place];
        at_[place] = best_[place] == none ? nobody : unknown;
    }
    // The places from `begin` on whose nearest cluster is one of two.
    std::vector<Index> nearest_to(Index one, Index other, Index begin, Index places) const {
        return places_of(at_.data(), one, other, begin, places);
    }
    // A new cluster, at a place before.
    void offer(Index place, T value, Index from) {
        if (value > second_[place]) return;
        const bool is_nearer =
            value < best_[place] || (value == best_[place] && at_[place] >= 0 && from < at_[place]);
        if (is_nearer) {
            touch(place);
            second_[place] = best_[place];
            best_[place] = value, at_[place] = static_cast<std::int32_t>(from);
        } else if (value < second_[place]) {
            // What is stale has one bound for all.
            second_[place] = value;
        }
    }

    // The closest pair: its first and second place. If a bound that is not larger has to be
    // searched again, the first is that place, and the second −1. `near` are the places whose
    // bounds are within `limit(closest)`, the second one among them.
    struct Closest {
        Index first = -1, second = -1;
        std::vector<Index> near = {};
    };
    template <class Limit>
    Closest closest(Index places, Limit&& limit) {
        const T* best = best_.data();
        const Index blocks = (places + block - 1) / block;
        T value = none;
        for (Index b = 0; b < blocks; ++b) {
            const Index begin = b * block;
            if (is_touched_[b]) {
                least_[b] = least_of(best + begin, std::min(block, places - begin));
                is_touched_[b] = 0;
            }
            value = std::min(value, least_[b]);
        }
        const T most = limit(value);
        Closest found;
        for (Index b = 0; b < blocks; ++b) {
            if (!(least_[b] <= most)) continue;
            for (Index p = b * block; p < std::min((b + 1) * block, places); ++p) {
                if (!(best[p] <= most) || at_[p] == nobody) continue;
                if (best[p] == value && at_[p] == unknown) return {p, -1};
                found.near.push_back(p);
                if (best[p] != value) continue;
                if (found.second < 0 || at_[p] < found.first)
                    found.first = at_[p], found.second = p;
            }
        }
        return found;
    }

private:
    static constexpr T none = std::numeric_limits<T>::infinity();
    static constexpr std::int32_t nobody = -1, unknown = -2;
    static constexpr Index block = 128;
    // The least of a block of places must be found again. Several threads may say so at once.
    void touch(Index place) {
        std::atomic_ref<char>(is_touched_[place / block]).store(1, std::memory_order_relaxed);
    }

    std::vector<T> best_, second_, least_;
    std::vector<char> is_touched_;
    std::vector<std::int32_t> at_;
};
using NearestBefore = NearestBeforeOf<double>;

}  // namespace gapless
