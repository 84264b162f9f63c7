"""How predictions change on average when one column is set to each of several values."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.utils import _safe_indexing

from .._tables import readable
from .._validation import read_weights
from .permutation import with_donors

Array = np.ndarray

# So many numbers are predicted from at a time: 32 MB, however wide the table is.
MOST_CELLS = 1 << 22


@dataclass(frozen=True, eq=False)
class PartialDependence:
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

    def plot(self, *, axes=None):
        """Draw the mean prediction by the value, with a line for each class.

        Parameters
        ----------
        axes : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        axes : matplotlib Axes
        """
        # matplotlib takes as long to import as all the rest, so it waits until it is needed.
        plots = importlib.import_module("gapless.plots")
        # Of two classes the second says all.
        kept = slice(1, None) if len(self.classes) == 2 else slice(None)
        return plots.partial_dependence(
            self.values,
            self.means[:, kept],
            [str(label) for label in self.classes[kept]],
            column=self.column,
            answer=self.answer,
            axes=axes,
        )


def partial_dependence(
    model: Any,
    X: Any,
    column: int | str,
    *,
    sample_weight: Any = None,
    most_values: int = 20,
    most_rows: int = 500,
    random_state: int = 0,
) -> PartialDependence:
    """Average what a fitted model predicts when one column is set to each of several values.

    Parameters
    ----------
    model : estimator
        Any fitted model with scikit-learn's methods.
    X : array-like, sparse matrix or table
        Rows to average over.
    column : int or str
        Which column is set: its place, or its name in a table.
    sample_weight : array-like of shape (n,), default=None
        How much each row counts in the mean.
    most_values : int, default=20
        So many values are tried: quantiles of a column of numbers or moments, or its most frequent
        levels.
    most_rows : int, default=500
        So many rows are averaged over, drawn at random if there are more.
    random_state : int, default=0
        Seed of the draw.

    Returns
    -------
    PartialDependence
        Plain data with `plot()`.

    Notes
    -----
    Costs most_values·most_rows predictions. All other columns stay as they are, so that rows which
    cannot exist are predicted too where columns depend on each other; the mean is then a fiction.

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
    place = _place(column, names)
    weights = read_weights(sample_weight, np.zeros(X.shape[0]))
    rows = np.flatnonzero(weights > 0)
    donors, values = _values_of(_column(X, place), rows, most_values)
    if not len(donors):
        raise ValueError(f"column {names[place]!r} is missing in all rows; nothing can be set.")
    if len(rows) > most_rows:
        rows = np.sort(np.random.default_rng(random_state).choice(rows, most_rows, replace=False))
    at_a_time = max(1, MOST_CELLS // (len(rows) * len(names)))
    means = []
    for first in range(0, len(donors), at_a_time):
        some = donors[first : first + at_a_time]
        answers, classes, answer = _answers(model, _with_value_of(X, place, rows, some))
        each = answers.reshape(len(some), len(rows), -1)
        means.append(np.average(each, axis=1, weights=weights[rows]))
    return PartialDependence(
        names[place], values, np.concatenate(means), classes, answer, len(rows)
    )


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


def _with_value_of(X: Any, place: int, rows: Array, donors: Array) -> Any:
    """The rows once for each donor, with its value in the column."""
    # Behind the rows stand those that give their value, since a table keeps its types so.
    behind = _safe_indexing(X, np.concatenate([np.tile(rows, len(donors)), donors]))
    given = np.repeat(np.arange(len(donors)) + len(rows) * len(donors), len(rows))
    asked = with_donors(behind, place, np.append(given, np.arange(len(donors)) + len(given)))
    return _safe_indexing(asked, np.arange(len(given)))


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
        # Between the hundredths at either end, where rows are; the ends stand for the rest.
        chosen = np.arange(len(distinct))
        if len(distinct) > most:
            chosen = _spread(counts, most)
    else:
        chosen = np.argsort(-counts, kind="stable")[:most]
    shown = distinct[chosen].astype(str) if column.dtype.kind in "mM" else distinct[chosen]
    return rows[first[chosen]], tuple(shown.tolist())


def _spread(counts: Array, most: int) -> Array:
    """Places of at most so many of the distinct values, which have so many rows each.

    Quantiles of the rows; where most rows share a few values, also of the distinct values, since a
    line through three points would say little of what lies between.
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
    """What is predicted, (n, K), the classes, and what it is."""
    if not is_classifier(model):
        return np.asarray(model.predict(X), dtype=float).reshape(X.shape[0], -1), (), "prediction"
    classes = np.asarray(model.classes_)
    names = tuple(classes.tolist())
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X)), names, "probability"
    said = np.asarray(model.predict(X))
    return (said[:, None] == classes).astype(float), names, "share predicted"
