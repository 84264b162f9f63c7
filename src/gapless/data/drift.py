"""Drift: how a table differs from the rows that a model was fitted to, column by column.

A difference is said when chance does not explain it, with all comparisons of a table taken
together, and when it is large enough to matter: in a million rows everything differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from .columns import Column
from .findings import Finding, counted, found, listed
from .forms import MISSING, MISSING_AMONG_NUMBERS
from .profile import (
    ColumnProfile,
    TableProfile,
    as_levels,
    as_numbers,
    kind_of,
    plain_frame,
    read_as,
)

Array = np.ndarray

# With no drift at all, one table in a hundred has a warning.
LEVEL = 0.01
# The largest difference between two distribution functions, or between shares of levels, that is
# too small to change what a model does.
SHIFT = 0.1
# The same for the share of rows with missing values, new levels or values that cannot be read.
RARE = 0.01
# Counts below this are added to others before they are compared (Cochran 1954).
FEWEST = 5
FEW_ROWS = 20
# How many times chance may seem a difference: in what is missing, and in values; of levels, in
# their shares and in how many are new. Dates are looked at alone.
COMPARISONS = {"number": 2, "text": 2, "level": 3, "date": 1}


def find_drift(profile: TableProfile, table: Any) -> tuple[Finding, ...]:
    """Tell how a table differs from the training rows of a model.

    Parameters
    ----------
    profile : TableProfile
        The training rows, from `profile_table`.
    table : Table, or data frame of polars or pandas
        Other rows; the target may be absent.

    Returns
    -------
    tuple of Finding
        Warnings first; codes S301 to S309.

    Notes
    -----
    Numbers and lengths of texts are compared by the Kolmogorov–Smirnov statistic at 64 quantiles,
    levels by a chi-squared test, missing values and new levels by the hypergeometric distribution;
    each at the level 0.01 divided by the number of comparisons.

    Examples
    --------
    >>> from gapless.data import describe_columns, find_drift, load_builtin, profile_table
    >>> table = load_builtin("iris")
    >>> profile = profile_table(table, describe_columns(table, "species"))
    >>> find_drift(profile, table)
    ()
    >>> for finding in find_drift(profile, table.frame.filter(table.frame["species"] != "setosa")):
    ...     print(finding.code, finding.columns)
    S303 ('sepal_length',)
    S303 ('petal_length',)
    S303 ('petal_width',)
    S305 ('species',)
    """
    frame = plain_frame(table)
    names = set(frame.columns)
    there = [each for each in profile.columns if each.column.name in names]
    findings = [*_other_columns(profile, frame)]
    if frame.height < FEW_ROWS:
        findings.append(
            found("S309", "note", f"{counted(frame.height, 'row')} tell little about the rest.")
        )
    if there and frame.height:
        level = LEVEL / sum(COMPARISONS[kind_of(each.column)] for each in there)
        columns = [each.column for each in there]
        for each, new in zip(there, read_as(frame, columns)):
            findings += _of_column(each, frame[each.column.name], new, level)
    return tuple(
        sorted(findings, key=lambda finding: (finding.severity != "warning", finding.code))
    )


def _other_columns(profile: TableProfile, frame: pl.DataFrame) -> Iterator[Finding]:
    names = set(frame.columns)
    used = [each.column.name for each in profile.columns if each.column.is_feature]
    absent = [name for name in used if name not in names]
    if absent:
        yield found("S301", "warning", f"the model uses {listed(absent)}.", tuple(absent))
    known = {*profile.set_aside, *(each.column.name for each in profile.columns)}
    new = [name for name in frame.columns if name not in known]
    if new:
        yield found("S302", "note", f"{listed(new)}: the model does not use them.", tuple(new))


def _of_column(old: ColumnProfile, raw: pl.Series, new: pl.Series, level: float) -> list[Finding]:
    findings = [*_unreadable(old.column, raw, new), *_missing(old, new, level)]
    kind = kind_of(old.column)
    if kind == "level":
        return [*findings, *_of_levels(old, as_levels(new), level)]
    if kind == "date":
        return [*findings, *_other_dates(old, new)]
    return [*findings, *_shifted(old, new, level)]


# ---- missing values, and those that cannot be read -----------------------------------------------


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
    if kind_of(column) not in ("number", "date") or raw.dtype != pl.String:
        return raw.clear()
    texts = raw.str.strip_chars()
    known = texts.is_in(MISSING) | texts.str.to_lowercase().is_in(MISSING_AMONG_NUMBERS)
    return texts.filter((new.is_null() & ~known).fill_null(False))


def _unreadable(column: Column, raw: pl.Series, new: pl.Series) -> Iterator[Finding]:
    lost = unread(column, raw, new)
    if len(lost):
        yield found(
            "S307",
            "warning" if len(lost) > RARE * len(raw) else "note",
            f"{counted(len(lost), 'value')} of column {column.name!r} "
            f"({listed(lost.unique().sort(), 3)}) read as no {column.role} and count as missing.",
            (column.name,),
        )


def _missing(old: ColumnProfile, new: pl.Series, level: float) -> Iterator[Finding]:
    now = new.null_count()
    before, share = old.missing / max(old.rows, 1), now / len(new)
    if share - before > RARE and _is_more(now, len(new), old.missing, old.rows, level):
        yield found(
            "S306",
            "warning",
            f"column {old.column.name!r} is missing in {share:.1%} of the rows, in training in "
            f"{before:.1%}.",
            (old.column.name,),
        )


def _is_more(now: int, rows: int, before: int, rows_before: int, level: float) -> bool:
    """Whether chance does not explain so many (Fisher's exact test, one-sided)."""
    return float(stats.hypergeom.sf(now - 1, rows + rows_before, now + before, rows)) < level


# ---- numbers, lengths of texts, dates ------------------------------------------------------------


def _shifted(old: ColumnProfile, new: pl.Series, level: float) -> Iterator[Finding]:
    values = as_numbers(new)
    if not len(values) or not old.values:
        return
    shares = np.searchsorted(values, old.values, side="right") / len(values)
    distance = float(np.abs(shares - old.shares).max())
    # At some points only, so that the true distance can but be larger; ties make it smaller too.
    size = len(values) * old.present / (len(values) + old.present)
    chance = float(stats.kstwo.sf(distance, max(round(size), 1)))
    if chance >= level:
        return
    what = "lengths of the texts in" if kind_of(old.column) == "text" else "values of"
    yield found(
        "S303",
        "warning" if distance > SHIFT else "note",
        f"{what} column {old.column.name!r} have the median {np.median(values):.4g}, in training "
        f"{_median(old):.4g}; the shares below some value differ by {distance:.0%}.",
        (old.column.name,),
    )


def _median(old: ColumnProfile) -> float:
    return old.values[int(np.searchsorted(old.shares, 0.5))]


def _other_dates(old: ColumnProfile, new: pl.Series) -> Iterator[Finding]:
    """Later dates are what time brings: worth a note, since no model was tried on them."""
    days = as_numbers(new)
    if not len(days) or not old.values:
        return
    outside = int(((days < old.values[0]) | (days > old.values[-1])).sum())
    if outside:
        first, last = (_date(day) for day in (old.values[0], old.values[-1]))
        yield found(
            "S308",
            "note",
            f"{counted(outside, 'date')} of column {old.column.name!r} ({outside / len(days):.1%}) "
            f"are not between {first} and {last}, as all of training.",
            (old.column.name,),
        )


def _date(day: float) -> str:
    return str(np.datetime64("1970-01-01") + np.timedelta64(int(np.floor(day)), "D"))


# ---- levels --------------------------------------------------------------------------------------


def _of_levels(old: ColumnProfile, table: pl.DataFrame, level: float) -> Iterator[Finding]:
    strange = table.filter(~pl.col("level").is_in(old.levels))
    rows, present = int(strange["rows"].sum()), int(table["rows"].sum())
    is_more = rows > 0 and _is_more(rows, present, old.unknown, old.present, level)
    # Of a column with more levels than are kept, the rest is unknown in training too.
    if rows and (is_more or not old.others):
        yield _new_levels(old, strange, rows, present, is_more)
    # As many new levels as expected belong to the rare ones. Too many have been said; and where not
    # all levels are kept, those that are have more rows in training, being chosen by that.
    yield from _other_shares(old, table, 0 if is_more or old.others else rows, level)


def _new_levels(
    old: ColumnProfile, strange: pl.DataFrame, rows: int, present: int, is_more: bool
) -> Finding:
    return found(
        "S304",
        "warning" if is_more and rows > RARE * present else "note",
        f"{counted(strange.height, 'level')} of column {old.column.name!r} "
        f"({listed(strange['level'].to_list(), 3)}), in {counted(rows, 'row')} "
        f"({rows / present:.1%}), {'is' if strange.height == 1 else 'are'} unknown to the model.",
        (old.column.name,),
    )


def _other_shares(
    old: ColumnProfile, table: pl.DataFrame, rest: int, level: float
) -> Iterator[Finding]:
    """Whether levels have other shares, `rest` being the rows of new and rare ones."""
    counts = dict(zip(table["level"].to_list(), table["rows"].to_list()))
    now = np.array([counts.get(name, 0) for name in old.levels], float)
    before = np.array(old.counts, float)
    if not now.sum() or not before.sum():
        return
    distance = float(0.5 * np.abs(now / now.sum() - before / before.sum()).sum())
    if _chance_of_shares(np.append(before, 0), np.append(now, rest)) >= level:
        return
    changes = now / now.sum() - before / before.sum()
    most = int(np.abs(changes).argmax())
    yield found(
        "S305",
        "warning" if distance > SHIFT else "note",
        f"{distance:.0%} of the rows would have to change their level in column "
        f"{old.column.name!r}: {old.levels[most]!r} has {now[most] / now.sum():.1%}, in training "
        f"{before[most] / before.sum():.1%}.",
        (old.column.name,),
    )


def _chance_of_shares(before: Array, now: Array) -> float:
    """How likely shares differ so much by chance: a chi-squared test, rare levels joined.

    The last count, of levels that are new, belongs to the rare ones: of those that are as rare in a
    new table many are new.
    """
    both = before + now
    expected = both * (min(before.sum(), now.sum()) / both.sum())
    rare = expected < FEWEST
    rare[-1] = True
    cells = np.array([[*row[~rare], row[rare].sum()] for row in (before, now)])
    cells = cells[:, cells.sum(axis=0) > 0]
    return float(stats.chi2_contingency(cells).pvalue) if cells.shape[1] > 1 else 1.0
