"""How many threads the core may use, and keeping BLAS to one while it does.

Our threads share fixed chunks, and BLAS runs on one thread inside each, so results have the same
bits whatever the number of threads.
"""

from __future__ import annotations

import contextvars
import functools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import joblib
import scipy.linalg.cython_blas  # noqa: F401 - the BLAS the core calls must be loaded to be found
import threadpoolctl

# Starting a thread takes as long as processing about this many numbers.
LEAST_NUMBERS = 1 << 16

_override: contextvars.ContextVar[int | None] = contextvars.ContextVar("threads", default=None)


def thread_count() -> int:
    """The number of threads for one call: as set by `threads`, else by the environment.

    GAPLESS_NUM_THREADS comes first, then OMP_NUM_THREADS, then the cores this process may use. The
    environment is read once.
    """
    return _override.get() or _default_count()


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Use `count` threads inside the `with` block. Only time depends on it, not results."""
    if count < 1:
        raise ValueError(f"the number of threads must be at least 1, got {count!r}.")
    token = _override.set(int(count))
    try:
        yield
    finally:
        _override.reset(token)


def map_in_threads(function: Callable[[Any], Any], items: Sequence[Any], size: int) -> list:
    """function(item) for all items, in their order, on as many threads as one call may use.

    For functions that spend their time in the core or in NumPy, which release the lock; `size` is
    about how many numbers they process, since few are not worth a thread.
    """
    workers = min(thread_count(), len(items), size // LEAST_NUMBERS)
    if workers < 2:
        return [function(item) for item in items]
    # Several parts for each thread, so that none waits for long at the end.
    parts = min(4 * workers, len(items))
    done: list[Any] = [None] * len(items)

    def work(part: int) -> None:
        done[part::parts] = [function(item) for item in items[part::parts]]

    share_among_threads(work, range(parts), workers)
    return done


def share_among_threads(
    function: Callable[[Any], None], items: Sequence[Any], workers: int
) -> None:
    """function(item) for all items on `workers` threads, which share the cores and the deadline."""
    inside = max(1, thread_count() // workers)

    def work(item: Any) -> None:
        with threads(inside):
            function(item)

    # Time limits are ambient: a thread inherits its caller's in a copy of the context.
    contexts = [contextvars.copy_context() for _ in items]
    with ThreadPoolExecutor(workers) as pool:
        done = [pool.submit(context.run, work, item) for context, item in zip(contexts, items)]
        for each in done:
            each.result()


@functools.cache
def _default_count() -> int:
    for name in ("GAPLESS_NUM_THREADS", "OMP_NUM_THREADS"):
        text = os.environ.get(name, "").strip()
        if not text:
            continue
        # OpenMP allows a list, one number per level of nesting.
        first = text.split(",")[0].strip()
        if not first.isdecimal() or int(first) < 1:
            raise ValueError(
                f"{name}={text!r} must be a whole number, 1 or more; change or unset it."
            )
        return int(first)
    return joblib.cpu_count()


class _BlasLimit:
    """Sets every BLAS of the process to one thread while any thread is inside, then back.

    The setting belongs to the process, so entries are counted: the first one in sets it, the last
    one out restores it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._before: list[int] = []

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._before = [library.get_num_threads() for library in _blas_libraries()]
                self._set([1] * len(self._before))
            self._inside += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._set(self._before)

    def _set(self, counts: list[int]) -> None:
        """Give each library its count; one that had a single thread before is left alone."""
        for library, count, before in zip(_blas_libraries(), counts, self._before):
            if before == 1:  # asking and setting take longer than many a small product
                continue
            # threadpoolctl ignores all threads except the first one that set OpenBLAS. Here the
            # count of those inside decides, whichever thread they run on.
            release = getattr(library, "clear_controlling_thread", lambda force: None)
            release(force=True)
            library.set_num_threads(count)
            release(force=True)


@functools.cache
def _blas_libraries() -> list:
    """The BLAS libraries of this process; finding them takes a millisecond, so only once."""
    return threadpoolctl.ThreadpoolController().select(user_api="blas").lib_controllers


_blas_limit = _BlasLimit()


def single_blas() -> _BlasLimit:
    """Keep every BLAS to one thread in a `with` block; may be nested and used by many threads."""
    return _blas_limit
