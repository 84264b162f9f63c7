"""Leakage: what makes a score too good to be true, and other things to know before a fit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from .._ground.percent import percent
from .columns import CALLED_ID, Column
from .findings import Finding, counted, found, listed
from .one_column import agreements, looked_at, predicted_by_one
from .spellings import alike, in_words
from .tables import Table
from .target import Target
from .totals import totals_row

Array = np.ndarray

# The largest class has so many times the rows of the smallest.
IMBALANCE = 10.0
FEW_OF_A_CLASS = 10
MOSTLY_MISSING = 0.95
# Neighbours in time are alike from this correlation on, if there are so many moments.
ALIKE, FEWEST_MOMENTS = 0.2, 30
# Of so many columns each is tried alone; of more, so many that look most like it.
MANY_COLUMNS, MOST_TREES = 30, 20
FEW = "this is to be expected, because the columns have few distinct values"
MANY = "if they are copies, the test score is too optimistic; drop them"


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """Which rows of a table are for training and which for testing."""

    train: Array
    test: Array


def find_leaks(
    table: Table,
    columns: Sequence[Column],
    target: Target,
    split: Split | None = None,
    *,
    seed: int = 0,
) -> tuple[Finding, ...]:
    """Look for what makes estimates wrong, before any model is fitted.

    Parameters
    ----------
    table : Table
        The table.
    columns : sequence of Column
        Its columns with their roles, from `describe_columns`.
    target : Target
        The target, from `read_target`.
    split : Split or None, default=None
        Rows for training and testing; without it nothing is said about rows on both sides.
    seed : int, default=0
        For the rows that are looked at in large tables.

    Returns
    -------
    tuple of Finding
        Warnings first.

    Notes
    -----
    A column gives the target away if it alone predicts held-out halves of the rows nearly without
    error, by a small tree or its levels; at most 10,000 rows are looked at for that, and of more
    than 30 columns the 20 whose order arranges the target best.

    Examples
    --------
    >>> from gapless.data import describe_columns, find_leaks, read_target, table_of
    >>> table = table_of({"sold": ["no", "yes"] * 30, "price": [None, 7] * 30})
    >>> target = read_target(table, "sold")
    >>> [finding.code for finding in find_leaks(table, describe_columns(table, "sold"), target)]
    ['L101', 'D204']
    """
    findings = [
        *_given_away(table, columns, _trained(target, split), seed),
        *_straddling(table, columns, split),
        *_from_the_future(table, columns),
        *_in_time(table, columns, _trained(target, split)),
        *_names_of_rows(columns),
        *_repeated(table, columns, target, split),
        *_about_target(table, target),
        *_about_columns(columns),
        *_of_totals(table),
        *_of_spellings(table, columns),
    ]
    return tuple(sorted(findings, key=lambda finding: finding.severity != "warning"))


# ---- columns that know the target ----------------------------------------------------------------


def _trained(target: Target, split: Split | None) -> Target:
    """The target in the rows for training: those for testing are used once, at the end."""
    if split is None:
        return target
    kept = np.isin(target.rows, split.train)
    return replace(target, values=target.values[kept], rows=target.rows[kept])


def _given_away(
    table: Table, columns: Sequence[Column], target: Target, seed: int
) -> Iterator[Finding]:
    names = [one.name for one in columns if one.is_feature and one.role != "text"]
    looked = looked_at(target, seed)
    if len(names) > MANY_COLUMNS:
        alike = agreements(table.frame.select(names), looked)
        names = [names[k] for k in np.sort(np.argsort(alike)[-MOST_TREES:])]
    for name in names:
        score = predicted_by_one(table.frame[name], looked)
        if score is not None:
            yield found(
                "L101",
                "warning",
                f"column {name!r} alone predicts {target.name!r} on unseen rows with "
                f"{score.words}; if its value is known only after the target, drop it.",
                (name,),
            )


def _from_the_future(table: Table, columns: Sequence[Column]) -> Iterator[Finding]:
    time = next((column for column in columns if column.role == "time"), None)
    if time is None or not table.frame[time.name].dtype.is_temporal():
        return
    now = table.frame[time.name].cast(pl.Datetime("us"))
    for column in columns:
        if column.role != "date":
            continue
        later = (table.frame[column.name].cast(pl.Datetime("us")) > now).fill_null(False)
        rows = np.flatnonzero(later.to_numpy())
        if len(rows):
            yield found(
                "L105",
                "warning",
                f"column {column.name!r} is later than {time.name!r} in "
                f"{counted(len(rows), 'row')}; drop columns that are not known at that time.",
                (column.name, time.name),
                rows,
            )


def _in_time(table: Table, columns: Sequence[Column], target: Target) -> Iterator[Finding]:
    """Whether rows that follow each other by a date are alike, and nobody said so."""
    if any(column.role == "time" for column in columns):
        return
    for column in columns:
        if column.role != "date" or column.distinct < FEWEST_MOMENTS:
            continue
        moments = table.frame[column.name].gather(target.rows)
        order = moments.arg_sort(nulls_last=True).to_numpy()[: len(moments) - moments.null_count()]
        alike = _likeness(target.values[order])
        if alike > ALIKE:
            yield found(
                "L107",
                "warning",
                f"rows close in {column.name!r} have similar {target.name!r} (correlation of "
                f"neighbours {alike:.2f}). A random split tests a model on rows between its "
                "training rows, so its score may be too optimistic for later rows; "
                f"use {column.name!r} as the time column.",
                (column.name,),
            )
            return


def _likeness(y: Array) -> float:
    """How alike neighbours in a series are: the correlation of their ranks, or of their classes.

    0 for no more than chance: more than three standard errors, which are 1/√n each.
    """
    if len(y) < FEWEST_MOMENTS:
        return 0.0
    code = np.unique(y, return_inverse=True)[1]
    if y.dtype.kind == "f":
        ranks = np.argsort(np.argsort(y, kind="stable"), kind="stable").astype(float)
        with np.errstate(invalid="ignore"):
            found = np.corrcoef(ranks[:-1], ranks[1:])[0, 1]
    else:
        # The share of equal neighbours, 0 at what chance would have, 1 at all.
        chance = np.sum((np.bincount(code) / len(y)) ** 2)
        found = (np.mean(code[:-1] == code[1:]) - chance) / max(1 - chance, 1e-12)
    return float(found) if found > 3 / math.sqrt(len(y)) else 0.0


# ---- rows on both sides --------------------------------------------------------------------------


def _straddling(table: Table, columns: Sequence[Column], split: Split | None) -> Iterator[Finding]:
    group = next((column for column in columns if column.role == "group"), None)
    if group is not None and split is not None:
        series = table.frame[group.name]
        both = series.gather(split.test).is_in(series.gather(split.train).unique().implode())
        rows = split.test[both.fill_null(False).to_numpy()]
        if len(rows):
            names = series.gather(rows).unique(maintain_order=True)
            yield found(
                "L104",
                "warning",
                f"{counted(len(names), 'group')} of {group.name!r} ({listed(names, 3)}) "
                f"{'has' if len(names) == 1 else 'have'} both training and test rows; split by "
                "whole groups.",
                (group.name,),
                rows,
            )
    for column in columns:
        if group is None and _looks_like_groups(column):
            yield found(
                "L106",
                "note",
                f"column {column.name!r} is called an id, but each value has "
                f"{column.rows / column.distinct:.1f} rows on average; if rows with the same value "
                "belong together, use it as the group column.",
                (column.name,),
            )


def _looks_like_groups(column: Column) -> bool:
    if not column.is_feature or column.dtype not in ("Int64", "String"):
        return False
    present = column.rows - column.missing
    return bool(CALLED_ID.search(column.name)) and 5 < column.distinct <= 0.8 * present


def _repeated(
    table: Table, columns: Sequence[Column], target: Target, split: Split | None
) -> Iterator[Finding]:
    """Rows that are equal in all features, by their hashes."""
    names = [column.name for column in columns if column.is_feature]
    if not names:
        return
    features = table.frame.select(names).hash_rows(seed=0)
    whole = table.frame.select([*names, target.name]).hash_rows(seed=0)
    if split is not None:
        both = whole.gather(split.test).is_in(whole.gather(split.train).unique().implode())
        rows = split.test[both.to_numpy()]
        if len(rows):
            few = has_few_combinations(columns)
            yield found(
                "L103",
                "note" if few or len(rows) <= 0.01 * len(split.test) else "warning",
                f"{counted(len(rows), 'test row')} "
                f"({percent(len(rows) / len(split.test), 1)}) "
                f"{'equals' if len(rows) == 1 else 'equal'} a training row; "
                f"{FEW if few else MANY}.",
                (),
                rows,
            )
    again = np.flatnonzero((~whole.is_first_distinct()).to_numpy())
    if len(again):
        yield found(
            "D204",
            "note",
            f"{counted(len(again), 'row')} of {len(table):,} "
            f"{'equals' if len(again) == 1 else 'equal'} an earlier one.",
            (),
            again,
        )
    yield from _contradicting(features, whole, target)


def has_few_combinations(columns: Sequence[Column]) -> bool:
    """Whether rows must repeat because their columns have few values, and no column has many."""
    features = [column for column in columns if column.is_feature]
    counts = [column.distinct + (column.missing > 0) for column in features]
    rows = features[0].rows
    return max(counts) < 0.2 * rows and math.prod(counts) < 10 * rows


def _contradicting(features: pl.Series, whole: pl.Series, target: Target) -> Iterator[Finding]:
    """Rows with equal features and different classes: no model gets all of them right."""
    if target.task != "classification":
        return
    frame = pl.DataFrame({"x": features, "both": whole}).with_row_index("row")
    frame = frame.filter(pl.col("both").n_unique().over("x") > 1)
    if frame.height:
        yield found(
            "D205",
            "note",
            f"{counted(frame.height, 'row')} have the same features as a row of another class; no "
            "model can tell them apart.",
            (target.name,),
            frame["row"].to_numpy(),
        )


# ---- the target and the columns by themselves ----------------------------------------------------


def _names_of_rows(columns: Sequence[Column]) -> Iterator[Finding]:
    for column in columns:
        if column.role == "id":
            yield found(
                "L102",
                "note",
                f"column {column.name!r} is excluded: {column.reason}.",
                (column.name,),
            )


def _about_target(table: Table, target: Target) -> Iterator[Finding]:
    missing = np.flatnonzero(table.frame[target.name].is_null().to_numpy())
    if len(missing):
        yield found(
            "D201",
            "note",
            f"{target.name!r} is missing in {counted(len(missing), 'row')} of {len(table):,}, "
            "which are excluded.",
            (target.name,),
            missing,
        )
    if target.task != "classification":
        return
    labels, counts = np.unique(target.values, return_counts=True)
    few = counts < FEW_OF_A_CLASS
    if few.any():
        shown = [f"{label} ({count})" for label, count in zip(labels[few], counts[few])]
        yield found(
            "D207",
            "note",
            f"fewer than {FEW_OF_A_CLASS} rows each: {', '.join(shown[:5])}; estimates for these "
            "classes are rough.",
            (target.name,),
        )
    if counts.max() >= IMBALANCE * counts.min():
        yield found(
            "D203",
            "note",
            f"{percent(counts.max() / counts.sum(), 1)} of the rows are "
            f"{labels[counts.argmax()]!s}, and {percent(counts.min() / counts.sum(), 2)} are "
            f"{labels[counts.argmin()]!s}; accuracy alone "
            "means little, so check recall and precision.",
            (target.name,),
        )


def _about_columns(columns: Sequence[Column]) -> Iterator[Finding]:
    for column in columns:
        if column.role == "constant":
            yield found(
                "D202",
                "note",
                f"column {column.name!r} is excluded: {column.reason}.",
                (column.name,),
            )
        elif column.is_feature and column.missing > MOSTLY_MISSING * column.rows:
            yield found(
                "D206",
                "note",
                f"column {column.name!r} is missing in "
                f"{percent(column.missing / column.rows, 1)} of the "
                "rows.",
                (column.name,),
            )


def _of_totals(table: Table) -> Iterator[Finding]:
    row = totals_row(table.frame)
    if row is not None:
        yield found(
            "D209",
            "warning",
            f"row {row + 1:,}, the last one, contains totals of the rows above and is excluded; "
            "delete it from the table.",
            (),
            (row,),
        )


def _of_spellings(table: Table, columns: Sequence[Column]) -> Iterator[Finding]:
    for column in columns:
        if column.role in ("category", "target") and column.dtype == "String":
            counts = table.frame[column.name].drop_nulls().value_counts()
            yield from spelled_alike(column, alike(dict(counts.iter_rows())))


def spelled_alike(column: Column, groups: list[tuple[str, ...]]) -> Iterator[Finding]:
    """The finding about categories that look like one, from `alike`; of classes it is a warning."""
    if groups:
        yield found(
            "D208",
            "warning" if column.role == "target" else "note",
            f"column {column.name!r}: {', '.join(in_words(groups))} look like different spellings "
            "of one category; use one spelling.",
            (column.name,),
        )
