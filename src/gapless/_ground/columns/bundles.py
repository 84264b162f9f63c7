"""Columns that are never unusual in the same row, as one column.

The dummies of a category are the common case: forty columns, of which exactly one is not 0 in each
row. A tree counts such columns in one pass over their bundle (Ke et al. 2017, exclusive feature
bundling; here without any conflict, so that only the time changes). `pack` finds them for single
trees, whose layout is here, and for boosting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

Array = np.ndarray

# A code of a bundle is one byte.
MOST_CODES = 256
# A column with more codes is not bundled for single trees: it would fill a bundle.
MOST_OWN = 16
# A member has its most frequent code in at least this part of the rows.
FREQUENT = 0.5
# Try to fit a column into this many of the latest bundles.
MOST_TRIED = 32
# Most columns that conflict do so in the first rows.
EARLY = 4096


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
        The number of codes of each bundle.
    """

    of_column: Array
    usual: Array
    first: Array
    codes: Array
    count: Array


def bundle(parts: Sequence[Array], counts: Array, is_category: Array) -> Bundles:
    """Bundle columns of few codes.

    Parameters
    ----------
    parts : sequence of ndarray, shape (n,)
        Codes of each column; the code `counts[j]` means missing.
    counts : ndarray of int64, shape (d,)
        The number of codes of each column.
    is_category : ndarray of bool, shape (d,)
        Categories are not bundled.

    Returns
    -------
    Bundles
    """
    packing = pack(parts, counts + 1, (counts < MOST_OWN) & ~is_category & (counts > 1))
    rows = len(parts[0]) if len(parts) else 0
    of_column, first = np.full(len(parts), -1), np.zeros(len(parts), dtype=np.int64)
    codes = np.zeros((len(packing.members), rows), dtype=np.uint8)
    count = np.ones(len(packing.members), dtype=np.int64)
    for b, members in enumerate(packing.members):
        for j in members:
            of_column[j], first[j] = b, count[b]
            packing.write(parts[j], j, int(count[b]), codes[b])
            count[b] += counts[j]
    return Bundles(of_column, packing.usual, first, codes, count)


def apart(d: int) -> Bundles:
    """No bundles of d columns."""
    none = np.zeros(d, dtype=np.int64)
    return Bundles(none - 1, none, none, np.zeros((0, 0), dtype=np.uint8), none[:0])


# ---- which columns are bundled -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Packing:
    """Which columns can share a byte.

    Parameters
    ----------
    usual : ndarray of int64, shape (d,)
        The most frequent code of each column that could be a member, 0 for others.
    members : list of list of int
        The columns of each bundle, two or more, in increasing order.
    """

    usual: Array
    members: list[list[int]]

    def write(self, codes: Array, j: int, first: int, out: Array) -> None:
        """Write the codes of column j into its bundle, starting at the code `first`."""
        rows = np.flatnonzero(codes != self.usual[j])
        own = codes[rows].astype(np.int64)
        out[rows] = first + own - (own > self.usual[j])


def pack(codes: Sequence[Array], counts: Sequence[int] | Array, is_candidate: Array) -> Packing:
    """Bundle columns of which at most one in any row is not at its most frequent code.

    Parameters
    ----------
    codes : sequence of d ndarrays, shape (n,)
        Codes 0 … count − 1 of each column.
    counts : sequence of d int
        The number of codes of each column.
    is_candidate : ndarray of bool, shape (d,)
        Which columns may be members.
    """
    d, n = len(codes), len(codes[0]) if len(codes) else 0
    usual, others = np.zeros(d, dtype=np.int64), np.full(d, n)
    for j in np.flatnonzero(is_candidate).tolist():
        frequency = np.bincount(codes[j], minlength=1)
        usual[j] = frequency.argmax()
        others[j] = n - frequency[usual[j]]
    sparse = np.flatnonzero(is_candidate & (others <= (1 - FREQUENT) * n))
    bundles: list[_Bundle] = []
    # Columns with most rows first: the others find room between them.
    for j in sparse[np.argsort(-others[sparse], kind="stable")].tolist():
        rows = np.flatnonzero(codes[j] != usual[j])
        for candidate in bundles[-MOST_TRIED:]:
            if candidate.has_room(rows, int(counts[j])):
                break
        else:
            candidate = _Bundle(n)
            bundles.append(candidate)
        candidate.add(j, rows, int(counts[j]))
    return Packing(usual, sorted(sorted(b.members) for b in bundles if len(b.members) > 1))


class _Bundle:
    """A bundle while it grows."""

    def __init__(self, rows: int):
        self.is_taken = np.zeros(rows, dtype=bool)
        self.free = rows
        self.count = 1
        self.members: list[int] = []

    def has_room(self, rows: Array, own: int) -> bool:
        """Whether a column with these unusual rows fits without a conflict."""
        if self.count + own - 1 > MOST_CODES or len(rows) > self.free:
            return False
        return not (self.is_taken[rows[:EARLY]].any() or self.is_taken[rows[EARLY:]].any())

    def add(self, column: int, rows: Array, own: int) -> None:
        """Add a column."""
        self.members.append(column)
        self.is_taken[rows] = True
        self.free -= len(rows)
        self.count += own - 1
