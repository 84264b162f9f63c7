"""Bayes classifiers without some of their rows: exactly, by subtracting a row from the counts.

So the pseudo-counts of naive Bayes are chosen by leave-one-out, at the price of one prediction of
all rows for each value. Values are decades apart, continue while the scores still rise, and end
with two next to the best.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._ground.design import Design
from ..._ground.interrupt import check
from ..._ground.validation import (
    Training,
)
from ...unseen import (
    LARGE_ROWS,
    LARGE_SAMPLE,
    LARGE_WORK,
    MergedRows,
    NotAvailable,
    Refittable,
    ScoredChoice,
    Version,
    drawn,
    mean_and_error,
)

Array = np.ndarray

# Used for the logarithm of 0 in scores, which must be finite to be scored.
LOWEST = -1e300
# Entries times classes beyond which only a sample of rows is left out: a few seconds for densities.
MUCH_WORK = 5e7


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
    # Probabilities that assume independent features are overconfident, which is not over-fitting.
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
        """Whether leaving out every row takes most of a second."""
        return self.design.n > LARGE_ROWS or self.work > LARGE_WORK

    @property
    def work(self) -> float:
        """Entries times classes."""
        return self.design.density * self.design.n * self.design.d * self.outputs

    @cached_property
    def tested(self) -> Array:
        """The rows to leave out: all, or those of a sample of many units."""
        counted = np.flatnonzero(self.is_counted)
        if self.work <= MUCH_WORK:
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
        """Its scores for its training rows, (n, classes); NaN for those that are not tested."""
        return self._spread(self.model(self.design.rows(self.tested)))

    def fit_to(self, rows):
        """The same for some rows; classes that are not among them are never predicted."""
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
        """Each x by the counts minus those of all its rows; NaN for rows that are not tested."""
        if groups is not None:
            raise NotAvailable("leaving groups out takes refits")
        tested = self.tested
        _, first, unit = np.unique(self.units[tested], return_index=True, return_inverse=True)
        own = np.zeros((len(first), self.outputs))
        np.add.at(own, (unit, self.targets[tested]), self.weights[tested])
        found = self.estimator._without_each(self.design.X[tested[first]], own, self.data)
        return self._spread(bounded(found)[unit])

    def _spread(self, of_tested: Array) -> Array:
        """Scores of the tested rows among all, NaN for the others."""
        z = np.full((len(self.y), self.outputs), np.nan)
        z[self.tested] = of_tested
        return z

    def without_each(self, rows):
        """There is no formula that is cheaper than folds."""
        raise NotAvailable("leaving a row out takes refits, so folds are used")

    def of(self, estimator: Any) -> BayesFit:
        """The same rows with another classifier fitted to them."""
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


def normalised(z: Array) -> Array:
    """Logarithms of probabilities that sum to 1, from scores (n, classes)."""
    z = bounded(z)
    rows, best = np.arange(len(z)), z.argmax(axis=1)
    z = z - z[rows, best, None]
    # log Σ eᶻ with the largest z = 0 left out of the sum, so that small probabilities are not lost.
    others = np.exp(z)
    others[rows, best] = 0.0
    return z - np.log1p(others.sum(axis=1, keepdims=True))


def only(data: Training, rows: Array) -> Training:
    """Some of the rows, by increasing number; all of them without a copy."""
    if len(rows) == len(data.y):
        return data
    return replace(
        data,
        X=data.X[rows],
        y=data.y[rows],
        sample_weight=data.sample_weight[rows],
        weights=data.weights[rows],
    )


# What decides: minus the log loss, or the accuracy where scores are not log probabilities.
LOG_LOSS, ACCURACY = "neg_log_loss", "accuracy"
# The first values, the largest first. A search continues beyond them, up to these limits, where the
# last decade has gained more than this part of a standard error.
FIRST, LARGEST, SMALLEST, GAIN = (1.0, 0.1, 0.01), 1e3, 1e-6, 0.1
# Entries times classes of the rows that are left out, a fifth of a second for each value; beyond
# that, a sample of the rows is.
MOST_WORK = 1e7


def choose_alpha(model: Any, data: Any) -> ScoredChoice:
    """The pseudo-count with which rows that are left out are predicted best.

    Parameters
    ----------
    model : CountBayes
        The classifier.
    data : Training
        The rows.

    Returns
    -------
    ScoredChoice

    Raises
    ------
    TimeLimit, KeyboardInterrupt
        There is no model to keep yet.
    """
    held = _HeldOut(model, data)
    for alpha in _wanted(held):
        check()
        held.add(alpha)
    return held.choice()


def _wanted(held: _HeldOut) -> Iterator[float]:
    """The values to try in turn, given the results so far."""
    yield from FIRST
    while (further := _further(held)) is not None:
        yield further
    yield from (held.best / math.sqrt(10), held.best * math.sqrt(10))


def _further(held: _HeldOut) -> float | None:
    """The value a decade beyond the best, if that is at an end and still gaining, else None."""
    best, tried = held.best, sorted(held.means)
    enough = held.means[best] - GAIN * held.errors[best]
    if best == tried[0] and best > SMALLEST and held.means[tried[1]] < enough:
        return best / 10
    if best == tried[-1] and best < LARGEST and held.means[tried[-2]] < enough:
        return best * 10
    return None


class _HeldOut:
    """Scores of rows that are left out, for each value so far."""

    def __init__(self, model: Any, data: Any):
        self.model, self.data = model, data
        self.fit = BayesFit(model, data)
        rows = self._known(self._some())
        # In the order of their content, so that sums have the same bits in any order of the rows.
        self.rows = rows[np.argsort(self.fit.units[rows], kind="stable")]
        if not len(self.rows):
            raise ValueError(
                f'{type(model).__name__} cannot choose alpha="loo" from n_samples = '
                f"{len(data.y)}: no class has two distinct rows, so none can be left out; give a "
                "number."
            )
        self.fit.tested = self.rows
        self.units = MergedRows.by(self.fit.units[self.rows], data.weights[self.rows])
        self.counts = model._count(only(data, np.flatnonzero(self.fit.is_counted)))
        self.by: dict[float, Array] = {}
        self.right: dict[float, Array] = {}
        self.means: dict[float, float] = {}
        self.errors: dict[float, float] = {}

    def _some(self) -> Array:
        """The rows of all units, or of a sample of many."""
        fit = self.fit
        count = int(fit.units.max()) + 1
        most = max(int(count * min(MOST_WORK / max(fit.work, 1.0), 1.0)), LARGE_SAMPLE)
        is_drawn = np.zeros(count + 1, dtype=bool)
        is_drawn[drawn(fit.units, min(count, most), fit.targets)] = True
        # Rows without weight are in unit −1, the last.
        return np.flatnonzero(is_drawn[fit.units])

    def _known(self, rows: Array) -> Array:
        """Those whose class has other rows: nothing can be known of a class that is gone."""
        weights, K = self.data.weights, len(self.data.classes)
        of_class = np.bincount(self.data.y, weights, K)
        _, place = np.unique(self.fit.units[rows], return_inverse=True)
        own = np.bincount(place * K + self.data.y[rows], weights[rows], (place.max() + 1) * K)
        left = of_class[self.data.y[rows]] - own[place * K + self.data.y[rows]]
        return rows[left > 0.5 * weights[self.fit.is_counted].min()]

    @property
    def best(self) -> float:
        """The value with the best score; among equal ones the nearest to Laplace's rule."""
        return max(self.means, key=lambda alpha: (self.means[alpha], -abs(np.log10(alpha))))

    def add(self, alpha: float) -> None:
        """Leave out the rows of each unit, with alpha added to all counts."""
        model = self.model._at(alpha=alpha)
        vars(model).update(
            model._from(self.counts, self.data),
            classes_=self.data.classes,
            n_features_in_=self.fit.design.d,
        )
        log_p = normalised(self.fit.of(model).held_out(None)[self.rows])
        y, weights = self.data.y[self.rows], self.data.weights[self.rows]
        right = np.asarray(np.argmax(log_p, axis=1) == y, dtype=float)
        by = log_p[np.arange(len(y)), y] if self.model._tuned_by == LOG_LOSS else right
        by, right = self.units.means(np.column_stack([by, right]), weights).T
        self.by[alpha], self.right[alpha] = by, right
        self.means[alpha], self.errors[alpha] = mean_and_error(by, self.units.weights)

    def choice(self) -> ScoredChoice:
        """The best value, and everything tried."""
        alphas = sorted(self.means, reverse=True)
        by, right = (
            np.column_stack([scores[alpha] for alpha in alphas]) for scores in (self.by, self.right)
        )
        return ScoredChoice.of(
            {"alpha": np.array(alphas)},
            right,
            by,
            self.units.weights,
            metric=self.model._tuned_by,
            chosen=alphas.index(self.best),
            is_whole=len(self.rows) == np.count_nonzero(self.fit.is_counted),
        )
