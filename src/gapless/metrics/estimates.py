"""Numbers other than shares, with intervals: ratios of means, and smooth functions of the rows.

A metric defines what each row contributes; here that becomes a value, a standard error and an
interval. Ratios of means (a mean loss, R²) use the bootstrap of Student's t, which keeps its level
with few and skewed rows, where percentiles of plain resamples are too narrow by far.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import expit, stdtr, stdtrit

from .._ground.memory import blocks
from .intervals import Rows, Score, check_level, share

Array = np.ndarray

# With more rows than this, resamples add nothing to Student's t.
MANY = 1000
RESAMPLES = 1999


@dataclass(frozen=True, eq=False)
class Interval:
    """Ends of an interval, and how they were found."""

    low: float
    high: float
    method: str


@dataclass(frozen=True, eq=False)
class Smooth:
    """A number that depends smoothly on the weights of the rows.

    Parameters
    ----------
    value : float
        The number.
    pulls : ndarray of shape (n,)
        Its derivative in the weight of each row. Those of all rows sum to 0, by weight.
    rows : Rows
        The rows.
    bounds : tuple of two floats
        The least and the largest number possible.
    fewest : float, default=None
        How many rows of equal weight know as much of how the number varies; all rows if None.
    """

    value: float
    pulls: Array
    rows: Rows
    bounds: tuple[float, float]
    fewest: float | None = None

    @cached_property
    def standard_error(self) -> float:
        """√(n/(n−1) Σ pulls²), the infinitesimal jackknife (Jaeckel 1972); NaN for one row."""
        n = self.rows.count
        squares = float(self.rows.repeats @ (self.rows.weights * self.pulls) ** 2)
        return float(np.sqrt(squares * n / (n - 1))) if n > 1 else np.nan

    @property
    def is_known_exactly(self) -> bool:
        """Whether no row pulls, so that nothing shows how much the number would vary."""
        return not self.standard_error > 1e-12 * max(abs(self.value), np.finfo(float).tiny)

    def minus(self, other: Smooth) -> Smooth:
        """The difference of two numbers from the same rows."""
        low, high = self.bounds[0] - other.bounds[1], self.bounds[1] - other.bounds[0]
        value, pulls = self.value - other.value, self.pulls - other.pulls
        return Smooth(value, pulls, self.rows, (low, high), self.fewest)

    def by_groups(self, groups: Array) -> Smooth:
        """The same number, as one that varies with whole groups of rows, (n,) labels 0, 1, ….

        Rows of a group are drawn together, so that their pulls add up before they are squared
        (Liang and Zeger 1986, Biometrika 73).
        """
        pulls = np.bincount(groups, self.rows.mass * self.pulls)
        fewest = None if self.fewest is None else min(self.fewest, len(pulls))
        return Smooth(self.value, pulls, Rows.of(np.ones(len(pulls))), self.bounds, fewest)

    def interval(self, level: float) -> Interval:
        """By Student's t: of the logits for a share, of the number itself for a difference."""
        check_level(level)
        low, high = self.bounds
        is_share = (low, high) == (0.0, 1.0)
        if self.is_known_exactly:
            return self._without_spread(level)
        reach = _student(level, self._known_by) * self.standard_error
        if not is_share:
            ends = self.value - reach, self.value + reach
            return Interval(max(ends[0], low), min(ends[1], high), "Student's t")
        odds = np.log(self.value) - np.log1p(-self.value)
        by = reach / (self.value * (1 - self.value))
        return Interval(
            float(expit(odds - by)), float(expit(odds + by)), "Student's t of the logit"
        )

    def p_value(self) -> float:
        """How probable so large a number is, either way, if the true one is 0."""
        if self.is_known_exactly:
            return 1.0
        return float(2 * stdtr(_freedom(self._known_by), -abs(self.value) / self.standard_error))

    @property
    def _known_by(self) -> float:
        return self.rows.size if self.fewest is None else self.fewest

    def _without_spread(self, level: float) -> Interval:
        """What rows that were not seen may do, if they are as rare as n rows without one allow."""
        low, high = self.bounds
        rare = float(share(0, self._known_by, level)[1])
        low, high = (
            at if self.value == at else self.value + rare * (at - self.value) for at in (low, high)
        )
        return Interval(low, high, "all rows alike")


@dataclass(frozen=True, eq=False)
class Ratio:
    """Σ a / Σ b over the rows, by weight; a mean loss has b = 1.

    Parameters
    ----------
    a, b : ndarray of shape (n,)
        Numerator and denominator of each row.
    rows : Rows
        The rows.
    bounds : tuple of two floats
        The least and the largest number possible; if the least is 0, the interval is one of the
        logarithm.
    """

    a: Array
    b: Array
    rows: Rows
    bounds: tuple[float, float] = (0.0, np.inf)

    @classmethod
    def mean(cls, values: Array, rows: Rows, bounds: tuple[float, float] = (0.0, np.inf)) -> Ratio:
        """The mean of a value of each row."""
        return cls(values, np.ones(len(values)), rows, bounds)

    @cached_property
    def value(self) -> float:
        """The ratio; 0 if the denominator is 0."""
        below = self.rows.sum(self.b)
        return self.rows.sum(self.a) / below if below > 0 else 0.0

    @cached_property
    def smooth(self) -> Smooth:
        """The ratio to first order in the weights."""
        below = self.rows.sum(self.b)
        pulls = (self.a - self.value * self.b) / below if below > 0 else np.zeros(len(self.a))
        return Smooth(self.value, pulls, self.rows, self.bounds)

    def minus(self, other: Ratio) -> Ratio | Smooth:
        """The difference of two ratios of the same rows; again a ratio if they share b."""
        if not np.array_equal(self.b, other.b):
            return self.smooth.minus(other.smooth)
        bounds = self.smooth.minus(other.smooth).bounds
        return replace(self, a=self.a - other.a, bounds=bounds)

    def by_groups(self, groups: Array) -> Ratio | Smooth:
        """The same number, as one that varies with whole groups of rows, (n,) labels 0, 1, ….

        Sums over a group are one row of the ratio; a share keeps to its logit.
        """
        if self.bounds == (0.0, 1.0):
            return self.smooth.by_groups(groups)
        a, b = (np.bincount(groups, self.rows.mass * of) for of in (self.a, self.b))
        return Ratio(a, b, Rows.of(np.ones(len(a))), self.bounds)

    def interval(self, level: float) -> Interval:
        """By the bootstrap of Student's t (Efron and Tibshirani 1993, chapter 12)."""
        check_level(level)
        smooth = self.smooth
        if smooth.is_known_exactly:
            return smooth._without_spread(level)
        low, high, method = *self._pivots(level), self._method
        by_log = self.bounds[0] == 0.0
        unit = smooth.standard_error / (self.value if by_log else 1.0)
        if by_log:
            with np.errstate(over="ignore"):
                ends = self.value * np.exp(-high * unit), self.value * np.exp(-low * unit)
        else:
            ends = self.value - high * unit, self.value - low * unit
        least, most = self.bounds
        return Interval(float(max(ends[0], least)), float(min(ends[1], most)), method)

    def p_value(self) -> float:
        """How probable so large a number is, either way, if the true one is 0."""
        smooth = self.smooth
        if smooth.is_known_exactly or self.rows.count > MANY:
            return smooth.p_value()
        seen = self.value / smooth.standard_error
        above = int(np.sum(self._resampled >= seen))
        below = int(np.sum(self._resampled <= seen))
        return min(1.0, 2 * (min(above, below) + 1) / (RESAMPLES + 1))

    @property
    def _method(self) -> str:
        return "Student's t" if self.rows.count > MANY else "bootstrap of Student's t"

    def _pivots(self, level: float) -> tuple[float, float]:
        """Quantiles of (estimate − truth)/standard error."""
        if self.rows.count > MANY:
            reach = _student(level, self.rows.size)
            return -reach, reach
        tail = (1 - level) / 2
        low, high = np.quantile(self._resampled, [tail, 1 - tail], method="inverted_cdf")
        return float(low), float(high)

    @cached_property
    def _resampled(self) -> Array:
        """(estimate − value)/standard error in resamples; ±∞ where all rows drawn are equal.

        Equal rows are drawn together, in the order of their content, so that repeats in place of
        weights, or another order of the rows, change nothing.
        """
        table = np.column_stack([self.a, self.b, self.rows.weights])[self.rows.repeats > 0]
        distinct, place = np.unique(table, axis=0, return_inverse=True)
        seen = np.bincount(place.ravel(), self.rows.repeats[self.rows.repeats > 0])
        owner = np.repeat(np.arange(len(seen)), seen.astype(int))
        rng = np.random.default_rng(0)
        parts = []
        for some in blocks(RESAMPLES, len(owner)):
            size = some.stop - some.start
            drawn = owner[rng.integers(len(owner), size=(size, len(owner)))]
            drawn += len(seen) * np.arange(size)[:, None]
            counts = np.bincount(drawn.ravel(), minlength=size * len(seen))
            parts.append(self._pivots_of(counts.reshape(size, -1).astype(float), distinct))
        return np.concatenate(parts)

    def _pivots_of(self, drawn: Array, distinct: Array) -> Array:
        """The same for some resamples: how often each distinct row (a, b, weight) is drawn."""
        a, b, weights = distinct.T
        a, b = a * weights, b * weights
        sums = drawn @ np.column_stack([a, b, a * a, a * b, b * b])
        n = drawn[0].sum()
        with np.errstate(divide="ignore", invalid="ignore"):
            value = sums[:, 0] / sums[:, 1]
            squares = sums[:, 2] - 2 * value * sums[:, 3] + value**2 * sums[:, 4]
            # What rounding leaves of a resample of one row is not a spread.
            squares = np.where(squares > 1e-13 * sums[:, 2], squares, 0.0)
            error = np.sqrt(squares * n / (n - 1)) / sums[:, 1]
            if self.bounds[0] == 0.0:
                pivots = (np.log(value) - np.log(self.value)) / (error / value)
            else:
                pivots = (value - self.value) / error
        # Resamples without a denominator mean that anything is possible below.
        return np.where(np.isnan(pivots), np.where(value == self.value, 0.0, -np.inf), pivots)


def scored(name: str, measured: Ratio | Smooth, level: float) -> Score:
    """A score with its interval."""
    found, size = measured.interval(level), measured.rows.size
    return Score(name, measured.value, found.low, found.high, level, found.method, size)


def _student(level: float, size: float) -> float:
    return float(stdtrit(_freedom(size), (1 + level) / 2))


def _freedom(size: float) -> float:
    """Degrees of freedom of this many rows; never so few that there is no quantile."""
    return max(size - 1, 0.1)
