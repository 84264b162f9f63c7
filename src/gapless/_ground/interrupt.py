"""Ctrl-C and time limits, between and around compiled calls.

A limit is ambient: `with time_limit(5): …` sets the deadline that every long call below reads, down
to the compiled core, which checks the clock and Ctrl-C about every ten milliseconds.
"""

from __future__ import annotations

import contextvars
import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

# A context variable, so that our worker threads inherit it while other threads start without it.
_deadline: contextvars.ContextVar[float] = contextvars.ContextVar("deadline", default=math.inf)
_SLICE_SECONDS = 0.02
# How `limit_name` words a limit in seconds.
IN_SECONDS = "its time_limit of {:g} s"


class TimeLimit(Exception):
    """Raised inside a computation when its time limit has passed."""

    def __init__(self, message: str = "the time limit has passed"):
        super().__init__(message)


def deadline() -> float:
    """When the current work must end, in seconds of `time.monotonic()`; inf without a limit."""
    return _deadline.get()


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Limit the `with` block to `seconds`; None sets no new limit.

    Limits nest, and the earliest deadline holds. A long call raises `TimeLimit` when it is reached;
    the `with` block itself raises nothing.
    """
    if seconds is not None and not seconds >= 0:
        raise ValueError(f"time_limit must be None or at least 0 seconds, got {seconds!r}.")
    end = math.inf if seconds is None else time.monotonic() + seconds
    token = _deadline.set(min(_deadline.get(), end))
    try:
        yield
    finally:
        _deadline.reset(token)


def seconds_left(limit: float | None, began: float) -> float | None:
    """What is left of a limit for work that began at `began`, a time of `time.monotonic()`."""
    return None if limit is None else max(limit - (time.monotonic() - began), 0.0)


def limit_name(limit: float | None, form: str = "its time_limit={:g}") -> str:
    """A limit that has passed, in words: a model's own or, if it has none, one around it."""
    return "an enclosing time limit" if limit is None else form.format(limit)


def check() -> None:
    """Raise `TimeLimit` if the deadline has passed."""
    if time.monotonic() >= _deadline.get():
        raise TimeLimit


def in_worker(function: Callable[..., T], *args: Any) -> T:
    """function(*args) in its own thread, so that Ctrl-C and the time limit end the wait.

    For a long call that cannot be interrupted and that releases the GIL, such as a factorisation by
    LAPACK. An abandoned call runs to its end in the background: nothing else may use its arrays,
    and its result is lost.
    """
    done = threading.Event()
    result: list[T] = []
    error: list[BaseException] = []
    context = contextvars.copy_context()

    def work() -> None:
        try:
            result.append(context.run(function, *args))
        except BaseException as raised:
            error.append(raised)
        finally:
            done.set()

    check()
    threading.Thread(target=work, name="gapless-worker", daemon=True).start()
    while not done.wait(max(0.0, min(_SLICE_SECONDS, deadline() - time.monotonic()))):
        check()
    if error:
        raise error[0]
    return result[0]
