// Threads that stay for the many short steps of one call, where starting them for each step, as
// parallel_for does, would take longer than the step.
#pragma once

#include <atomic>
#include <thread>
#include <vector>

#include "parallel.hpp"

namespace gapless {

// Up to `threads` threads, the caller being one of them; the others end with the team. A step is
// over when its tasks are done: a thread that the system has put to sleep is not waited for.
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
        is_over_.store(true, std::memory_order_relaxed);
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
        constexpr auto relaxed = std::memory_order_relaxed;
        // A late thread must not take a ticket of the last step for a task of this one.
        ticket_.fetch_or(no_task, std::memory_order_acq_rel);
        task_.store(const_cast<void*>(static_cast<const void*>(&task)), relaxed);
        call_.store([](void* t, Index i) { (*static_cast<Plain*>(t))(i); }, relaxed);
        tasks_.store(static_cast<std::uint32_t>(tasks), relaxed);
        done_.store(0, relaxed);
        announce();
        while (take_task()) continue;
        // Whoever has the last task may have lost its processor: asleep, this thread leaves its
        // own.
        int spins = 0;
        for (std::uint32_t done = 0; (done = done_.load(std::memory_order_acquire)) != tasks;)
            if (++spins > patience) done_.wait(done, std::memory_order_acquire);
    }

private:
    // Steps follow each other within microseconds, which waking a sleeper takes by itself; with a
    // fifth of this, boosting on an idle machine takes a third longer.
    static constexpr int patience = 100000;
    static constexpr std::uint64_t no_task = 0xffffffff;

    // The number of a step, above 32 bits, and of its next task.
    static std::uint64_t first_of(std::uint64_t step) { return step << 32; }

    void announce() {
        ticket_.store(first_of((ticket_.load(std::memory_order_relaxed) >> 32) + 1),
                      std::memory_order_release);
        ticket_.notify_all();
    }

    // What a task needs is read before its ticket is taken: a ticket that is still valid then
    // proves that the step is not over, and that nothing of it has changed.
    bool take_task() {
        std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
        while (true) {
            const auto i = static_cast<std::uint32_t>(ticket);
            const std::uint32_t tasks = tasks_.load(std::memory_order_relaxed);
            if (i >= tasks) return false;
            void* task = task_.load(std::memory_order_relaxed);
            auto* call = call_.load(std::memory_order_relaxed);
            if (!ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel))
                continue;
            call(task, i);
            if (done_.fetch_add(1, std::memory_order_release) + 1 == tasks) done_.notify_one();
            return true;
        }
    }

    void work() {
        while (!is_over_.load(std::memory_order_relaxed)) {
            if (take_task()) continue;
            const std::uint64_t seen = ticket_.load(std::memory_order_acquire);
            int spins = 0;
            while (ticket_.load(std::memory_order_acquire) == seen && ++spins < patience) continue;
            if (spins == patience && !is_over_.load(std::memory_order_relaxed)) ticket_.wait(seen);
        }
    }

    std::vector<std::thread> workers_;
    std::atomic<void*> task_{nullptr};
    std::atomic<void (*)(void*, Index)> call_{nullptr};
    std::atomic<std::uint32_t> tasks_{0};
    std::atomic<std::uint32_t> done_{0};
    std::atomic<std::uint64_t> ticket_{no_task};
    std::atomic<bool> is_over_{false};
};

}  // namespace gapless
