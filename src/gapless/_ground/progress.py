"""Progress of long fits: scikit-learn's callbacks if set, a line on a terminal.

Estimators inherit `CallbackSupport` and pass `watch(self, …)` to the solver as its callback.
scikit-learn has callbacks from 1.9 on.
"""

from __future__ import annotations

import contextvars
import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks

    # The frames between a method `with_callbacks` and its caller, for the stacklevel of warnings.
    CALLBACK_FRAMES = 1
except ImportError:  # scikit-learn 1.8 has no callbacks

    class CallbackSupport:  # type: ignore[no-redef]
        """Replacement for scikit-learn versions without a callback protocol."""

    CALLBACK_FRAMES = 0

    def with_callbacks(method: Callable) -> Callable:
        """Return the method unchanged."""
        return method


PATIENCE_SECONDS = 2.0
REFRESH_SECONDS = 0.2
_has_line: contextvars.ContextVar[bool] = contextvars.ContextVar("has_line", default=True)


@contextmanager
def without_lines() -> Iterator[None]:
    """Keep fits inside from showing their own lines if the caller shows one for all of them."""
    token = _has_line.set(False)
    try:
        yield
    finally:
        _has_line.reset(token)


@contextmanager
def watch(
    estimator: Any, X: Any = None, y: Any = None, most_steps: int | None = None
) -> Iterator[Callable[[Any, float], bool]]:
    """A callback for solvers, called after each step; returns True to stop the solver.

    scikit-learn's callbacks get what the solver tells as `metadata["progress"]`.
    """
    line = ProgressLine(type(estimator).__name__, sys.stderr if _has_line.get() else None)
    context = None
    if getattr(estimator, "_skl_callbacks", None) or hasattr(estimator, "_parent_callback_ctx"):
        context = estimator._init_callback_context(max_subtasks=most_steps)
        context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    def after_step(trace: Any, target: float) -> bool:
        line.show(trace, target)
        if context is None:
            return False
        step = context.subcontext(task_name="step").call_on_fit_task_begin(
            estimator=estimator, X=X, y=y
        )
        told = {"progress": trace}
        return step.call_on_fit_task_end(estimator=estimator, X=X, y=y, metadata=told)

    try:
        yield after_step
        if context is not None:
            context.call_on_fit_task_end(estimator=estimator, X=X, y=y)
    finally:
        line.clear()


class ProgressLine:
    """One line on a terminal, rewritten while a long fit runs.

    It shows step, objective and gap of a solver's trace, or any other object as printed; and for
    how long the fit has run, or its `seconds_left` if the object knows them.
    """

    def __init__(self, name: str, stream: TextIO | None):
        self.name, self.stream = name, stream
        self.began = self.shown = time.monotonic()
        self.width = 0

    def show(self, trace: Any, target: float) -> None:
        """Rewrite the line if it is time to."""
        now = time.monotonic()
        if now - self.began < PATIENCE_SECONDS or now - self.shown < REFRESH_SECONDS:
            return
        if self.stream is None or not self.stream.isatty():
            return
        self.shown = now
        left = getattr(trace, "seconds_left", None)
        ran = f"{now - self.began:.0f} s" if left is None else f"about {_duration(left)} left"
        text = f"{self.name}: {_words(trace, target)}, {ran}"
        self.stream.write("\r" + text.ljust(self.width))
        self.stream.flush()
        self.width = len(text)

    def clear(self) -> None:
        """Remove the line from the terminal."""
        if self.width and self.stream is not None:
            self.stream.write("\r" + " " * self.width + "\r")
            self.stream.flush()


def _words(trace: Any, target: float) -> str:
    """The progress of a fit in words."""
    if not hasattr(trace, "gap"):
        return str(trace)
    known = [gap for gap in trace.gap if math.isfinite(gap)]
    gap = f"gap {known[-1]:.2g}, stops at {target:.2g}" if known else "gap not known yet"
    return f"step {trace.steps}, objective {trace.primal[-1]:.6g}, {gap}"


def _duration(seconds: float) -> str:
    """Seconds in the unit in which they are easy to read."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.0f} h"
