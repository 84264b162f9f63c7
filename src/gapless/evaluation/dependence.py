"""How predictions change on average when one or two columns are set to several values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.utils import _safe_indexing

from .._ground.docstrings import described
from .._ground.drawing import AXES, pictures
from .._ground.notebook import ShownInNotebook
from .._ground.tables import readable
from .._ground.validation import read_weights
from .permutation import with_donors

Array = np.ndarray

# How many numbers are predicted from at a time: 32 MB, however wide the table is.
MOST_CELLS = 1 << 22
# Up to this many predictions are as quick as following the rows through the trees (boosting of
# 100 trees of 31 leaves, and a forest of 100 whole trees, on 5,000 rows).
FEW_PREDICTIONS = 1 << 18


@dataclass(frozen=True, eq=False)
class PartialDependence(ShownInNotebook):
    """Mean predictions by the value of one column.

    Attributes
    ----------
    column : str
        Its name.
    values : tuple
        Its values: numbers in rising order, or levels, the most frequent first.
    means : ndarray of shape (m, K)
        What is predicted on average if all rows have that value: a number (K = 1), or a probability
        for each class.
    classes : tuple
        The K classes; empty for numbers.
    answer : str
        What is averaged: "prediction", "probability", or "share predicted" for classifiers without
        probabilities.
    rows : int
        How many rows were averaged over.
    """

    column: str
    values: tuple[Any, ...]
    means: Array
    classes: tuple[Any, ...]
    answer: str
    rows: int

    def __repr__(self) -> str:
        return f"<PartialDependence on {self.column}: {len(self.values)} values>"

    @described(AXES)
    def plot(self, *, axes=None):
        """Draw the mean prediction by the value, with a line for each class; returns the axes."""
        plots = pictures()
        # With two classes, the second is enough.
        kept = slice(1, None) if len(self.classes) == 2 else slice(None)
        return plots.partial_dependence(
            self.values,
            self.means[:, kept],
            [str(label) for label in self.classes[kept]],
            column=self.column,
            answer=self.answer,
            axes=axes,
        )


@dataclass(frozen=True, eq=False)
class PairDependence(ShownInNotebook):
    """Mean predictions by the values of two columns.

    Attributes
    ----------
    columns : tuple of two str
        Their names.
    values : tuple of two tuples
        The values of each, m and k of them: numbers in rising order, or levels, the most frequent
        first.
    means : ndarray of shape (m, k, K)
        What is predicted on average if all rows have these two values: a number (K = 1), or a
        probability for each class.
    classes : tuple
        The K classes; empty for numbers.
    answer : str
        What is averaged: "prediction", "probability", or "share predicted" for classifiers without
        probabilities.
    rows : int
        How many rows were averaged over.
    """

    columns: tuple[str, str]
    values: tuple[tuple[Any, ...], tuple[Any, ...]]
    means: Array
    classes: tuple[Any, ...]
    answer: str
    rows: int

    def __repr__(self) -> str:
        sizes = " × ".join(str(len(each)) for each in self.values)
        return f"<PairDependence on {' and '.join(self.columns)}: {sizes} values>"

    @described(AXES)
    def plot(self, label=None, *, axes=None):
        """Draw the mean prediction as a colour over the two columns; returns the axes.

        Parameters
        ----------
        label : class label, default=None
            Whose probability is drawn; the last class if None. Has no effect for numbers.
        """
        if label is not None and label not in self.classes:
            raise ValueError(f"label must be one of {list(self.classes)}, got {label!r}.")
        plots = pictures()
        drawn = self.classes.index(label) if label is not None else -1
        said = f"{self.answer} of {self.classes[drawn]}" if self.classes else self.answer
        return plots.pair_dependence(
            self.values, self.means[:, :, drawn], columns=self.columns, answer=said, axes=axes
        )


@overload
def partial_dependence(
    model: Any,
    X: Any,
    column: int | str,
    *,
    sample_weight: Any = ...,
    most_values: int = ...,
    most_rows: int = ...,
    random_state: int = ...,
) -> PartialDependence: ...
@overload
def partial_dependence(
    model: Any,
    X: Any,
    column: tuple[int | str, int | str],
    *,
    sample_weight: Any = ...,
    most_values: int = ...,
    most_rows: int = ...,
    random_state: int = ...,
) -> PairDependence: ...
def partial_dependence(
    model: Any,
    X: Any,
    column: int | str | tuple[int | str, int | str],
    *,
    sample_weight: Any = None,
    most_values: int = 20,
    most_rows: int = 500,
    random_state: int = 0,
) -> PartialDependence | PairDependence:
    """Average what a fitted model predicts when one or two columns are set to several values.

    Parameters
    ----------
    model : estimator
        Any fitted model with scikit-learn's methods.
    X : array-like, sparse matrix or table
        Rows to average over.
    column : int or str, or a pair of them
        Which column is set: its position, or its name in a table. For a pair, all pairs of values
        are tried.
    sample_weight : array-like of shape (n,), default=None
        How much each row counts in the mean.
    most_values : int, default=20
        How many values of a column are tried at most: quantiles of numbers or times, or its most
        frequent levels.
    most_rows : int, default=500
        How many rows are averaged over at most, drawn at random if there are more.
    random_state : int, default=0
        Seed of the draw.

    Returns
    -------
    PartialDependence or PairDependence
        Plain data with `plot()`.

    Notes
    -----
    Costs most_values·most_rows predictions, for a pair most_values²·most_rows. Where these are
    many, trees, forests, and boosting of numbers whose loss has no link, need none: each row is
    followed once to all leaves that it can reach, and the means are the same. All other columns
    stay unchanged, so if columns depend on each other, impossible rows are predicted as well and
    the mean is misleading.

    References
    ----------
    Friedman (2001), Greedy function approximation: a gradient boosting machine, Annals of
    Statistics 29, section 8.2.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from gapless import Ridge
    >>> from gapless.evaluation import partial_dependence
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = partial_dependence(Ridge(alpha=1.0).fit(X, y), X, 2, most_values=3)
    >>> bool(found.means[0, 0] < found.means[-1, 0])
    True
    """
    X = readable(X)
    X = X if hasattr(X, "shape") else np.asarray(X)
    names = [str(name) for name in getattr(X, "columns", [f"x{k}" for k in range(X.shape[1])])]
    asked = column if isinstance(column, tuple | list) else (column,)
    places = [_place(one, names) for one in asked]
    if len(set(places)) != len(asked) or len(asked) not in (1, 2):
        raise ValueError(f"column must be one column or two different ones, got {column!r}.")
    weights = read_weights(sample_weight, np.zeros(X.shape[0]))
    rows = np.flatnonzero(weights > 0)
    found = [_values_of(_column(X, place), rows, most_values) for place in places]
    donors, values = [own for own, _ in found], [own for _, own in found]
    for place, own in zip(places, donors):
        if not len(own):
            raise ValueError(
                f"column {names[place]!r} is missing in all rows; choose another column."
            )
    if len(rows) > most_rows:
        rows = np.sort(np.random.default_rng(random_state).choice(rows, most_rows, replace=False))
    means, classes, answer = _means(model, X, rows, weights[rows], places, donors)
    chosen = [names[place] for place in places]
    if len(places) == 1:
        return PartialDependence(chosen[0], values[0], means, classes, answer, len(rows))
    return PairDependence(
        (chosen[0], chosen[1]), (values[0], values[1]), means, classes, answer, len(rows)
    )


def _means(
    model: Any, X: Any, rows: Array, weights: Array, places: list[int], donors: list[Array]
) -> tuple[Array, tuple[Any, ...], str]:
    """Mean answers over rows at each value, or pair of values, that donors have; the classes."""
    sizes = [len(own) for own in donors]
    by_trees = getattr(model, "_mean_predictions", None)
    has_one_target = isinstance(getattr(model, "classes_", np.empty(0)), np.ndarray)
    is_long = math.prod(sizes) * len(rows) > FEW_PREDICTIONS
    if by_trees is not None and has_one_target and is_long:
        given = [_safe_indexing(X, own) for own in donors]
        found = by_trees(_safe_indexing(X, rows), weights, places, given)
        if found is not None:
            names = tuple(model.classes_.tolist()) if is_classifier(model) else ()
            return found, names, "probability" if names else "prediction"
    grid = [own.ravel() for own in np.meshgrid(*donors, indexing="ij")]
    at_a_time = max(1, MOST_CELLS // (len(rows) * X.shape[1]))
    means = []
    for first in range(0, len(grid[0]), at_a_time):
        some = [own[first : first + at_a_time] for own in grid]
        answers, classes, answer = _answers(model, _with_values_of(X, places, rows, some))
        each = answers.reshape(len(some[0]), len(rows), -1)
        means.append(np.average(each, axis=1, weights=weights))
    return np.concatenate(means).reshape(*sizes, -1), classes, answer


def _place(column: int | str, names: list[str]) -> int:
    """Where a column stands, by its name or its place."""
    if isinstance(column, str):
        if column not in names:
            some = ", ".join(repr(name) for name in names[:5])
            raise ValueError(f"X has no column {column!r}; name one of {some} and so on.")
        return names.index(column)
    if not 0 <= int(column) < len(names):
        raise ValueError(f"column must be from 0 to {len(names) - 1}, got {column}.")
    return int(column)


def _with_values_of(X: Any, places: list[int], rows: Array, donors: list[Array]) -> Any:
    """The rows once for each donor, or pair of donors, with their values in the columns."""
    count = len(donors[0])
    asked = np.tile(rows, count)
    # Behind the rows stand those that give their values, since a table keeps its types so.
    table = _safe_indexing(X, np.concatenate([asked, *donors]))
    own = np.arange(len(table) if not sp.issparse(table) else table.shape[0])
    for k, place in enumerate(places):
        given = np.repeat(np.arange(count) + len(asked) + k * count, len(rows))
        table = with_donors(table, place, np.append(given, own[len(asked) :]))
    return _safe_indexing(table, own[: len(asked)])


def _column(X: Any, place: int) -> Array:
    """The values of one column."""
    if sp.issparse(X):
        return X.tocsc()[:, [place]].toarray().ravel()
    if hasattr(X, "to_series"):  # polars
        return X.to_series(place).to_numpy()
    return np.asarray(X.iloc[:, place] if hasattr(X, "iloc") else X[:, place])


def _values_of(column: Array, rows: Array, most: int) -> tuple[Array, tuple[Any, ...]]:
    """Rows that hold the values to try, and these values."""
    is_ordered = column.dtype.kind in "fiumM"
    if is_ordered:
        is_there = ~np.isnat(column) if column.dtype.kind in "mM" else ~np.isnan(column)
    else:
        is_there = np.array([value is not None and value == value for value in column], dtype=bool)
    rows = rows[is_there[rows]]
    present = column[rows] if is_ordered else np.array([str(value) for value in column[rows]])
    distinct, first, counts = np.unique(present, return_index=True, return_counts=True)
    if is_ordered:
        # Between the hundredths at either end, where rows are; the ends represent the rest.
        chosen = np.arange(len(distinct))
        if len(distinct) > most:
            chosen = _spread(counts, most)
    else:
        chosen = np.argsort(-counts, kind="stable")[:most]
    shown = distinct[chosen].astype(str) if column.dtype.kind in "mM" else distinct[chosen]
    return rows[first[chosen]], tuple(shown.tolist())


def _spread(counts: Array, most: int) -> Array:
    """Places of at most `most` of the distinct values, which have `counts` rows each.

    Quantiles of the rows; if most rows share a few values, also of the distinct values, since a
    line through three points would show little of what lies between.
    """
    shares = np.linspace(0.01, 0.99, most)
    by_rows = np.searchsorted(np.cumsum(counts), shares * (counts.sum() - 1), side="right")
    chosen = np.unique(by_rows)
    more = most - len(chosen)
    if 2 * more > most:
        by_value = np.linspace(0.01, 0.99, more) * (len(counts) - 1)
        chosen = np.union1d(chosen, by_value.round().astype(int))
    return chosen


def _answers(model: Any, X: Any) -> tuple[Array, tuple[Any, ...], str]:
    """The predictions (n, K), the classes, and the name of the prediction."""
    if not is_classifier(model):
        return np.asarray(model.predict(X), dtype=float).reshape(X.shape[0], -1), (), "prediction"
    classes = np.asarray(model.classes_)
    names = tuple(classes.tolist())
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X)), names, "probability"
    said = np.asarray(model.predict(X))
    return (said[:, None] == classes).astype(float), names, "share predicted"
