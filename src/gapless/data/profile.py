"""Profile: a small summary of the training rows, to compare later tables with.

It goes into model files: quantiles, levels and counts, no rows. `drift` compares tables with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from .columns import MOST_LEVELS, Column, as_role, finite_numbers
from .dates import MICROSECONDS_PER_DAY
from .fingerprints import Fingerprint, fingerprint, row_hashes
from .forms import read
from .tables import Table, frame_of, usual_types
from .target import MOST_CLASSES

Array = np.ndarray
Kind = Literal["number", "level", "date", "text"]

# Quantiles of numbers: one for each 64th of the rows.
QUANTILES = 64


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """A summary of a column's values in the training rows.

    Attributes
    ----------
    column : Column
        The column.
    rows, missing : int
        The number of training rows, and of missing values among them.
    values, shares : tuple of float
        Quantiles of numbers, of dates in days since 1970, or of the lengths of texts; and for each
        the share of the values up to it.
    levels : tuple of str
        The most frequent levels of a category, at most `MOST_LEVELS`.
    counts : tuple of int
        The rows of each level.
    once : int
        The number of levels that occur in one row only. As many rows of an equally large new table
        are expected to have a new level (Good, The population frequencies of species, 1953).
    """

    column: Column
    rows: int
    missing: int
    values: tuple[float, ...] = ()
    shares: tuple[float, ...] = ()
    levels: tuple[str, ...] = ()
    counts: tuple[int, ...] = ()
    once: int = 0

    def __post_init__(self) -> None:
        fits = len(self.values) == len(self.shares) and len(self.levels) == len(self.counts)
        # A profile may come from a file.
        are_numbers = all(isinstance(each, float) for each in (*self.values, *self.shares))
        counts = (self.rows, self.missing, self.once, *self.counts)
        are_counts = all(isinstance(each, int) and each >= 0 for each in counts)
        are_texts = all(isinstance(each, str) for each in self.levels)
        is_typed = isinstance(self.column, Column) and are_numbers and are_counts and are_texts
        if not fits or not is_typed:
            raise ValueError("a profile has a share for each value and a count for each level.")

    @property
    def present(self) -> int:
        """The number of values that are not missing."""
        return self.rows - self.missing

    @property
    def others(self) -> int:
        """The rows of levels that are not kept."""
        return self.present - sum(self.counts)

    @property
    def unknown(self) -> int:
        """The most rows, of as many new ones, expected to have a level that is not kept.

        That is in how many training rows it would not be, were the row itself left out.
        """
        if not self.others:
            return self.once
        # A level at the edge is kept by the luck of one row or of its name.
        return self.others + sum(count for count in self.counts if count <= self.counts[-1] + 1)


@dataclass(frozen=True, slots=True, eq=False)
class TableProfile:
    """A summary of a model's training rows.

    Attributes
    ----------
    columns : tuple of ColumnProfile
        The features and the target.
    set_aside : tuple of str
        Names of the other columns.
    fingerprint : Fingerprint
        Recognises the same table.
    """

    columns: tuple[ColumnProfile, ...]
    set_aside: tuple[str, ...]
    fingerprint: Fingerprint

    def __post_init__(self) -> None:
        are_columns = all(isinstance(each, ColumnProfile) for each in self.columns)
        are_names = all(isinstance(each, str) for each in self.set_aside)
        if not (are_columns and are_names and isinstance(self.fingerprint, Fingerprint)):
            raise ValueError("a profile of a table has those of its columns and a fingerprint.")

    @property
    def rows(self) -> int:
        """The number of training rows."""
        return self.fingerprint.rows

    def training_rows(self, table: Any) -> Array | None:
        """Which rows of a table are the training rows.

        Parameters
        ----------
        table : Table, or data frame of polars or pandas
            A table.

        Returns
        -------
        ndarray of int64, or None
            None unless the table is the one of the fit, or all its training rows and no others, in
            any order.
        """
        hashes = self._hashes(table)
        return None if hashes is None else self.fingerprint.training_rows(hashes)

    def share_in(self, table: Any) -> float:
        """The approximate share of the training rows that a table contains.

        Parameters
        ----------
        table : Table, or data frame of polars or pandas
            A table.

        Returns
        -------
        float
            From a sample of 512 training rows.
        """
        hashes = self._hashes(table)
        return 0.0 if hashes is None else self.fingerprint.share_in(hashes)

    def _hashes(self, table: Any) -> Array | None:
        frame = plain_frame(table)
        columns = [each.column for each in self.columns]
        if not {column.name for column in columns} <= set(frame.columns):
            return None
        return row_hashes(read_as(frame, columns))


def profile_table(
    table: Table | pl.DataFrame, columns: Sequence[Column], rows: Any = None
) -> TableProfile:
    """Summarise the training rows of a table.

    Parameters
    ----------
    table : Table or polars.DataFrame
        The whole table.
    columns : sequence of Column
        Its columns with their roles, from `describe_columns`.
    rows : array of int or None, default=None
        The training rows; None means all.

    Returns
    -------
    TableProfile
        Some kilobytes, and a bit for each row.

    Examples
    --------
    >>> from gapless.data import describe_columns, load_builtin, profile_table
    >>> table = load_builtin("iris")
    >>> profile = profile_table(table, describe_columns(table, "species"))
    >>> profile.columns[-1].levels, profile.columns[-1].counts
    (('setosa', 'versicolor', 'virginica'), (50, 50, 50))
    """
    frame = plain_frame(table)
    kept = [column for column in columns if column.is_feature or column.role == "target"]
    names = {column.name for column in kept}
    series = read_as(frame, kept)
    rows = np.arange(frame.height) if rows is None else np.asarray(rows)
    trained = pl.DataFrame(series)[rows]
    return TableProfile(
        tuple(_profiled(each, column) for each, column in zip(trained.iter_columns(), kept)),
        tuple(column.name for column in columns if column.name not in names),
        fingerprint(row_hashes(series), rows),
    )


def kind_of(column: Column) -> Kind:
    """How the values of a feature or a target are summarised."""
    if column.role == "number":
        return "number"
    if column.given_as == "date":
        return "date"
    if column.role == "text":
        return "text"
    if column.role == "target" and column.dtype in ("Int64", "Float64"):
        few = column.dtype == "Int64" and column.distinct <= MOST_CLASSES
        return "level" if few else "number"
    return "level"


def plain_frame(table: Any) -> pl.DataFrame:
    """The frame of a table, or of what can become one; texts are read later, as for the fit."""
    return table.frame if isinstance(table, Table) else frame_of(table)


def read_as(frame: pl.DataFrame, columns: Sequence[Column]) -> list[pl.Series]:
    """Columns of a frame as numbers, dates and texts, read as for the fit."""
    numbers = finite_numbers(frame, [column for column in columns if column.role == "number"])
    at_once = {} if numbers is None else {one.name: one for one in numbers.iter_columns()}
    others = [column for column in columns if column.name not in at_once]
    if others:
        usual, _ = usual_types(frame.select([column.name for column in others]))
        at_once |= {column.name: _read(usual[column.name], column) for column in others}
    return [at_once[column.name] for column in columns]


def _read(series: pl.Series, column: Column) -> pl.Series:
    if column.role != "target":
        return as_role(series, column)
    if series.dtype == pl.String and column.form is not None:
        series = read(series, column.form)
    if column.dtype in ("Int64", "Float64"):
        return series.cast(pl.Float64, strict=False)
    return series.cast(pl.String)


def as_numbers(series: pl.Series) -> Array:
    """Numbers, days since 1970, or lengths of texts, sorted and without missing values."""
    present = series.drop_nulls() if series.null_count() else series
    if present.dtype == pl.String:
        present = present.str.len_chars()
    elif present.dtype.is_temporal():
        present = present.to_physical() / MICROSECONDS_PER_DAY
    return np.sort(present.cast(pl.Float64).to_numpy())


def as_levels(series: pl.Series) -> pl.DataFrame:
    """Levels and their counts, the most frequent first; ties by name."""
    present = series.drop_nulls()
    if present.dtype.is_numeric():
        # Classes that are integers.
        present = present.cast(pl.Int64, strict=False).cast(pl.String)
    counts = present.alias("level").value_counts(name="rows")
    return counts.sort(["rows", "level"], descending=[True, False])


def _profiled(series: pl.Series, column: Column) -> ColumnProfile:
    missing = series.null_count()
    if kind_of(column) == "level":
        table = as_levels(series)
        top = table.head(MOST_LEVELS)
        return ColumnProfile(
            column,
            len(series),
            missing,
            levels=tuple(top["level"].to_list()),
            counts=tuple(top["rows"].to_list()),
            once=int((table["rows"] == 1).sum()),
        )
    values, shares = _quantiles(as_numbers(series))
    return ColumnProfile(column, len(series), missing, tuple(values), tuple(shares))


def _quantiles(ordered: Array) -> tuple[list[float], list[float]]:
    """Distinct quantiles, including the least and the largest value, and the shares up to each."""
    if not len(ordered):
        return [], []
    # Division of numbers below 0 rounds the shares up.
    places = -(-np.arange(QUANTILES + 1) * len(ordered) // QUANTILES) - 1
    values = np.unique(ordered[np.maximum(places, 0)])
    shares = np.searchsorted(ordered, values, side="right") / len(ordered)
    return values.tolist(), shares.tolist()
