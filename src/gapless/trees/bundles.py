"""Columns that are never unusual in the same row, as one column.

The dummies of a category are the common case: forty columns, of which each row has one that is not
0. A tree counts such columns in one pass over their bundle (Ke et al. 2017, exclusive feature
bundling; here without any conflict, so that nothing changes but the time).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Array = np.ndarray

# A code of a bundle is one byte.
MOST_CODES = 256
# A column of more codes is no member: it would fill a bundle alone.
MOST_OWN = 16
# A column is tried with so many of the latest bundles.
TRIES = 8


@dataclass(frozen=True, eq=False)
class Bundles:
    """Which columns are bundled, and the codes of the bundles.

    Parameters
    ----------
    of_column : ndarray of int64, shape (d,)
        The bundle of each column, −1 for none.
    usual : ndarray of int64, shape (d,)
        The code that most rows have.
    first : ndarray of int64, shape (d,)
        The bundle's code for the first code that is not the usual one; the others follow.
    codes : ndarray of uint8, shape (bundles, n)
        0 where all columns are usual.
    count : ndarray of int64, shape (bundles,)
        How many codes each bundle has.
    """

    of_column: Array
    usual: Array
    first: Array
    codes: Array
    count: Array


class _Bundle:
    """A bundle while it grows."""

    def __init__(self, rows: int):
        self.codes = np.zeros(rows, dtype=np.uint8)
        self.unusual = 0
        self.count = 1
        self.members: list[int] = []

    def has_room(self, is_unusual: Array, unusual: int, own: int) -> bool:
        """Whether a column goes in without meeting another one in any row."""
        if self.count + own - 1 > MOST_CODES or self.unusual + unusual > len(self.codes):
            return False
        # Most columns that meet do so early.
        early = slice(0, 4096)
        if np.any(self.codes[early][is_unusual[early]]):
            return False
        return not np.any(self.codes[is_unusual])


def bundle(parts: Sequence[Array], counts: Array, is_category: Array) -> Bundles:
    """Bundle columns of few codes.

    Parameters
    ----------
    parts : sequence of ndarray, shape (n,)
        Codes of each column; the code `counts[j]` means missing.
    counts : ndarray of int64, shape (d,)
        The number of codes of each column.
    is_category : ndarray of bool, shape (d,)
        Categories stay by themselves.

    Returns
    -------
    Bundles
    """
    d, rows = len(parts), len(parts[0]) if len(parts) else 0
    usual, first = np.zeros(d, dtype=np.int64), np.zeros(d, dtype=np.int64)
    bundles: list[_Bundle] = []
    for j in np.flatnonzero((counts < MOST_OWN) & ~is_category & (counts > 1)).tolist():
        frequency = np.bincount(parts[j], minlength=counts[j] + 1)
        usual[j] = frequency.argmax()
        unusual = rows - int(frequency[usual[j]])
        is_unusual = parts[j] != usual[j]
        own = int(counts[j]) + 1
        for candidate in reversed(bundles[-TRIES:]):
            if candidate.has_room(is_unusual, unusual, own):
                break
        else:
            candidate = _Bundle(rows)
            bundles.append(candidate)
        first[j] = candidate.count
        place = np.arange(own) - (np.arange(own) > usual[j]) + candidate.count
        candidate.codes[is_unusual] = place[parts[j][is_unusual]]
        candidate.count += own - 1
        candidate.unusual += unusual
        candidate.members.append(j)
    return _joined([b for b in bundles if len(b.members) > 1], usual, first, d, rows)


def _joined(bundles: list[_Bundle], usual: Array, first: Array, d: int, rows: int) -> Bundles:
    of_column = np.full(d, -1, dtype=np.int64)
    codes = np.zeros((len(bundles), rows), dtype=np.uint8)
    for b, made in enumerate(bundles):
        of_column[made.members] = b
        codes[b] = made.codes
    count = np.array([made.count for made in bundles], dtype=np.int64)
    return Bundles(of_column, usual, first, codes, count)
