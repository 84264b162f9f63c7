"""A pass over the parts of a table: a task sees each part once, and what it says is summed.

The sum is taken part by part within a stretch, and then stretch by stretch, in their order. That
order depends on the number of rows of a part alone, so that the sum has the same bits in this
process and on a cluster of any size, in whatever order the workers answer.
"""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np

from .._ground.interrupt import TimeLimit, check, deadline
from .._ground.progress import ProgressLine
from .._ground.threads import single_blas, threads
from .sources import Rows
from .training import Training

Array = np.ndarray

# How often the wait for a stretch looks at Ctrl-C and at the time limit.
TICK_SECONDS = 0.05
# A cluster has so many stretches for each of its threads, so that none waits for the next.
STRETCHES_PER_THREAD = 2


class Task(Protocol):
    """What is asked of each part; answers can be added, and task and answer be sent elsewhere."""

    def __call__(self, rows: Rows) -> Any:
        """The answer for some rows."""


class Progress:
    """How far a pass is, for the line on a terminal."""

    def __init__(self, what: str, n: int):
        self.what, self.n, self.done, self.began = what, n, 0, time.monotonic()

    @property
    def seconds_left(self) -> float | None:
        """About how long the rest of the pass takes."""
        spent = time.monotonic() - self.began
        return spent * (self.n - self.done) / self.done if self.done else None

    def __str__(self) -> str:
        return f"{self.what}: {100 * self.done / self.n:.0f} % of {self.n:,} rows"


def total(
    training: Training, task: Task, *, line: ProgressLine | None = None, what: str = ""
) -> Any:
    """The sum of a task's answers for all parts, in their order."""
    stretches = _stretches(training, _summed, task, line, what)
    return _sum(answer for answers in stretches for answer in answers)


def each_part(
    training: Training, task: Task, *, line: ProgressLine | None = None, what: str = ""
) -> Iterator[Any]:
    """A task's answers for all parts, in their order."""
    for answers in _stretches(training, _listed, task, line, what):
        yield from answers


def _summed(parts: Iterator[Rows], task: Task) -> list[Any]:
    return [_sum(task(part) for part in parts)]


def _listed(parts: Iterator[Rows], task: Task) -> list[Any]:
    return [task(part) for part in parts]


def _sum(answers: Iterator[Any]) -> Any:
    whole = next(answers)
    for answer in answers:
        whole = whole + answer
    return whole


def _parts_of(stretch: Rows, rows: int, watched: bool) -> Iterator[Rows]:
    for start in range(0, len(stretch), rows):
        if watched:
            check()
        yield stretch.slice(start, min(start + rows, len(stretch)))


class _Run:
    """A task for the parts of a stretch, as it is sent to a worker."""

    def __init__(self, gather: Any, rows: int):
        self.gather, self.rows = gather, rows

    def __call__(self, stretch: Rows, task: Task) -> list[Any]:
        # The threads of the worker share its cores already.
        with threads(1), single_blas():
            return self.gather(_parts_of(stretch, self.rows, False), task)


def _stretches(
    training: Training, gather: Any, task: Task, line: ProgressLine | None, what: str
) -> Iterator[list[Any]]:
    """What `gather` makes of each stretch, in their order."""
    progress = Progress(what or "reading", training.n)
    on = _here if training.parts.client is None else _on_cluster
    for span, answers in zip(training.stretches(), on(training, gather, task)):
        progress.done = span[1]
        if line is not None:
            line.show(progress, math.nan)
        yield answers


def _here(training: Training, gather: Any, task: Task) -> Iterator[list[Any]]:
    """Compute on one stretch while the next one is read."""
    spans, rows = training.stretches(), training.parts.rows
    pool = ThreadPoolExecutor(1, thread_name_prefix="gapless-reader")
    try:
        coming = pool.submit(training.stretch, *spans[0])
        for after in [*spans[1:], None]:
            stretch = _awaited(coming)
            if after is not None:
                coming = pool.submit(training.stretch, *after)
            with single_blas():
                yield gather(_parts_of(stretch, rows, True), task)
            del stretch
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _awaited(coming: Future) -> Any:
    """A result, as soon as it is there; Ctrl-C and the time limit end the wait."""
    done = threading.Event()
    coming.add_done_callback(lambda _: done.set())
    while not done.wait(TICK_SECONDS):
        check()
    check()
    return coming.result()


def _on_cluster(training: Training, gather: Any, task: Task) -> Iterator[list[Any]]:
    """Send the stretches to the workers, a few for each of their threads at a time."""
    client, source = training.parts.client, training.source
    run = _Run(gather, training.parts.rows)
    ahead = STRETCHES_PER_THREAD * max(sum(client.nthreads().values()), 1)
    waiting: deque[Any] = deque()
    spans = iter(training.stretches())
    try:
        while True:
            while len(waiting) < ahead and (span := next(spans, None)) is not None:
                waiting.append(source.read_on(client, run, span, training.how, task))
            if not waiting:
                return
            yield _gathered(client, waiting.popleft())
    finally:
        for future in waiting:
            future.cancel()


def _gathered(client: Any, future: Any) -> list[Any]:
    """The answer of a worker; an error if the time limit passes or the cluster is gone."""
    while True:
        left = deadline() - time.monotonic()
        if left <= 0:
            future.cancel()
            raise TimeLimit
        try:
            return future.result(timeout=min(left, 1.0))
        except TimeoutError:
            if client.status != "running":
                raise _gone() from None
        except CancelledError:
            raise _gone() from None


def _gone() -> ConnectionError:
    return ConnectionError(
        "the scheduler of the cluster is gone; start it again, make a new client and fit again."
    )
