"""Trees with a branch for every category, as ID3 and C4.5 grow them.

Rows come as a float matrix: numbers unchanged, categories as level numbers, NaN for missing values.
A row with a missing value goes down all branches, its weight divided like the rows with a known
value, and the gain of a test counts for the known share alone (Quinlan 1993, chapter 3).

References
----------
Quinlan (1986), Induction of decision trees, Machine Learning 1.
Quinlan (1993), C4.5: Programs for Machine Learning, Morgan Kaufmann.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

from ..._ground.interrupt import check
from .tree import kept_below, levels

Array = np.ndarray

LEAF = -2


@dataclass(frozen=True, eq=False)
class MultiwayTree:
    """A grown tree; nodes are in preorder, each before what is below it.

    Attributes
    ----------
    feature : ndarray of int, shape (nodes,)
        The column that a node splits on, −2 at leaves.
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
        """The predicted class shares; a branch without rows predicts like the node above."""
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
        kept, number = kept_below(self.parent, is_leaf)
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
        """The same splits with the class weights recounted, from the same rows."""
        value = np.zeros_like(self.value)
        stack = [(0, np.arange(len(F)), np.asarray(weights, dtype=float))]
        while stack:
            node, rows, w = stack.pop()
            value[node] = np.bincount(y[rows], w, minlength=value.shape[1])
            stack += self._below(node, F, rows, w, self._split(node, F, rows, w))
        return replace(self, value=value)

    def errors(self, F: Array, y: Array, weights: Array) -> tuple[Array, Array]:
        """For each node: the weight of given rows it would misclassify, and the weight reaching it.

        Classes are positions, −1 for one that the tree does not know; rows with missing values are
        divided as in predictions.
        """
        predicted = np.argmax(self.shares, axis=1)
        wrong, total = np.zeros(self.node_count), np.zeros(self.node_count)
        stack = [(0, np.arange(len(F)), np.asarray(weights, dtype=float))]
        while stack:
            node, rows, w = stack.pop()
            wrong[node], total[node] = w[y[rows] != predicted[node]].sum(), w.sum()
            stack += self._below(node, F, rows, w, self._known_shares(node))
        return wrong, total

    def predict(self, F: Array) -> Array:
        """Shares of the classes (rows, classes); rows with missing values mix those of leaves."""
        predicted = np.zeros((len(F), self.value.shape[1]))
        for node, rows, w in self._reached(F):
            predicted[rows] += w[:, None] * self.shares[node]
        return predicted

    def apply(self, F: Array) -> Array:
        """The leaf of each row; for a row with missing values the one with most of its weight."""
        leaf, most = np.zeros(len(F), dtype=int), np.zeros(len(F))
        for node, rows, w in self._reached(F):
            is_more = w > most[rows]
            leaf[rows[is_more]], most[rows[is_more]] = node, w[is_more]
        return leaf

    def reaching(self, node: int, F: Array, weights: Array) -> tuple[Array, Array]:
        """Which of the rows reach a node, and with what weight, if they are those of the fit."""
        path = [node]
        while path[-1] != 0:
            path.append(int(self.parent[path[-1]]))
        rows, w = np.arange(len(F)), np.asarray(weights, dtype=float)
        for above, below in zip(path[:0:-1], path[-2::-1]):
            parts = self._below(above, F, rows, w, self._split(above, F, rows, w))
            rows, w = next((rows, w) for child, rows, w in parts if child == below)
        return rows, w

    def tested_above(self, node: int) -> set[int]:
        """The columns of categories that the nodes above have tested, which are used up."""
        found = set()
        while node != 0:
            node = int(self.parent[node])
            if np.isnan(self.threshold[node]):
                found.add(int(self.feature[node]))
        return found

    def _reached(self, F: Array) -> list[tuple[int, Array, Array]]:
        """Leaves, the rows that reach them, and the part of their weight."""
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
    """The branch of each value, −1 if it is missing or an unknown level."""
    is_known = ~np.isnan(column)
    if not np.isnan(threshold):
        return np.where(is_known, (column > threshold).astype(int), -1)
    level = np.where(is_known, column, -1).astype(int)
    return np.where(level < count, level, -1)


def divided(branch: Array, rows: Array, w: Array, k: int, share: float) -> tuple[Array, Array]:
    """Rows of branch k with all their weight, and rows without a value with a share of theirs."""
    chosen = (branch == k) | (branch < 0) if share > 0 else branch == k
    return rows[chosen], np.where(branch[chosen] < 0, share, 1.0) * w[chosen]


# ---- growing -------------------------------------------------------------------------------------
#
# The gain of a test is how much it lowers the entropy of the classes, for the known share of the
# rows (Quinlan 1986; 1993, chapters 2 and 3). A node costs a pass over its rows and columns, in
# Python.

# Gains in bits that differ by less are equal: the first column wins.
ROUNDING = 1e-10


@dataclass(frozen=True)
class Rule:
    """How tests are chosen and when growing ends.

    Parameters
    ----------
    uses_ratio : bool
        Whether the gain is divided by the information of the branches, among tests of at least
        average gain (C4.5), or counts as it is (ID3).
    smallest_branch : float
        At least two branches must have this weight.
    max_depth : int or None
        The largest depth.
    """

    uses_ratio: bool
    smallest_branch: float = 0.0
    max_depth: int | None = None


class Test(NamedTuple):
    """A split on one column: by level, or with a threshold whether x ≤ it.

    `gain` and `ratio` are in bits, `shares` are the parts of the known weight in each branch.
    """

    feature: int
    threshold: float
    gain: float
    ratio: float
    shares: Array


def grow(
    F: Array, y: Array, weights: Array, classes: int, levels: Sequence[int | None], rule: Rule
) -> MultiwayTree:
    """Grow a tree.

    Parameters
    ----------
    F : ndarray of shape (n, d)
        Rows: numbers, or level numbers of categories; NaN is missing.
    y : ndarray of int, shape (n,)
        Positions of the classes.
    weights : ndarray of shape (n,)
        Weights ≥ 0; weight 0 leaves the row out.
    classes : int
        The number of classes.
    levels : sequence of d ints or None
        The number of levels of each column, None for numbers.
    rule : Rule
        How tests are chosen.

    Returns
    -------
    MultiwayTree
    """
    return _Grower(F, y, weights, classes, levels, rule).run()


def gains(
    F: Array, y: Array, weights: Array, classes: int, levels: Sequence[int | None], rule: Rule
) -> list[Test | None]:
    """The gain of a test of each column at the root; None if it divides nothing."""
    grower = _Grower(F, y, weights, classes, levels, rule)
    rows = np.arange(len(grower.y))
    return [grower._test(j, rows, grower.w) for j in range(F.shape[1])]


class _Grower:
    """The data of a tree and the nodes that it has so far."""

    def __init__(
        self,
        F: Array,
        y: Array,
        weights: Array,
        classes: int,
        levels: Sequence[int | None],
        rule: Rule,
    ):
        kept = np.flatnonzero(weights > 0)
        # By content, so that sums do not depend on the order of the rows.
        order = kept[np.lexsort((weights[kept], y[kept], *F[kept].T))]
        self.F, self.y, self.w = F[order], y[order], weights[order].astype(float)
        self.classes, self.levels, self.rule = classes, levels, rule
        self.values = [
            np.unique(column[~np.isnan(column)]) if count is None else column[:0]
            for column, count in zip(self.F.T, levels)
        ]
        self.nodes: list[tuple[Test | None, int, int, Array]] = []

    def run(self) -> MultiwayTree:
        nothing: frozenset[int] = frozenset()
        stack = [(np.arange(len(self.y)), self.w, -1, 0, 0, nothing)]
        while stack:
            check()
            rows, w, parent, branch, depth, used = stack.pop()
            counts = np.bincount(self.y[rows], w, minlength=self.classes)
            test = self._best(rows, w, counts, depth, used)
            node = len(self.nodes)
            self.nodes.append((test, parent, branch, counts))
            if test is None:
                continue
            if np.isnan(test.threshold):
                used = used | {test.feature}
            column = self.F[rows, test.feature]
            answers = branches_of(column, test.threshold, len(test.shares))
            for k in reversed(range(len(test.shares))):
                part = divided(answers, rows, w, k, float(test.shares[k]))
                stack.append((*part, node, k, depth + 1, used))
        return self._tree()

    def _tree(self) -> MultiwayTree:
        tests, parent, branch, value = zip(*self.nodes)
        return MultiwayTree(
            feature=np.array([LEAF if t is None else t.feature for t in tests]),
            threshold=np.array([np.nan if t is None else t.threshold for t in tests]),
            parent=np.array(parent),
            branch=np.array(branch),
            value=np.array(value),
            gain=np.array([0.0 if t is None else t.gain for t in tests]),
            ratio=np.array([0.0 if t is None else t.ratio for t in tests]),
        )

    def _best(self, rows: Array, w: Array, counts: Array, depth: int, used) -> Test | None:
        """The test of a node, None if it is to be a leaf."""
        limit = self.rule.max_depth
        if np.sum(counts > 0) < 2 or (limit is not None and depth >= limit):
            return None
        found = [self._test(j, rows, w) for j in range(self.F.shape[1]) if j not in used]
        tests = [test for test in found if test is not None]
        if self.rule.uses_ratio:
            tests = [test for test in tests if test.gain > ROUNDING]
        if not tests:
            return None
        if not self.rule.uses_ratio:
            return _first_best(tests, [test.gain for test in tests])
        average = float(np.mean([test.gain for test in tests]))
        tests = [test for test in tests if test.gain >= average - ROUNDING]
        return _first_best(tests, [test.ratio for test in tests])

    def _test(self, j: int, rows: Array, w: Array) -> Test | None:
        """The test of one column, None if it divides nothing."""
        column = self.F[rows, j]
        known = ~np.isnan(column)
        if not known.any():
            return None
        column, y, w_known = column[known], self.y[rows[known]], w[known]
        count = self.levels[j]
        if count is None:
            return self._number(j, column, y, w_known, float(w.sum()))
        cells = column.astype(int) * self.classes + y
        table = np.bincount(cells, w_known, minlength=count * self.classes)
        return self._judged(j, np.nan, table.reshape(count, self.classes), float(w.sum()))

    def _number(self, j: int, column: Array, y: Array, w: Array, total: float) -> Test | None:
        """The threshold with the largest gain."""
        values, place = np.unique(column, return_inverse=True)
        if len(values) < 2:
            return None
        cells = np.bincount(place * self.classes + y, w, minlength=len(values) * self.classes)
        left = np.cumsum(cells.reshape(len(values), self.classes), axis=0)
        right = left[-1] - left[:-1]
        low, high = left[:-1].sum(axis=1), right.sum(axis=1)
        rest = (low * entropy(left[:-1]) + high * entropy(right)) / (low + high)
        rest[np.minimum(low, high) < self.rule.smallest_branch * (1 - ROUNDING)] = np.inf
        k = int(np.argmax(rest <= rest.min() + ROUNDING))
        if not np.isfinite(rest[k]):
            return None
        # By rounding, the middle of neighbouring floats may leave one side empty.
        below = np.nextafter(values[k + 1], -np.inf)
        middle = np.clip(0.5 * values[k] + 0.5 * values[k + 1], values[k], below)
        # As in C4.5: a value that occurs, the largest one not above the middle.
        all_values = self.values[j]
        threshold = all_values[np.searchsorted(all_values, middle, side="right") - 1]
        return self._judged(j, float(threshold), np.stack([left[k], right[k]]), total)

    def _judged(self, j: int, threshold: float, table: Array, total: float) -> Test | None:
        """The gain of a test, from the weights of classes (branches, classes) that are known."""
        sizes = table.sum(axis=1)
        known = float(sizes.sum())
        if np.sum(sizes >= max(self.rule.smallest_branch * (1 - ROUNDING), 1e-300)) < 2:
            return None
        rest = float(np.sum(sizes * entropy(table))) / known
        gain = known / total * (float(entropy(table.sum(axis=0))) - rest)
        # Rows without a value are a branch of their own for the information of the test.
        split = float(entropy(np.append(sizes, max(total - known, 0.0))))
        return Test(j, threshold, gain, gain / split if split > 0 else 0.0, sizes / known)


def _first_best(tests: list[Test], scores: list[float]) -> Test:
    best = max(scores)
    return next(test for test, score in zip(tests, scores) if score >= best - ROUNDING)


def entropy(counts: Array) -> Array:
    """Entropy in bits of weights along the last axis; 0 if there are none."""
    counts = np.asarray(counts, dtype=float)
    total = counts.sum(axis=-1)
    shares = counts / np.where(total > 0, total, 1.0)[..., None]
    return np.asarray(-xlogy(shares, shares).sum(axis=-1) / np.log(2) + 0.0)
