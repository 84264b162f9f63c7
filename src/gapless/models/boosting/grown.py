"""Trees as the core writes them, and as trees that can be read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..trees import Tree
from .table import BinnedTable

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Grown:
    """What the core writes: nodes of K trees, in preorder, with room for more.

    `shape` has for each node its column, code, left and right child, and whether missing values go
    left; `numbers` its value, gain, curvature, between what its value must be, and its rows.
    """

    shape: Array
    numbers: Array
    levels: Array
    count: Array

    @classmethod
    def empty(cls, K: int, capacity: int) -> Grown:
        """Room for K trees."""
        nodes = K * capacity
        return cls(
            np.empty((5, nodes), dtype=np.int32),
            np.zeros((6, nodes)),
            np.empty((nodes, 4), dtype=np.uint64),
            np.empty(K, dtype=np.int32),
        )

    def field(self, i: int, k: int) -> Array:
        """A row of `shape`, for tree k."""
        return self.shape[i, self.nodes(k)]

    def nodes(self, k: int) -> slice:
        """Where the nodes of tree k are."""
        first = k * (self.shape.shape[1] // len(self.count))
        return slice(first, first + int(self.count[k]))

    def prune(self, k: int, price: float) -> Array:
        """Undo splits of tree k that do not gain their price; returns where each node has gone.

        Bottom-up: a split is worth what it gains, and what those below it are worth (Breiman et
        al. 1984, section 10.2).
        """
        nodes = self.nodes(k)
        left, right = self.shape[2, nodes], self.shape[3, nodes]
        worth = np.zeros(len(left))
        for i in np.flatnonzero(left >= 0)[::-1]:
            own = self.numbers[1, nodes][i] + worth[left[i]] + worth[right[i]] - price
            worth[i] = max(own, 0.0)
        stays, place = np.ones(len(left), dtype=bool), np.arange(len(left))
        for i in np.flatnonzero((left >= 0) & (worth == 0)):
            below = slice(i + 1, _end_of(int(i), left, right))
            stays[below], place[below] = False, place[i]
            self.shape[:4, nodes][:, i] = -1
        number = np.cumsum(stays) - 1
        kept = np.flatnonzero(stays)
        is_split = self.shape[2, nodes] >= 0
        for side in (2, 3):
            old = self.shape[side, nodes]
            self.shape[side, nodes] = np.where(is_split, number[np.where(is_split, old, 0)], -1)
        for part in (self.shape, self.numbers, self.levels.T):
            part[:, nodes][:, : len(kept)] = part[:, nodes][:, kept]
        self.count[k] = len(kept)
        return number[place]

    def tree(self, k: int, table: BinnedTable, values: Array, spread: Array | None) -> Tree:
        """Tree k with these values; the impurity of a node is its mean of g², if they are given."""
        nodes = self.nodes(k)
        column, code, left, right, missing_left = self.shape[:, nodes]
        weight, rows = self.numbers[2, nodes], self.numbers[5, nodes]
        is_level = (column >= 0) & (code < 0)
        levels = self.levels[nodes][is_level].view(np.uint32)
        impurity = np.zeros(len(column))
        if spread is not None:
            mean = self.numbers[0, nodes]
            sums, has_weight = _summed(spread, left, right), weight > 0
            of_row = np.divide(sums, weight, out=np.zeros(len(weight)), where=has_weight)
            impurity = np.maximum(of_row - mean**2, 0.0)
        return Tree(
            n_features=len(table.edges),
            n_classes=np.ones(1, dtype=np.int64),
            feature=np.where(column < 0, -2, column).astype(np.int64),
            threshold=np.where(column < 0, -2.0, table.thresholds(column, code)),
            children_left=left.astype(np.int64),
            children_right=right.astype(np.int64),
            missing_go_to_left=missing_left.astype(np.uint8),
            impurity=impurity,
            n_node_samples=rows.astype(np.int64),
            weighted_n_node_samples=weight.copy(),
            value=values[: len(column), None, None].copy(),
            category_start=np.concatenate([[0], np.cumsum(levels.shape[1] * is_level)]).astype(
                np.int64
            ),
            category_bits=levels.ravel(),
        )


def _end_of(i: int, left: Array, right: Array) -> int:
    """The node after the last one below node i; nodes are in preorder."""
    while left[i] >= 0:
        i = right[i]
    return int(i) + 1


def _summed(of_leaf: Array, left: Array, right: Array) -> Array:
    """Sums over the leaves below each node, from those of the leaves; nodes are in preorder."""
    sums = np.zeros(len(left))
    sums[: len(of_leaf)] = of_leaf
    for node in np.flatnonzero(left >= 0)[::-1]:
        sums[node] = sums[left[node]] + sums[right[node]]
    return sums
