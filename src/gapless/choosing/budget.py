"""Budget: the seconds that are left, and what fits cost in truth against what was guessed."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from ..data.preparation import Kind
from .facts import Facts
from .families import Family
from .folds import held_out_part

# What others took against their guesses says at most so much about a family not yet tried.
MOST_LEARNED = 2.0
# Guesses for so many times the rows that were seen are doubted by this power of that number: a fit
# that is stopped was for nothing.
DOUBT = 0.15
# What comes after the fits takes this part of the limit, so much for each row, column and value of
# the table, whose profile is kept, and for each row held out, by the correction for the choice.
CLOSING_PART, CLOSING_ROW, CLOSING_COLUMN, CLOSING_VALUE = 0.02, 1e-6, 1e-4, 1.2e-7
CLOSING_HELD_OUT = 1e-5


@dataclass(slots=True, eq=False)
class Budget:
    """A time limit, and guesses of seconds that get better with every fit.

    Parameters
    ----------
    limit : float
        Seconds for everything.
    facts : Facts
        What is known of the table.
    clock : callable, default=time.monotonic
        Tells the time in seconds.
    """

    limit: float
    facts: Facts
    clock: Callable[[], float] = time.monotonic
    began: float = field(default=math.nan)
    _speeds: dict[str, float] = field(default_factory=dict)
    _preparing: dict[Kind, float] = field(default_factory=dict)
    _prepared: set[tuple[Kind, int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        if math.isnan(self.began):
            self.began = self.clock()

    @property
    def seconds(self) -> float:
        """How long it has been running."""
        return self.clock() - self.began

    @property
    def left(self) -> float:
        """Seconds for fits: without those that are kept for the end."""
        return max(self.limit - self.closing - self.seconds, 0.0)

    @property
    def closing(self) -> float:
        """Seconds for what comes after the fits."""
        rows, columns = self.facts.rows, self.facts.columns
        table = CLOSING_ROW * rows + CLOSING_COLUMN * columns + CLOSING_VALUE * rows * columns
        correction = CLOSING_HELD_OUT * held_out_part(rows) * rows
        return CLOSING_PART * self.limit + table + correction

    def learn(self, family: Family, rows: int, took: float) -> None:
        """Remember what a fit of so many rows took; a null model tells nothing of others."""
        if family.complexity:
            self._speeds[family.name] = took / family.guess_seconds(self.facts, rows)

    def learn_preparing(self, kind: Kind, rows: int, took: float) -> None:
        """Remember what preparing so many rows for a fit took; it need not be done again."""
        if (kind, rows) not in self._prepared:
            self._preparing[kind] = took / max(rows, 1)
            self._prepared.add((kind, rows))

    def fit_seconds(self, family: Family, rows: int) -> float:
        """About how long a fit takes, with preparing its rows unless that has been done."""
        is_prepared = (family.kind, rows) in self._prepared
        preparing = 0.0 if is_prepared else self._preparing.get(family.kind, 0.0) * rows
        return preparing + self.alone(family, rows)

    def alone(self, family: Family, rows: int) -> float:
        """A fit of prepared rows: the guess, times what fits took against their guesses."""
        guess = family.guess_seconds(self.facts, rows)
        if family.name in self._speeds:
            return guess * self._speeds[family.name]
        others = [*self._speeds.values(), 1.0]
        usual = math.exp(float(np.median(np.log(np.maximum(others, 1e-6)))))
        return guess * min(max(usual, 1 / MOST_LEARNED), MOST_LEARNED)

    def rows_for(self, family: Family, seconds: float, most: int, seen: int) -> int:
        """The most rows that a fit can have in so many seconds, after one of `seen` rows.

        0 if not even one.
        """
        return most_within(
            lambda rows: doubt(rows, seen) * self.fit_seconds(family, rows), seconds, most
        )


def doubt(rows: int, seen: int) -> float:
    """How many times as long it may take as one would guess from fits of fewer rows."""
    return max(rows / max(seen, 1), 1.0) ** DOUBT


def most_within(need: Callable[[int], float], seconds: float, most: int) -> int:
    """The most rows that need at most so many seconds; 0 if not even one."""
    if need(most) <= seconds:
        return most
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if need(middle) <= seconds else (low, middle - 1)
    return low
