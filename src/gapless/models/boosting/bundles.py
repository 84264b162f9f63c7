"""Binned columns in the layout that boosting reads: a few bytes for each row, row after row.

Columns of which at most one differs from its most frequent value in any row, such as the indicators
of a category, share a byte: 44 of them cost as much as two columns (Ke et al. 2017, LightGBM).
Nothing is lost by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._ground.columns import MOST_CODES, pack

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Bundles:
    """Rows of bins.

    Parameters
    ----------
    code : ndarray of uint8, shape (n, width)
        The bins.
    by_bundle : ndarray of uint8, shape (width, n)
        The same, bundle after bundle.
    start : ndarray of int32, shape (width + 1,)
        Where the bins of each bundle begin when all are counted through.
    table : ndarray of int32, shape (d, 7)
        For each column its bundle, its first bin there, its number of codes, the most frequent one
        (−1 where the column is alone), whether the last code is that of missing values, whether the
        codes are levels of a category, and whether predictions must rise (1) or fall (−1) with it.
    """

    code: Array
    by_bundle: Array
    start: Array
    table: Array

    @classmethod
    def of(
        cls,
        codes: Sequence[Array],
        counts: Sequence[int],
        has_missing: Any,
        is_categorical: Any,
        monotone: Any,
    ) -> Bundles:
        """Bundle columns of codes 0 … count − 1; the last three have an entry for each column."""
        width = np.asarray(counts)
        packing = pack(codes, counts, (width > 1) & (width < MOST_CODES))
        shared = {j for members in packing.members for j in members}
        alone = [[j] for j in np.flatnonzero(width > 1).tolist() if j not in shared]
        bundles = sorted([*packing.members, *alone])
        by_bundle = np.zeros((max(len(bundles), 1), len(codes[0])), dtype=np.uint8)
        # Columns of one code need no byte of their own: they are at their most frequent one.
        table = np.zeros((len(codes), 7), dtype=np.int32)
        table[:, 2] = counts
        sizes = [] if bundles else [1]
        for b, members in enumerate(bundles):
            if len(members) == 1:
                by_bundle[b] = codes[members[0]]
                table[members[0], :4] = b, 0, counts[members[0]], -1
                sizes.append(counts[members[0]])
                continue
            first = 1
            for j in members:
                packing.write(codes[j], j, first, by_bundle[b])
                table[j, :4] = b, first, counts[j], packing.usual[j]
                first += counts[j] - 1
            sizes.append(first)
        table[:, 4], table[:, 5], table[:, 6] = has_missing, is_categorical, monotone
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        return cls(np.ascontiguousarray(by_bundle.T), by_bundle, start, table)
