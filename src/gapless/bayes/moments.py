"""Weights, means and squared deviations of the columns of each class: found, merged, downdated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..interrupt import deadline
from ..threads import thread_count
from .rests import left_over

Array = np.ndarray


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
        sums, counts = np.empty(shape), np.empty(shape) if has_missing else None
        _core.class_sums(X, y, weights, sums, counts, thread_count(), deadline())
        if counts is None:
            counts = np.bincount(y, weights, classes)[:, None]
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


def _ratio(a: Array, b: Array) -> Array:
    """a/b, and 0 where b is 0."""
    return np.divide(a, b, out=np.zeros(np.broadcast_shapes(a.shape, b.shape)), where=b > 0)
