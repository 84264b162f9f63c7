"""Rows that are mostly zeros, as pixels and counts are: products that go over the others alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...._ground import core

Array = np.ndarray

# Collecting entries pays if at most this part of them is not 0 and they meet so many outputs.
MOST_ENTRIES, LEAST_OUTPUTS = 0.4, 16


@dataclass(frozen=True, eq=False)
class Entries:
    """The entries of a batch that are not 0, row by row."""

    start: Array
    index: Array
    value: Array
    shape: tuple[int, int]

    def times(self, W: Array) -> Array:
        """The batch times W, (n, outputs)."""
        y = np.empty((self.shape[0], W.shape[1]), W.dtype)
        core.entries_times(self.start, self.index, self.value, W, y)
        return y

    def transposed_times(self, dz: Array, out: Array) -> None:
        """out = the transposed batch times dz, (features, outputs)."""
        core.entries_transposed_times(self.start, self.index, self.value, dz, out)


def entries_of(x: Any, outputs: int) -> Entries | None:
    """The entries of a batch, if products with so many outputs are faster by them."""
    if sp.issparse(x):
        arrays = x.indptr.astype(np.int64), x.indices.astype(np.int32), x.data
        return Entries(*arrays, x.shape)
    most = int(MOST_ENTRIES * x.size)
    if outputs < LEAST_OUTPUTS or not most:
        return None
    start = np.empty(len(x) + 1, np.int64)
    index, value = np.empty(most, np.int32), np.empty(most, x.dtype)
    if not core.collect_entries(x, start, index, value):
        return None
    return Entries(start, index, value, x.shape)
