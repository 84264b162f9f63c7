"""Drift: how a table differs from the rows that a model was fitted to, column by column.

A difference is reported when chance does not explain it, with all comparisons of a table taken
together, and when it is large enough to matter: in a million rows everything differs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from scipy import special, stats

from .._ground.percent import percent
from .columns import Column
from .findings import Finding, counted, found, listed
from .forms import MISSING, advice_on_decimals
from .numbers import MISSING_AMONG_NUMBERS
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

# Without any drift, one table in a hundred has a finding.
LEVEL = 0.01
# The largest difference between two distribution functions, or between shares of levels, that is
# too small to affect a model.
SHIFT = 0.1
# The same for the share of rows with missing values, new levels or unreadable values.
RARE = 0.01
# Smaller counts are merged with others before they are compared (Cochran 1954).
FEWEST = 5
FEW_ROWS = 20
# The number of comparisons: of missing values and of values; for levels, of their shares and of new
# ones; for dates, of those outside.
COMPARISONS = {"number": 2, "text": 2, "level": 3, "date": 2}


def find_drift(profile: TableProfile, table: Any) -> tuple[Finding, ...]:
    """Report how a table differs from the training rows of a model.

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
    levels by a chi-squared test, missing values and new levels by the hypergeometric distribution,
    dates by how many are expected outside of all earlier ones; each at the level 0.01 divided by
    the number of comparisons.

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
    frame, tally = plain_frame(table), Tally(profile)
    tally.add(frame, frame)
    return judge_tally(tally)


def judge_tally(tally: Tally) -> tuple[Finding, ...]:
    """The same for a table counted piece by piece.

    Parameters
    ----------
    tally : Tally
        The counts.

    Returns
    -------
    tuple of Finding
        As from `find_drift`.
    """
    findings = [*_other_columns(tally)]
    if tally.rows < FEW_ROWS:
        findings.append(found("S309", "note", f"{counted(tally.rows, 'row')} cannot show much."))
    if tally.columns and tally.rows:
        level = LEVEL / sum(COMPARISONS[kind_of(each.old.column)] for each in tally.columns)
        for each in tally.columns:
            findings += _of_column(each, level)
    return tuple(
        sorted(findings, key=lambda finding: (finding.severity != "warning", finding.code))
    )


def _other_columns(tally: Tally) -> Iterator[Finding]:
    names, profile = set(tally.names), tally.profile
    used = [each.column.name for each in profile.columns if each.column.is_feature]
    absent = [name for name in used if name not in names]
    if absent:
        yield found(
            "S301",
            "warning",
            f"the model uses {listed(absent)}, which the table lacks.",
            tuple(absent),
        )
    known = {*profile.set_aside, *(each.column.name for each in profile.columns)}
    new = [name for name in tally.names if name not in known]
    if new:
        yield found("S302", "note", f"the model does not use {listed(new)}.", tuple(new))


def _of_column(new: ColumnTally, level: float) -> list[Finding]:
    findings = [*_unreadable(new), *_missing(new, level)]
    kind = kind_of(new.old.column)
    if kind == "level":
        return [*findings, *_of_levels(new, level)]
    if kind == "date":
        # If rows are ordered in time, a model is meant for later ones.
        is_expected = new.old.column.role == "time"
        return findings if is_expected else [*findings, *_other_dates(new, level)]
    return [*findings, *_shifted(new, level)]


# ---- missing values, and those that cannot be read -----------------------------------------------


def _unreadable(new: ColumnTally) -> Iterator[Finding]:
    column = new.old.column
    if new.unread:
        yield found(
            "S307",
            "warning" if new.unread > RARE * new.rows else "note",
            f"{counted(new.unread, 'value')} of column {column.name!r} "
            f"({listed(sorted(new.unread_texts), 3)}) cannot be read as a {kind_of(column)}; "
            f"treated as missing{advice_on_decimals(new.unread_texts, column.form)}.",
            (column.name,),
        )


def _missing(new: ColumnTally, level: float) -> Iterator[Finding]:
    old = new.old
    before, share = old.missing / max(old.rows, 1), new.missing / new.rows
    is_much = share - before > RARE
    if is_much and is_more(new.missing, new.rows, old.missing, old.rows, level):
        yield found(
            "S306",
            "warning",
            f"column {old.column.name!r} is missing in {percent(share, 1)} of the rows, against "
            f"{percent(before, 1)} in training.",
            (old.column.name,),
        )


def is_more(now: int, rows: int, before: int, rows_before: int, level: float) -> bool:
    """Whether there are more than chance explains (Fisher's exact test, one-sided)."""
    return float(stats.hypergeom.sf(now - 1, rows + rows_before, now + before, rows)) < level


# ---- numbers, lengths of texts, dates ------------------------------------------------------------


def _shifted(new: ColumnTally, level: float) -> Iterator[Finding]:
    old, present = new.old, new.present
    if not present or not old.values:
        return
    distance = float(np.abs(new.below / present - old.shares).max())
    # At some points only, so that the true distance can only be larger; ties make it smaller too.
    size = present * old.present / (present + old.present)
    chance = float(stats.kstwo.sf(distance, max(round(size), 1)))
    if chance >= level:
        return
    what = "text lengths in" if kind_of(old.column) == "text" else "values in"
    yield found(
        "S303",
        "warning" if distance > SHIFT else "note",
        f"{what} column {old.column.name!r} have median {np.median(new.sample.values):.4g}, "
        f"against {_median(old):.4g} in training; the share of rows below some value differs by "
        f"{percent(distance, 0)}.",
        (old.column.name,),
    )


def _median(old: ColumnProfile) -> float:
    return old.values[int(np.searchsorted(old.shares, 0.5))]


def _other_dates(new: ColumnTally, level: float) -> Iterator[Finding]:
    """Later dates are to be expected: worth a note, since no model was tested on them."""
    old, present = new.old, new.present
    if not present or not old.values:
        return
    outside = new.before + present - int(new.below[-1])
    if outside and _chance_of_outside(outside, present, old.present) < level:
        first, last = (_date(day) for day in (old.values[0], old.values[-1]))
        yield found(
            "S308",
            "note",
            f"{counted(outside, 'date')} in column {old.column.name!r} "
            f"({percent(outside / present, 1)}) "
            f"{'is' if outside == 1 else 'are'} outside the training range, {first} to {last}.",
            (old.column.name,),
        )


def _chance_of_outside(outside: int, rows: int, rows_before: int) -> float:
    """A bound on the probability that this many new rows are outside all old ones by chance.

    Any of the k + 1 ways to have k of them as the least and the largest of all rows has the
    probability that k rows drawn from all are new ones.
    """
    drawn = special.gammaln(rows + 1) - special.gammaln(rows - outside + 1)
    of_all = special.gammaln(rows + rows_before + 1)
    of_all -= special.gammaln(rows + rows_before - outside + 1)
    return float((outside + 1) * np.exp(drawn - of_all))


def _date(day: float) -> str:
    return str(np.datetime64("1970-01-01") + np.timedelta64(int(np.floor(day)), "D"))


# ---- levels --------------------------------------------------------------------------------------


def _of_levels(new: ColumnTally, level: float) -> Iterator[Finding]:
    # For a column with more levels than are kept, the rest is unknown in training too; and if
    # levels occur in one row each, others are expected that do not.
    are_more = is_more(new.new_level_rows, new.present, new.old.unknown, new.old.present, level)
    if new.new_level_rows and are_more:
        yield _new_levels(new)
    # As many new levels as expected belong to the rare ones. Too many have been reported; and if
    # not all levels are kept, the kept ones have more rows in training, by which they were chosen.
    yield from _other_shares(new, 0 if are_more or new.old.others else new.new_level_rows, level)


def _new_levels(new: ColumnTally) -> Finding:
    name, rows, levels = new.old.column.name, new.new_level_rows, new.new_levels
    most = sorted(levels, key=lambda each: (-levels[each], each))
    at_least = "at least " if len(most) == MOST_NAMES else ""
    return found(
        "S304",
        "warning" if rows > RARE * new.present else "note",
        f"{at_least}{counted(len(most), 'category')} of column {name!r} ({listed(most, 3)}), in "
        f"{counted(rows, 'row')} ({percent(rows / new.present, 1)}), "
        f"{'was' if len(most) == 1 else 'were'} not seen in training.",
        (name,),
    )


def _other_shares(new: ColumnTally, rest: int, level: float) -> Iterator[Finding]:
    """Whether levels have other shares, `rest` being the rows of new and rare ones."""
    old = new.old
    now, before = new.counts.astype(float), np.array(old.counts, float)
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
        f"the shares of the categories in column {old.column.name!r} differ by "
        f"{percent(distance, 0)} in total; {old.levels[most]!r} has "
        f"{percent(now[most] / now.sum(), 1)}, against "
        f"{percent(before[most] / before.sum(), 1)} in training.",
        (old.column.name,),
    )


def _chance_of_shares(before: Array, now: Array) -> float:
    """The probability of such shares by chance: a chi-squared test, rare levels joined.

    The last count, of new levels, belongs to the rare ones: many of those that are as rare in a new
    table are new.
    """
    both = before + now
    expected = both * (min(before.sum(), now.sum()) / both.sum())
    rare = expected < FEWEST
    rare[-1] = True
    cells = np.array([[*row[~rare], row[rare].sum()] for row in (before, now)])
    cells = cells[:, cells.sum(axis=0) > 0]
    return float(stats.chi2_contingency(cells).pvalue) if cells.shape[1] > 1 else 1.0


# ---- counted piece by piece ----------------------------------------------------------------------


# Their size does not grow with the number of rows, so that a table may be larger than memory.
# So many values that could not be read, and new levels, are remembered by name.
MOST_NAMES = 1000
# The median is computed from at least this many values.
SAMPLED = 2000


@dataclass(eq=False)
class EvenSample:
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
    """The counts of a column.

    Attributes
    ----------
    old : ColumnProfile
        The column in training.
    rows, missing : int
        The number of rows, and of missing values among them.
    unread : int
        The number of values that are neither a number nor a date.
    unread_texts : set of str
        Some of them.
    below : ndarray of int
        The number of values at most each of `old.values`.
    before : int
        The number of values below the least of `old.values`.
    sample : EvenSample
        Some of the numbers.
    counts : ndarray of int
        The rows of each of `old.levels`.
    new_level_rows : int
        The rows of other levels.
    new_levels : dict of str to int
        Some of these levels, and their rows.
    """

    old: ColumnProfile
    rows: int = 0
    missing: int = 0
    unread: int = 0
    unread_texts: set[str] = field(default_factory=set)
    below: Array = field(init=False)
    before: int = 0
    sample: EvenSample = field(default_factory=EvenSample)
    counts: Array = field(init=False)
    new_level_rows: int = 0
    new_levels: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.below = np.zeros(len(self.old.values), np.int64)
        self.counts = np.zeros(len(self.old.levels), np.int64)

    @property
    def present(self) -> int:
        """The number of values that are not missing."""
        return self.rows - self.missing

    def add(self, raw: pl.Series, new: pl.Series) -> None:
        """Count more rows, as in the table and as read."""
        self.rows += len(new)
        self.missing += new.null_count()
        strange = unreadable_values(self.old.column, raw, new)
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
        self.new_level_rows += int(strange["rows"].sum())
        for level, rows in strange.iter_rows():
            if level in self.new_levels or len(self.new_levels) < MOST_NAMES:
                self.new_levels[level] = self.new_levels.get(level, 0) + rows


@dataclass(eq=False)
class Tally:
    """The counts of a table to compare with a profile.

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
        """Count more rows.

        Parameters
        ----------
        raw, values : polars.DataFrame
            The rows as in the table, and with texts as values; may be the same.

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


def unreadable_values(column: Column, raw: pl.Series, new: pl.Series) -> pl.Series:
    """Unreadable texts in a column of numbers or dates.

    Parameters
    ----------
    column : Column
        The column as it was in training.
    raw, new : polars.Series
        The same values as in the table, and as read.

    Returns
    -------
    polars.Series
        Without those that mean a missing value.
    """
    if kind_of(column) not in ("number", "date"):
        return raw.clear()
    return unreadable_texts(raw, new)


def unreadable_texts(raw: pl.Series, new: pl.Series) -> pl.Series:
    """Texts that represent a value but were read as none."""
    if raw.dtype != pl.String:
        return raw.clear()
    texts = raw.str.strip_chars()
    known = texts.is_in(MISSING) | texts.str.to_lowercase().is_in(MISSING_AMONG_NUMBERS)
    return texts.filter((new.is_null() & ~known).fill_null(False))
