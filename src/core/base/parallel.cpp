#include "base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

namespace gapless {

namespace {

constexpr std::chrono::milliseconds period{10};

std::int64_t time_of_next_poll(std::chrono::steady_clock::time_point now) {
    return std::chrono::nanoseconds((now + period).time_since_epoch()).count();
}

}  // namespace

namespace detail {

// What the threads of one parallel_for share, as long as the last of them lives. The task lives as
// long as the call: only holders of a ticket touch it, and the call ends when all tickets are used.
class Crew {
public:
    Crew(Index tasks, const Poll& poll, void* task, void (*call)(void*, Index, Checkpoint&))
        : tasks_(tasks), poll_(&poll), task_(task), call_(call) {}

    void help() { take_tasks(nullptr); }

    void run() {
        take_tasks(poll_);
        wait();
        if (error_) std::rethrow_exception(error_);
    }

    bool has_stopped() const { return stopped_.load(std::memory_order_relaxed); }
    void stop() { stopped_.store(true, std::memory_order_relaxed); }

private:
    void take_tasks(const Poll* poll) {
        Checkpoint checkpoint(poll, this);
        for (Index i; (i = next_.fetch_add(1, std::memory_order_relaxed)) < tasks_;) {
            // After a stop the remaining tickets are used up.
            if (!has_stopped()) do_task(i, checkpoint);
            if (used_.fetch_add(1, std::memory_order_acq_rel) + 1 == tasks_) {
                std::lock_guard lock(mutex_);
                all_used_.notify_one();
            }
        }
    }

    void do_task(Index i, Checkpoint& checkpoint) {
        try {
            checkpoint();
            call_(task_, i, checkpoint);
        } catch (...) {
            fail(std::current_exception());
        }
    }

    // The caller sees the first error; the others follow from it.
    void fail(std::exception_ptr error) {
        std::lock_guard lock(mutex_);
        if (!error_) error_ = error;
        stop();
    }

    // Out of tasks, the calling thread still polls while the others finish theirs.
    void wait() {
        const auto is_over = [&] { return used_.load(std::memory_order_acquire) == tasks_; };
        std::unique_lock lock(mutex_);
        while (!all_used_.wait_for(lock, period, is_over)) {
            if (has_stopped() || !*poll_) continue;
            lock.unlock();
            bool is_time = (*poll_)();
            lock.lock();
            if (is_time) {
                if (!error_) error_ = std::make_exception_ptr(Stopped());
                stop();
            }
        }
    }

    const Index tasks_;
    const Poll* poll_;
    void* task_;
    void (*call_)(void*, Index, Checkpoint&);
    std::atomic<Index> next_{0}, used_{0};
    std::atomic<bool> stopped_{false};
    std::mutex mutex_;
    std::condition_variable all_used_;
    std::exception_ptr error_;
};

int start_threads(int count, const Start& start, const std::function<void()>& work) {
    int started = 0;
    try {
        for (; started < count; ++started) start(work);
    } catch (const std::system_error&) {
    }
    return started;
}

void run_tasks(Index tasks, int threads, const Poll& poll, void* task,
               void (*call)(void*, Index, Checkpoint&), const Start& start) {
    const auto crew = std::make_shared<Crew>(tasks, poll, task, call);
    const auto others = std::clamp<Index>(tasks, 1, std::max(threads, 1)) - 1;
    start_threads(static_cast<int>(others), start, [crew] { crew->help(); });
    crew->run();
}

}  // namespace detail

Checkpoint::Checkpoint(const Poll* poll, detail::Crew* crew)
    : poll_(poll), crew_(crew), next_(time_of_next_poll(std::chrono::steady_clock::now())) {}

void Checkpoint::operator()() {
    if (crew_ && crew_->has_stopped()) throw Stopped();
    if (!poll_ || !*poll_) return;
    const auto now = std::chrono::steady_clock::now();
    if (std::chrono::nanoseconds(now.time_since_epoch()).count() < next_) return;
    next_ = time_of_next_poll(now);
    if ((*poll_)()) {
        if (crew_) crew_->stop();
        throw Stopped();
    }
}

void start_thread(std::function<void()> work) { std::thread(std::move(work)).detach(); }

int useful_threads(double operations, int threads) {
    constexpr double per_thread = 1e5;
    return static_cast<int>(std::clamp(operations / per_thread, 1.0, static_cast<double>(threads)));
}

}  // namespace gapless
