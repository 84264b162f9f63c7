"""The weight, the mean and the products of rows around it: what covariances are made of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .first_look import checked_weights
from .sources import Rows

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Spread:
    """Some rows around their mean; those of two sets of rows add up to those of both.

    Attributes
    ----------
    rows : int
        The number of rows that have weight.
    weight : float
        Σs.
    mean : ndarray of shape (d,)
        Their weighted mean; 0 without rows.
    products : ndarray of shape (d, d)
        Σs(x − mean)(x − mean)ᵀ.
    """

    rows: int
    weight: float
    mean: Array
    products: Array

    @classmethod
    def of(cls, X: Array, weights: Array) -> Spread:
        """Of rows (n, d), in float64."""
        if not np.all(weights > 0):
            kept = weights > 0
            X, weights = X[kept], weights[kept]
        if not len(X):
            d = X.shape[1]
            return cls(0, 0.0, np.zeros(d), np.zeros((d, d)))
        total = float(weights.sum())
        mean = weights @ X / total
        away = X - mean
        # What the mean lacks by rounding: the mean of what is left around it.
        step = weights @ away / total
        if not np.all(weights == 1.0):
            away *= np.sqrt(weights)[:, None]
        products = away.T @ away
        products -= np.multiply.outer(total * step, step)
        return cls(len(X), total, mean + step, products)

    def __add__(self, other: Spread) -> Spread:
        """Both sets of rows together (Chan, Golub and LeVeque 1982)."""
        if not self.rows or not other.rows:
            return self if self.rows else other
        weight = self.weight + other.weight
        step, share = other.mean - self.mean, other.weight / weight
        products = self.products + other.products
        products += np.multiply.outer(self.weight * share * step, step)
        return Spread(self.rows + other.rows, weight, self.mean + share * step, products)

    @property
    def variances(self) -> Array:
        """The variance of each column, (d,)."""
        return np.diag(self.products) / self.weight


@dataclass(frozen=True, eq=False)
class SpreadOf:
    """The task that finds the spread of all rows."""

    def __call__(self, rows: Rows) -> Spread:
        """The spread of one part."""
        return Spread.of(rows.X, checked_weights(rows))
