// Threads for one call: fixed tasks that any number of threads share, so that results have the same
// bits for every thread count; a caller that needs sums adds the tasks' results in order. Threads
// are started for one call, so nothing is left behind for a fork to break, and a call waits for
// tasks, never for threads: on a busy machine one of them may only begin when all is done.
#pragma once

#include <exception>
#include <functional>
#include <type_traits>

#include "base/loops.hpp"

namespace gapless {

// Called by the calling thread about every ten milliseconds; true means: stop now. May be empty.
using Poll = std::function<bool()>;

// Thrown out of a computation that was told to stop. Its results are incomplete.
struct Stopped : std::exception {
    const char* what() const noexcept override { return "stopped"; }
};

namespace detail {
class Crew;
}

// Long loops call their checkpoint at least every few milliseconds; it throws Stopped when it is
// time.
class Checkpoint {
public:
    explicit Checkpoint(const Poll& poll) : Checkpoint(&poll, nullptr) {}
    // Shared by the threads of one call: only the calling thread polls, the others, without a poll,
    // see that the crew has stopped.
    Checkpoint(const Poll* poll, detail::Crew* crew);

    void operator()();

private:
    const Poll* poll_;
    detail::Crew* crew_;
    std::int64_t next_;  // when to poll, in nanoseconds of the steady clock
};

// Starts work on a thread of its own, or throws std::system_error.
using Start = std::function<void(std::function<void()> work)>;

// Start work on a detached thread.
void start_thread(std::function<void()> work);

namespace detail {

// Start `count` threads, or as many as the system provides; those share the tasks.
int start_threads(int count, const Start& start, const std::function<void()>& work);

// parallel_for of call(task, i, checkpoint). Compiled once: threads, locks and clocks are long
// headers, and most files have a loop for several threads.
void run_tasks(Index tasks, int threads, const Poll& poll, void* task,
               void (*call)(void*, Index, Checkpoint&), const Start& start);

}  // namespace detail

// Call task(i) or task(i, checkpoint) for i = 0 … tasks−1 on up to `threads` threads, in any order.
// Throws Stopped when the poll says stop, or the first exception of a task; the rest is then
// skipped.
template <class Task>
void parallel_for(Index tasks, int threads, const Poll& poll, Task&& task,
                  const Start& start = start_thread) {
    using Plain = std::remove_reference_t<Task>;
    const auto call = [](void* pointer, Index i, Checkpoint& checkpoint) {
        auto& plain = *static_cast<Plain*>(pointer);
        if constexpr (std::is_invocable_v<Plain&, Index, Checkpoint&>)
            plain(i, checkpoint);
        else
            plain(i);
    };
    detail::run_tasks(tasks, threads, poll, const_cast<void*>(static_cast<const void*>(&task)),
                      call, start);
}

// How many threads are worth starting: with fewer operations, one is faster than waking a second.
int useful_threads(double operations, int threads);

}  // namespace gapless
