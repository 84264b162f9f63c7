// The smallest thing that counts passed and failed checks.
#pragma once

#include <cmath>
#include <cstdio>

inline long passed = 0, failed = 0;

#define CHECK(condition)                                                          \
    do {                                                                          \
        if (condition) {                                                          \
            ++passed;                                                             \
        } else {                                                                  \
            ++failed;                                                             \
            std::printf("%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
        }                                                                         \
    } while (false)

// Equal up to rounding in a sum of terms whose absolute values add up to `size`.
inline bool near(double a, double b, double size, double eps) {
    return std::abs(a - b) <= 64 * eps * size + 1e-300;
}

inline int report() {
    std::printf("%ld passed, %ld failed\n", passed, failed);
    return failed == 0 ? 0 : 1;
}
