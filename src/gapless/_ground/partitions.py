"""Two ways to judge clusters, each written once: agreement of two clusterings, and silhouettes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Agreement:
    """How far two clusterings agree on which rows belong together (Hubert and Arabie 1985, eq. 5).

    With S pairs of rows together in both, A and B in each, and N in all, the adjusted Rand index is
    (S − E)/(M − E) for E = AB/N, the pairs together in both by chance, and M = (A + B)/2, the most
    possible. A row of mass s counts as s rows.

    Attributes
    ----------
    one, two : ndarray of int, shape (n,)
        The cluster of each row in both, from 0 on.
    mass : ndarray of shape (n,)
        How often each row counts.
    """

    one: Array
    two: Array
    mass: Array

    @cached_property
    def _cells(self) -> Array:
        """The cell of each row in the table of both clusterings."""
        return np.unique(self.one * (int(self.two.max(initial=0)) + 1) + self.two, False, True)[1]

    @cached_property
    def _sizes(self) -> tuple[Array, Array, Array, Array]:
        """Rows in each cell, in each cluster of both, and in all."""
        of_one, of_two = np.bincount(self.one, self.mass), np.bincount(self.two, self.mass)
        return np.bincount(self._cells, self.mass), of_one, of_two, np.array([self.mass.sum()])

    @cached_property
    def _pairs(self) -> tuple[float, float, float, float]:
        """S, A, B and N."""
        S, A, B, N = (
            float(np.sum(np.maximum(size * (size - 1.0), 0.0))) / 2 for size in self._sizes
        )
        return S, A, B, N

    @property
    def _range(self) -> tuple[float, float]:
        """E and M."""
        _, A, B, N = self._pairs
        return A * B / N if N > 0 else 0.0, 0.5 * (A + B)

    @property
    def is_trivial(self) -> bool:
        """Whether both have one cluster, or each row alone: then they are the same."""
        E, M = self._range
        return not 1e-12 * max(M, 1.0) < M - E

    @property
    def index(self) -> float:
        """The adjusted Rand index: 1 if both are the same, about 0 if they agree by chance."""
        E, M = self._range
        return 1.0 if self.is_trivial else (self._pairs[0] - E) / (M - E)

    def derivatives(self) -> Array:
        """Those of the index in the mass of each row, (n,); 0 where it is trivial."""
        if self.is_trivial:
            return np.zeros(len(self.one))
        _, A, B, N = self._pairs
        E, M = self._range
        of_cell, of_one, of_two, total = self._sizes
        # A row more makes as many pairs more as its cluster has rows.
        each = (of_cell[self._cells], of_one[self.one], of_two[self.two], total[0])
        dS, dA, dB, dN = (size - 0.5 for size in each)
        dE = (dA * B + A * dB) / N - A * B * dN / N**2
        dM = 0.5 * (dA + dB)
        return np.asarray((dS - dE - self.index * (dM - dE)) / (M - E))


def silhouette_values(sums: Array, masses: Array, own: Array, weights: Any) -> Array:
    """The silhouette of each row (Rousseeuw 1987).

    (b − a)/max(a, b), where a is the mean distance of a row to the others of its cluster, and b
    that to the rows of the nearest other one; 0 for a row alone, and where all distances are 0.

    Parameters
    ----------
    sums : ndarray of shape (r, k)
        The sum of the distances of each row to the rows of each cluster.
    masses : ndarray of shape (k,)
        How many rows each cluster has.
    own : ndarray of int, shape (r,)
        The cluster of each row.
    weights : ndarray of shape (r,), or float
        How often each row counts.
    """
    at = np.arange(len(own)), own
    others = masses[own] - weights
    with np.errstate(divide="ignore", invalid="ignore"):
        a = sums[at] / others
        means = sums / masses
        means[at] = np.inf
        b = means.min(axis=1)
        values = (b - a) / np.maximum(a, b)
    return np.where(others > 1e-12 * masses[own], np.nan_to_num(values), 0.0)
