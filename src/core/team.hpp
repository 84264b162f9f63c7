// Threads that stay for the many short steps of one call, where starting them for each step, as
// parallel_for does, would take longer than the step.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "parallel.hpp"

namespace gapless {

// Up to `threads` threads, the caller being one of them; the others end with the team.
class Team {
public:
    explicit Team(int threads) {
        workers_.reserve(threads - 1);
        try {
            for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
        } catch (const std::system_error&) {
            // The system has no more threads to give; those that started share the tasks.
        }
    }
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;
    ~Team() {
        call_ = nullptr;
        announce();
        for (auto& worker : workers_) worker.join();
    }

    int size() const { return static_cast<int>(workers_.size()) + 1; }

    // Call task(i) for i = 0 … tasks−1, in any order. A task must not throw.
    template <class Task>
    void each(Index tasks, Task&& task) {
        if (workers_.empty() || tasks <= 1) {
            for (Index i = 0; i < tasks; ++i) task(i);
            return;
        }
        using Plain = std::remove_reference_t<Task>;
        task_ = const_cast<void*>(static_cast<const void*>(&task));
        call_ = [](void* t, Index i) { (*static_cast<Plain*>(t))(i); };
        tasks_ = tasks;
        next_.store(0, std::memory_order_relaxed);
        left_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
        announce();
        take_tasks();
        for (int spins = 0; left_.load(std::memory_order_acquire) != 0;) rest(spins);
    }

private:
    // Steps follow each other within microseconds, which waking a sleeper takes by itself.
    static constexpr int patience = 4000;

    static void rest(int& spins) {
        if (++spins > patience) std::this_thread::yield();
    }

    void announce() {
        step_.fetch_add(1, std::memory_order_release);
        step_.notify_all();
    }

    void take_tasks() {
        for (Index i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < tasks_;)
            call_(task_, i);
    }

    void work() {
        for (std::uint32_t seen = 0;;) {
            for (int spins = 0; step_.load(std::memory_order_acquire) == seen && spins < patience;)
                rest(spins);
            step_.wait(seen, std::memory_order_acquire);
            seen = step_.load(std::memory_order_acquire);
            if (!call_) return;
            take_tasks();
            left_.fetch_sub(1, std::memory_order_release);
        }
    }

    std::vector<std::thread> workers_;
    void* task_ = nullptr;
    void (*call_)(void*, Index) = nullptr;
    Index tasks_ = 0;
    std::atomic<Index> next_{0};
    std::atomic<int> left_{0};
    std::atomic<std::uint32_t> step_{0};
};

}  // namespace gapless
