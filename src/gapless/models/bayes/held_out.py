"""Bayes classifiers without some of their rows: exactly, by subtracting a row from the counts."""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._ground.design import Design
from ...unseen import LARGE_ROWS, LARGE_SAMPLE, LARGE_WORK, NotAvailable, Refittable, Version, drawn
from .reading import only

Array = np.ndarray

# What stands for the logarithm of 0 in scores, which must be finite to be judged.
LOWEST = -1e300
# Entries times classes, beyond which a sample of the rows is left out: a few seconds for densities.
DEAR_WORK = 5e7


class BayesFit(Refittable):
    """A Bayes classifier with the data of its fit.

    Parameters
    ----------
    estimator : BayesClassifier
        The fitted classifier.
    data : Training
        The data of the fit.
    """

    has_classes = True
    ignores_shifts = True
    # Probabilities of independent features are too sure of themselves, which is no over-fitting.
    has_probabilities = False
    is_limited = True

    def __init__(self, estimator: Any, data: Any):
        super().__init__(Design(data.X), data.classes[data.y], data.weights)
        self.estimator, self.data = estimator, data

    @property
    def targets(self) -> Array:
        """Positions of the classes."""
        return self.data.y

    @property
    def outputs(self) -> int:
        """One score for each class."""
        return len(self.data.classes)

    @property
    def is_large(self) -> bool:
        """Whether leaving out every row takes a good part of a second."""
        return self.design.n > LARGE_ROWS or self.work > LARGE_WORK

    @property
    def work(self) -> float:
        """Entries times classes."""
        return self.design.density * self.design.n * self.design.d * self.outputs

    @cached_property
    def asked(self) -> Array:
        """The rows that are left out: all, or those of a sample of many units."""
        counted = np.flatnonzero(self.is_counted)
        if self.work <= DEAR_WORK:
            return counted
        chosen = drawn(self.units, LARGE_SAMPLE, self.targets)
        return counted[np.isin(self.units[counted], chosen)]

    @cached_property
    def labels(self) -> Array:
        """Numbers of the rows (x, y), the same for equal ones, by content."""
        return self._comparable.equal_rows(self.targets)

    @cached_property
    def same(self) -> Array:
        """Numbers of the rows x, the same for equal ones."""
        return self._comparable.equal_x

    @cached_property
    def _comparable(self) -> Design:
        """The rows with a number in place of NaN, which equals nothing."""
        X = self.design.X
        entries = X.data if sp.issparse(X) else X
        if not np.any(np.isnan(entries)):
            return self.design
        filled = np.where(np.isnan(entries), np.finfo(entries.dtype).max, entries)
        if sp.issparse(X):
            filled = type(X)((filled, X.indices, X.indptr), shape=X.shape)
        return Design(filled)

    @property
    def model(self):
        """The classifier of the fit."""
        return lambda design: bounded(self.estimator._joint(design.X))

    @cached_property
    def predictions(self) -> Array:
        """Its scores of its own rows, (n, classes); NaN for those that are not asked for."""
        return self._spread(self.model(self.design.rows(self.asked)))

    def fit_to(self, rows):
        """The same of some rows; classes that are not among them are never predicted."""
        rows = rows[self.weights[rows] > 0]
        y, K = self.data.y[rows], self.outputs
        is_absent = self.estimator._is_unknown(
            np.bincount(y, minlength=K), np.bincount(y, self.weights[rows], K)
        )
        part = only(self.data, rows[~is_absent[y]])
        twin = copy.copy(self.estimator)
        try:
            vars(twin).update(self.estimator._learn(part))
        except np.linalg.LinAlgError as error:
            raise NotAvailable(f"a fit without some rows fails: {error}") from error

        def predict(design: Design) -> Array:
            z = bounded(twin._joint(design.X))
            z[:, is_absent] = LOWEST
            return z

        return predict

    def held_out(self, groups):
        """Each x by the counts less those of all its rows; NaN for rows that are not asked for."""
        if groups is not None:
            raise NotAvailable("leaving groups out takes refits")
        asked = self.asked
        _, first, unit = np.unique(self.units[asked], return_index=True, return_inverse=True)
        own = np.zeros((len(first), self.outputs))
        np.add.at(own, (unit, self.targets[asked]), self.weights[asked])
        found = self.estimator._without_each(self.design.X[asked[first]], own, self.data)
        return self._spread(bounded(found)[unit])

    def _spread(self, of_asked: Array) -> Array:
        """Scores of the rows that were asked for among all, NaN for the others."""
        z = np.full((len(self.y), self.outputs), np.nan)
        z[self.asked] = of_asked
        return z

    def without_each(self, rows):
        """Not known in a form that is cheaper than folds."""
        raise NotAvailable("leaving a row out takes refits, so folds are used")

    def of(self, estimator: Any) -> BayesFit:
        """The same rows with another classifier that was fitted to them."""
        twin = copy.copy(self)
        twin.estimator = estimator
        return twin

    def simpler(self):
        """More smoothing."""
        return [self._smoothed]

    def richer(self):
        """Less smoothing."""
        return [lambda step: self._smoothed(-step)]

    def _smoothed(self, step: int) -> Version | None:
        """The same with more smoothing, or with less for a negative step."""
        found = self.estimator._smoothed(step)
        if found is None:
            return None
        name, other = found
        try:
            vars(other).update(other._learn(only(self.data, np.flatnonzero(self.is_counted))))
        except np.linalg.LinAlgError:
            return None
        return Version(type(self)(other, self.data), name)


def bounded(z: Array) -> Array:
    """Scores with finite numbers in place of −∞ and ∞."""
    return np.clip(z, LOWEST, -LOWEST)
