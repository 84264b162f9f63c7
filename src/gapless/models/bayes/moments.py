"""Moments of the columns of each class, computed, merged and downdated, and Gaussian densities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..._ground import core
from ..._ground.interrupt import check, deadline
from ..._ground.memory import blocks
from ..._ground.stored import Declaration, Numbers
from ..._ground.threads import thread_count
from ..._ground.validation import Training
from .counting import left_over

Array = np.ndarray

# Densities go through arrays entry by entry, which is fastest while these stay in the cache: in
# blocks a 64th as large as those for products (about 1.5 times as fast for kernel densities).
IN_CACHE = 64
# Where less than this part of the squares is left, rounding has a visible share of it.
LOST = 1e-4


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

    _stored: ClassVar[Declaration] = {
        "mean": Numbers("classes", "features"),
        "count": Numbers("classes", "features", low=0) | Numbers("classes", 1, low=0),
        "squares": Numbers("classes", "features", low=0.0),
    }
    count: Array
    mean: Array
    squares: Array

    @classmethod
    def of(cls, X: Array, y: Array, weights: Array, classes: int, *, has_missing=False) -> Moments:
        """Two passes over the rows of a dense X; with `has_missing`, NaN is a missing value."""
        shape = (classes, X.shape[1])
        y = y.astype(np.int32, copy=False)
        sums, there = np.empty(shape), np.empty(shape) if has_missing else None
        core.class_sums(X, y, weights, sums, there, thread_count(), deadline())
        counts = np.bincount(y, weights, classes)[:, None] if there is None else there
        mean = _ratio(sums, counts)
        squares, rests = np.empty(shape), np.empty(shape)
        core.class_squares(X, y, weights, mean, squares, rests, thread_count(), deadline())
        # The mean of the remainder is the rounding error of the mean (Chan et al. 1983).
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
        """How many times farther a row is from the mean of its class without it: N/(N − w)."""
        count = self.count[of]
        return _ratio(count, left_over(count, weights))

    def variance_without(self, of: Array, from_mean: Array, weights: Array) -> tuple[Array, Array]:
        """Variances (n, d) of the classes `of` without each of n rows, and which are unknown.

        `from_mean` is the distance of the rows from the mean of their class, (n, d), and `weights`
        their weight there, (n, d). For a row with nearly all of the squares, the difference is only
        rounding.
        """
        squares, left = self.squares[of], left_over(self.count[of], weights)
        rest = left_over(squares, weights * self.growth(of, weights) * from_mean**2)
        return _ratio(rest, left), (rest < LOST * squares) & (left > 0)


@dataclass(frozen=True, eq=False)
class RowMoments:
    """The moments of some rows, and how many rows they are; those of two sets add up."""

    rows: int
    moments: Moments

    def __add__(self, other: RowMoments) -> RowMoments:
        return RowMoments(self.rows + other.rows, self.moments + other.moments)


@dataclass(frozen=True, eq=False)
class Sample:
    """The rows behind the moments: X (n, d) with NaN for missing values, classes and weights."""

    X: Array
    y: Array
    weights: Array

    def mend(
        self, variance: Array, is_lost: Array, x: Array, taken: Array, k: int | None = None
    ) -> None:
        """Recompute unknown variances (q, d) from all rows except one.

        They are those of class k, or of all classes, without each row of x (q, d), whose weights
        are `taken`, (q,).
        """
        lost = np.flatnonzero(is_lost.any(axis=1))
        if not len(lost):
            return
        rows = np.flatnonzero((self.weights > 0) & ((self.y == k) if k is not None else True))
        for i in lost:
            check()
            columns = np.flatnonzero(is_lost[i])
            values = self.X[np.ix_(rows, columns)].astype(np.float64)
            variance[i, columns] = _variances_without(
                values, self.weights[rows], x[i, columns], taken[i]
            )


@dataclass(frozen=True, eq=False)
class Rest:
    """What is left of the moments of columns without each of n rows.

    Parameters
    ----------
    sample : Sample
        All rows.
    moments : Moments
        Theirs.
    X : ndarray of shape (n, d)
        Rows of the fit, 0 where a value is missing.
    there : ndarray of bool, shape (n, d)
        Which values are not.
    own : ndarray of shape (n, classes)
        What the rows weigh in each class.
    spread, total : ndarray of shape (n, d)
        Variances and weights of all classes together without them.
    """

    sample: Sample
    moments: Moments
    X: Array
    there: Array
    own: Array
    spread: Array
    total: Array

    @classmethod
    def of(cls, sample: Sample, moments: Moments, X: Array, own: Array) -> Rest:
        """For rows of the fit, NaN being missing."""
        there = ~np.isnan(X)
        X = np.where(there, X, 0.0).astype(np.float64)
        whole, weights = moments.overall, own.sum(axis=1)
        taken = weights[:, None] * there
        of = np.zeros(len(X), dtype=int)
        spread, is_lost = whole.variance_without(of, X - whole.mean, taken)
        sample.mend(spread, is_lost & there, X, weights)
        total = np.broadcast_to(left_over(whole.count, taken), X.shape)
        return cls(sample, moments, X, there, own, spread, total)

    def count(self, k: int) -> Array:
        """The remaining weight of class k, (n, d)."""
        taken = self.own[:, k : k + 1] * self.there
        return np.broadcast_to(left_over(self.moments.count[k], taken), self.X.shape)

    def gaussian(self, k: int) -> tuple[Array, Array]:
        """Distances of rows from the mean of class k without them, and its variances, (n, d)."""
        moments, whole = self.moments, self.moments.overall
        away = self.X - moments.mean[k]
        variance = np.tile(moments.variance[k], (len(away), 1))
        rows = np.flatnonzero(self.own[:, k])
        of, taken = np.full(len(rows), k), self.own[rows, k : k + 1] * self.there[rows]
        found, is_lost = moments.variance_without(of, away[rows], taken)
        self.sample.mend(found, is_lost & self.there[rows], self.X[rows], self.own[rows, k], k)
        variance[rows] = found
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


def _variances_without(values: Array, weights: Array, x: Array, taken: float) -> Array:
    """Variances of the columns of values (n, d) without rows x (d,) of the weight `taken`."""
    there = ~np.isnan(values)
    left = np.where(there, weights[:, None], 0.0)
    is_same = values == x
    same = np.where(is_same, left, 0.0).sum(axis=0)
    left *= np.where(is_same, _ratio(left_over(same, np.full_like(same, taken)), same), 1.0)
    total, values = left.sum(axis=0), np.where(there, values, 0.0)
    away = values - _ratio((left * values).sum(axis=0), total)
    return _ratio((left * away**2).sum(axis=0), total)


def _ratio(a: Array, b: Array) -> Array:
    """a/b, and 0 where b is 0."""
    return np.divide(a, b, out=np.zeros(np.broadcast_shapes(a.shape, b.shape)), where=b > 0)


LOG_TWO_PI = float(np.log(2 * np.pi))
# Smaller variances have no inverse in float64, and count as 0.
TINY = float(np.finfo(np.float64).tiny)


def log_densities(X: Array, mean: Array, variance: Array, *, has_missing: bool = False) -> Array:
    """Σⱼ log N(xⱼ; μ_cj, σ²_cj) of rows and classes, (n, classes); with `has_missing`, without NaN.

    A variance of 0 puts all its probability at the mean: any other value is impossible.
    """
    is_point = variance < TINY
    precision = np.divide(1.0, variance, out=np.zeros_like(variance), where=~is_point)
    log = LOG_TWO_PI - np.log(np.where(is_point, 1.0, precision))
    out = np.empty((len(X), len(mean)))
    offsets = log if has_missing else None
    core.class_distances(X, mean, precision, offsets, out, thread_count(), deadline())
    out *= -0.5
    if not has_missing:
        out -= 0.5 * log.sum(axis=1)
    for k, j in np.argwhere(is_point):
        out[(X[:, j] != mean[k, j]) & ~np.isnan(X[:, j]), k] = -np.inf
    return out


def densities_without(
    sample: Sample, moments: Moments, smoothing: float, X: Array, own: Array
) -> Array:
    """The same for rows of the fit without themselves; `own` (n, classes) are their weights."""
    out = np.empty(own.shape)
    for rows in blocks(len(X), IN_CACHE * X.shape[1] * own.shape[1]):
        rest = Rest.of(sample, moments, X[rows], own[rows])
        epsilon = smoothing * np.max(rest.spread, axis=1, keepdims=True)
        for k in range(own.shape[1]):
            away, variance = rest.gaussian(k)
            out[rows, k] = log_density(away, variance + epsilon, rest.there)
    return out


def log_density(away: Array, variance: Array, there: Array | bool = True) -> Array:
    """Σⱼ log N(away; 0, variance) along rows, over the columns `there`."""
    is_point = variance < TINY
    safe = np.where(is_point, 1.0, variance)
    terms = LOG_TWO_PI + np.where(is_point, 0.0, np.log(safe) + away**2 / safe)
    density = -0.5 * np.where(there, terms, 0.0).sum(axis=1)
    return np.where(np.any(there & is_point & (away != 0), axis=1), -np.inf, density)


def deviance(spread: Array, variance: Array) -> Array:
    """log v + s/v, which is least at v = s; 0 where both are 0."""
    is_point = variance < TINY
    safe = np.where(is_point, 1.0, variance)
    return np.where(is_point, np.where(spread >= TINY, np.inf, 0.0), np.log(safe) + spread / safe)
