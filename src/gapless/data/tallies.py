"""Tallies: what is counted of the columns of a table, piece by piece, to compare it with a profile.

Their size does not grow with the number of rows, so that a table may be larger than memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from .columns import Column
from .forms import MISSING, MISSING_AMONG_NUMBERS
from .profile import ColumnProfile, TableProfile, as_levels, as_numbers, kind_of, read_as

Array = np.ndarray

# So many values that could not be read, and new levels, are remembered by name.
MOST_NAMES = 1000
# Of so many values at least the median is known.
SAMPLED = 2000


@dataclass(eq=False)
class Thinned:
    """Some values at equal distances in a stream of any length: all of the first 4,000."""

    values: Array = field(default_factory=lambda: np.zeros(0))
    step: int = 1
    seen: int = 0

    def add(self, values: Array) -> None:
        """Take every `step`-th value."""
        first = -self.seen % self.step
        self.seen += len(values)
        self.values = np.concatenate([self.values, values[first :: self.step]])
        while len(self.values) > 2 * SAMPLED:
            self.values, self.step = self.values[::2], 2 * self.step


@dataclass(eq=False)
class ColumnTally:
    """What was counted of a column.

    Attributes
    ----------
    old : ColumnProfile
        The column in training.
    rows, missing : int
        The number of rows, and of missing values among them.
    unread : int
        How many values could not be read as a number or a date.
    unread_texts : set of str
        Some of them.
    below : ndarray of int
        How many numbers are not above each of `old.values`.
    before : int
        How many numbers are below the least of `old.values`.
    sample : Thinned
        Some of the numbers.
    counts : ndarray of int
        The rows of each of `old.levels`.
    strange : int
        The rows of other levels.
    strange_levels : dict of str to int
        Some of these levels, and their rows.
    """

    old: ColumnProfile
    rows: int = 0
    missing: int = 0
    unread: int = 0
    unread_texts: set[str] = field(default_factory=set)
    below: Array = field(init=False)
    before: int = 0
    sample: Thinned = field(default_factory=Thinned)
    counts: Array = field(init=False)
    strange: int = 0
    strange_levels: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.below = np.zeros(len(self.old.values), np.int64)
        self.counts = np.zeros(len(self.old.levels), np.int64)

    @property
    def present(self) -> int:
        """The number of values that are not missing."""
        return self.rows - self.missing

    def add(self, raw: pl.Series, new: pl.Series) -> None:
        """Count some rows more, as they stand in the table and as they were read."""
        self.rows += len(new)
        self.missing += new.null_count()
        strange = unread(self.old.column, raw, new)
        self.unread += len(strange)
        room = MOST_NAMES - len(self.unread_texts)
        self.unread_texts.update(strange.unique(maintain_order=True).head(room).to_list())
        if kind_of(self.old.column) == "level":
            self._add_levels(as_levels(new))
        else:
            self._add_numbers(as_numbers(new))

    def _add_numbers(self, ordered: Array) -> None:
        self.below += np.searchsorted(ordered, self.old.values, side="right")
        if self.old.values:
            self.before += int(np.searchsorted(ordered, self.old.values[0]))
        self.sample.add(ordered)

    def _add_levels(self, table: pl.DataFrame) -> None:
        is_known = table["level"].is_in(self.old.levels)
        known, strange = table.filter(is_known), table.filter(~is_known)
        place = {level: k for k, level in enumerate(self.old.levels)}
        for level, rows in known.iter_rows():
            self.counts[place[level]] += rows
        self.strange += int(strange["rows"].sum())
        for level, rows in strange.iter_rows():
            if level in self.strange_levels or len(self.strange_levels) < MOST_NAMES:
                self.strange_levels[level] = self.strange_levels.get(level, 0) + rows


@dataclass(eq=False)
class Tally:
    """What was counted of a table that is compared with a profile.

    Attributes
    ----------
    profile : TableProfile
        The training rows.
    rows : int
        The number of rows.
    names : tuple of str
        The columns of the table.
    columns : tuple of ColumnTally
        Those of the profile that the table has.
    """

    profile: TableProfile
    rows: int = 0
    names: tuple[str, ...] = ()
    columns: tuple[ColumnTally, ...] = ()

    def add(self, raw: pl.DataFrame, values: pl.DataFrame) -> Sequence[pl.Series]:
        """Count some rows more.

        Parameters
        ----------
        raw, values : polars.DataFrame
            The rows as they stand in the table, and with texts as values; may be the same.

        Returns
        -------
        sequence of polars.Series
            The columns of the profile that the table has, as they were read for the fit.
        """
        if not self.names:
            self.names = tuple(raw.columns)
            there = set(self.names)
            kept = (each for each in self.profile.columns if each.column.name in there)
            self.columns = tuple(ColumnTally(each) for each in kept)
        series = read_as(values, [each.old.column for each in self.columns])
        self.rows += raw.height
        for each, new in zip(self.columns, series):
            each.add(raw[each.old.column.name], new)
        return series


def unread(column: Column, raw: pl.Series, new: pl.Series) -> pl.Series:
    """Texts of a column of numbers or dates that could not be read as such.

    Parameters
    ----------
    column : Column
        The column as it was in training.
    raw, new : polars.Series
        The same values as they stand in the table, and as they were read.

    Returns
    -------
    polars.Series
        Without those that mean a missing value.
    """
    if kind_of(column) not in ("number", "date"):
        return raw.clear()
    return lost(raw, new)


def lost(raw: pl.Series, new: pl.Series) -> pl.Series:
    """Texts that stand for a value and were read as none."""
    if raw.dtype != pl.String:
        return raw.clear()
    texts = raw.str.strip_chars()
    known = texts.is_in(MISSING) | texts.str.to_lowercase().is_in(MISSING_AMONG_NUMBERS)
    return texts.filter((new.is_null() & ~known).fill_null(False))
