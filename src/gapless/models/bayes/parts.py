"""Parts of naive Bayes for mixed tables: densities of numbers, and counts of categories and words.

A part is learned from rows (`of`), computes log p(x | y) for rows and classes (`log_likelihood`),
the same without each row of a sample (`without`), and its cost next to the best one's (`costs`).
NaN is a missing value and adds nothing; where a class has no value in a column, its density is that
of all classes together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from ..._ground.memory import blocks
from ..._ground.stored import Declaration, Each, Number, Numbers, Value
from .counting import (
    Entries,
    left_over,
    log_costs,
    log_positive,
    log_ratio,
    products,
    sum_of_tables,
    sums_by_class,
)
from .moments import (
    IN_CACHE,
    LOG_TWO_PI,
    Moments,
    Rest,
    Sample,
    densities_without,
    deviance,
    log_densities,
)

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Gaussians:
    """A Gaussian for each class and column; `smoothing` is `var_smoothing` of GaussianNB."""

    _stored: ClassVar[Declaration] = {"moments": Value(Moments), "smoothing": Number(low=0.0)}
    moments: Moments
    smoothing: float

    @property
    def shape(self) -> tuple[int, int]:
        """The number of classes, and of columns."""
        classes, d = self.moments.mean.shape
        return classes, d

    @classmethod
    def of(cls, X: Array, y: Array, weights: Array, classes: int, smoothing: float) -> Gaussians:
        """Means and variances of the rows that have a value."""
        moments = Moments.of(X, y, weights, classes, has_missing=True)
        return cls(moments, smoothing)

    @cached_property
    def epsilon(self) -> float:
        """The amount added to all variances."""
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
        """The part for two sets of rows together."""
        return Gaussians(self.moments + more.moments, more.smoothing)

    def costs(self, best: Gaussians) -> tuple[float, float, float]:
        """The cost of these means and variances, the least cost, and 0 pseudo-counts."""
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
        """The number of classes, and of columns."""
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
        """The part for two sets of rows together."""
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
    """The distinct values that are not missing, in order, and their weights."""
    there = ~np.isnan(x) & (weights > 0)
    values, which = np.unique(x[there], return_inverse=True)
    return values, np.bincount(which, weights[there], len(values))


def _variance(values: Array, weights: Array) -> float:
    if not len(values):
        return 0.0
    mean = np.average(values, weights=weights)
    return float(np.average((values - mean) ** 2, weights=weights))


def _width(variance: ArrayLike, count: ArrayLike, epsilon: ArrayLike) -> Array:
    """The standard deviation of the kernels; 1 if nothing varies at all."""
    count = np.asarray(count, dtype=float)
    with np.errstate(divide="ignore"):
        factor = np.power(np.where(count > 0, 4 / (3 * count), 0.0), 0.4)
    square = np.asarray(variance) * factor + np.asarray(epsilon)
    return np.sqrt(np.where(square > 0, square, 1.0))


def _kernel_density(
    x: Array, width: Array, values: Array, weights: Array, taken: ArrayLike
) -> Array:
    """Log densities at x (n,), minus the weight `taken` of the value that is x itself."""
    out = np.zeros(len(x))
    if not len(values):
        return out
    at = np.minimum(np.searchsorted(values, x), len(values) - 1)
    taken = np.broadcast_to(np.asarray(taken, dtype=float), x.shape)
    for rows in blocks(len(x), IN_CACHE * len(values)):
        left = np.tile(weights, (len(x[rows]), 1))
        here = np.arange(len(left))
        own = taken[rows]
        left[here, at[rows]] = left_over(left[here, at[rows]], own)
        total = left.sum(axis=1)
        power = -0.5 * ((x[rows, None] - values) / width[rows, None]) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            log = logsumexp(power, axis=1, b=left) - np.log(total * width[rows])
        # Without any other value in the column, nothing is known about it.
        out[rows] = np.where(total > 0, log - 0.5 * LOG_TWO_PI, 0.0)
    return out


@dataclass(frozen=True, eq=False)
class Categories:
    """Columns of categories.

    Parameters
    ----------
    counts : list of ndarray of shape (classes, levels)
        Weight of the rows of each class with each level, column by column; missing values are not
        counted.
    alpha : float
        Pseudo-count of each level.
    """

    _stored: ClassVar[Declaration] = {
        "counts": Each(Numbers("classes", None, low=0), least=1),
        "alpha": Number(low=0.0),
    }
    counts: list[Array]
    alpha: float

    @property
    def shape(self) -> tuple[int, int]:
        """The number of classes, and of columns."""
        return len(self.counts[0]), len(self.counts)

    @classmethod
    def of(cls, F: Array, y: Array, weights: Array, classes: int, alpha: float) -> Categories:
        """Count numbers of levels, NaN being missing."""
        counts = []
        for x in F.T:
            there = ~np.isnan(x)
            level = x[there].astype(np.int64)
            size = int(level.max(initial=-1)) + 1
            cells = np.bincount(y[there] * size + level, weights[there], classes * size)
            counts.append(cells.reshape(classes, size))
        return cls(counts, alpha)

    @cached_property
    def tables(self) -> list[Array]:
        """Log probabilities (classes, levels), column by column; 0 for levels without rows."""
        return [_log_table(count, self.alpha) for count in self.counts]

    def log_likelihood(self, F: Array) -> Array:
        """Σ over the columns; a missing or unknown level adds nothing."""
        z = np.zeros((len(F), len(self.counts[0])))
        for x, table in zip(F.T, self.tables):
            rows = np.flatnonzero(x < table.shape[1])
            z[rows] += table[:, x[rows].astype(np.int64)].T
        return z

    def without(self, F: Array, own: Array, sample: Sample) -> Array:
        """The same without each row; a level without other rows adds nothing."""
        z = np.zeros(own.shape)
        for x, count, table in zip(F.T, self.counts, self.tables):
            rows = np.flatnonzero(~np.isnan(x))
            level, taken = x[rows].astype(np.int64), own[rows]
            terms = table[:, level].T
            at, of = np.nonzero(taken)
            w, levels = taken[at, of], np.count_nonzero(count.sum(axis=0))
            left = left_over(count[of, level[at]], w) + self.alpha
            total = left_over(count.sum(axis=1)[of], w) + self.alpha * levels
            terms[at, of] = log_ratio(left, total)
            is_gone = left_over(count.sum(axis=0)[level], taken.sum(axis=1)) == 0
            z[rows] += np.where(is_gone[:, None], 0.0, terms)
        return z

    def moved(self, places: list[Array]) -> Categories:
        """The same with levels at other places, column by column."""
        pairs = zip(self.counts, places)
        return Categories([_moved(count, to[: count.shape[1]]) for count, to in pairs], self.alpha)

    def merged(self, more: Categories) -> Categories:
        """The part for two sets of rows together."""
        pairs = zip(self.counts, more.counts)
        return Categories([sum_of_tables(one, other) for one, other in pairs], more.alpha)

    def costs(self, best: Categories) -> tuple[float, float, float]:
        """The cost of these probabilities for the counts of `best`, the least, pseudo-counts."""
        primal = dual = pseudo = 0.0
        for count, stored, table in zip(best.counts, self.tables, best.tables):
            if stored.shape != table.shape:
                return np.inf, dual, pseudo
            raised = np.where(count.sum(axis=0) > 0, count + self.alpha, 0.0)
            more, least = _table_costs(raised, stored, table)
            primal, dual = primal + more, dual + least
            pseudo += self.alpha * count.size
        return primal, dual, pseudo


@dataclass(frozen=True, eq=False)
class Words:
    """The words of a column of texts.

    Parameters
    ----------
    count : ndarray of shape (classes, words)
        How often each word was counted in each class.
    alpha : float
        Pseudo-count of each word.
    """

    _stored: ClassVar[Declaration] = {
        "count": Numbers("classes", "words", low=0),
        "alpha": Number(low=0.0),
    }
    count: Array
    alpha: float

    @property
    def shape(self) -> tuple[int, int]:
        """The number of classes, and of words."""
        classes, words = self.count.shape
        return classes, words

    @classmethod
    def of(cls, X: Any, y: Array, weights: Array, classes: int, alpha: float) -> Words:
        """Count."""
        return cls(sums_by_class(X, y, weights, classes), alpha)

    @cached_property
    def log_prob(self) -> Array:
        """Log probabilities (classes, words); 0 for words in no text."""
        return _log_table(self.count, self.alpha)

    def log_likelihood(self, X: Any) -> Array:
        """Σ over the words of each text."""
        is_possible = np.isfinite(self.log_prob)
        z = products(X, np.where(is_possible, self.log_prob, 0.0))
        if not np.all(is_possible):
            z[products(X, (~is_possible).astype(np.float64)) > 0] = -np.inf
        return z

    def without(
        self, X: Any, own: Array, sample: Sample | None = None, is_lost: Array | None = None
    ) -> Array:
        """The same without each text.

        Words that no other text has, or the entries of X that `is_lost` marks, are not known then:
        they add nothing to the score, and no pseudo-counts.
        """
        n, alpha = own.shape[0], self.alpha
        entries = Entries.of(X)
        everywhere = self.count.sum(axis=0)
        taken = own.sum(axis=1)[entries.row] * entries.value
        if is_lost is None:
            is_lost = left_over(everywhere[entries.column], taken) == 0
        vocabulary = np.count_nonzero(everywhere) - entries.sums(is_lost.astype(float), n)
        known = entries.sums(np.where(is_lost, 0.0, entries.value), n)
        z = np.empty(own.shape)
        for k, count in enumerate(self.count):
            counts, taken = count[entries.column], own[entries.row, k] * entries.value
            left = left_over(counts, taken) + alpha
            terms = np.where(is_lost, 0.0, entries.value * log_positive(left))
            gone = entries.sums(np.where(is_lost, counts, taken), n)
            total = left_over(np.full(n, count.sum()), gone) + alpha * vocabulary
            with np.errstate(invalid="ignore"):
                score = entries.sums(terms, n) - np.where(known > 0, known * log_positive(total), 0)
            z[:, k] = np.where(np.isnan(score), -np.inf, score)
        return z

    def moved(self, places: Array) -> Words:
        """The same with words at other places."""
        return Words(_moved(self.count, places), self.alpha)

    def merged(self, more: Words) -> Words:
        """The part for two sets of texts together."""
        return Words(sum_of_tables(self.count, more.count), more.alpha)

    def costs(self, best: Words) -> tuple[float, float, float]:
        """The cost of these probabilities for the counts of `best`, the least, pseudo-counts."""
        if self.count.shape != best.count.shape:
            return np.inf, 0.0, 0.0
        raised = np.where(best.count.sum(axis=0) > 0, best.count + self.alpha, 0.0)
        pseudo = float(self.alpha * raised.size)
        return *_table_costs(raised, self.log_prob, best.log_prob), pseudo


def _moved(count: Array, places: Array) -> Array:
    """Counts (classes, cells) at other, increasing places."""
    out = np.zeros((len(count), int(places.max(initial=-1)) + 1))
    out[:, places] = count
    return out


def _log_table(count: Array, alpha: float) -> Array:
    """Log shares of counts (classes, cells), smoothed; 0 in cells that are empty in all classes."""
    is_known = count.sum(axis=0) > 0
    raised = np.where(is_known, count + alpha, 0.0)
    return np.where(is_known, log_ratio(raised, raised.sum(axis=1, keepdims=True)), 0.0)


def _table_costs(raised: Array, stored: Array, best: Array) -> tuple[float, float]:
    is_known = raised.sum(axis=0) > 0
    return log_costs(*(part[:, is_known] for part in (raised, stored, best)))
