"""Leakage: what makes a score too good to be true, and other warnings before a fit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from .._ground.percent import percent
from ..models.trees import DecisionTreeClassifier, DecisionTreeRegressor
from .columns import CALLED_ID, Column
from .findings import Finding, counted, found, listed
from .quality import find_flaws, has_few_combinations
from .tables import Table
from .target import Target

Array = np.ndarray

# Neighbours in time are alike from this correlation on, if there are this many moments.
ALIKE, FEWEST_MOMENTS = 0.2, 30
# With at most this many columns each is tried alone; of more, this many that look most suspicious.
MANY_COLUMNS, MOST_TREES = 30, 20
COPIES = "if they are copies, the test score is too optimistic; drop them"


@dataclass(frozen=True, slots=True, eq=False)
class Split:
    """The training and test rows of a table."""

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
    """Search for what makes estimates wrong, before any model is fitted.

    Parameters
    ----------
    table : Table
        The table.
    columns : sequence of Column
        Its columns with their roles, from `describe_columns`.
    target : Target
        The target, from `read_target`.
    split : Split or None, default=None
        Training and test rows; without it rows on both sides are not checked.
    seed : int, default=0
        Seed of the sample of rows in large tables.

    Returns
    -------
    tuple of Finding
        Warnings first.

    Notes
    -----
    A column gives the target away if it alone predicts held-out halves of the rows nearly without
    error, by a small tree or its levels; this uses at most 10,000 rows, and of more than 30 columns
    the 20 whose order sorts the target best.

    Examples
    --------
    >>> from gapless.data import describe_columns, find_leaks, read_target, table_of
    >>> table = table_of({"sold": ["no", "yes"] * 30, "price": [None, 7] * 30})
    >>> target = read_target(table, "sold")
    >>> [finding.code for finding in find_leaks(table, describe_columns(table, "sold"), target)]
    ['L101', 'D204']
    """
    findings = [
        *_revealing_columns(table, columns, _trained(target, split), seed),
        *_groups_on_both_sides(table, columns, split),
        *_from_the_future(table, columns),
        *_in_time(table, columns, _trained(target, split)),
        *_rows_on_both_sides(table, columns, target, split),
        *find_flaws(table, columns, target),
    ]
    return tuple(sorted(findings, key=lambda finding: finding.severity != "warning"))


# ---- columns that know the target ----------------------------------------------------------------


def _trained(target: Target, split: Split | None) -> Target:
    """The target in the training rows: test rows are used once, at the end."""
    if split is None:
        return target
    kept = np.isin(target.rows, split.train)
    return replace(target, values=target.values[kept], rows=target.rows[kept])


def _revealing_columns(
    table: Table, columns: Sequence[Column], target: Target, seed: int
) -> Iterator[Finding]:
    names = [one.name for one in columns if one.is_feature and one.role != "text"]
    sample = draw_sample(target, seed)
    if len(names) > MANY_COLUMNS:
        alike = agreement_of_neighbours(table.frame.select(names), sample)
        names = [names[k] for k in np.sort(np.argsort(alike)[-MOST_TREES:])]
    for name in names:
        score = score_alone(table.frame[name], sample)
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
    """Whether consecutive rows by a date are alike, and no time column was given."""
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

    0 unless it exceeds chance by more than three standard errors of 1/√n each.
    """
    if len(y) < FEWEST_MOMENTS:
        return 0.0
    code = np.unique(y, return_inverse=True)[1]
    if y.dtype.kind == "f":
        ranks = np.argsort(np.argsort(y, kind="stable"), kind="stable").astype(float)
        with np.errstate(invalid="ignore"):
            found = np.corrcoef(ranks[:-1], ranks[1:])[0, 1]
    else:
        # The share of equal neighbours, scaled to 0 for chance and 1 for all.
        chance = np.sum((np.bincount(code) / len(y)) ** 2)
        found = (np.mean(code[:-1] == code[1:]) - chance) / max(1 - chance, 1e-12)
    return float(found) if found > 3 / math.sqrt(len(y)) else 0.0


# ---- rows on both sides --------------------------------------------------------------------------


def _groups_on_both_sides(
    table: Table, columns: Sequence[Column], split: Split | None
) -> Iterator[Finding]:
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


def _rows_on_both_sides(
    table: Table, columns: Sequence[Column], target: Target, split: Split | None
) -> Iterator[Finding]:
    """Test rows that equal training rows, by their hashes, unless this is to be expected."""
    names = [column.name for column in columns if column.is_feature]
    if not names or split is None or has_few_combinations(columns):
        return
    whole = table.frame.select([*names, target.name]).hash_rows(seed=0)
    both = whole.gather(split.test).is_in(whole.gather(split.train).unique().implode())
    rows = split.test[both.to_numpy()]
    if len(rows):
        yield found(
            "L103",
            "note" if len(rows) <= 0.01 * len(split.test) else "warning",
            f"{counted(len(rows), 'test row')} ({percent(len(rows) / len(split.test), 1)}) "
            f"{'equals' if len(rows) == 1 else 'equal'} a training row; {COPIES}.",
            (),
            rows,
        )


# ---- how well one column alone predicts the target ---------------------------------------------

# Numbers and dates by a small tree, categories by an answer for each level. Both learn on one half
# of the rows and are judged on the other, so that a column that differs in each row looks as
# useless as it is.

# Rows by which each column is judged.
SAMPLE_ROWS = 10_000
# Fewer rows cannot show that a column knows the target.
FEWEST_ROWS = 30
# Leaves of the small tree.
LEAVES = 64
# Trees use this many of these rows first, and all if they come this near to a suspicious score.
FIRST_ROWS, NEAR = 2000, 0.15
# Columns ordered together.
COLUMNS_AT_ONCE = 500
# Scores from which a column is suspected of knowing the target.
SUSPECT_ACCURACY = 0.99
# The same for a column with the target's own labels: it looks like a copy with errors.
SUSPECT_COPY = 0.95
SUSPECT_R2 = 0.99


@dataclass(frozen=True, slots=True)
class ColumnScore:
    """The score of one column: balanced accuracy or R²."""

    value: float
    name: str

    @property
    def words(self) -> str:
        """The score in words."""
        if self.name == "R²":
            return f"R² = {self.value:.3f}"
        return f"{self.name} {percent(self.value, 1)}"


@dataclass(frozen=True, slots=True, eq=False)
class RowSample:
    """The rows used to judge columns, in random order.

    Attributes
    ----------
    rows : ndarray of int
        Rows of the table, at most `SAMPLE_ROWS`.
    y : ndarray
        Their target: numbers, or the position of each class among the labels.
    labels : frozenset of str or None
        The classes; None for numbers.
    """

    rows: Array
    y: Array
    labels: frozenset[str] | None


def draw_sample(target: Target, seed: int) -> RowSample:
    """Draw the rows used to judge columns, from those with a target."""
    order = np.random.default_rng(seed).permutation(len(target.rows))[:SAMPLE_ROWS]
    rows, y = target.rows[order], target.values[order]
    if target.task != "classification":
        return RowSample(rows, y, None)
    labels, classes = np.unique(y, return_inverse=True)
    return RowSample(rows, classes, frozenset(map(str, labels)))


def score_alone(series: pl.Series, sample: RowSample) -> ColumnScore | None:
    """The score of a column that nearly gives the target away; None for all others.

    Parameters
    ----------
    series : polars.Series
        The column, in all rows of the table.
    sample : RowSample
        The rows used to judge it.
    """
    column, y, labels = series.gather(sample.rows), sample.y, sample.labels
    if len(column) < FEWEST_ROWS:
        return None
    if labels is None:
        least, name = SUSPECT_R2, "R²"
        value = _r2_of_line(column, y)
        if value < least:
            value = max(value, _scored_in_two_steps(_r2, column, y, least))
    else:
        least = SUSPECT_COPY if _has_labels(column, labels) else SUSPECT_ACCURACY
        name = "balanced accuracy"
        value = _scored_in_two_steps(_accuracy, column, y, least)
    return ColumnScore(value, name) if value >= least else None


def _scored_in_two_steps(
    score: Callable[[pl.Series, Array], float], column: pl.Series, y: Array, least: float
) -> float:
    """The score of a column, by few rows if these show that it is far below `least`.

    Levels are learned singly and need all rows, but take no time.
    """
    if _is_ordered(column) and len(y) > FIRST_ROWS:
        first = score(column[:FIRST_ROWS], y[:FIRST_ROWS])
        if first < least - NEAR:
            return first
    return score(column, y)


def agreement_of_neighbours(frame: pl.DataFrame, sample: RowSample) -> Array:
    """How alike the targets of neighbouring rows are when sorted by each column.

    A quick look at many columns: those that give the target away score highest.

    Parameters
    ----------
    frame : polars.DataFrame
        The columns, in all rows of the table.
    sample : RowSample
        The rows used to judge them; equal ones keep their order.
    """
    known, y = frame[sample.rows], sample.y
    alike = []
    for first in range(0, known.width, COLUMNS_AT_ONCE):
        some = known[:, first : first + COLUMNS_AT_ONCE]
        # One call for many columns: each call costs far more than its ranks.
        ranks = some.select(pl.all().rank("dense").fill_null(0)).to_numpy()
        beside = y[np.argsort(ranks, axis=0, kind="stable")]
        if sample.labels is not None:
            alike.append(np.mean(beside[1:] == beside[:-1], axis=0))
        else:
            alike.append(-np.mean(np.diff(beside, axis=0) ** 2, axis=0))
    return np.concatenate(alike)


def _has_labels(column: pl.Series, labels: frozenset[str]) -> bool:
    """Whether the values of a column are labels of the target."""
    values = column.drop_nulls().unique()
    return len(values) <= len(labels) and set(values.cast(pl.String)) <= labels


def _accuracy(column: pl.Series, classes: Array) -> float:
    """Balanced accuracy on unseen halves."""
    if _is_ordered(column):
        tree = DecisionTreeClassifier(max_leaf_nodes=LEAVES, random_state=0)
        predicted = _by_tree(tree, column, classes)
    else:
        predicted = _classes_by_levels(column, classes)
    right, count = predicted == classes, np.bincount(classes)
    # A class may be missing among few rows.
    return float(np.mean((np.bincount(classes, weights=right) / np.maximum(count, 1))[count > 0]))


def _r2(column: pl.Series, y: Array) -> float:
    """R² on unseen halves."""
    if _is_ordered(column):
        tree = DecisionTreeRegressor(max_leaf_nodes=LEAVES, random_state=0)
        predicted = _by_tree(tree, column, y)
    else:
        predicted = _by_levels(column, y)
    return float(1 - np.sum((y - predicted) ** 2) / np.sum((y - y.mean()) ** 2))


def _is_ordered(column: pl.Series) -> bool:
    return column.dtype.is_numeric() or column.dtype.is_temporal()


def _halves(n: int) -> list[Array]:
    """Training rows for either half that is predicted; the rows are in random order."""
    even = np.arange(n) % 2 == 0
    return [even, ~even]


def _by_tree(
    tree: DecisionTreeClassifier | DecisionTreeRegressor, column: pl.Series, y: Array
) -> Array:
    x = column.to_physical().cast(pl.Float64).fill_null(np.nan).to_numpy()[:, None]
    predicted = np.empty_like(y)
    for half in _halves(len(y)):
        predicted[~half] = tree.fit(x[half], y[half]).predict(x[~half])
    return predicted


def _levels(column: pl.Series) -> Array:
    """The number of each value among the distinct ones, missing being one."""
    return column.cast(pl.String).fill_null("").rank("dense").to_numpy().astype(np.int64) - 1


def _by_levels(column: pl.Series, y: Array) -> Array:
    """The mean of each level; the overall mean for a new level."""
    levels = _levels(column)
    size = int(levels.max()) + 1
    predicted = np.empty(len(y))
    for half in _halves(len(y)):
        count = np.bincount(levels[half], minlength=size)
        total = np.bincount(levels[half], weights=y[half], minlength=size)
        mean = np.where(count > 0, total / np.maximum(count, 1), y[half].mean())
        predicted[~half] = mean[levels[~half]]
    return predicted


def _classes_by_levels(column: pl.Series, classes: Array) -> Array:
    """The most frequent class of each level; the overall one for a new level."""
    levels = _levels(column)
    shape = int(levels.max()) + 1, int(classes.max()) + 1
    predicted = np.empty_like(classes)
    for half in _halves(len(classes)):
        pairs = np.ravel_multi_index((levels[half], classes[half]), shape)
        counts = np.bincount(pairs, minlength=shape[0] * shape[1]).reshape(shape)
        most = np.where(counts.any(axis=1), counts.argmax(axis=1), counts.sum(axis=0).argmax())
        predicted[~half] = most[levels[~half]]
    return predicted


def _r2_of_line(column: pl.Series, y: Array) -> float:
    """R² of a straight line, or of one in the ranks, which also finds monotone copies."""
    if not column.dtype.is_numeric():
        return 0.0
    is_known = column.is_not_null().to_numpy()
    x = column.cast(pl.Float64).to_numpy()[is_known]
    if is_known.mean() < 0.5 or len(np.unique(x)) < 3:
        return 0.0
    straight = x, y[is_known]
    ranks = [pl.Series(values).rank().to_numpy() for values in straight]
    with np.errstate(invalid="ignore"):
        both = [np.corrcoef(a, b)[0, 1] for a, b in (straight, ranks)]
    return float(np.nanmax([0.0, *np.square(both)]))
