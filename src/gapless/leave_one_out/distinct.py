"""Equal rows as one: what is left out is a distinct row with all its weight.

So weight 2 and a row that is there twice give the same estimates, and a row of weight 0 is no row.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ._base import Array, NotAvailable


@dataclass(frozen=True, eq=False)
class Distinct:
    """Which rows stand for which.

    Parameters
    ----------
    kept : ndarray of int
        The rows of positive weight.
    first : ndarray of int
        Of each distinct row, the first that there is.
    inverse : ndarray of int, shape (len(kept),)
        Which distinct row each kept row is.
    weights : ndarray of shape (len(first),)
        Sums of the weights of equal rows.
    is_everything : bool
        Whether nothing was merged or dropped: `first` is all rows in their own order.
    """

    kept: Array
    first: Array
    inverse: Array
    weights: Array
    is_everything: bool

    @classmethod
    def of(cls, labels: Array, weights: Array) -> Distinct:
        """Rows of equal labels 0, 1, … are equal."""
        kept = np.flatnonzero(weights > 0)
        if np.all(labels[kept] == labels[kept[:1]]):
            raise NotAvailable("nothing would be left to learn from")
        if len(kept) == len(labels) == labels.max() + 1:
            return cls(kept, kept, kept, weights, True)
        _, first, inverse = np.unique(labels[kept], return_index=True, return_inverse=True)
        return cls(kept, kept[first], inverse, np.bincount(inverse, weights[kept]), False)

    def spread(self, of_distinct: Array, of_all: Array) -> Array:
        """What holds for the distinct rows, for every row; rows of weight 0 keep theirs."""
        if self.is_everything:
            return of_distinct
        of_all = of_all.copy()
        of_all[self.kept] = of_distinct[self.inverse]
        return of_all
