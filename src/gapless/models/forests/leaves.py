"""Which rows share leaves: their proximity, and the quantiles of their targets.

References
----------
Meinshausen (2006), Quantile regression forests, Journal of Machine Learning Research 7.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._ground.interrupt import check
from ..bagging import EnsembleData
from ..trees import PackedTrees

Array = np.ndarray

# Rows whose pairs are formed at a time.
ROWS_AT_A_TIME = 2000


def leaf_table(packed: PackedTrees, F: Any) -> sp.csr_matrix:
    """The leaves of each row: (n, nodes of all trees), a one for each tree."""
    leaves = packed.apply(F) + packed.start[:-1]
    rows, trees = leaves.shape
    start = np.arange(rows + 1) * trees
    ones = np.ones(rows * trees)
    return sp.csr_matrix((ones, leaves.ravel(), start), shape=(rows, int(packed.start[-1])))


def proximity(packed: PackedTrees, F: Any, G: Any) -> sp.csr_matrix:
    """The part of the trees in which a row of F and one of G share a leaf."""
    others = leaf_table(packed, G).T.tocsr()
    parts = []
    for part in _blocks(leaf_table(packed, F)):
        check()
        parts.append((part @ others) / len(packed))
    return sp.vstack(parts, format="csr")


@dataclass(frozen=True, eq=False)
class Leaves:
    """The training rows of each leaf.

    Parameters
    ----------
    packed : PackedTrees
        The forest.
    shares : csr_matrix of shape (nodes of all trees, n)
        The part of its leaf's weight that each training row has.
    y : ndarray of shape (n, outputs)
        Targets.
    """

    packed: PackedTrees
    shares: sp.csr_matrix
    y: Array

    @classmethod
    def of(cls, packed: PackedTrees, F: Any, data: EnsembleData) -> Leaves:
        """The leaves of the training rows F."""
        weights = data.outputs.sample_weight
        kept = np.flatnonzero(weights > 0)
        members = leaf_table(packed, F[kept]).T.tocsr()
        members = members @ sp.diags(weights[kept])
        total = np.asarray(members.sum(axis=1)).ravel()
        shares = sp.diags(1.0 / np.where(total > 0, total, 1.0)) @ members
        return cls(packed, shares.tocsr(), data.outputs.y[kept])

    def quantiles(self, F: Any, levels: Array) -> Array:
        """Quantiles of the targets that share leaves with each row, (n, outputs, levels)."""
        table = leaf_table(self.packed, F)
        out = np.empty((F.shape[0], self.y.shape[1], len(levels)))
        for k, y in enumerate(self.y.T):
            order = np.argsort(y, kind="stable")
            shares, values, at = self.shares[:, order], y[order], 0
            for part in _blocks(table):
                check()
                weights = (part @ shares).tocsr()
                weights.sort_indices()
                out[at : at + part.shape[0], k] = _weighted_quantiles(weights, values, levels)
                at += part.shape[0]
        return out


def _weighted_quantiles(weights: sp.csr_matrix, values: Array, levels: Array) -> Array:
    """The smallest value at which the weights of a row sum up to each level, (rows, levels)."""
    sums = np.cumsum(weights.data)
    ends = sums[weights.indptr[1:] - 1]
    begins = np.concatenate([[0.0], ends[:-1]])
    # Slightly below: sums of many parts may miss a level by rounding.
    wanted = begins[:, None] + (ends - begins)[:, None] * (levels - 1e-9)
    place = np.searchsorted(sums, wanted.ravel()).reshape(wanted.shape)
    place = np.clip(place, weights.indptr[:-1, None], weights.indptr[1:, None] - 1)
    return values[weights.indices[place]]


def _blocks(table: sp.csr_matrix) -> Iterator[sp.csr_matrix]:
    for first in range(0, table.shape[0], ROWS_AT_A_TIME):
        yield table[first : first + ROWS_AT_A_TIME]


def predict_quantiles(self, X, quantiles=(0.05, 0.5, 0.95)):
    """Quantiles of the target at each row.

    Parameters
    ----------
    quantiles : array-like of float, default=(0.05, 0.5, 0.95)
        Levels between 0 and 1.

    Returns
    -------
    values : ndarray of shape (n_samples, n_quantiles) or (n_samples, n_outputs, n_quantiles)
        Quantiles of the training targets in the leaves of a row, each tree giving its leaf the
        same weight (Meinshausen 2006). Leaves of several rows (min_samples_leaf=5 or so) make
        them smoother. They need the training data, to which a fit keeps a reference.
    """
    levels = np.atleast_1d(np.asarray(quantiles, dtype=float))
    if not np.all((levels >= 0) & (levels <= 1)):
        raise ValueError(f"quantiles must be between 0 and 1, got {quantiles!r}.")
    F = self._read_rows(X)
    values = self._leaves().quantiles(F, levels)
    return values[:, 0] if self.n_outputs_ == 1 else values
