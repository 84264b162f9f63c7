"""Budget: the seconds left, and the actual cost of fits against the estimates.

Costs are processor seconds, not wall-clock time, so that the same table and seed lead to the same
fits, and the same model, whatever else the machine does. The limit itself is wall-clock time: when
it comes near, the load of the machine counts too.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from .._ground.threads import thread_count
from ..data import Kind
from .family import Facts, Family
from .splitting import held_out_part

# The actual times of other families change the estimate for an untried one by at most this factor.
MOST_LEARNED = 2.0
# Estimates for this many times the rows seen are raised by this power of the ratio: a fit that is
# stopped is wasted.
DOUBT = 0.15
# The work after the fits takes this part of the limit, plus the seconds below.
CLOSING_PART = 0.02
# The profile of the table, which is kept: seconds per row, column and value.
CLOSING_ROW = 1e-6
CLOSING_COLUMN = 1e-4
CLOSING_VALUE = 1.2e-7
# The correction for selection: seconds per held-out row.
CLOSING_HELD_OUT = 1e-5
# The load of the machine is known after this many seconds of work.
LEAST_WORK = 0.5
# A fit may take this many times its time under that load, since a load varies.
SLACK = 1.5
# Measured times are rounded to this many steps per doubling: they are never the same twice, but
# what follows from them should be.
STEPS = 2


class OwnTime:
    """Processor seconds: how long the work would have taken on an idle machine.

    Of the calling thread, or of all threads of this process divided by their number, whichever is
    more.
    """

    def __init__(self) -> None:
        self._thread, self._process = time.thread_time(), time.process_time()
        self._total = 0.0

    def __call__(self) -> float:
        """The seconds since it was created."""
        thread, process = time.thread_time(), time.process_time()
        self._total += max(thread - self._thread, (process - self._process) / thread_count())
        self._thread, self._process = thread, process
        return self._total


@dataclass(slots=True, eq=False)
class Budget:
    """A time limit, and time estimates that improve with every fit.

    Parameters
    ----------
    limit : float
        Seconds for everything.
    facts : Facts
        The facts about the table.
    clock : callable, default=time.monotonic
        Returns the time in seconds.
    work : callable or None, default=None
        Returns the seconds worked; `OwnTime` if None, or the clock if it is not the default.
    began : float, default=NaN
        When everything began, by the clock; now if NaN. `work` started counting then, too.
    """

    limit: float
    facts: Facts
    clock: Callable[[], float] = time.monotonic
    work: Callable[[], float] | None = None
    began: float = field(default=math.nan)
    _worked_before: float = 0.0
    _speeds: dict[tuple[str, bool], float] = field(default_factory=dict)
    _preparing: dict[Kind, float] = field(default_factory=dict)
    _preparing_asked: dict[Kind, float] = field(default_factory=dict)
    _prepared: set[tuple[Kind, int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        if math.isnan(self.began):
            self.began = self.clock()
        if self.work is None:
            is_usual = self.clock is time.monotonic
            self.work, self._worked_before = (
                (OwnTime(), 0.0) if is_usual else (self.clock, self.began)
            )

    @property
    def seconds(self) -> float:
        """How long it has been running, by the clock."""
        return self.clock() - self.began

    @property
    def worked(self) -> float:
        """Seconds of work since the beginning."""
        assert self.work is not None
        return self.work() - self._worked_before

    @property
    def load(self) -> float:
        """Wall-clock seconds per second of work, at least 1."""
        worked = self.worked
        return max(self.seconds / worked, 1.0) if worked > LEAST_WORK else 1.0

    @property
    def clock_left(self) -> float:
        """Wall-clock seconds for fits, without those reserved for the end."""
        end = CLOSING_PART * self.limit + self.load * self._last_work
        return max(self.limit - end - self.seconds, 0.0)

    @property
    def left(self) -> float:
        """Seconds of work for fits: those of an idle machine, or as many as the clock allows."""
        return max(min(self.limit - self.closing - self.worked, self.clock_left / self.load), 0.0)

    @property
    def shared(self) -> float:
        """Seconds of work to share out.

        As long as the clock allows it, they do not depend on the load.
        """
        return max(min(self.limit - self.closing - self.worked, self.clock_left), 0.0)

    def on_clock(self, seconds: float | None) -> float | None:
        """Wall-clock seconds allowed for `seconds` of work; None for no limit."""
        return None if seconds is None else min(SLACK * self.load * seconds, self.clock_left)

    @property
    def closing(self) -> float:
        """Seconds for the work after the fits."""
        return CLOSING_PART * self.limit + self._last_work

    @property
    def _last_work(self) -> float:
        """Seconds of work that the table takes after the fits."""
        rows, columns = self.facts.rows, self.facts.columns
        table = CLOSING_ROW * rows + CLOSING_COLUMN * columns + CLOSING_VALUE * rows * columns
        correction = CLOSING_HELD_OUT * held_out_part(rows) * rows
        return table + correction

    def learn(self, family: Family, rows: int, took: float) -> None:
        """Record the time of a fit of `rows` rows; a baseline says nothing about others."""
        if family.complexity:
            self._speeds[family.form] = rounded(took / family.guess_seconds(self.facts, rows))

    def learn_preparing(self, kind: Kind, rows: int, asked: int, took: float) -> None:
        """Record the time to prepare rows, for a fit and to predict; it need not be repeated."""
        if (kind, rows) not in self._prepared:
            self._preparing[kind] = rounded(took / max(rows, 1))
            self._preparing_asked[kind] = rounded(took / max(rows + asked, 1))
            self._prepared.add((kind, rows))

    def prepare_seconds(self, kind: Kind, rows: int) -> float:
        """The estimated seconds to prepare rows for a fitted model."""
        return self._preparing_asked.get(kind, 0.0) * rows

    def fit_seconds(self, family: Family, rows: int) -> float:
        """The estimated seconds of a fit, including preparation unless that has been done."""
        is_prepared = (family.kind, rows) in self._prepared
        preparing = 0.0 if is_prepared else self._preparing.get(family.kind, 0.0) * rows
        return preparing + self.alone(family, rows)

    def alone(self, family: Family, rows: int) -> float:
        """The estimate for a fit of prepared rows, corrected by the actual times so far."""
        guess = family.guess_seconds(self.facts, rows)
        name, is_quick = family.form
        for form in (family.form, (name, not is_quick)):
            if form in self._speeds:
                return guess * self._speeds[form]
        others = [*self._speeds.values(), 1.0]
        usual = math.exp(float(np.median(np.log(np.maximum(others, 1e-6)))))
        return guess * min(max(usual, 1 / MOST_LEARNED), MOST_LEARNED)

    def rows_for(self, family: Family, seconds: float, most: int, seen: int) -> int:
        """The most rows that a fit can use in `seconds`, after one of `seen` rows.

        0 if not even one.
        """
        return most_within(
            lambda rows: doubt(rows, seen) * self.fit_seconds(family, rows), seconds, most
        )


def rounded(measured: float) -> float:
    """A time, or a ratio of times, rounded to half a doubling."""
    return 2 ** (round(STEPS * math.log2(measured)) / STEPS) if measured > 0 else 0.0


def doubt(rows: int, seen: int) -> float:
    """The factor by which an extrapolation from fewer rows is raised."""
    return max(rows / max(seen, 1), 1.0) ** DOUBT


def most_within(need: Callable[[int], float], seconds: float, most: int) -> int:
    """The most rows that need at most `seconds`; 0 if not even one."""
    if need(most) <= seconds:
        return most
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if need(middle) <= seconds else (low, middle - 1)
    return low
