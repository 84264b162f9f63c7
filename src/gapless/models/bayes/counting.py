"""Counts and their logarithms: priors of classes, shares, and what remains without a row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ..._ground import core
from ..._ground.design import Design
from ..._ground.interrupt import deadline
from ..._ground.threads import thread_count

Array = np.ndarray


class Entries(NamedTuple):
    """The entries of X that are not 0: row, column and value of each; rows increase."""

    row: Array
    column: Array
    value: Array

    @classmethod
    def of(cls, X: Any) -> Entries:
        """The entries of a matrix, dense or sparse."""
        found = sp.coo_array(X.tocsr() if sp.issparse(X) else X)
        is_there = found.data != 0
        row, column = found.coords
        return cls(row[is_there], column[is_there], found.data[is_there].astype(np.float64))

    def sums(self, terms: Array, n: int) -> Array:
        """Sums of one term for each entry over the rows, (n,)."""
        return np.bincount(self.row, terms, n)


def log_positive(values: Array) -> Array:
    """log of values, −∞ for those that rounding may have left below 0."""
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(values, 0.0))


def log_ratio(part: Array, whole: Array, *, overwrite: bool = False) -> Array:
    """log(part/whole), −∞ where the part is 0, even if the whole is 0 as well.

    With `overwrite` the result may take the memory of the part.
    """
    if part.size and part.min() > 0:
        log = np.log(part, out=part if overwrite else None)
        log -= np.log(whole)
        return log
    with np.errstate(invalid="ignore"):
        log = log_positive(part) - log_positive(whole)
    return np.where(np.isnan(log), -np.inf, log)


def left_over(counts: Array, taken: Array) -> Array:
    """counts − taken, and 0 if that is only rounding."""
    left = counts - taken
    return np.where(left > 1e-12 * counts, left, 0.0)


@dataclass(frozen=True, eq=False)
class Priors:
    """How the probabilities of the classes follow from their weights.

    Parameters
    ----------
    given : ndarray of shape (classes,) or None
        Probabilities that do not depend on the data.
    extra : float
        What is added to the weight of each class before it is counted: 1 for Laplace's rule.
    """

    given: Array | None
    extra: float = 0.0

    @classmethod
    def read(cls, given: Any, classes: int, *, is_fitted: bool, is_smoothed: bool) -> Priors:
        """The priors that an estimator's parameters request, or an error."""
        if given is None:
            uniform = None if is_fitted else np.full(classes, 1.0 / classes)
            return cls(uniform, 1.0 if is_smoothed else 0.0)
        values = np.array(given, dtype=np.float64)
        if values.shape != (classes,):
            raise ValueError(
                f"Number of priors must match number of classes: got {values.size} for {classes}."
            )
        if np.any(values < 0) or not np.all(np.isfinite(values)):
            raise ValueError(f"Priors must be non-negative, got {values.tolist()}.")
        return cls(values)

    @classmethod
    def counted(cls, given: Any, classes: int, *, is_smoothed: bool) -> Priors:
        """Counted priors, smoothed or not, or given ones that sum to 1; or an error."""
        if is_smoothed and given is not None:
            raise ValueError(
                "smooth_prior=True needs priors counted from the data; leave out priors."
            )
        found = cls.read(given, classes, is_fitted=True, is_smoothed=is_smoothed)
        if found.given is not None and not np.isclose(found.given.sum(), 1.0):
            raise ValueError(
                f"The sum of the priors should be 1, got {found.given.sum():.6g}; divide by it."
            )
        return found

    def shares(self, count: Array) -> Array:
        """The probabilities, (classes,), from the weight of each class."""
        if self.given is not None:
            return self.given
        raised = count + self.extra
        return raised / raised.sum()

    def log(self, count: Array) -> Array:
        """Their logarithms; −∞ for a class without rows, unless it is given or smoothed."""
        with np.errstate(divide="ignore"):
            return np.log(self.shares(count))

    def log_without(self, count: Array, own: Array) -> Array:
        """Log priors (n, classes) after taking the weights `own` (n, classes) from the classes.

        A class of which nothing is left has −∞, whatever its prior: it would not be known.
        """
        left = left_over(count, own)
        raised = left + self.extra
        with np.errstate(divide="ignore"):
            if self.given is not None:
                log = np.tile(np.log(self.given), (len(own), 1))
            else:
                log = np.log(raised) - np.log(raised.sum(axis=1, keepdims=True))
        log[(left == 0) & (own > 0)] = -np.inf
        return log

    def costs(self, count: Array, log_prior: Array) -> tuple[float, float]:
        """−Σ w log π of stored log priors, and the least of any; w are the counts."""
        target = count.sum() * self.given if self.given is not None else count + self.extra
        return log_costs(target, log_prior, log_ratio(target, target.sum()))


def log_costs(weights: Array, stored: Array, best: Array) -> tuple[float, float]:
    """What stored log probabilities cost, Σ W eˡ − w l, W being the sums of w along the last axis.

    The second result is the least that any have: Σ w − w l, by Gibbs, with `best` = log(w/W) alone.
    Probabilities that do not sum to 1 also cost more.
    """
    totals = weights.sum(axis=-1)
    with np.errstate(over="ignore"):
        mass = float(np.sum(totals * np.exp(stored).sum(axis=-1)))
    least = _sum_of_logs(weights, best)
    found = least if stored is best else _sum_of_logs(weights, stored)
    return mass - found, float(totals.sum()) - least


def _sum_of_logs(weights: Array, log_p: Array) -> float:
    """Σ w l, where 0·(−∞) is 0."""
    if np.isfinite(log_p.min(initial=0.0)):
        return float(np.einsum("i,i->", weights.ravel(), log_p.ravel()))
    is_there = weights > 0
    return float(np.sum(weights[is_there] * log_p[is_there]))


def sums_by_class(X: Any, y: Array, weights: Array, classes: int) -> Array:
    """Σ weights·x over the rows of each class, (classes, d), float64."""
    sums = np.empty((classes, X.shape[1]))
    y = y.astype(np.int32, copy=False)
    if sp.issparse(X):
        X = X.tocsr()
        lines = X.indptr.astype(np.int64, copy=False), X.indices.astype(np.int32, copy=False)
        core.class_counts(*lines, X.data, y, weights, sums, thread_count(), deadline())
    else:
        core.class_sums(X, y, weights, sums, None, thread_count(), deadline())
    return sums


def sum_of_tables(one: Array, other: Array) -> Array:
    """The sum of two tables of counts; one may have more categories."""
    out = np.zeros((len(one), max(one.shape[1], other.shape[1])))
    out[:, : one.shape[1]] += one
    out[:, : other.shape[1]] += other
    return out


def products(X: Any, weights: Array) -> Array:
    """X·weightsᵀ, (n, classes), for finite weights (classes, d), in float64."""
    return Design(X).times(np.ascontiguousarray(weights.T))
