"""Rounds of gradient boosting: each adds one tree for each score, grown by the compiled core.

A round takes gradients and curvatures of the loss at the scores so far, row by row in NumPy, and
the core grows trees on them (`src/core/boosting/trees.hpp`); losses stay here, trees there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._ground import core
from ..._ground.interrupt import deadline
from ..._ground.threads import thread_count
from ...losses import Loss
from ...problem import minimise_bias
from ..trees import NO_LIMIT, Tree
from .data import BinnedTable

Array = np.ndarray

# Scores for which a loss is evaluated at a time, and rows: its temporary arrays stay in the cache.
# (Threads would wait for each other: NumPy's calls are too short.)
CHUNK_SCORES, FEWEST_ROWS, MOST_ROWS = 1 << 16, 1 << 10, 1 << 14
EPS = np.finfo(float).eps


class Rounds:
    """Scores of rows, to which every round adds.

    Parameters
    ----------
    table : BinnedTable
        The rows.
    loss : Loss
        What is minimised.
    y : ndarray of shape (n,)
        Targets, as the loss takes them.
    weights : ndarray of shape (n,)
        Weights of the rows in the loss.
    rows : ndarray of shape (n,)
        The number of rows that each represents.
    z : ndarray of shape (n, K)
        Scores to begin with.
    """

    def __init__(
        self, table: BinnedTable, loss: Loss, y: Array, weights: Array, rows: Array, z: Array
    ):
        self.table, self.loss, self.y = table, loss, y
        self.weights, self.rows = weights, rows
        self.total = float(weights.sum())
        self._is_one = bool(np.all(weights == 1.0)) and bool(np.all(rows == 1.0))
        self._known: tuple[GrowthPlan, Any] | None = None
        # By scores in memory, the order in which the core and NumPy traverse them.
        self._scores = np.ascontiguousarray(z.T)
        self._leaf = np.empty(self._scores.shape, dtype=np.int32)
        self._gradient = np.empty_like(self._scores)
        self._curvature = np.empty_like(self._scores) if loss.has_curvature else None
        self._space = core.GrowingSpace()

    @property
    def z(self) -> Array:
        """The scores, (n, K)."""
        return self._scores.T

    def evaluate(self) -> float:
        """The mean loss at the scores; gradients and curvatures are kept for `grow`."""
        return sum(self._evaluate_some(some) for some in self._chunks()) / self.total

    def _evaluate_some(self, some: slice) -> float:
        y, z = self.y[some], self.z[some]
        z = z if self.loss.task == "multiclass" else z[:, 0]
        if self._curvature is None:
            value, gradient = self.loss.value(y, z), self.loss.gradient(y, z)
        else:
            value, gradient, curvature = self.loss.derivatives(y, z)
            self._curvature[:, some] = curvature.T
        self._gradient[:, some] = gradient.T
        return float(self.weights[some] @ value)

    def _chunks(self) -> Iterator[slice]:
        K, n = self._scores.shape
        size = min(max(CHUNK_SCORES // K, FEWEST_ROWS), MOST_ROWS)
        for first in range(0, n, size):
            yield slice(first, first + size)

    def grow(
        self, plan: GrowthPlan, seed: int, weights: Array | None = None, rows: Array | None = None
    ) -> list[Tree]:
        """One tree for each score, from all rows or from those with the given weights.

        The scores of all rows move by the predictions of the trees.
        """
        weights = self.weights if weights is None else weights
        rows = self.rows if rows is None else rows
        grown = self._grown(plan, seed, weights, rows)
        if plan.price > 0:
            for k in range(len(self._scores)):
                self._leaf[k] = grown.prune(k, plan.price)[self._leaf[k]]
        values = self._shrunk(plan, self._leaf_values(plan, grown, weights))
        core.add_leaf_values(self._leaf, values, self._scores, thread_count(), deadline())
        is_plain = not plan.second_order
        return [
            grown.tree(k, self.table, values[k], self._spread(k, weights) if is_plain else None)
            for k in range(len(self._scores))
        ]

    def _grown(self, plan: GrowthPlan, seed: int, weights: Array, rows: Array) -> GrownTrees:
        bins, K = self.table.bins, len(self._scores)
        leaves, limits = self._limits(plan, weights, rows)
        grown = GrownTrees.empty(K, 2 * leaves - 1)
        is_one = weights is self.weights and self._is_one
        core.grow_boosted(
            bins.code,
            bins.by_bundle,
            bins.start,
            bins.table,
            self._gradient,
            self._curvature if plan.second_order else None,
            None if is_one else weights,
            None if is_one else rows,
            plan.groups,
            limits,
            seed,
            grown.shape,
            grown.numbers,
            grown.levels,
            grown.count,
            self._leaf,
            self._space,
            thread_count(),
            deadline(),
        )
        return grown

    def _limits(self, plan: GrowthPlan, weights: Array, rows: Array) -> Any:
        """The limits of the plan, which do not change unless rows are drawn."""
        if weights is not self.weights:
            return plan.limits(rows, weights, len(self.table.bins.table))
        if self._known is None or self._known[0] is not plan:
            self._known = plan, plan.limits(rows, weights, len(self.table.bins.table))
        return self._known[1]

    def _leaf_values(self, plan: GrowthPlan, grown: GrownTrees, weights: Array) -> Array:
        """Values of all nodes, (K, capacity); only those of leaves count."""
        values = grown.numbers[0].reshape(len(grown.count), -1).copy()
        if plan.leaves == "model":
            # A root that could not be split, with rows that cannot be predicted any better.
            is_spent = grown.numbers[2].reshape(values.shape) <= EPS * weights.sum()
            return np.where(is_spent, 0.0, values)
        lower, upper = (grown.numbers[i].reshape(values.shape) for i in (3, 4))
        for k in range(len(values)):
            nodes = np.flatnonzero(grown.field(0, k) < 0)
            if plan.leaves == "newton":
                found = self._newton(k, nodes, weights)
            else:
                loss, y = of_one_score(self.loss, self.y, self.z, k)
                found = best_constants(loss, y, self._scores[k], weights, self._leaf[k], nodes)
            values[k, nodes] = np.clip(found, lower[k, nodes], upper[k, nodes])
        return values

    def _shrunk(self, plan: GrowthPlan, values: Array) -> Array:
        """What is added to the scores: a part of the step, and never so much that it overshoots.

        A Newton step d is much too long where curvatures are small, as for rare classes; cut to
        log(1 + |d|) it lowers the loss of its leaf (Sun and Tran-Dinh 2019, theorem 2).
        """
        step = plan.learning_rate * values
        if plan.leaves == "search" or not self.loss.is_self_concordant:
            return step
        longest = np.log1p(np.abs(values))
        return np.clip(step, -longest, longest)

    def _newton(self, k: int, nodes: Array, weights: Array) -> Array:
        """−Σg/Σh of each leaf; among K classes times (K−1)/K (Friedman 2001, equation 36)."""
        K, leaf = len(self._scores), self._leaf[k]
        assert self._curvature is not None
        g, h = (
            np.bincount(leaf, weights * part[k], minlength=nodes[-1] + 1)[nodes]
            for part in (self._gradient, self._curvature)
        )
        factor = (K - 1) / K if K > 1 else 1.0
        return np.where(h > 1e-150, -factor * g / np.where(h > 1e-150, h, 1.0), 0.0)

    def _spread(self, k: int, weights: Array) -> Array:
        """Σ s g² of each leaf of tree k, the spread of what the tree was grown on."""
        return np.bincount(self._leaf[k], weights * self._gradient[k] ** 2)


# ---- how trees are grown -------------------------------------------------------------------------

# Curvature that a leaf needs per row: below it the values of leaves have no digits left.
LEAST_CURVATURE = 1e-3


@dataclass(frozen=True)
class GrowthPlan:
    """How the trees of all rounds are grown.

    `second_order` grows by gradient and curvature, else by gradient alone; `leaves` says how the
    values of leaves are found: "model" (by the core, from what the tree was grown on), "newton"
    (one step with the curvature) or "search" (the best constant). `groups` are columns that may
    interact on one path, one row of 0 and 1 for each group; `price` is the least gain of a leaf.
    """

    learning_rate: float = 0.1
    max_leaves: int | None = 31
    max_depth: int | None = None
    min_leaf_rows: int = 20
    min_split_rows: int = 2
    max_columns: int | None = None
    min_leaf_weight: float = 0.0
    min_gain: float = 0.0
    l2: float = 0.0
    second_order: bool = True
    leaves: str = "model"
    groups: Array | None = None
    price: float = 0.0

    def limits(self, rows: Array, weights: Array, d: int) -> Any:
        """The limits for the core, for rows of these weights."""
        counted = float(np.ceil(rows).sum())
        most = max(min(int((rows > 0).sum()), int(counted) // max(self.min_leaf_rows, 1)), 1)
        depth = NO_LIMIT if self.max_depth is None else self.max_depth
        leaves = most if self.max_leaves is None else min(self.max_leaves, most)
        if depth < 31:
            leaves = min(leaves, 1 << depth)
        scale = float(weights.sum()) / counted
        least = LEAST_CURVATURE * scale if self.second_order else self.min_leaf_weight
        return leaves, core.GrowthLimits(
            max_leaves=leaves,
            max_depth=depth,
            min_leaf_rows=self.min_leaf_rows,
            min_split_rows=self.min_split_rows,
            max_columns=d if self.max_columns is None else self.max_columns,
            min_leaf_curvature=least,
            min_gain=self.min_gain,
            l2=self.l2,
        )


def is_second_order(loss: Loss) -> bool:
    """Whether the curvature of a loss determines the step: not if slopes stay the same.

    Huber's loss has none for large errors, which would then never be corrected.
    """
    if not loss.has_curvature:
        return False
    if not loss.has_dual_box:
        return True
    box = loss.dual_box(np.ones(1))
    ends = np.concatenate([box.lower, box.upper])
    return not np.any(np.isfinite(ends) & (ends != 0))


# ---- trees as the core writes them ---------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GrownTrees:
    """The core's output: nodes of K trees, in preorder, with room for more.

    `shape` has for each node its column, code, left and right child, and whether missing values go
    left; `numbers` its value, gain, curvature, the bounds of its value, and its rows.
    """

    shape: Array
    numbers: Array
    levels: Array
    count: Array

    @classmethod
    def empty(cls, K: int, capacity: int) -> GrownTrees:
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

        Bottom-up: a split is worth its gain plus the worth of those below it (Breiman et al. 1984,
        section 10.2).
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


# ---- values of leaves ----------------------------------------------------------------------------
#
# For losses without a useful second-order model. A loss with kinks has no useful curvature, so the
# value of a leaf is the best constant to add to the scores of its rows (Friedman 2001, section
# 4.3).


def best_constants(
    loss: Loss, y: Array, z: Array, weights: Array, leaf: Array, nodes: Array
) -> Array:
    """For each of the nodes the v that minimises Σ sᵢ ℓ(yᵢ, zᵢ + v) over the rows of that leaf.

    `leaf` (n,) has the node of each row; a node without weight gets 0.
    """
    kept = np.flatnonzero(weights > 0)
    order = kept[np.argsort(leaf[kept], kind="stable")]
    ends = np.searchsorted(leaf[order], [nodes, nodes + 1])
    values = np.zeros(len(nodes))
    for k, (first, last) in enumerate(ends.T):
        rows = order[first:last]
        if len(rows):
            values[k] = minimise_bias(loss, y[rows], z[rows], weights[rows])
    return values


def of_one_score(loss: Loss, y: Array, z: Array, k: int) -> tuple[Loss, Array]:
    """The loss as a function of score k alone, the others being as in z, and its targets."""
    if loss.task != "multiclass":
        return loss, y
    return _OneScore(loss, y, z, k), np.arange(len(y))


@dataclass(frozen=True, eq=False)
class _OneScore(Loss):
    """A loss of K scores as a function of one of them; the target of a row is its index."""

    loss: Loss
    y: Array
    z: Array
    k: int
    task = "binary"
    is_of_rows = True

    def value(self, y, z):
        return self.loss.value(self.y[y], self._scores(y, z))

    def gradient(self, y, z):
        return self.loss.gradient(self.y[y], self._scores(y, z))[:, self.k]

    def _scores(self, rows: Array, z: Array) -> Array:
        scores = self.z[rows]
        scores[:, self.k] = z
        return scores
