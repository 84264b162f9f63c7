"""Trees with a branch for every category, as ID3 and C4.5 grow them.

Rows come as a float matrix: numbers as they are, categories as level numbers, NaN where a value is
missing. A row whose value is missing goes down all branches, with its weight divided as the rows
divide whose value is known, and the gain of a test counts for the known share alone (Quinlan 1993,
chapter 3).

References
----------
Quinlan (1986), Induction of decision trees, Machine Learning 1.
Quinlan (1993), C4.5: Programs for Machine Learning, Morgan Kaufmann.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .pruning import levels

Array = np.ndarray

LEAF = -2


@dataclass(frozen=True, eq=False)
class MultiwayTree:
    """A grown tree; nodes stand in preorder, each in front of what is below it.

    Attributes
    ----------
    feature : ndarray of int, shape (nodes,)
        The column that a node asks for, −2 at leaves.
    threshold : ndarray of shape (nodes,)
        Where numbers are divided, NaN for categories and at leaves.
    parent, branch : ndarray of int, shape (nodes,)
        The node above, −1 for the root, and by which answer it is reached: the number of a level,
        or 0 for x ≤ threshold and 1 for x > threshold.
    value : ndarray of shape (nodes, classes)
        The weight of each class; all 0 in a branch without rows.
    gain, ratio : ndarray of shape (nodes,)
        What the test gains in bits, and relative to the information of its branches.
    """

    feature: Array
    threshold: Array
    parent: Array
    branch: Array
    value: Array
    gain: Array
    ratio: Array

    @property
    def node_count(self) -> int:
        """The number of nodes."""
        return len(self.feature)

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return int(np.sum(self.feature == LEAF))

    @property
    def max_depth(self) -> int:
        """The depth of the deepest leaf."""
        return len(levels(self.parent)) - 1

    @cached_property
    def weight(self) -> Array:
        """The weight of the rows in each node."""
        return np.asarray(self.value.sum(axis=1))

    @cached_property
    def shares(self) -> Array:
        """The predicted shares of the classes; a branch without rows predicts as the node above."""
        shares = self.value / np.where(self.weight > 0, self.weight, 1.0)[:, None]
        for nodes in levels(self.parent)[1:]:
            empty = nodes[self.weight[nodes] == 0]
            shares[empty] = shares[self.parent[empty]]
        return shares

    @cached_property
    def children(self) -> list[Array]:
        """The nodes below each node, in the order of their branches."""
        below: list[list[int]] = [[] for _ in range(self.node_count)]
        for node in range(1, self.node_count):
            below[self.parent[node]].append(node)
        return [np.array(nodes, dtype=int) for nodes in below]

    def pruned(self, is_leaf: Array) -> tuple[MultiwayTree, Array]:
        """The tree with some nodes made leaves, and the new number of every node, −1 for none."""
        is_gone = np.zeros(self.node_count, dtype=bool)
        for nodes in levels(self.parent)[1:]:
            above = self.parent[nodes]
            is_gone[nodes] = is_gone[above] | is_leaf[above]
        kept = np.flatnonzero(~is_gone)
        number = np.where(is_gone, -1, np.cumsum(~is_gone) - 1)
        leaf = is_leaf[kept]
        return MultiwayTree(
            feature=np.where(leaf, LEAF, self.feature[kept]),
            threshold=np.where(leaf, np.nan, self.threshold[kept]),
            parent=np.where(kept > 0, number[self.parent[kept]], -1),
            branch=self.branch[kept],
            value=self.value[kept],
            gain=np.where(leaf, 0.0, self.gain[kept]),
            ratio=np.where(leaf, 0.0, self.ratio[kept]),
        ), number

    def recounted(self, F: Array, y: Array, weights: Array) -> MultiwayTree:
        """The same questions with the weights of the classes counted anew, from the same rows."""
        value = np.zeros_like(self.value)
        stack = [(0, np.arange(len(F)), np.asarray(weights, dtype=float))]
        while stack:
            node, rows, w = stack.pop()
            value[node] = np.bincount(y[rows], w, minlength=value.shape[1])
            stack += self._below(node, F, rows, w, self._split(node, F, rows, w))
        return replace(self, value=value)

    def errors(self, F: Array, y: Array, weights: Array) -> tuple[Array, Array]:
        """By what each node predicts: the weight of other rows in other classes, and of all in it.

        Classes are positions, −1 for one that the tree does not know; rows with missing values are
        divided as in predictions.
        """
        said = np.argmax(self.shares, axis=1)
        wrong, total = np.zeros(self.node_count), np.zeros(self.node_count)
        stack = [(0, np.arange(len(F)), np.asarray(weights, dtype=float))]
        while stack:
            node, rows, w = stack.pop()
            wrong[node], total[node] = w[y[rows] != said[node]].sum(), w.sum()
            stack += self._below(node, F, rows, w, self._known_shares(node))
        return wrong, total

    def predict(self, F: Array) -> Array:
        """Shares of the classes (rows, classes); rows with missing values mix those of leaves."""
        predicted = np.zeros((len(F), self.value.shape[1]))
        for node, rows, w in self._reached(F):
            predicted[rows] += w[:, None] * self.shares[node]
        return predicted

    def apply(self, F: Array) -> Array:
        """The leaf of each row; of a row with missing values the one with most of its weight."""
        leaf, most = np.zeros(len(F), dtype=int), np.zeros(len(F))
        for node, rows, w in self._reached(F):
            is_more = w > most[rows]
            leaf[rows[is_more]], most[rows[is_more]] = node, w[is_more]
        return leaf

    def _reached(self, F: Array) -> list[tuple[int, Array, Array]]:
        """Leaves, the rows that reach them, and with what part of their weight."""
        found, stack = [], [(0, np.arange(len(F)), np.ones(len(F)))]
        while stack:
            node, rows, w = stack.pop()
            if self.feature[node] == LEAF:
                found.append((node, rows, w))
            else:
                stack += self._below(node, F, rows, w, self._known_shares(node))
        return found

    def _known_shares(self, node: int) -> Array:
        """How the rows of the fit were divided among the branches of a node."""
        weight = self.weight[self.children[node]]
        return weight / weight.sum() if len(weight) else weight

    def _split(self, node: int, F: Array, rows: Array, w: Array) -> Array:
        """The shares of the known weight in the branches of a node, by these rows."""
        if self.feature[node] == LEAF:
            return np.zeros(0)
        count = len(self.children[node])
        branch = branches_of(F[rows, self.feature[node]], self.threshold[node], count)
        known = np.bincount(branch[branch >= 0], w[branch >= 0], minlength=count)
        return known / known.sum() if known.sum() > 0 else np.full(count, 1.0 / count)

    def _below(
        self, node: int, F: Array, rows: Array, w: Array, shares: Array
    ) -> list[tuple[int, Array, Array]]:
        """The rows in each branch with their weights; those without a value are in all of them."""
        if self.feature[node] == LEAF:
            return []
        branch = branches_of(F[rows, self.feature[node]], self.threshold[node], len(shares))
        return [
            (int(child), *divided(branch, rows, w, k, float(share)))
            for k, (child, share) in enumerate(zip(self.children[node], shares))
        ]


def branches_of(column: Array, threshold: float, count: int) -> Array:
    """The branch of each value, −1 where it is missing or a level that was never seen."""
    is_known = ~np.isnan(column)
    if not np.isnan(threshold):
        return np.where(is_known, (column > threshold).astype(int), -1)
    level = np.where(is_known, column, -1).astype(int)
    return np.where(level < count, level, -1)


def divided(branch: Array, rows: Array, w: Array, k: int, share: float) -> tuple[Array, Array]:
    """Rows of branch k with all their weight, and rows without a value with a share of theirs."""
    chosen = (branch == k) | (branch < 0) if share > 0 else branch == k
    return rows[chosen], np.where(branch[chosen] < 0, share, 1.0) * w[chosen]
