"""The rows that an evaluation draws from: what belongs together, and how it is split."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.utils import _safe_indexing

from .._ground.design import Design
from .._ground.interrupt import check
from .._ground.tables import readable, refuse_equal_names
from .._ground.weighted_fits import weight_options
from ..unseen import counted_labels, dealt, drawn, mean_and_error, splits, time_windows

# Shared by the docstrings of most functions here.
RESAMPLED = """
model : estimator
    Any model with scikit-learn's methods; copies are fitted.
X, y : array-like
    All rows; X may be sparse, or a table of pandas or polars.
k : int
    The number of folds, and of fits for each model that is tried.
sample_weight : array-like of shape (n,)
    How much each row counts, in fits and scores.
scoring : str or callable
    Any scorer of scikit-learn; None is accuracy for classifiers and R² for others.
groups : array-like of shape (n,)
    Labels of rows that are never split.
time : array-like of shape (n,)
    When each row was seen: rows are predicted from earlier ones.
on_progress : callable
    Called before each model with its name, its place from 0, and the number of models.
random_state : int
    Seed of the draws.
"""

Array = np.ndarray

Split = tuple[Array, Array]


@dataclass(frozen=True, eq=False)
class Rows:
    """Data, targets and weights, and which rows are drawn together.

    Parameters
    ----------
    X : array-like, sparse matrix or table of n rows
        The features, passed to models unchanged.
    y : ndarray of shape (n,) or (n, K)
        Targets.
    weights : ndarray of shape (n,) or None
        How much each row counts; None if all count the same and models are fitted without weights.
    groups, time : ndarray of shape (n,) or None
        Labels of rows that belong together; when each row was seen.
    """

    X: Any
    y: Array
    weights: Array | None
    groups: Array | None = None
    time: Array | None = None

    @classmethod
    def read(
        cls, X: Any, y: Any, sample_weight: Any = None, groups: Any = None, time: Any = None
    ) -> Rows:
        """The rows of a caller, if their lengths agree and there are at least two."""
        X = readable(X, lambda: True)
        X = X if hasattr(X, "shape") else np.asarray(X)
        refuse_equal_names(X)
        n, y = X.shape[0], np.asarray(y)
        y = y[:, 0] if y.ndim == 2 and y.shape[1] == 1 else y
        if groups is not None and time is not None:
            raise ValueError("groups and time cannot both be given; choose one.")
        labels = {
            name: None if of is None else np.asarray(of)
            for name, of in {"sample_weight": sample_weight, "groups": groups, "time": time}.items()
        }
        for name, of in {"y": y, **labels}.items():
            if of is not None and (of.ndim == 0 or len(of) != n or (name != "y" and of.ndim != 1)):
                raise ValueError(f"{name} has shape {of.shape}, but X has {n} rows.")
        for name in ("groups", "time"):
            _need_all(labels[name], name)
        weights = labels["sample_weight"]
        if weights is not None:
            weights = weights.astype(float)
            if not np.all(np.isfinite(weights)) or np.any(weights < 0) or not np.any(weights):
                raise ValueError("sample_weight must be finite, ≥ 0, and not 0 everywhere.")
        rows = cls(X, y, weights, labels["groups"], labels["time"])
        if rows.units.max(initial=-1) < 1:
            raise ValueError("at least two distinct rows, or groups, are needed to hold some out.")
        return rows

    def __len__(self) -> int:
        return self.X.shape[0]

    @cached_property
    def is_counted(self) -> Array:
        """Which rows have any weight."""
        return np.ones(len(self), dtype=bool) if self.weights is None else self.weights > 0

    @cached_property
    def counts(self) -> Array:
        """How much each row counts in a score."""
        return np.ones(len(self)) if self.weights is None else self.weights

    @cached_property
    def units(self) -> Array:
        """What is drawn at a time: a distinct x or a group, 0, 1, … by content; −1 if weightless.

        Equal rows stay together, so that weight 2 is the row twice and no model is scored on a row
        that it has learned.
        """
        if self.groups is not None:
            return counted_labels(np.unique(self.groups, return_inverse=True)[1], self.is_counted)
        return counted_labels(Design(_as_numbers(self.X)).equal_x, self.is_counted)

    @cached_property
    def unit_count(self) -> int:
        """How many units there are."""
        return int(self.units.max()) + 1

    def strata(self, model: Any) -> Array | None:
        """The classes, by which every part is stratified."""
        return self.y if is_classifier(model) and self.y.ndim == 1 else None

    def classes(self, model: Any) -> Array | None:
        """All classes of the rows with weight, if there are classes."""
        strata = self.strata(model)
        return None if strata is None else np.unique(strata[self.is_counted])

    def take(self, rows: Array) -> Any:
        """Some rows of X, of the same type."""
        return _safe_indexing(self.X, rows)

    def fit(self, model: Any, rows: Array) -> Any:
        """A copy of the model, fitted to some of the rows; those without weight are left out."""
        check()
        rows = rows[self.is_counted[rows]]
        weights = None if self.weights is None else self.weights[rows]
        options = weight_options(model, weights)
        return clone(model).fit(self.take(rows), self.y[rows], **options)

    def by_unit(self, values: Array, rows: Array) -> tuple[Array, Array]:
        """The weighted mean of the values (r, m) of some rows over each unit, and its weight."""
        of_row = np.unique(self.units[rows], return_inverse=True)[1]
        weights = self.counts[rows]
        total = np.bincount(of_row, weights)
        sums = [np.bincount(of_row, weights * column) for column in values.T]
        return np.column_stack(sums) / total[:, None], total

    def standard_error(self, values: Array, rows: Array) -> float:
        """The standard error of the weighted mean of a value of some rows, over units."""
        of_unit = np.unique(self.units[rows], return_inverse=True)[1]
        return float(mean_and_error(values, self.counts[rows], of_unit)[1])

    def shuffled(self, model: Any, seed: int) -> Array:
        """All units in a seeded order in which every stretch has its share of each class."""
        order = drawn(self.units, self.unit_count, self.strata(model))
        if seed == 0:
            return order
        again = np.random.default_rng(seed).permutation(self.unit_count)
        renamed = np.where(self.units >= 0, again[self.units], -1)
        return np.argsort(again)[drawn(renamed, self.unit_count, self.strata(model))]

    def folds(self, model: Any, k: int, seed: int = 0) -> list[Split]:
        """Pairs (train, test) of rows: k parts in turn, or by time each part after its past."""
        if not isinstance(k, Integral) or k < 2:
            raise ValueError(f"k must be a whole number ≥ 2, got {k!r}.")
        if self.time is not None:
            return list(self._forward(self.time, k))
        if k > self.unit_count:
            raise ValueError(
                f"{k} folds need at least {k} distinct rows or groups, and there are "
                f"{self.unit_count}; lower k."
            )
        return splits(dealt(self.units, k, order=self.shuffled(model, seed)))

    def hold_out(self, model: Any, part: float, seed: int = 0) -> Split:
        """Rows to learn from, and those of a part of the units, or of the latest rows."""
        if self.time is not None:
            return self._latest(self.time, part)
        count = min(max(round(part * self.unit_count), 1), self.unit_count - 1)
        is_held = np.zeros(self.unit_count, dtype=bool)
        is_held[self.shuffled(model, seed)[:count]] = True
        return self.split(is_held)

    def _latest(self, time: Array, part: float) -> Split:
        moments, moment = np.unique(time, return_inverse=True)
        past = np.cumsum(np.bincount(moment, self.counts, len(moments)))
        # Equal moments are all held out, or none; rounding adds none.
        first = np.searchsorted(past, (1 - part) * past[-1] * (1 + 1e-12), side="right")
        late = moment >= min(first, moment[self.is_counted].max())
        if not np.any(~late & self.is_counted):
            raise ValueError("no row comes before the held-out ones; hold out a smaller part.")
        return np.flatnonzero(~late & self.is_counted), np.flatnonzero(late & self.is_counted)

    def split(self, is_held: Array) -> Split:
        """The rows of the other units, and of those that are held out."""
        held = np.where(self.units >= 0, is_held[self.units], False)
        return np.flatnonzero((self.units >= 0) & ~held), np.flatnonzero(held)

    def _forward(self, time: Array, k: int) -> Iterator[Split]:
        window = time_windows(time, self.counts, k + 1)
        if window[self.is_counted].max() < 1:
            raise ValueError(
                "all rows have the same time, so none comes before another; leave time out."
            )
        for now in np.unique(window[self.is_counted])[1:]:
            past = (window < now) & self.is_counted
            yield np.flatnonzero(past), np.flatnonzero((window == now) & self.is_counted)


def _need_all(labels: Array | None, name: str) -> None:
    """Refuse rows without a group or a time."""
    if labels is None:
        return
    missing = np.flatnonzero(labels != labels)
    if labels.dtype.kind == "O":
        missing = np.flatnonzero([label is None or label != label for label in labels.tolist()])
    if len(missing):
        raise ValueError(f"{name} is missing in row {missing[0]}; fill it in, or drop the row.")


def _as_numbers(X: Any) -> Any:
    """Numbers that are equal where the values of X are, missing ones being equal to each other."""
    if sp.issparse(X):
        return X.tocsr().astype(np.float64)
    if isinstance(X, np.ndarray) and X.dtype.kind in "fiub" and np.all(np.isfinite(X)):
        return X.reshape(len(X), -1).astype(np.float64)
    if hasattr(X, "columns"):
        # By place, since two columns may have the same name.
        column = X.iloc.__getitem__ if hasattr(X, "iloc") else X.__getitem__
        columns = [np.asarray(column((slice(None), j))) for j in range(X.shape[1])]
    else:
        columns = list(np.asarray(X).reshape(len(X), -1).T)
    return np.column_stack([_numbered(column) for column in columns])


def _numbered(values: Array) -> Array:
    """Numbers unchanged; else the rank of each value among the distinct ones."""
    if values.dtype.kind not in "fiubmM":
        values = np.array([str(value) for value in values])
    elif values.dtype.kind in "fiub" and np.all(np.isfinite(values)):
        return values.astype(np.float64)
    return np.unique(values, return_inverse=True)[1].astype(np.float64)
