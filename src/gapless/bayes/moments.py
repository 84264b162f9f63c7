"""Weights, means and squared deviations of the columns of each class: found, merged, downdated."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from .._validation import Training
from ..interrupt import check, deadline
from ..threads import thread_count
from .rests import left_over

Array = np.ndarray

# Numbers of the largest block that is computed at a time.
BLOCK = 1 << 20


@dataclass(frozen=True, eq=False)
class Moments:
    """What Gaussian densities need to know of the rows of each class.

    Parameters
    ----------
    count : ndarray of shape (classes, 1) or (classes, d)
        Weight of the rows, or of those that have a value in the column.
    mean : ndarray of shape (classes, d)
        Weighted means; 0 for a class without rows.
    squares : ndarray of shape (classes, d)
        Weighted sums of squared deviations from them.
    """

    count: Array
    mean: Array
    squares: Array

    @classmethod
    def of(cls, X: Array, y: Array, weights: Array, classes: int, *, has_missing=False) -> Moments:
        """Two passes over the rows of a dense X; with `has_missing` NaN is no value."""
        shape = (classes, X.shape[1])
        y = y.astype(np.int32, copy=False)
        sums, there = np.empty(shape), np.empty(shape) if has_missing else None
        _core.class_sums(X, y, weights, sums, there, thread_count(), deadline())
        counts = np.bincount(y, weights, classes)[:, None] if there is None else there
        mean = _ratio(sums, counts)
        squares, rests = np.empty(shape), np.empty(shape)
        _core.class_squares(X, y, weights, mean, squares, rests, thread_count(), deadline())
        # The mean of what is left is what rounding has done to the mean (Chan et al. 1983).
        shift = _ratio(rests, counts)
        return cls(counts, mean + shift, np.maximum(squares - rests * shift, 0.0))

    def __add__(self, other: Any) -> Moments:
        """The moments of two sets of rows together (Chan, Golub and LeVeque 1979)."""
        if not isinstance(other, Moments):
            return NotImplemented
        count = self.count + other.count
        step = other.mean - self.mean
        share = _ratio(other.count, count)
        mean = np.where(self.count > 0, self.mean + share * step, other.mean)
        squares = self.squares + other.squares + self.count * share * step**2
        return Moments(count, mean, squares)

    @property
    def variance(self) -> Array:
        """Variances within the classes, (classes, d); 0 for a class without rows."""
        return _ratio(self.squares, self.count)

    @property
    def overall(self) -> Moments:
        """The same of all rows as one class."""
        total = self.count.sum(axis=0, keepdims=True)
        mean = _ratio((self.count * self.mean).sum(axis=0, keepdims=True), total)
        squares = self.squares + self.count * (self.mean - mean) ** 2
        return Moments(total, mean, squares.sum(axis=0, keepdims=True))

    def growth(self, of: Array, weights: Array) -> Array:
        """How many times as far a row is from the mean of its class without it: N/(N − w)."""
        count = self.count[of]
        return _ratio(count, left_over(count, weights))

    def variance_without(self, of: Array, from_mean: Array, weights: Array) -> Array:
        """Variances (n, d) of the classes `of` without each of n rows.

        `from_mean` is how far the rows are from the mean of their class, (n, d), and `weights` what
        they weigh there, (n, 1).
        """
        taken = weights * self.growth(of, weights) * from_mean**2
        return _ratio(left_over(self.squares[of], taken), left_over(self.count[of], weights))


@dataclass(frozen=True, eq=False)
class Rest:
    """What is left of the moments of columns without each of n rows.

    Parameters
    ----------
    moments : Moments
        Of all rows.
    X : ndarray of shape (n, d)
        Rows of the fit, 0 where a value is missing.
    there : ndarray of bool, shape (n, d)
        Which values are not.
    own : ndarray of shape (n, classes)
        What the rows weigh in each class.
    spread, total : ndarray of shape (n, d)
        Variances and weights of all classes together without them.
    """

    moments: Moments
    X: Array
    there: Array
    own: Array
    spread: Array
    total: Array

    @classmethod
    def of(cls, moments: Moments, X: Array, own: Array) -> Rest:
        """Of rows of the fit, NaN being missing."""
        there = ~np.isnan(X)
        X = np.where(there, X, 0.0).astype(np.float64)
        whole, taken = moments.overall, own.sum(axis=1)[:, None] * there
        spread = whole.variance_without(np.zeros(len(X), dtype=int), X - whole.mean, taken)
        total = np.broadcast_to(left_over(whole.count, taken), X.shape)
        return cls(moments, X, there, own, spread, total)

    def count(self, k: int) -> Array:
        """What is left of the weight of class k, (n, d)."""
        taken = self.own[:, k : k + 1] * self.there
        return np.broadcast_to(left_over(self.moments.count[k], taken), self.X.shape)

    def gaussian(self, k: int) -> tuple[Array, Array]:
        """How far rows are from the mean of class k without them, and its variances, (n, d)."""
        moments, whole = self.moments, self.moments.overall
        away = self.X - moments.mean[k]
        variance = np.tile(moments.variance[k], (len(away), 1))
        rows = np.flatnonzero(self.own[:, k])
        of, taken = np.full(len(rows), k), self.own[rows, k : k + 1] * self.there[rows]
        variance[rows] = moments.variance_without(of, away[rows], taken)
        away[rows] *= moments.growth(of, taken)
        is_empty = self.count(k) <= 0
        if np.any(is_empty):
            taken = self.own.sum(axis=1)[:, None] * self.there
            growth = whole.growth(np.zeros(len(away), dtype=int), taken)
            away = np.where(is_empty, (self.X - whole.mean) * growth, away)
            variance = np.where(is_empty, self.spread, variance)
        return away, variance


def class_moments(data: Training) -> Moments:
    """The moments of training rows without missing values."""
    assert data.classes is not None
    return Moments.of(data.X, data.y, data.weights, len(data.classes))


def blocks(n: int, each: int) -> Iterator[slice]:
    """Stretches of rows whose arrays of so many numbers for each row are not too large."""
    step = max(BLOCK // max(each, 1), 1)
    for first in range(0, n, step):
        check()
        yield slice(first, first + step)


def _ratio(a: Array, b: Array) -> Array:
    """a/b, and 0 where b is 0."""
    return np.divide(a, b, out=np.zeros(np.broadcast_shapes(a.shape, b.shape)), where=b > 0)
