"""Which rows belong together, which are set aside for the test, and which are held out in folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from ..data import Column, Split, Table, TableError, Target, Task, counted, has_few_combinations
from ..evaluation import Rows
from .baselines import MajorityClassifier, MeanRegressor

Array = np.ndarray
# Training rows, and held-out rows.
Fold = tuple[Array, Array]


def rows_of(
    table: Table, columns: Sequence[Column], target: Target, within: Array | None = None
) -> Rows:
    """The rows of a table for an evaluation: features, targets, and units that are never split.

    Rows of one group stay together, and so do rows with equal features, unless the columns have so
    few values that rows must repeat: then new rows have the same values too.

    Parameters
    ----------
    table : Table
        The table.
    columns : sequence of Column
        Its columns with their roles.
    target : Target
        The target.
    within : ndarray of int, default=None
        Only these rows of the table; all with a target if None.
    """
    names = [column.name for column in columns if column.is_feature]
    if not names:
        raise TableError(
            "no column is left to learn from: each is the target, an id, constant, or dropped. Add "
            "columns that describe the rows, or drop fewer."
        )
    kept = np.arange(len(target.rows))
    if within is not None:
        kept = np.flatnonzero(np.isin(target.rows, within))
    frame = table.frame[target.rows[kept]]
    group, time = (_named(frame, columns, role) for role in ("group", "time"))
    features = frame.select(names)
    return Rows(
        features,
        target.values[kept],
        None,
        _units(features, columns) if group is None else _numbered(group),
        None if time is None else _numbered(time),
    )


def _named(frame: pl.DataFrame, columns: Sequence[Column], role: str) -> pl.Series | None:
    """The column with a role given by the caller; it must be known in every row."""
    name = next((column.name for column in columns if column.role == role), None)
    if name is None:
        return None
    series = frame[name]
    if series.null_count():
        raise TableError(
            f"column {name!r} is the {role}, but it is missing in {series.null_count():,} rows; "
            f"fill it in, drop these rows, or do not use it as the {role}."
        )
    if series.n_unique() < 2:
        raise TableError(f"column {name!r} is the {role}, but it has the same value in all rows.")
    return series


def _numbered(series: pl.Series) -> Array:
    """The rank of each value among the distinct ones."""
    return series.rank("dense").to_numpy().astype(np.int64) - 1


def group_labels(frame: pl.DataFrame, columns: Sequence[Column]) -> Array | None:
    """A label 0, 1, … for each row, the same for rows of a group; None if no row has a partner.

    Rows without a known group form one.
    """
    name = next((column.name for column in columns if column.role == "group"), None)
    if name is None or name not in frame.columns or not frame[name].is_duplicated().any():
        return None
    return np.unique(frame[name].rank("dense").fill_null(0).to_numpy(), return_inverse=True)[1]


def _units(features: pl.DataFrame, columns: Sequence[Column]) -> Array:
    """A label for each row, the same for rows with equal features."""
    if has_few_combinations(columns):
        return np.arange(features.height)
    return np.unique(features.hash_rows(seed=0).to_numpy(), return_inverse=True)[1]


def set_aside(
    table: Table, columns: Sequence[Column], target: Target, *, test: float = 0.2, seed: int = 0
) -> Split:
    """Divide the rows of a table into training and test rows.

    Parameters
    ----------
    table : Table
        The table.
    columns : sequence of Column
        Its columns with their roles, from `gapless.data.describe_columns`. Rows of one group stay
        together; if a column orders rows in time, the latest are test rows.
    target : Target
        The target, from `gapless.data.read_target`. Both parts are stratified by class.
    test : float, default=0.2
        The share of test rows.
    seed : int, default=0
        Seed of the draw.

    Returns
    -------
    Split
        Rows of the table; those without a target are in neither part.

    Notes
    -----
    Rows with equal features stay together, so that no test row was memorised, unless the
    columns have so few values that this is to be expected.
    """
    if not 0 < test < 1:
        raise ValueError(f"test must be a share between 0 and 1, such as 0.2; got {test!r}.")
    rows = rows_of(table, columns, target)
    if rows.unit_count < 4:
        raise TableError(
            f"only {rows.unit_count} distinct rows or groups have a target; at least 4 are needed, "
            "to learn from some and test on the others."
        )
    train, held = rows.hold_out(baseline_model(target.task), test, seed)
    if target.task == "classification" and rows.time is None:
        train, held = _with_both_classes(rows, train, held, target.name)
    if len(np.unique(rows.y[train])) < 2:
        raise TableError(
            f"all training rows have the same {target.name!r}; set aside fewer test rows, or add "
            "rows."
        )
    return Split(target.rows[train], target.rows[held])


def _with_both_classes(rows: Rows, train: Array, held: Array, name: str) -> tuple[Array, Array]:
    """The same split, or one with both of two classes on both sides.

    With more classes, those present can be distinguished and scored without the others.
    """
    classes = np.unique(rows.y)
    if len(classes) > 2:
        return train, held
    for label in classes.tolist():
        having = np.unique(rows.units[rows.y == label])
        if len(having) < 2:
            count = int(np.sum(rows.y == label))
            of = "" if count == len(having) else ", all in one group or equal to each other"
            raise TableError(
                f"class {label!r} of {name!r} has {counted(count, 'row')}{of}; at least 2 that "
                "differ are needed, one to learn from and one to test on. Add rows of this class, "
                "or choose another target."
            )
        for side, other in ((train, held), (held, train)):
            if not np.any(rows.y[side] == label):
                moved = rows.units == np.sort(rows.units[other[rows.y[other] == label]])[0]
                is_held = np.zeros(len(rows), dtype=bool)
                is_held[held] = True
                is_held[moved] = side is held
                return _with_both_classes(
                    rows, np.flatnonzero(~is_held), np.flatnonzero(is_held), name
                )
    return train, held


def baseline_model(task: Task) -> Any:
    """The baseline of a task: a model that ignores the columns."""
    return MajorityClassifier() if task == "classification" else MeanRegressor()


FOLDS = 5
# From this many rows on a single part is held out: its score is precise enough.
LONG = 20_000
HELD_OUT_PART = 0.2
# With very many rows at most this many: a share of them is then known to a third of a percent.
MOST_HELD_OUT = 20_000


def held_out_part(rows: int) -> float:
    """About which part of this many rows is held out: all, one fold after another, or a fifth."""
    return min(HELD_OUT_PART, MOST_HELD_OUT / rows) if rows >= LONG else 1.0


@dataclass(frozen=True, eq=False)
class Folds:
    """The same splits of the training rows, and the same smaller parts, for all families.

    Parameters
    ----------
    rows : Rows
        The training rows, from `rows_of`.
    task : {"classification", "regression"}
        The task; parts are stratified by class.
    seed : int, default=0
        Seed of the draws.
    """

    rows: Rows
    task: Task
    seed: int = 0

    @cached_property
    def splits(self) -> list[Fold]:
        """Training and held-out rows; in time, the longest past first."""
        if len(self.rows) >= LONG:
            part = held_out_part(len(self.rows))
            return [self.rows.hold_out(self._stand_in, part, self.seed)]
        k = min(FOLDS, self.rows.unit_count)
        found = self.rows.folds(self._stand_in, k, self.seed)
        return found if self.rows.time is None else self._with_a_past(found)

    def _with_a_past(self, splits: list[Fold]) -> list[Fold]:
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
        """`count` of these rows; all if there are no more."""
        if len(rows) <= count:
            return rows
        is_there = np.zeros(len(self.rows), dtype=bool)
        is_there[rows] = True
        return np.sort(self._in_turn[is_there[self._in_turn]][:count])

    def first(self, count: int) -> Array:
        """`count` rows of the first training part."""
        return self.some(self.splits[0][0], count)

    def of_all(self, count: int) -> Array:
        """`count` of all training rows."""
        return self.some(np.arange(len(self.rows)), count)

    @cached_property
    def _in_turn(self) -> Array:
        """All rows in the order in which smaller fits take them: any first ones serve.

        In time the latest come first, else units in a random order, stratified by class.
        """
        if self.rows.time is not None:
            return np.argsort(-self.rows.time, kind="stable")
        place = np.empty(self.rows.unit_count, dtype=int)
        place[self.rows.shuffled(self._stand_in, self.seed + 1)] = np.arange(self.rows.unit_count)
        return np.argsort(place[self.rows.units], kind="stable")

    @cached_property
    def _stand_in(self) -> Any:
        """A model of the task, which tells folds whether there are classes."""
        return baseline_model(self.task)
