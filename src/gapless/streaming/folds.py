"""Folds of parts: sums without some of the parts, to judge a fit on rows that it has not seen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, reduce
from operator import add
from typing import Any

from .passes import Task
from .sources import Rows

# Parts are dealt to so many folds, each of which is left out once.
FOLDS = 5


class Folds(tuple[Any, ...]):
    """The sums of each fold, None for a fold without parts. Those of two sets of parts add up."""

    def __add__(self, other: Any) -> Folds:
        return Folds(b if a is None else a if b is None else a + b for a, b in zip(self, other))

    @property
    def used(self) -> list[int]:
        """The folds that have parts."""
        return [fold for fold, sums in enumerate(self) if sums is not None]

    @cached_property
    def whole(self) -> Any:
        """The sums of all parts."""
        return _sum(self)

    def without(self, fold: int) -> Any:
        """The sums of the parts of all other folds."""
        return _sum([*self[:fold], *self[fold + 1 :]])


@dataclass(frozen=True, eq=False)
class ByFold:
    """A task whose answers are added fold by fold; parts have so many `rows`."""

    task: Task
    rows: int

    def __call__(self, rows: Rows) -> Folds:
        """The answer for one part, in its fold."""
        own = fold_of(rows, self.rows)
        return Folds(self.task(rows) if fold == own else None for fold in range(FOLDS))


def fold_of(part: Rows, rows: int) -> int:
    """The fold of a part of a table whose parts have so many rows."""
    return part.first // rows % FOLDS


def _sum(answers: Any) -> Any:
    return reduce(add, [answer for answer in answers if answer is not None])
