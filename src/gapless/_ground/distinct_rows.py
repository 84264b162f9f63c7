"""Equal rows as one: which rows represent which, by content, with the sum of their weights.

So a row of weight 2 and the same row twice are one row, rows of weight 0 are ignored, and neither
the order of the rows nor how often they repeat changes a bit of the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .design import Design

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class DistinctRows:
    """The distinct rows of positive weight, in the order of their content.

    Parameters
    ----------
    first : ndarray of int, shape (m,)
        For each distinct row one of the data that has its content.
    weights : ndarray of shape (m,)
        The weights of equal rows, summed.
    inverse : ndarray of int, shape (n,)
        Which distinct row each row of the data is; −1 for those without weight.
    """

    first: Array
    weights: Array
    inverse: Array

    @classmethod
    def of(cls, X: Any, weights: Array, y: Array | None = None) -> DistinctRows:
        """The distinct rows x, or (x, y) with targets (n,) or (n, K)."""
        y = np.zeros(X.shape[0]) if y is None else y
        return DistinctRows.by(Design(X).equal_rows(y), weights)

    @staticmethod
    def by(labels: Array, weights: Array) -> DistinctRows:
        """Rows of equal labels are equal, and in the order of their labels."""
        kept = np.flatnonzero(weights > 0)
        _, first, numbers = np.unique(labels[kept], return_index=True, return_inverse=True)
        inverse = np.full(len(labels), -1)
        inverse[kept] = numbers
        return DistinctRows(kept[first], np.bincount(numbers, weights[kept]), inverse)

    def shares(self, weights: Array) -> Array:
        """The part of its distinct row's weight that each row has, (n,)."""
        kept = self.inverse >= 0
        return np.where(kept, weights, 0.0) / np.where(kept, self.weights[self.inverse], 1.0)

    def sums(self, of_all: Array) -> Array:
        """What equal rows have together, (m,) or (m, K), of numbers (n,) or (n, K)."""
        kept = self.inverse >= 0
        numbers, count = self.inverse[kept], len(self.first)
        if of_all.ndim == 1:
            return np.bincount(numbers, of_all[kept], count)
        columns = [np.bincount(numbers, column[kept], count) for column in of_all.T]
        return np.stack(columns, axis=1)
