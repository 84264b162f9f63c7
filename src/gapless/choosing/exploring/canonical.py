"""A table as it is explored: its rows in an order that depends on their contents alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from ...data import (
    Column,
    Finding,
    Table,
    TableError,
    counted,
    describe_columns,
    find_flaws,
    found,
    level_shares,
    read_as,
    row_hashes,
    totals_row,
)

Array = np.ndarray

# The rows that components and groups are learned from, drawn by their hashes, and their numbers.
MOST_ROWS, MOST_NUMBERS = 50_000, 20_000_000
FEWEST_ROWS = 8


@dataclass(frozen=True, eq=False)
class ExploredTable:
    """A table with the roles of its columns, and its rows in canonical order.

    Attributes
    ----------
    table : Table
        The table.
    columns : tuple of Column
        Its columns with their roles.
    findings : tuple of Finding
        What may be wrong with it.
    rows : ndarray of int
        The rows of the table in the order of their contents, without a row of totals: so neither
        sums nor draws depend on the order in which they came.
    hashes : ndarray of uint64
        A hash of each of these rows.
    """

    table: Table
    columns: tuple[Column, ...]
    findings: tuple[Finding, ...]
    rows: Array
    hashes: Array

    @classmethod
    def of(cls, table: Table, drop: Sequence[str] = ()) -> ExploredTable:
        """Give columns their roles, find flaws, and order the rows."""
        described = describe_columns(table, drop=drop)
        columns = tuple(_set_aside(column, table) for column in described)
        features = [column for column in columns if column.is_feature]
        _check(table, columns, features)
        findings = [*find_flaws(table, columns), *_aside(described, columns)]
        rows = np.arange(len(table))
        rows = rows[rows != totals_row(table.frame)]
        hashes = row_hashes(read_as(table.frame, features))[rows]
        order = np.argsort(hashes, kind="stable")
        findings.sort(key=lambda finding: finding.severity != "warning")
        return cls(table, columns, tuple(findings), rows[order], hashes[order])

    @property
    def features(self) -> tuple[Column, ...]:
        """The columns on the map."""
        return tuple(column for column in self.columns if column.is_feature)

    @cached_property
    def frame(self) -> pl.DataFrame:
        """The features in the types of their roles, rows in canonical order."""
        read = read_as(self.table.frame, self.features)
        return pl.DataFrame(read)[self.rows]

    @cached_property
    def sample(self) -> Array:
        """Places, in canonical order, of the rows to learn from: those of the smallest hashes."""
        most = min(MOST_ROWS, max(MOST_NUMBERS // max(len(self.features), 1), FEWEST_ROWS))
        return np.arange(min(len(self.rows), most))


def _set_aside(column: Column, table: Table) -> Column:
    """A column, dropped if rows cannot be compared by it."""
    if column.role == "text":
        return replace(column, role="dropped")
    if column.role == "category":
        levels = level_shares(table.frame[column.name].cast(pl.String).fill_null("(missing)"))
        if len(levels) < 2:
            reason = f"of {counted(column.distinct, 'category')}, none but one is frequent"
            return replace(column, role="dropped", reason=reason)
    return column


def _aside(before: Sequence[Column], after: Sequence[Column]) -> Iterator[Finding]:
    for old, new in zip(before, after):
        if new.role != old.role:
            yield found(
                "D210",
                "note",
                f"column {new.name!r} is excluded: {new.reason}; rows are compared by numbers, "
                "dates and categories that occur in at least 2 % of them.",
                (new.name,),
            )


def _check(table: Table, columns: Sequence[Column], features: Sequence[Any]) -> None:
    """Refuse a table with too little to explore."""
    if len(table) < FEWEST_ROWS:
        raise TableError(
            f"{table.source} has {counted(len(table), 'row')}; at least {FEWEST_ROWS} are needed "
            "to see what they have in common."
        )
    if not features:
        why = [f"{one.name!r} ({one.role}: {one.reason})" for one in columns]
        raise TableError(
            "exploring compares rows by columns that vary, but none is left; excluded: "
            f"{_listed(why)}."
        )
    if len(features) == 1 and features[0].role == "category":
        raise TableError(
            f"only {features[0].name!r} is left, a category: its values are the groups. Exploring "
            "needs a column of numbers or dates, or two columns."
        )


def _listed(texts: Sequence[str], most: int = 5) -> str:
    """Phrases joined by commas, and how many more there are."""
    shown = ", ".join(texts[:most]) or "none"
    return shown if len(texts) <= most else f"{shown} and {len(texts) - most:,} more"
