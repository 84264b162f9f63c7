"""Choosing the pseudo-counts of naive Bayes by leave-one-out.

A row is left out by taking it off the counts, exactly, so that a value costs no more than to
predict all rows. Values are decades apart, go on where the scores still rise, and end with two
beside the best.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._ground.interrupt import check
from ...unseen import (
    LARGE_SAMPLE,
    Choice,
    Distinct,
    Search,
    drawn,
    mean_and_error,
)
from ._base import normalised
from .held_out import BayesFit
from .reading import only

Array = np.ndarray

# What decides: minus the log loss, or the accuracy where scores are no logarithms of probabilities.
LOG_LOSS, ACCURACY = "neg_log_loss", "accuracy"
# The first values, the largest first. A search goes on beyond them, up to so far, where the last
# decade has brought more than this part of a standard error.
FIRST, LARGEST, SMALLEST, GAIN = (1.0, 0.1, 0.01), 1e3, 1e-6, 0.1
# Entries times classes of rows that are left out, a fifth of a second for each value; more rows are
# a sample, but for so many that always are.
MOST_WORK = 1e7


def choose_alpha(model: Any, data: Any) -> Choice:
    """The pseudo-count with which rows that are left out are predicted best.

    Parameters
    ----------
    model : CountBayes
        The classifier.
    data : Training
        The rows.

    Returns
    -------
    Choice

    Raises
    ------
    TimeLimit, KeyboardInterrupt
        There is no model yet that could be kept.
    """
    held = _HeldOut(model, data)
    for alpha in _wanted(held):
        check()
        held.add(alpha)
    return held.choice()


def _wanted(held: _HeldOut) -> Iterator[float]:
    """The values to try, one after the other, by what has been seen so far."""
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
        # In the order of their content, so that sums have the same bits whatever that of the rows.
        self.rows = rows[np.argsort(self.fit.units[rows], kind="stable")]
        if not len(self.rows):
            raise ValueError(
                f'{type(model).__name__} cannot choose alpha="loo" from n_samples = '
                f"{len(data.y)}: no class has two distinct rows, so none can be left out; give a "
                "number."
            )
        self.fit.asked = self.rows
        self.units = Distinct.by(self.fit.units[self.rows], data.weights[self.rows])
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
        """Those whose class has other rows: of one that is gone nobody can know anything."""
        weights, K = self.data.weights, len(self.data.classes)
        of_class = np.bincount(self.data.y, weights, K)
        _, place = np.unique(self.fit.units[rows], return_inverse=True)
        own = np.bincount(place * K + self.data.y[rows], weights[rows], (place.max() + 1) * K)
        left = of_class[self.data.y[rows]] - own[place * K + self.data.y[rows]]
        return rows[left > 0.5 * weights[self.fit.is_counted].min()]

    @property
    def best(self) -> float:
        """The value with the best score; of equal ones that nearest to Laplace's rule."""
        return max(self.means, key=lambda alpha: (self.means[alpha], -abs(np.log10(alpha))))

    def add(self, alpha: float) -> None:
        """Leave out the rows of each unit, with so much added to all counts."""
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

    def choice(self) -> Choice:
        """The best value, and all that was tried."""
        alphas = sorted(self.means, reverse=True)
        by, right = (
            np.column_stack([scores[alpha] for alpha in alphas]) for scores in (self.by, self.right)
        )
        search = Search(
            values={"alpha": np.array(alphas)},
            unseen=np.array([self.means[alpha] for alpha in alphas]),
            standard_errors=np.array([self.errors[alpha] for alpha in alphas]),
            rows=np.full(len(alphas), len(by)),
            chosen=alphas.index(self.best),
            metric=self.model._tuned_by,
        )
        is_whole = len(self.rows) == np.count_nonzero(self.fit.is_counted)
        return Choice(search, right, by, self.units.weights, is_whole)
