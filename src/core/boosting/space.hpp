// Memory for growing boosted trees, kept from tree to tree: otherwise the system would take back
// and clear megabytes after each.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "base/loops.hpp"

namespace gapless {

// Room for numbers of any type, as much as was ever requested. Its contents are undefined.
class Room {
public:
    template <class T>
    T* of(Index count) {
        const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
        if (bytes > size_) {
            block_.reset();
            block_.reset(static_cast<std::byte*>(::operator new(bytes, alignment)));
            size_ = bytes;
        }
        return reinterpret_cast<T*>(block_.get());
    }

private:
    static constexpr std::align_val_t alignment{64};
    struct Release {
        void operator()(std::byte* block) const { ::operator delete(block, alignment); }
    };
    std::unique_ptr<std::byte, Release> block_;
    std::size_t size_ = 0;
};

// What one tree needs while it grows.
struct TreeSpace {
    Room entries, rows, spare_rows;
    std::vector<Room> histograms, of_piece;
};

// Spaces for as many trees as are grown at the same time.
class GrowingSpace {
public:
    std::unique_ptr<TreeSpace> take() {
        const std::lock_guard lock(mutex_);
        if (free_.empty()) return std::make_unique<TreeSpace>();
        std::unique_ptr<TreeSpace> space = std::move(free_.back());
        free_.pop_back();
        return space;
    }
    void give_back(std::unique_ptr<TreeSpace> space) {
        const std::lock_guard lock(mutex_);
        free_.push_back(std::move(space));
    }

private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<TreeSpace>> free_;
};

}  // namespace gapless
