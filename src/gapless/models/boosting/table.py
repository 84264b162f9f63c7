"""The rows of boosting in bins, and the thresholds between these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..._ground.columns import Columns, halfway
from .bundles import Bundles

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class BinnedTable:
    """Rows in bins, and where the bins of each column of numbers end.

    Parameters
    ----------
    bins : Bundles
        The rows.
    edges : list of ndarray
        For each column the thresholds between its bins; empty for categories.
    """

    bins: Bundles
    edges: Sequence[Array]

    @classmethod
    def of(cls, columns: Columns, monotone: Array) -> BinnedTable:
        """Bundle columns of at most 256 codes, that of missing values included."""
        codes = [columns.codes_of(j) for j in range(len(columns))]
        counts = (columns.count + columns.has_missing).astype(int).tolist()
        bins = Bundles.of(codes, counts, columns.has_missing, columns.is_category, monotone)
        return cls(bins, [_between(columns, j) for j in range(len(columns))])

    @cached_property
    def _ends(self) -> tuple[Array, Array]:
        ends = [np.append(own, np.inf) for own in self.edges]
        return np.concatenate(ends), np.cumsum([0, *map(len, ends)])

    def thresholds(self, column: Array, code: Array) -> Array:
        """The threshold above each code of a column; ∞ above the last, NaN for categories."""
        ends, start = self._ends
        is_number = code >= 0
        place = np.where(is_number, start[column] + code, 0)
        return np.where(is_number, ends[place], np.nan)


def _between(columns: Columns, j: int) -> Array:
    """Halfway between what neighbouring codes of a column of numbers stand for."""
    if columns.is_category[j]:
        return np.zeros(0)
    own = slice(columns.values_begin[j], columns.values_begin[j] + columns.count[j])
    return halfway(columns.highest[own][:-1], columns.lowest[own][1:])
