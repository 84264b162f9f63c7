"""Score, a number measured on some rows with its confidence interval; exact intervals of shares.

Everything here is arrays in, numbers out; the metrics decide what is counted.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import betaincinv, ndtri

from .._ground.notebook import ShownInNotebook

Array = np.ndarray

# Numbers beyond these are written with an exponent.
MOST_DECIMALS, LARGEST_PLAIN = 6, 1e7
# The method of a number that is not measured on a sample.
KNOWN = "known"


@dataclass(frozen=True)
class Score(ShownInNotebook):
    """A score with its confidence interval. Prints as a sentence; float() gives its value.

    Attributes
    ----------
    name : str
        What was measured.
    value : float
        The number, from these rows.
    low, high : float
        Ends of the interval: of many samples of rows from the same source, a share `level` has an
        interval with the true number in it.
    level : float
        That share, such as 0.95.
    method : str
        How the interval was found, in words; "known" where nothing was sampled, so that there is
        only the value.
    n : float
        How many rows the number rests on; with weights that are not counts, the effective number.
    """

    name: str
    value: float
    low: float
    high: float
    level: float
    method: str
    n: float

    def __float__(self) -> float:
        return self.value

    def __format__(self, spec: str) -> str:
        """The value in the given format; the sentence without one."""
        return format(self.value, spec) if spec else str(self)

    def __str__(self) -> str:
        if self.method == KNOWN:
            return f"{self.name} {self.value:.6g}"
        digits = decimals(self.low, self.high, self.value)
        value, low, high = (written(x, digits) for x in (self.value, self.low, self.high))
        return (
            f"{self.name} {value} ({low} to {high} at {100 * self.level:g} %, {self.method}, "
            f"n = {count(self.n)})"
        )

    def __repr__(self) -> str:
        if self.method == KNOWN:
            return f"<Score {self.name} {self.value:.6g}>"
        return f"<Score {self.name} {self.value:.4g} ({self.low:.4g} to {self.high:.4g})>"

    def to_dict(self) -> dict[str, Any]:
        """The same data as plain numbers and strings."""
        return asdict(self)


def decimals(low: float, high: float, value: float) -> int:
    """Decimals that show two digits of the width of an interval."""
    size = high - low
    if not (math.isfinite(size) and size > 0):
        size = abs(value)
    if not (math.isfinite(size) and size > 0):
        return 3
    return max(1 - math.floor(math.log10(size)), 0)


def written(x: float, digits: int) -> str:
    """A number with this many decimals; with three digits if it or they would be too long."""
    is_plain = digits <= MOST_DECIMALS and abs(x) < LARGEST_PLAIN
    return f"{x:.{digits}f}" if is_plain else f"{x:.3g}"


def count(n: float) -> str:
    """A number of rows in words; with one decimal if it is an effective one."""
    return f"{n:.0f}" if n == math.floor(n) else f"{n:.1f}"


# Shared by the docstrings of most metrics.
MEASURED = """
sample_weight : array-like of shape (n,)
    How much each row counts. Whole numbers are counts: 2 is the row twice. With other weights,
    intervals go by the effective number of rows.
level : float
    Confidence level of intervals.
"""

EXACT, WILSON = "exact", "wilson"
# How the methods are called in a result.
NAMES = {EXACT: "exact (Clopper–Pearson)", WILSON: "Wilson"}


def check_level(level: float) -> None:
    """Raise an error unless this is a confidence level."""
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1, such as 0.95; got {level!r}.")


@dataclass(frozen=True, eq=False)
class Rows:
    """How often each row was seen, and how much it counts each time.

    Weights that are whole numbers are counts: weight 2 is the row twice, as everywhere in gapless.
    Other weights are how much a row that was seen once counts.
    """

    repeats: Array
    weights: Array

    @classmethod
    def of(cls, sample_weight: Array) -> Rows:
        """From weights ≥ 0 of shape (n,)."""
        if np.all(sample_weight == np.floor(sample_weight)):
            return cls(sample_weight, np.ones(len(sample_weight)))
        return cls((sample_weight > 0).astype(float), sample_weight)

    def only(self, rows: Array) -> Rows:
        """Some of the rows."""
        return Rows(self.repeats[rows], self.weights[rows])

    @cached_property
    def mass(self) -> Array:
        """The whole weight of each row."""
        return self.repeats * self.weights

    @cached_property
    def total(self) -> float:
        """The weight of all rows."""
        return float(self.mass.sum())

    @cached_property
    def count(self) -> float:
        """How many rows were seen."""
        return float(self.repeats.sum())

    @cached_property
    def size(self) -> float:
        """The number of equally weighted rows that know as much: (Σ w)²/Σ w² (Kish 1965)."""
        if not self.total > 0:
            return 0.0
        # Relative to the largest, so that no square overflows or vanishes.
        relative = self.weights / self.weights.max()
        total = float(self.repeats @ relative)
        return total * (total / float(self.repeats @ relative**2))

    def sum(self, values: Array) -> float:
        """The sum over all rows, by weight."""
        return float(self.mass @ values)


def share(
    hits: Array | float, n: Array | float, level: float, method: str = EXACT
) -> tuple[Array, Array]:
    """Low and high ends for the probability behind `hits` of `n` independent rows.

    Both may have fractions, as effective numbers have (Korn and Graubard 1998, Survey Methodology
    24), and may be arrays. Without rows, 0 and 1.
    """
    check_level(level)
    if method not in NAMES:
        raise ValueError(f"method={method!r} is not known; use {EXACT!r} or {WILSON!r}.")
    k, size = np.broadcast_arrays(np.asarray(hits, dtype=float), np.asarray(n, dtype=float))
    k = np.clip(k, 0.0, size)
    low, high = (_clopper_pearson if method == EXACT else _wilson)(k, size, level)
    return np.where(size > 0, low, 0.0), np.where(size > 0, high, 1.0)


def _clopper_pearson(hits: Array, n: Array, level: float) -> tuple[Array, Array]:
    """Shares for which as few, or as many, hits would be rarer than (1 − level)/2."""
    tail = (1 - level) / 2
    low = betaincinv(np.where(hits > 0, hits, 1.0), n - hits + 1, tail)
    high = betaincinv(hits + 1, np.where(hits < n, n - hits, 1.0), 1 - tail)
    return np.where(hits > 0, low, 0.0), np.where(hits < n, high, 1.0)


def _wilson(hits: Array, n: Array, level: float) -> tuple[Array, Array]:
    """Shares p for which |hits/n − p| ≤ z √(p(1 − p)/n) (Wilson 1927)."""
    z, n = ndtri((1 + level) / 2), np.maximum(n, np.finfo(float).tiny)
    p = hits / n
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)
