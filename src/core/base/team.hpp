// Threads that stay for the many short steps of one call, where starting them for each step, as
// parallel_for does, would take longer than the step.
#pragma once

#include <atomic>
#include <memory>

#include "base/parallel.hpp"

namespace gapless {

namespace detail {

// What the threads of a team share, as long as the last of them lives.
class TeamWork {
public:
    // Call call(task, i) for i = 0 … tasks−1, in any order, together with the others.
    void run(Index tasks, void* task, void (*call)(void*, Index)) {
        constexpr auto relaxed = std::memory_order_relaxed;
        // A late thread must not take a ticket of the last step for a task of this one.
        ticket_.fetch_or(no_task, std::memory_order_acq_rel);
        task_.store(task, relaxed);
        call_.store(call, relaxed);
        tasks_.store(static_cast<std::uint32_t>(tasks), relaxed);
        done_.store(0, relaxed);
        announce(0);
        while (take_task()) continue;
        // The thread with the last task may have lost its processor: sleeping, this thread yields
        // its own.
        int spins = 0;
        for (std::uint32_t done = 0; (done = done_.load(std::memory_order_acquire)) != tasks;)
            if (++spins > patience) done_.wait(done, std::memory_order_acquire);
    }

    void help() {
        while (!is_over_.load(std::memory_order_relaxed)) {
            if (take_task()) continue;
            const std::uint64_t seen = ticket_.load(std::memory_order_acquire);
            int spins = 0;
            while (ticket_.load(std::memory_order_acquire) == seen && ++spins < patience) continue;
            if (spins == patience && !is_over_.load(std::memory_order_relaxed)) ticket_.wait(seen);
        }
    }

    void end() {
        is_over_.store(true, std::memory_order_relaxed);
        announce(no_task);
    }

private:
    // Steps follow each other within microseconds, as long as it takes to wake a sleeping thread;
    // with a fifth of this, boosting on an idle machine takes a third longer.
    static constexpr int patience = 100000;
    static constexpr std::uint64_t no_task = 0xffffffff;

    // A ticket has the number of a step, above 32 bits, and of its next task.
    void announce(std::uint64_t first) {
        const std::uint64_t step = (ticket_.load(std::memory_order_relaxed) >> 32) + 1;
        ticket_.store(step << 32 | first, std::memory_order_release);
        ticket_.notify_all();
    }

    // What a task needs is read before its ticket is taken: a ticket that is still valid then
    // proves that the step is not over and nothing of it has changed.
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

    std::atomic<void*> task_{nullptr};
    std::atomic<void (*)(void*, Index)> call_{nullptr};
    std::atomic<std::uint32_t> tasks_{0};
    std::atomic<std::uint32_t> done_{0};
    std::atomic<std::uint64_t> ticket_{no_task};
    std::atomic<bool> is_over_{false};
};

}  // namespace detail

// Up to `threads` threads, including the caller; the others leave when the team ends. A step is
// over when its tasks are done: nothing waits for a thread that the system has put to sleep or not
// yet started, neither in a step nor at the end.
class Team {
public:
    explicit Team(int threads, const Start& start = start_thread)
        : work_(std::make_shared<detail::TeamWork>()),
          size_(1 + detail::start_threads(threads - 1, start, [work = work_] { work->help(); })) {}
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;
    ~Team() { work_->end(); }

    int size() const { return size_; }

    // Call task(i) for i = 0 … tasks−1, in any order. A task must not throw.
    template <class Task>
    void each(Index tasks, Task&& task) {
        if (size_ == 1 || tasks <= 1) {
            for (Index i = 0; i < tasks; ++i) task(i);
            return;
        }
        using Plain = std::remove_reference_t<Task>;
        work_->run(tasks, const_cast<void*>(static_cast<const void*>(&task)),
                   [](void* t, Index i) { (*static_cast<Plain*>(t))(i); });
    }

private:
    std::shared_ptr<detail::TeamWork> work_;
    int size_;
};

}  // namespace gapless
