"""Drift: how a table differs from the rows that a model was fitted to, column by column.

A difference is said when chance does not explain it, with all comparisons of a table taken
together, and when it is large enough to matter: in a million rows everything differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import special, stats

from .._ground.percent import percent
from .findings import Finding, counted, found, listed
from .profile import ColumnProfile, TableProfile, kind_of, plain_frame
from .tallies import MOST_NAMES, ColumnTally, Tally

Array = np.ndarray

# With no drift at all, one table in a hundred has a finding.
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
# their shares and in how many are new; of dates, in how many are outside.
COMPARISONS = {"number": 2, "text": 2, "level": 3, "date": 2}


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
    """The same of a table that was counted piece by piece.

    Parameters
    ----------
    tally : Tally
        What was counted.

    Returns
    -------
    tuple of Finding
        As of `find_drift`.
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
        # Of rows that are ordered in time, later ones are what a model is for.
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
            f"({listed(sorted(new.unread_texts), 3)}) cannot be read as a {column.given_as}; "
            "treated as missing.",
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
    # At some points only, so that the true distance can but be larger; ties make it smaller too.
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
    """Later dates are what time brings: worth a note, since no model was tried on them."""
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
    """At most how likely so many of the new rows are outside of all old ones, drawn alike.

    Any of the k + 1 ways to have k of them as the least and the largest of all rows has the chance
    that k rows drawn from all are new ones.
    """
    drawn = special.gammaln(rows + 1) - special.gammaln(rows - outside + 1)
    of_all = special.gammaln(rows + rows_before + 1)
    of_all -= special.gammaln(rows + rows_before - outside + 1)
    return float((outside + 1) * np.exp(drawn - of_all))


def _date(day: float) -> str:
    return str(np.datetime64("1970-01-01") + np.timedelta64(int(np.floor(day)), "D"))


# ---- levels --------------------------------------------------------------------------------------


def _of_levels(new: ColumnTally, level: float) -> Iterator[Finding]:
    # Of a column with more levels than are kept, the rest is unknown in training too; and where
    # levels occur in one row each, others are expected that do not.
    are_more = is_more(new.strange, new.present, new.old.unknown, new.old.present, level)
    if new.strange and are_more:
        yield _new_levels(new)
    # As many new levels as expected belong to the rare ones. Too many have been said; and where not
    # all levels are kept, those that are have more rows in training, being chosen by that.
    yield from _other_shares(new, 0 if are_more or new.old.others else new.strange, level)


def _new_levels(new: ColumnTally) -> Finding:
    name, rows, levels = new.old.column.name, new.strange, new.strange_levels
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
