"""Rows drawn for the members of an ensemble, from the distinct rows in the order of their content.

So a row of weight 2 is drawn like two rows, a row of weight 0 never, and neither the order of the
rows nor how often they repeat changes what is drawn.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._ground import core
from .._ground.columns import NUMBERS, Series, is_table, series_of
from .._ground.design import Design
from .._ground.distinct_rows import DistinctRows

Array = np.ndarray

# Fewer draws than this, or than the cube root of the rows, are most likely a mistake.
FEW_DRAWS = 10
# Weights whose sum is a smaller part of the rows are shares, not repeats.
SMALL_PART = 0.1
# More draws than this take minutes; weights of such a sum are not repeats.
MOST_DRAWS = 1e8


@dataclass(frozen=True, eq=False)
class Population:
    """The distinct rows (x, y) of positive weight, by content.

    Parameters
    ----------
    first : ndarray of int, shape (m,)
        For each distinct row, one of the caller's rows with its content.
    place : ndarray of int, shape (n,)
        Which distinct row each row of the caller is; −1 for those without weight.
    weights : ndarray of shape (m,)
        The weights of equal rows, summed.
    """

    first: Array
    place: Array
    weights: Array

    @classmethod
    def of(cls, X: Any, y: Array, weights: Array) -> Population:
        """The population of rows with these targets, (n,) or (n, K), and weights."""
        rows = DistinctRows.of(as_numbers(X), weights, y)
        return cls(rows.first, rows.inverse, rows.weights)

    @property
    def total(self) -> float:
        """The number of rows that the population represents: the sum of all weights."""
        return float(self.weights.sum())

    @property
    def is_uniform(self) -> bool:
        """Whether all rows have the same weight."""
        return bool(np.all(self.weights == self.weights[0]))

    def size_of(self, max_samples: Any) -> int:
        """The number of rows to draw: a number, a part of the total weight, or None for all."""
        if isinstance(max_samples, Integral):
            return int(max_samples)
        part = self.total if max_samples is None else max_samples * self.total
        if not part <= MOST_DRAWS:
            raise ValueError(
                f"the weights sum to {self.total:.3g}, which is the number of rows to draw; give "
                "max_samples as a number of rows, or rescale sample_weight, e.g. to a mean of 1."
            )
        if max_samples is None:
            size = max(round(part), 1)
            if size < SMALL_PART * len(self.weights):
                warnings.warn(
                    f"the weights sum to {self.total:.3g}, so only {size} of {len(self.weights)} "
                    "rows are drawn for each member; rescale sample_weight to a mean of 1, or give "
                    "max_samples as a number of rows.",
                    stacklevel=4,
                )
            return size
        size = max(int(part), 1)
        if size < max(FEW_DRAWS, len(self.place) ** (1 / 3)):
            warnings.warn(
                f"Using the fractional value max_samples={max_samples} when the total sum of "
                f"sample weights is {self.total} results in a low number ({size}) of bootstrap "
                "samples. We recommend passing `max_samples` as an integer.",
                stacklevel=4,
            )
        return size

    def draw(self, seed: int, size: int, replace: bool = True) -> Array:
        """How often each distinct row is drawn, (m,).

        Without replacement a row of weight k can be drawn k times, as k equal rows could.
        """
        if not replace:
            return self._draw_once(seed, size)
        chances = None if self.is_uniform else self.weights
        return draw_rows(len(self.weights), size, seed, chances)

    def is_seen(self, counts: Array, seed: int, replace: bool = True) -> Array:
        """Whether each distinct row counts as seen by a draw that has it `counts` times, (m,).

        A row of weight s represents s equal ones, and k draws miss any one of them with probability
        (1 − 1/s)ᵏ, without replacement 1 − k/s: with that chance the row counts as not seen. If one
        draw were enough to see all s, only members that did not draw them would predict them, and
        these know the rows of the same x that contradict them.
        """
        copies = np.maximum(self.weights, 1.0)
        missed = (1.0 - 1.0 / copies) ** counts if replace else 1.0 - counts / copies
        # A separate stream from those that draw rows and columns.
        return np.random.default_rng([int(seed), 2]).random(len(counts)) >= missed

    def _draw_once(self, seed: int, size: int) -> Array:
        rng, count = np.random.default_rng(seed), len(self.weights)
        if not self.total <= MOST_DRAWS:
            raise ValueError(
                f"the weights sum to {self.total:.3g}, too many rows to draw from; rescale "
                "sample_weight, e.g. to a mean of 1."
            )
        copies = np.ceil(self.weights).astype(np.int64)
        most = int(copies.sum())
        if size > most:
            raise ValueError(
                f"max_samples={size} must be <= n_samples={most} to be able to sample without "
                "replacement; lower max_samples, or set bootstrap=True."
            )
        if size == most:
            return copies
        order = rng.permutation(most)
        owner = np.repeat(np.arange(count), copies)[order]
        # Take every one that ticks at distance 1 hit, the first tick at random: each copy is hit
        # with its own chance, and exactly `size` are (Madow 1949).
        hits = np.cumsum(_chances(np.repeat(self.weights / copies, copies), size)[order])
        hits[-1] = size
        ticks = np.floor(hits + rng.random())
        return np.bincount(owner[np.diff(ticks, prepend=0.0) > 0], minlength=count)


def _chances(weights: Array, size: int) -> Array:
    """Chances proportional to weights that sum to `size`; those that would exceed 1 are 1."""
    chances, is_sure = np.zeros(len(weights)), np.zeros(len(weights), dtype=bool)
    while not is_sure.all():
        rest = weights[~is_sure]
        chances[~is_sure] = (size - np.count_nonzero(is_sure)) * rest / rest.sum()
        beyond = ~is_sure & (chances > 1.0)
        if not beyond.any():
            break
        is_sure |= beyond
        chances[beyond] = 1.0
    return np.minimum(chances, 1.0)


def as_numbers(X: Any) -> Any:
    """X as a matrix of finite numbers that are equal where its entries are.

    Non-numbers are numbered by their text; missing values get a number that no value has.
    """
    if is_table(X):
        return np.column_stack([_codes(series_of(X, j)) for j in range(X.shape[1])])
    if sp.issparse(X):
        return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
    X = X.reshape(len(X), -1)
    if X.dtype.kind not in "biuf":
        return np.column_stack([_by_text(column) for column in X.T])
    return _finite(X if X.dtype in (np.float32, np.float64) else X.astype(np.float64))


def _codes(series: Series) -> Array:
    if series.kind.startswith(NUMBERS):
        return _finite(series.numbers)
    return _by_text(np.array(series.column, dtype=object))


def _by_text(values: Array) -> Array:
    if all(isinstance(value, Real) for value in values):
        with suppress(OverflowError):
            return _finite(values.astype(np.float64))
    texts = np.array([str(value) for value in values])
    return np.unique(texts, return_inverse=True)[1].astype(np.float64)


def _finite(x: Array) -> Array:
    # No number of a column is as large, and NaN has no order.
    return np.where(np.isnan(x), np.finfo(x.dtype).max, x) if np.isnan(x).any() else x


def equal_rows(F: Any, y: Array | None = None) -> Array:
    """Labels 0, 1, … of the rows (x, y) by content, the same for equal ones; NaN equals NaN.

    Without y, of the rows x.
    """
    if y is None:
        y = np.zeros((F.shape[0], 1))
    return Design(F if sp.issparse(F) else _finite(F)).equal_rows(y)


def draw_rows(rows: int, draws: int, seed: int, chances: Array | None = None) -> Array:
    """How often the tree with this seed has drawn each of its rows, as the core draws them."""
    counts = np.empty(rows, dtype=np.uint32)
    core.draw_rows(int(draws), cumulated(chances), int(seed), counts)
    return counts


def cumulated(chances: Array | None) -> Array | None:
    """Cumulative chances of the rows, as the core uses them to draw."""
    return None if chances is None else np.cumsum(chances, dtype=np.float64)
