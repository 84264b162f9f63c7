"""Rows that are mostly zeros, as pixels and counts are: products that leave most of them out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...._ground import core

Array = np.ndarray

# So many rows are taken together: the columns where any of them is not 0.
TOGETHER = 4
# Collecting them pays if at most this part of all columns is left, for so many outputs.
MOST_COLUMNS, LEAST_OUTPUTS = 0.6, 16


@dataclass(frozen=True, eq=False)
class Entries:
    """What is not 0 in a batch: for each four rows the columns where one of them is not."""

    start: Array
    index: Array
    value: Array
    rows: int

    def times(self, W: Array) -> Array:
        """The batch times W, (n, outputs)."""
        y = np.empty((self.rows, W.shape[1]), W.dtype)
        core.columns_times(self.start, self.index, self.value, W, y)
        return y

    def transposed_times(self, dz: Array, out: Array) -> None:
        """out = the transposed batch times dz, (features, outputs)."""
        core.columns_transposed_times(self.start, self.index, self.value, dz, out)


def entries_of(x: Array, outputs: int) -> Entries | None:
    """The entries of a batch, if products with so many outputs are faster by them."""
    groups = -(-len(x) // TOGETHER)
    most = int(MOST_COLUMNS * groups * x.shape[1])
    if outputs < LEAST_OUTPUTS or not most:
        return None
    start = np.empty(groups + 1, np.int64)
    index, value = np.empty(most, np.int32), np.empty(TOGETHER * most, x.dtype)
    if not core.collect_columns(x, start, index, value):
        return None
    return Entries(start, index, value, len(x))
