"""The target: whether predicting it is classification or regression, and its values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from .columns import check_name
from .findings import TableError, counted
from .headers import totals_row
from .tables import Table

Task = Literal["classification", "regression"]

# Integers with at most this many values are classes, if each has enough rows.
MOST_CLASSES = 20
ROWS_PER_CLASS = 10


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """The target of a table.

    Attributes
    ----------
    name : str
        Its column.
    task : {"classification", "regression"}
        The task of predicting it.
    reason : str
        Why, in words.
    values : ndarray of shape (m,)
        Its values where it is not missing: floats, or labels (strings or integers).
    rows : ndarray of int64, shape (m,)
        The rows of the table where it is not missing, without a totals row.
    """

    name: str
    task: Task
    reason: str
    values: np.ndarray
    rows: np.ndarray


def read_target(
    table: Table, name: str, task: Task | Literal["auto"] = "auto", *, to_learn: bool = True
) -> Target:
    """Take the target out of a table.

    Parameters
    ----------
    table : Table
        The table.
    name : str
        The column of the target.
    task : {"auto", "classification", "regression"}, default="auto"
        The task of predicting it. "auto": texts and booleans are classes, and so are integers with
        few values; all other numbers are a quantity.
    to_learn : bool, default=True
        Whether a model will learn it: then it must have several values, and classes must repeat.
        False for rows that are only scored.

    Returns
    -------
    Target

    Raises
    ------
    TableError
        If nothing can be learned: the target is constant, missing, a date, or a text that differs
        in nearly every row.

    Examples
    --------
    >>> from gapless.data import load_builtin, read_target
    >>> target = read_target(load_builtin("iris"), "species")
    >>> target.task, target.reason
    ('classification', '3 classes')
    """
    check_name(table, name)
    column = table.frame[name]
    is_known = column.is_not_null().to_numpy().copy()
    totals = totals_row(table.frame)
    if totals is not None:
        is_known[totals] = False
    rows = np.flatnonzero(is_known)
    present = column.filter(is_known)
    _check_target(present, name, len(column))
    if to_learn:
        _check_variety(present, name)
    found, reason = _task_of(present) if task == "auto" else (task, "given")
    if found == "regression":
        return Target(name, found, reason, _numbers(present, name), rows)
    if to_learn:
        _check_repetition(present, name)
    return Target(name, found, reason, _labels(present), rows)


def _check_target(present: pl.Series, name: str, rows: int) -> None:
    if not len(present):
        where = f"all {counted(rows, 'row')}" if rows else "all rows that were read"
        raise TableError(f"the target {name!r} is missing in {where}.")
    if present.dtype.is_temporal():
        raise TableError(
            f"the target {name!r} contains dates; turn it into a number, such as days until then."
        )


def _check_variety(present: pl.Series, name: str) -> None:
    if present.n_unique() == 1:
        raise TableError(
            f"the target {name!r} is {present[0]!r} in all rows; there is nothing to learn."
        )


def _task_of(present: pl.Series) -> tuple[Task, str]:
    distinct = present.n_unique()
    if not present.dtype.is_numeric():
        return "classification", f"{distinct:,} classes"
    most = min(MOST_CLASSES, len(present) // ROWS_PER_CLASS)
    if present.dtype == pl.Int64 and distinct <= max(2, most):
        return (
            "classification",
            f"{distinct} distinct whole numbers; to predict a number, set the task to regression",
        )
    return "regression", f"{distinct:,} distinct numbers"


def _numbers(present: pl.Series, name: str) -> np.ndarray:
    if present.dtype == pl.String:
        raise TableError(f"the target {name!r} contains text such as {present[0]!r}, not numbers.")
    return present.cast(pl.Float64).to_numpy()


def _check_repetition(present: pl.Series, name: str) -> None:
    distinct = present.n_unique()
    if distinct > max(2, 0.5 * len(present)):
        raise TableError(
            f"the target {name!r} has {distinct:,} classes in {len(present):,} rows; "
            "choose a column whose classes repeat, or a numeric one for regression."
        )


def _labels(present: pl.Series) -> np.ndarray:
    """Labels as strings, or as integers if they are."""
    if present.dtype == pl.Int64:
        return present.to_numpy()
    return present.cast(pl.String).to_numpy().astype(str)
