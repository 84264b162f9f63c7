// Threads for one call: fixed tasks that any number of threads share, so that results have the same
// bits for every thread count; a caller that needs sums adds the tasks' results in order. Threads
// live for one call only, hence nothing is left behind for a fork to break.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>
#include <type_traits>
#include <vector>

#include "loops.hpp"

namespace gapless {

// Asked by the calling thread about every ten milliseconds; true means: stop now. May be empty.
using Poll = std::function<bool()>;

// Thrown out of a computation whose poll said stop. What was computed so far is incomplete.
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

namespace detail {

// The state that the threads of one parallel_for share.
template <class Task>
class Crew {
public:
    Crew(Index tasks, const Poll& poll, Task& task) : tasks_(tasks), poll_(poll), task_(task) {}

    void run(int threads) {
        std::vector<std::thread> workers;
        workers.reserve(threads - 1);
        try {
            for (int i = 1; i < threads; ++i)
                workers.emplace_back([this] {
                    take_tasks(nullptr);
                    leave();
                });
        } catch (const std::system_error&) {
            // The system has no more threads to give; those that started share the tasks.
        }
        take_tasks(&poll_);
        wait_for(static_cast<int>(workers.size()));
        for (auto& worker : workers) worker.join();
        if (error_) std::rethrow_exception(error_);
    }

private:
    void take_tasks(const Poll* poll) {
        try {
            Checkpoint checkpoint(poll, &stopped_);
            while (true) {
                checkpoint();
                Index i = next_.fetch_add(1, std::memory_order_relaxed);
                if (i >= tasks_) return;
                if constexpr (std::is_invocable_v<Task&, Index, Checkpoint&>)
                    task_(i, checkpoint);
                else
                    task_(i);
            }
        } catch (...) {
            fail(std::current_exception());
        }
    }

    // The first error is the one the caller sees; the others follow from it.
    void fail(std::exception_ptr error) {
        std::lock_guard lock(mutex_);
        if (!error_) error_ = error;
        stopped_.store(true, std::memory_order_relaxed);
    }

    void leave() {
        // Notified under the lock, because the waiting thread destroys the condition afterwards.
        std::lock_guard lock(mutex_);
        ++left_;
        everyone_left_.notify_one();
    }

    // Out of tasks, the calling thread still polls while the others finish theirs.
    void wait_for(int workers) {
        std::unique_lock lock(mutex_);
        while (
            !everyone_left_.wait_for(lock, Checkpoint::period, [&] { return left_ == workers; })) {
            if (stopped_ || !poll_) continue;
            lock.unlock();
            bool stop = poll_();
            lock.lock();
            if (stop) {
                if (!error_) error_ = std::make_exception_ptr(Stopped());
                stopped_ = true;
            }
        }
    }

    const Index tasks_;
    const Poll& poll_;
    Task& task_;
    std::atomic<Index> next_{0};
    std::atomic<bool> stopped_{false};
    std::mutex mutex_;
    std::condition_variable everyone_left_;
    std::exception_ptr error_;
    int left_ = 0;
};

}  // namespace detail

// Call task(i) or task(i, checkpoint) for i = 0 … tasks−1 on up to `threads` threads, in any order.
// Throws Stopped when the poll says stop, or the first exception of a task; the rest is then
// skipped.
template <class Task>
void parallel_for(Index tasks, int threads, const Poll& poll, Task&& task) {
    detail::Crew<std::remove_reference_t<Task>> crew(tasks, poll, task);
    crew.run(static_cast<int>(std::clamp<Index>(tasks, 1, std::max(threads, 1))));
}

// How many threads are worth starting: below this many operations one is faster than waking a
// second.
inline int useful_threads(double operations, int threads) {
    constexpr double per_thread = 1e5;
    return static_cast<int>(std::clamp(operations / per_thread, 1.0, static_cast<double>(threads)));
}

}  // namespace gapless
