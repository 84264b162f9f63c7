"""How well one column alone predicts the target.

Numbers and dates by a small tree, categories by an answer for each level. Both learn on one half
of the rows and are judged on the other, so that a column which is different in each row looks as
useless as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import polars as pl

from .._ground.percent import percent
from ..models.trees import DecisionTreeClassifier, DecisionTreeRegressor
from .target import Target

Array = np.ndarray

LOOKED_AT = 10_000
FEWEST_ROWS = 30
LEAVES = 64
# Trees look at so many of these rows first, and at all if they come so near to a suspicious score.
FIRST_LOOK, NEAR = 2000, 0.15
# So many columns are ordered together.
COLUMNS_AT_ONCE = 500
# Scores from which a column is suspected of knowing the target.
SUSPECT_ACCURACY = 0.99
# The same for a column of the very labels of the target: it looks like a copy with errors.
SUSPECT_COPY = 0.95
SUSPECT_R2 = 0.99


@dataclass(frozen=True, slots=True)
class OneColumn:
    """The score of one column: balanced accuracy or R²."""

    value: float
    name: str

    @property
    def words(self) -> str:
        """The score as people say it."""
        if self.name == "R²":
            return f"R² = {self.value:.3f}"
        return f"{self.name} {percent(self.value, 1)}"


@dataclass(frozen=True, slots=True, eq=False)
class Looked:
    """The rows by which columns are judged, in random order.

    Attributes
    ----------
    rows : ndarray of int
        Rows of the table, at most `LOOKED_AT`.
    y : ndarray
        Their target: numbers, or the place of each class among the labels.
    labels : frozenset of str or None
        The classes; None for numbers.
    """

    rows: Array
    y: Array
    labels: frozenset[str] | None


def looked_at(target: Target, seed: int) -> Looked:
    """Draw the rows by which columns are judged, from those where the target is known."""
    order = np.random.default_rng(seed).permutation(len(target.rows))[:LOOKED_AT]
    rows, y = target.rows[order], target.values[order]
    if target.task != "classification":
        return Looked(rows, y, None)
    labels, classes = np.unique(y, return_inverse=True)
    return Looked(rows, classes, frozenset(map(str, labels)))


def predicted_by_one(series: pl.Series, looked: Looked) -> OneColumn | None:
    """The score of a column that nearly gives the target away; None for all others.

    Parameters
    ----------
    series : polars.Series
        The column, in all rows of the table.
    looked : Looked
        The rows by which it is judged.
    """
    column, y, labels = series.gather(looked.rows), looked.y, looked.labels
    if len(column) < FEWEST_ROWS:
        return None
    if labels is None:
        least, name = SUSPECT_R2, "R²"
        value = _r2_of_line(column, y)
        if value < least:
            value = max(value, _looked_twice(_r2, column, y, least))
    else:
        least = SUSPECT_COPY if _has_labels(column, labels) else SUSPECT_ACCURACY
        name = "balanced accuracy"
        value = _looked_twice(_accuracy, column, y, least)
    return OneColumn(value, name) if value >= least else None


def _looked_twice(
    score: Callable[[pl.Series, Array], float], column: pl.Series, y: Array, least: float
) -> float:
    """The score of a column, by few rows if these say that it is far below `least`.

    Levels are learned one by one and need all rows, but take no time.
    """
    if _is_ordered(column) and len(y) > FIRST_LOOK:
        first = score(column[:FIRST_LOOK], y[:FIRST_LOOK])
        if first < least - NEAR:
            return first
    return score(column, y)


def agreements(frame: pl.DataFrame, looked: Looked) -> Array:
    """How much alike the targets of rows are that stand beside each other in order of each column.

    A quick look at many columns: those that give the target away have the most of it.

    Parameters
    ----------
    frame : polars.DataFrame
        The columns, in all rows of the table.
    looked : Looked
        The rows by which they are judged; equal ones stand in their order.
    """
    known, y = frame[looked.rows], looked.y
    alike = []
    for first in range(0, known.width, COLUMNS_AT_ONCE):
        some = known[:, first : first + COLUMNS_AT_ONCE]
        # One call for many columns: each has a cost of its own, far above that of its ranks.
        ranks = some.select(pl.all().rank("dense").fill_null(0)).to_numpy()
        beside = y[np.argsort(ranks, axis=0, kind="stable")]
        if looked.labels is not None:
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
    """Rows to learn from, for either half that is predicted; the rows are in random order."""
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
    """The mean of each level; the mean of all for a level that is new."""
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
    """The most frequent class of each level; that of all for a level that is new."""
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
    """R² of a straight line, or of one in the ranks, which also finds bent copies."""
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
