"""The table of a report: its columns, their roles, and the distributions of their values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from ...data import Column, Finding, Table
from .. import Choice
from .phrases import shortened
from .sections import ColumnFacts, Data, Distribution, Found

Array = np.ndarray

# Columns shown of a wide table, and rows behind a distribution.
MOST_COLUMNS = 40
MOST_ROWS = 50_000
BINS, LEVELS = 16, 8
# Findings and notes kept, and characters of each and of the name of a level.
MOST_SAID, LETTERS, LEVEL_LETTERS = 50, 1000, 60
NOTHING = Distribution("", (), ())


def data_of(choice: Choice, table: Table, leading: Sequence[str]) -> Data:
    """The table of a choice; `leading` are the most important columns, shown before others."""
    first = [choice.target, *leading]
    return columns_and_findings(table, choice.columns, choice.findings, choice.notes, first)


def columns_and_findings(
    table: Table,
    columns: Sequence[Column],
    findings: Sequence[Finding],
    more_notes: Sequence[str],
    first: Sequence[str],
) -> Data:
    """A table as plain data; the columns named `first` are shown before others."""
    named = {column.name: column for column in columns}
    order = dict.fromkeys([*(name for name in first if name in named), *named])
    shown = [named[name] for name in list(order)[:MOST_COLUMNS]]
    step = max(1, len(table) // MOST_ROWS)
    notes = list(dict.fromkeys([*table.notes, *more_notes]))
    return Data(
        rows=len(table),
        column_count=len(columns),
        columns=tuple(_facts(column, table.frame[column.name], step) for column in shown),
        roles=dict(Counter(column.role for column in columns).most_common()),
        findings=tuple(
            Found(one.code, one.severity, one.title, shortened(one.detail, LETTERS))
            for one in findings[:MOST_SAID]
        ),
        finding_count=len(findings),
        notes=tuple(shortened(note, LETTERS) for note in notes[:MOST_SAID]),
        note_count=len(notes),
    )


def ceiling_of(choice: Choice, table: Table) -> float | None:
    """The share of training rows that a model which memorised all of them could get right.

    Rows that are equal in all features get the same answer, right for at most the most frequent
    class among them. None if no such rows differ in their class.
    """
    if all(one.code != "D205" for one in choice.findings):
        return None
    features = [column.name for column in choice.columns if column.is_feature]
    frame = table.frame[choice.split.train]
    groups = pl.DataFrame(
        {
            "row": frame.select(features).hash_rows(seed=0),
            "class": frame[choice.target].cast(pl.String),
        }
    ).group_by("row", "class")
    most = groups.len().group_by("row").agg(pl.col("len").max())
    return float(most["len"].sum()) / max(frame.height, 1)


def _facts(column: Column, series: pl.Series, step: int) -> ColumnFacts:
    return ColumnFacts(
        name=column.name,
        role=str(column.role),
        reason=column.reason,
        missing=column.missing / max(column.rows, 1),
        distinct=column.distinct,
        distribution=_distribution(column, series.gather_every(step).drop_nulls()),
    )


def _distribution(column: Column, present: pl.Series) -> Distribution:
    if not len(present) or column.role in ("id", "constant"):
        return NOTHING
    if column.role == "text":
        found = _bins(present.cast(pl.String).str.count_matches(r"\S+"), _written)
        return replace(found, labels=(*found.labels[:1], *(f"{n} words" for n in found.labels[1:])))
    if present.dtype.is_temporal():
        return _moments(present)
    if present.dtype.is_numeric() and present.n_unique() > _most_levels(column):
        return _bins(present, _written)
    return _levels(present)


def _most_levels(column: Column) -> int:
    """Up to this many values numbers are shown singly: classes may be numbers, too."""
    return BINS if column.role == "target" else LEVELS


def _bins(values: pl.Series, form: Callable[[float], str]) -> Distribution:
    """Shares of ranges of the same width; the end bins include outliers."""
    x = values.cast(pl.Float64).to_numpy()
    x = x[np.isfinite(x)]
    if not len(x):
        return NOTHING
    low, high = np.quantile(x, [0.005, 0.995])
    if not high > low:
        low, high = float(x.min()), float(x.max())
    if not high > low:
        return Distribution("bins", (form(low), form(high)), (1.0,))
    counts = np.histogram(np.clip(x, low, high), _edges(x, low, high))[0]
    ends = form(x.min()), form(x.max())
    return Distribution("bins", ends, tuple((counts / len(x)).tolist()))


def _edges(x: Array, low: float, high: float) -> Array:
    """Where bins begin and end; bins of integers hold equally many of them."""
    if np.all(x == np.round(x)) and high - low < BINS**2:
        first = np.floor(low)
        wide = np.ceil((high - first + 1) / BINS)
        return np.arange(first - 0.5, high + 0.5 + wide, wide)
    return np.linspace(low, high, BINS + 1)


def _written(value: float) -> str:
    """A number as in the table: integers without a decimal point."""
    return f"{value:.0f}" if value == round(value) and abs(value) < 1e9 else f"{value:.6g}"


def _moments(values: pl.Series) -> Distribution:
    found = _bins(values.to_physical(), str)
    ends: tuple[Any, Any] = values.min(), values.max()
    return Distribution(found.kind, tuple(str(end) for end in ends), found.shares)


def _levels(values: pl.Series) -> Distribution:
    if values.dtype.is_float():
        values = pl.Series([_written(value) for value in values.to_list()])
    counts = values.cast(pl.String).alias("level").value_counts(name="times")
    first = counts.sort(["times", "level"], descending=[True, False])[:LEVELS]
    shares = (first["times"] / len(values)).to_list()
    names = tuple(shortened(level, LEVEL_LETTERS) for level in first["level"].to_list())
    return Distribution("levels", names, tuple(shares))
