"""Numbers as categories, for trees that split on categories alone."""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def edges_of(column: Array, weights: Array, most: int) -> Array:
    """Where to cut a column of numbers: between all values if they are few, else at quantiles.

    Parameters
    ----------
    column : ndarray of shape (n,)
        Numbers; NaN is missing.
    weights : ndarray of shape (n,)
        Weights; rows of weight 0 are ignored.
    most : int
        The largest number of bins.

    Returns
    -------
    ndarray of shape (bins − 1,)
        In increasing order; bin k holds values above edge k − 1 and at most edge k.
    """
    is_known = ~np.isnan(column) & (weights > 0)
    values, place = np.unique(column[is_known], return_inverse=True)
    if len(values) < 2:
        return np.zeros(0)
    between = halfway(values[:-1], values[1:])
    if len(values) <= most:
        return between
    share = np.cumsum(np.bincount(place, weights[is_known]))
    # Sums of weights in another order differ by rounding, which must not move an edge.
    reached = share[:-1] / share[-1] * (1 + 1e-12)
    cuts = np.searchsorted(reached, np.arange(1, most) / most)
    return between[np.unique(np.minimum(cuts, len(between) - 1))]


def halfway(low: Array, high: Array) -> Array:
    """A number between each pair: at least the lower and less than the higher one.

    Infinite values count as ±the largest float64, so that the numbers in between stay finite.
    """
    most = np.finfo(np.float64).max
    between = 0.5 * np.maximum(low, -most) + 0.5 * np.minimum(high, most)
    return np.where(between < high, between, low)


def bins_of(column: Array, edges: Array) -> Array:
    """The bin of each number as a float, NaN if missing."""
    found = np.searchsorted(edges, column, side="left").astype(float)
    return np.where(np.isnan(column), np.nan, found)
