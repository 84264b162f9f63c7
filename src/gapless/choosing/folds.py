"""Folds: which rows for training are held out, and which of them smaller fits learn from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..data import Task
from ..evaluation import Rows, Split
from .splitting import null_model

Array = np.ndarray

FOLDS = 5
# From so many rows on a single part is held out: its score is known well enough.
LONG = 20_000
HELD_OUT_PART = 0.2
# And of very many rows so many: a share of them is then known to a third of a percent.
MOST_HELD_OUT = 20_000


def held_out_part(rows: int) -> float:
    """About which part of so many rows is held out: all, one fold after the other, or a fifth."""
    return min(HELD_OUT_PART, MOST_HELD_OUT / rows) if rows >= LONG else 1.0


@dataclass(frozen=True, eq=False)
class Folds:
    """The same splits of the rows for training, and the same smaller parts, for all families.

    Parameters
    ----------
    rows : Rows
        The rows for training, from `rows_of`.
    task : {"classification", "regression"}
        What is learned; classes have their share of every part.
    seed : int, default=0
        Of the draws.
    """

    rows: Rows
    task: Task
    seed: int = 0

    @cached_property
    def splits(self) -> list[Split]:
        """The rows to learn from and those that are held out; in time, the longest past first."""
        if len(self.rows) >= LONG:
            part = held_out_part(len(self.rows))
            return [self.rows.hold_out(self._stand_in, part, self.seed)]
        k = min(FOLDS, self.rows.unit_count)
        found = self.rows.folds(self._stand_in, k, self.seed)
        return found if self.rows.time is None else self._with_a_past(found)

    def _with_a_past(self, splits: list[Split]) -> list[Split]:
        """The latest first, without those whose past has just one class, if there are others."""
        latest = splits[::-1]
        if self.task == "regression":
            return latest
        learned = [split for split in latest if len(np.unique(self.rows.y[split[0]])) > 1]
        return learned or latest

    @cached_property
    def method(self) -> str:
        """How rows are held out, in words."""
        if len(self.rows) >= LONG:
            latest = "the latest " if self.rows.time is not None else ""
            return f"hold-out of {latest}{len(self.splits[0][1]):,} rows"
        if self.rows.time is not None:
            return f"forward validation ({len(self.splits)} parts, each after its past)"
        return f"{len(self.splits)}-fold"

    @cached_property
    def largest(self) -> int:
        """The rows of the largest training part."""
        return max(len(train) for train, _ in self.splits)

    def some(self, rows: Array, count: int) -> Array:
        """So many of these rows; all if there are no more."""
        if len(rows) <= count:
            return rows
        is_there = np.zeros(len(self.rows), dtype=bool)
        is_there[rows] = True
        return np.sort(self._in_turn[is_there[self._in_turn]][:count])

    def first(self, count: int) -> Array:
        """So many rows of the first training part."""
        return self.some(self.splits[0][0], count)

    def of_all(self, count: int) -> Array:
        """So many of all rows for training."""
        return self.some(np.arange(len(self.rows)), count)

    @cached_property
    def _in_turn(self) -> Array:
        """All rows in the order in which smaller fits take them: any first ones serve.

        In time the latest come first, else units in a random order with a fair share of classes.
        """
        if self.rows.time is not None:
            return np.argsort(-self.rows.time, kind="stable")
        place = np.empty(self.rows.unit_count, dtype=int)
        place[self.rows.shuffled(self._stand_in, self.seed + 1)] = np.arange(self.rows.unit_count)
        return np.argsort(place[self.rows.units], kind="stable")

    @cached_property
    def _stand_in(self) -> Any:
        """A model of the task, by which folds know whether there are classes."""
        return null_model(self.task)
