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

Array = np.ndarray

MOST_CODES = 256
# A column shares its byte only if this part of the rows at least has its most frequent value, and
# looks for company in so many bundles.
FREQUENT, MOST_TRIED = 0.5, 64


@dataclass(frozen=True, eq=False)
class Bundles:
    """Rows of bins.

    Parameters
    ----------
    code : ndarray of uint8, shape (n, width)
        The bins.
    start : ndarray of int32, shape (width + 1,)
        Where the bins of each bundle begin when all are counted through.
    table : ndarray of int32, shape (d, 7)
        For each column its bundle, its first bin there, its number of codes, the most frequent one
        (−1 where the column is alone), whether the last code is that of missing values, whether the
        codes are levels of a category, and whether predictions must rise (1) or fall (−1) with it.
    """

    code: Array
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
        packing = _Packing(codes, counts)
        bundles = packing.bundles()
        code = np.zeros((len(codes[0]), len(bundles)), dtype=np.uint8)
        table = np.zeros((len(codes), 7), dtype=np.int32)
        sizes = []
        for b, members in enumerate(bundles):
            if len(members) == 1:
                code[:, b] = codes[members[0]]
                table[members[0], :4] = b, 0, counts[members[0]], -1
                sizes.append(counts[members[0]])
                continue
            first = 1
            for j in members:
                rows, frequent = packing.others(j), packing.frequent[j]
                own = codes[j][rows]
                code[rows, b] = first + own - (own > frequent)
                table[j, :4] = b, first, counts[j], frequent
                first += counts[j] - 1
            sizes.append(first)
        table[:, 4], table[:, 5], table[:, 6] = has_missing, is_categorical, monotone
        start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
        return cls(code, start, table)


class _Packing:
    """Which columns can share a byte."""

    def __init__(self, codes: Sequence[Array], counts: Sequence[int]):
        self.codes, self.counts = codes, counts
        self.frequent = [_most_frequent(c, k) for c, k in zip(codes, counts)]
        self._others: dict[int, Array] = {}

    def others(self, j: int) -> Array:
        """The rows whose code in column j is not the most frequent one."""
        if j not in self._others:
            self._others[j] = np.flatnonzero(self.codes[j] != self.frequent[j])
        return self._others[j]

    def bundles(self) -> list[list[int]]:
        """Columns that share a byte, in the order of the first of each; most rows first."""
        n = len(self.codes[0])
        alone: list[int] = []
        shared: list[int] = []
        for j, count in enumerate(self.counts):
            is_sparse = 1 < count < MOST_CODES and len(self.others(j)) <= (1 - FREQUENT) * n
            (shared if is_sparse else alone).append(j)
        found = [[j] for j in alone]
        for part in self._packed(sorted(shared, key=lambda j: -len(self.others(j)))):
            found.append(sorted(part))
        return sorted(found)

    def _packed(self, columns: list[int]) -> list[list[int]]:
        """Each column joins the first bundle with room for its codes and its rows."""
        members: list[list[int]] = []
        taken: list[Array] = []
        sizes: list[int] = []
        for j in columns:
            rows = self.others(j)
            for b in range(max(len(members) - MOST_TRIED, 0), len(members)):
                if sizes[b] + self.counts[j] - 1 > MOST_CODES or taken[b][rows].any():
                    continue
                members[b].append(j)
                sizes[b] += self.counts[j] - 1
                taken[b][rows] = True
                break
            else:
                members.append([j])
                sizes.append(self.counts[j])
                taken.append(np.zeros(len(self.codes[0]), dtype=bool))
                taken[-1][rows] = True
        return members


def _most_frequent(codes: Array, count: int) -> int:
    return int(np.argmax(np.bincount(codes, minlength=count)))
