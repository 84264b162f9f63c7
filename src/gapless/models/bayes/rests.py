"""What is left of counts without a row, and its logarithms; the entries of a row that are not 0."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

Array = np.ndarray


class Entries(NamedTuple):
    """The entries of X that are not 0: row, column and value of each; rows increase."""

    row: Array
    column: Array
    value: Array

    @classmethod
    def of(cls, X: Any) -> Entries:
        """The entries of a matrix, dense or sparse."""
        found = sp.coo_array(X.tocsr() if sp.issparse(X) else X)
        is_there = found.data != 0
        row, column = found.coords
        return cls(row[is_there], column[is_there], found.data[is_there].astype(np.float64))

    def sums(self, terms: Array, n: int) -> Array:
        """Sums of one term for each entry over the rows, (n,)."""
        return np.bincount(self.row, terms, n)


def log_positive(values: Array) -> Array:
    """log of values, −∞ for those that rounding may have left below 0."""
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(values, 0.0))


def log_ratio(part: Array, whole: Array, *, overwrite: bool = False) -> Array:
    """log(part/whole), −∞ where the part is 0, even where the whole is 0, too.

    With `overwrite` the result may take the memory of the part.
    """
    if part.size and part.min() > 0:
        log = np.log(part, out=part if overwrite else None)
        log -= np.log(whole)
        return log
    with np.errstate(invalid="ignore"):
        log = log_positive(part) - log_positive(whole)
    return np.where(np.isnan(log), -np.inf, log)


def left_over(counts: Array, taken: Array) -> Array:
    """counts − taken, and 0 where that is nothing but rounding."""
    left = counts - taken
    return np.where(left > 1e-12 * counts, left, 0.0)
