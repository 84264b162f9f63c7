"""Rows of numbers and categories: numbers in parts of their range, categories equal or not.

The range-scaled sum of differences, Σ |xⱼ − zⱼ|/rangeⱼ over numbers and 1 for each category that
differs, is Gower's distance times the number of columns (Gower 1971, Biometrics 27).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ..._ground.columns import Columns, for_prediction, read_new, read_training
from ..._ground.stored import Declaration, Numbers, Value
from ..._ground.validation import read_weights

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class MixedRows:
    """How mixed rows are measured.

    Parameters
    ----------
    columns : Columns
        Which columns are categories, and their levels.
    low, factor : ndarray of shape (d,)
        The least value of each number, and one over its range; 0 and 1 for categories.
    """

    _stored: ClassVar[Declaration] = {
        "columns": Value(Columns, features=len),
        "low": Numbers("features"),
        "factor": Numbers("features"),
    }
    columns: Columns
    low: Array
    factor: Array

    @classmethod
    def read(
        cls, estimator: Any, X: Any, sample_weight: Any = None, *, reset: bool = True
    ) -> tuple[MixedRows, Array, Array | None]:
        """Ranges of the rows that have a weight; all rows in their units; names of the columns."""
        columns, F, names = read_training(estimator, X, None, reset=reset)
        F = _dense(F)
        weights = read_weights(sample_weight, F)
        low, factor = np.zeros(F.shape[1]), np.ones(F.shape[1])
        for j in np.flatnonzero(~columns.is_category):
            values = F[weights > 0, j]
            values = values[np.isfinite(values)]
            if len(values):
                low[j] = values.min()
                span = values.max() - low[j]
                # A number that does not vary tells nothing.
                factor[j] = 1 / span if span > 0 else 0.0
        mixed = cls(for_prediction(columns), low, factor)
        return mixed, mixed.scaled(F), names

    def new(self, estimator: Any, X: Any) -> Array:
        """Rows to predict, in the units of the fit; a level that is new differs from all."""
        return self.scaled(_dense(read_new(estimator, self.columns, X)))

    def scaled(self, F: Array) -> Array:
        """Rows in these units, the numbers first; NaN where a value is missing."""
        order = np.argsort(self.columns.is_category, kind="stable")
        return np.ascontiguousarray(((F - self.low) * self.factor)[:, order])

    @property
    def numbers(self) -> int:
        """How many columns are numbers."""
        return int(np.sum(~self.columns.is_category))


def _dense(F: Any) -> Array:
    return np.asarray(F.toarray() if sp.issparse(F) else F, dtype=np.float64)
