// Random numbers that depend on a key alone: each node of a tree has its own, derived from its
// parent's and its side, so that neither threads nor the order of growing change a tree.
#pragma once

#include <cstdint>

namespace gapless::growing {

// SplitMix64 (Steele, Lea and Flood 2014): a counter and a mixing function.
class KeyedRandom {
public:
    explicit KeyedRandom(std::uint64_t key) : state_(key) {}

    std::uint64_t next() { return mixed(state_ += golden); }

    // Uniform on 0 … count−1, by the high half of a product (Lemire 2019); the bias is below 2⁻³².
    std::uint64_t below(std::uint64_t count) {
        return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * count) >> 64);
    }

    // Uniform on [0, 1).
    double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

    static std::uint64_t key(std::uint64_t parent, std::uint64_t child) {
        return mixed(parent ^ mixed(child + golden));
    }

private:
    static constexpr std::uint64_t golden = 0x9E3779B97F4A7C15u;
    static std::uint64_t mixed(std::uint64_t z) {
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }
    std::uint64_t state_;
};

}  // namespace gapless::growing
