// Threads for one call: fixed tasks that any number of threads share, so that results have the same
// bits for every thread count; a caller that needs sums adds the tasks' results in order. Threads
// are started for one call, so nothing is left behind for a fork to break, and a call waits for
// tasks, never for threads: on a busy machine one of them may only begin when all is done.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/loops.hpp"

namespace gapless {

// Called by the calling thread about every ten milliseconds; true means: stop now. May be empty.
using Poll = std::function<bool()>;

// Thrown out of a computation that was told to stop. Its results are incomplete.
struct Stopped : std::exception {
    const char* what() const noexcept override { return "stopped"; }
};

// Long loops call their checkpoint at least every few milliseconds; it throws Stopped when it is
// time.
class Checkpoint {
public:
    using Clock = std::chrono::steady_clock;
    static constexpr std::chrono::milliseconds period{10};

    explicit Checkpoint(const Poll& poll) : poll_(&poll) {}
    // Shared by the threads of one call: only the calling thread polls, the others read the flag.
    Checkpoint(const Poll* poll, std::atomic<bool>* stopped) : poll_(poll), stopped_(stopped) {}

    void operator()() {
        if (stopped_ && stopped_->load(std::memory_order_relaxed)) throw Stopped();
        if (!poll_ || !*poll_) return;
        auto now = Clock::now();
        if (now < next_) return;
        next_ = now + period;
        if ((*poll_)()) {
            if (stopped_) stopped_->store(true, std::memory_order_relaxed);
            throw Stopped();
        }
    }

private:
    const Poll* poll_;
    std::atomic<bool>* stopped_ = nullptr;
    Clock::time_point next_ = Clock::now() + period;
};

// Start work on a detached thread.
inline void start_thread(std::function<void()> work) { std::thread(std::move(work)).detach(); }

namespace detail {

// Start `count` threads, or as many as the system provides; those share the tasks.
template <class Start, class Work>
int start_threads(int count, Start& start, const Work& work) {
    int started = 0;
    try {
        for (; started < count; ++started) start(work);
    } catch (const std::system_error&) {
    }
    return started;
}

// What the threads of one parallel_for share, as long as the last of them lives. The task lives as
// long as the call: only holders of a ticket touch it, and the call ends when all tickets are used.
template <class Task>
class Crew {
public:
    Crew(Index tasks, const Poll& poll, Task& task) : tasks_(tasks), poll_(&poll), task_(&task) {}

    void help() { take_tasks(nullptr); }

    void run() {
        take_tasks(poll_);
        wait();
        if (error_) std::rethrow_exception(error_);
    }

private:
    void take_tasks(const Poll* poll) {
        Checkpoint checkpoint(poll, &stopped_);
        for (Index i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < tasks_;) {
            // After a stop the remaining tickets are used up.
            if (!stopped_.load(std::memory_order_relaxed)) do_task(i, checkpoint);
            if (used_.fetch_add(1, std::memory_order_acq_rel) + 1 == tasks_) {
                std::lock_guard lock(mutex_);
                all_used_.notify_one();
            }
        }
    }

    void do_task(Index i, Checkpoint& checkpoint) {
        try {
            checkpoint();
            if constexpr (std::is_invocable_v<Task&, Index, Checkpoint&>)
                (*task_)(i, checkpoint);
            else
                (*task_)(i);
        } catch (...) {
            fail(std::current_exception());
        }
    }

    // The caller sees the first error; the others follow from it.
    void fail(std::exception_ptr error) {
        std::lock_guard lock(mutex_);
        if (!error_) error_ = error;
        stopped_.store(true, std::memory_order_relaxed);
    }

    // Out of tasks, the calling thread still polls while the others finish theirs.
    void wait() {
        const auto is_over = [&] { return used_.load(std::memory_order_acquire) == tasks_; };
        std::unique_lock lock(mutex_);
        while (!all_used_.wait_for(lock, Checkpoint::period, is_over)) {
            if (stopped_ || !*poll_) continue;
            lock.unlock();
            bool stop = (*poll_)();
            lock.lock();
            if (stop) {
                if (!error_) error_ = std::make_exception_ptr(Stopped());
                stopped_ = true;
            }
        }
    }

    const Index tasks_;
    const Poll* poll_;
    Task* task_;
    std::atomic<Index> next_{0}, used_{0};
    std::atomic<bool> stopped_{false};
    std::mutex mutex_;
    std::condition_variable all_used_;
    std::exception_ptr error_;
};

}  // namespace detail

// Call task(i) or task(i, checkpoint) for i = 0 … tasks−1 on up to `threads` threads, in any order.
// Throws Stopped when the poll says stop, or the first exception of a task; the rest is then
// skipped.
template <class Task, class Start = void (*)(std::function<void()>)>
void parallel_for(Index tasks, int threads, const Poll& poll, Task&& task,
                  Start start = start_thread) {
    const auto crew =
        std::make_shared<detail::Crew<std::remove_reference_t<Task>>>(tasks, poll, task);
    const auto others = std::clamp<Index>(tasks, 1, std::max(threads, 1)) - 1;
    detail::start_threads(static_cast<int>(others), start, [crew] { crew->help(); });
    crew->run();
}

// How many threads are worth starting: with fewer operations, one is faster than waking a second.
inline int useful_threads(double operations, int threads) {
    constexpr double per_thread = 1e5;
    return static_cast<int>(std::clamp(operations / per_thread, 1.0, static_cast<double>(threads)));
}

}  // namespace gapless
