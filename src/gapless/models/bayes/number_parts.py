"""Parts of naive Bayes for columns of numbers: a Gaussian for each class, or a kernel density.

The methods are those of the parts in `count_parts`. NaN is a missing value and adds nothing; of a
class without any value in a column the density is that of all classes together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from ..._ground.stored import Declaration, Each, Number, Numbers, Value
from .gaussian import LOG_TWO_PI, densities_without, deviance, log_densities
from .moments import Moments, Rest, Sample, blocks
from .rests import left_over

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Gaussians:
    """A Gaussian for each class and column; `smoothing` is as `var_smoothing` of GaussianNB."""

    _stored: ClassVar[Declaration] = {"moments": Value(Moments), "smoothing": Number(low=0.0)}
    moments: Moments
    smoothing: float

    @property
    def shape(self) -> tuple[int, int]:
        """How many classes, and columns."""
        classes, d = self.moments.mean.shape
        return classes, d

    @classmethod
    def of(cls, X: Array, y: Array, weights: Array, classes: int, smoothing: float) -> Gaussians:
        """Means and variances of the rows that have a value."""
        moments = Moments.of(X, y, weights, classes, has_missing=True)
        return cls(moments, smoothing)

    @cached_property
    def epsilon(self) -> float:
        """What is added to all variances."""
        return self.smoothing * float(np.max(self.moments.overall.variance))

    @cached_property
    def mean(self) -> Array:
        """Means (classes, d)."""
        known = self.moments.count > 0
        return np.where(known, self.moments.mean, self.moments.overall.mean)

    @cached_property
    def variance(self) -> Array:
        """Variances (classes, d), with ε."""
        known = self.moments.count > 0
        found = np.where(known, self.moments.variance, self.moments.overall.variance)
        return found + self.epsilon

    def log_likelihood(self, X: Array) -> Array:
        """Σ over the columns of the log densities."""
        return log_densities(X, self.mean, self.variance, has_missing=True)

    def without(self, X: Array, own: Array, sample: Sample) -> Array:
        """The same without each row."""
        return densities_without(sample, self.moments, self.smoothing, X, own)

    def merged(self, more: Gaussians) -> Gaussians:
        """Of two sets of rows together."""
        return Gaussians(self.moments + more.moments, more.smoothing)

    def costs(self, best: Gaussians) -> tuple[float, float, float]:
        """What these means and variances cost, the least, and 0 pseudo-counts."""
        if self.mean.shape != best.mean.shape:
            return np.inf, 0.0, 0.0
        w, least = best.moments.count, best.variance
        spread = least + (self.mean - best.mean) ** 2
        primal, dual = (
            0.5 * float(np.sum(np.where(w > 0, w * terms, 0.0)))
            for terms in (deviance(spread, self.variance), deviance(least, least))
        )
        return primal, dual, 0.0


@dataclass(frozen=True, eq=False)
class Kernels:
    """A kernel density for each class and column: the mean of Gaussians around its values.

    Their standard deviation is that of the class and column times (4/(3N))^(1/5), the best one if
    the density is Gaussian (Silverman 1986, section 3.4); ε is added to its square.

    Parameters
    ----------
    gaussians : Gaussians
        Means and variances.
    values, weights : list of (list of ndarray)
        For each column and class the different values, in order, and their weights.
    """

    _stored: ClassVar[Declaration] = {
        "gaussians": Value(
            Gaussians,
            classes=lambda gaussians: gaussians.shape[0],
            features=lambda gaussians: gaussians.shape[1],
        ),
        "values": Each(Each(Numbers(None), "classes"), "features"),
        "weights": Each(Each(Numbers(None, low=0.0), "classes"), "features"),
    }
    gaussians: Gaussians
    values: list[list[Array]]
    weights: list[list[Array]]

    @property
    def shape(self) -> tuple[int, int]:
        """How many classes, and columns."""
        return self.gaussians.shape

    @classmethod
    def of(cls, X: Array, y: Array, weights: Array, classes: int, smoothing: float) -> Kernels:
        """Keep the values of the rows."""
        gaussians = Gaussians.of(X, y, weights, classes, smoothing)
        found = [
            [_distinct(x[y == k], weights[y == k]) for k in range(classes)]
            for x in X.T.astype(np.float64)
        ]
        return cls(gaussians, *([[pair[s] for pair in row] for row in found] for s in (0, 1)))

    def log_likelihood(self, X: Array) -> Array:
        """Σ over the columns of the log densities."""
        moments, epsilon = self.gaussians.moments, self.gaussians.epsilon
        z = np.zeros((len(X), len(moments.mean)))
        for j, x in enumerate(X.T.astype(np.float64)):
            rows = np.flatnonzero(~np.isnan(x))
            for k in range(z.shape[1]):
                values, weights = self._values(j, k)
                count, variance = weights.sum(), _variance(values, weights)
                if moments.count[k, j] > 0:
                    variance = moments.variance[k, j]
                width = np.full(len(rows), _width(variance, count, epsilon))
                z[rows, k] += _kernel_density(x[rows], width, values, weights, 0.0)
        return z

    def without(self, X: Array, own: Array, sample: Sample) -> Array:
        """The same without each row."""
        X = X.astype(np.float64)
        rest = Rest.of(sample, self.gaussians.moments, X, own)
        z = np.zeros(own.shape)
        for k in range(own.shape[1]):
            variance, count = rest.gaussian(k)[1], rest.count(k)
            for j, x in enumerate(X.T):
                is_left = rest.there[:, j] & (count[:, j] > 0)
                for rows, of in (
                    (np.flatnonzero(is_left), k),
                    (np.flatnonzero(rest.there[:, j] & ~is_left), None),
                ):
                    if len(rows):
                        known = variance[rows, j], count[rows, j]
                        z[rows, k] += self._density_without(x[rows], rows, j, of, rest, *known)
        return z

    def _density_without(
        self,
        x: Array,
        rows: Array,
        j: int,
        k: int | None,
        rest: Rest,
        variance: Array,
        count: Array,
    ) -> Array:
        """Log densities in column j of class k, or of all classes, without some of its rows."""
        values, weights = self._values(j, k)
        if k is None:
            variance, count = rest.spread[rows, j], rest.total[rows, j]
            taken = rest.own[rows].sum(axis=1)
        else:
            taken = rest.own[rows, k]
        epsilon = self.gaussians.smoothing * np.max(rest.spread[rows], axis=1)
        width = _width(variance, count, epsilon)
        return _kernel_density(x, width, values, weights, taken)

    def _values(self, j: int, k: int | None) -> tuple[Array, Array]:
        """Values and weights of a column and a class; of all classes for None or an empty one."""
        if k is not None and len(self.values[j][k]):
            return self.values[j][k], self.weights[j][k]
        return _distinct(np.concatenate(self.values[j]), np.concatenate(self.weights[j]))

    def merged(self, more: Kernels) -> Kernels:
        """Of two sets of rows together."""
        both = [
            [_distinct(*map(np.concatenate, zip(one, other))) for one, other in zip(mine, theirs)]
            for mine, theirs in zip(self._pairs(), more._pairs())
        ]
        parts = ([[pair[s] for pair in row] for row in both] for s in (0, 1))
        return Kernels(self.gaussians.merged(more.gaussians), *parts)

    def _pairs(self) -> list[list[tuple[Array, Array]]]:
        """Values and weights together, for each column and class."""
        return [list(zip(*column)) for column in zip(self.values, self.weights)]

    def costs(self, best: Kernels) -> tuple[float, float, float]:
        """Nothing is minimised: the density is that of the values, or it is not."""
        is_same = len(self.values) == len(best.values) and all(
            np.array_equal(a, b)
            for mine, theirs in ((self.values, best.values), (self.weights, best.weights))
            for row, other in zip(mine, theirs)
            for a, b in zip(row, other)
        )
        return 0.0 if is_same else np.inf, 0.0, 0.0


def _distinct(x: Array, weights: Array) -> tuple[Array, Array]:
    """The different values that are not missing, in order, and their weights."""
    there = ~np.isnan(x) & (weights > 0)
    values, which = np.unique(x[there], return_inverse=True)
    return values, np.bincount(which, weights[there], len(values))


def _variance(values: Array, weights: Array) -> float:
    if not len(values):
        return 0.0
    mean = np.average(values, weights=weights)
    return float(np.average((values - mean) ** 2, weights=weights))


def _width(variance: ArrayLike, count: ArrayLike, epsilon: ArrayLike) -> Array:
    """The standard deviation of the kernels; 1 where nothing varies at all."""
    count = np.asarray(count, dtype=float)
    with np.errstate(divide="ignore"):
        factor = np.power(np.where(count > 0, 4 / (3 * count), 0.0), 0.4)
    square = np.asarray(variance) * factor + np.asarray(epsilon)
    return np.sqrt(np.where(square > 0, square, 1.0))


def _kernel_density(
    x: Array, width: Array, values: Array, weights: Array, taken: ArrayLike
) -> Array:
    """Log densities at x (n,), less the weight `taken` of the value that is x itself."""
    out = np.zeros(len(x))
    if not len(values):
        return out
    at = np.minimum(np.searchsorted(values, x), len(values) - 1)
    taken = np.broadcast_to(np.asarray(taken, dtype=float), x.shape)
    for rows in blocks(len(x), len(values)):
        left = np.tile(weights, (len(x[rows]), 1))
        here = np.arange(len(left))
        own = taken[rows]
        left[here, at[rows]] = left_over(left[here, at[rows]], own)
        total = left.sum(axis=1)
        power = -0.5 * ((x[rows, None] - values) / width[rows, None]) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            log = logsumexp(power, axis=1, b=left) - np.log(total * width[rows])
        # Without any other value in the column, nothing is known of it.
        out[rows] = np.where(total > 0, log - 0.5 * LOG_TWO_PI, 0.0)
    return out
