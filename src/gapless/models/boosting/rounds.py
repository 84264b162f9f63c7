"""Rounds of gradient boosting: each adds one tree for each score, grown by the compiled core.

A round takes gradients and curvatures of the loss at the scores so far, row by row in NumPy, and
the core grows trees on them (`src/core/boosted_trees.hpp`); losses stay here, trees there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..._ground import core as _core
from ..._ground.interrupt import deadline
from ..._ground.threads import thread_count
from ...losses import Loss
from ..trees import Tree
from .grown import Grown
from .leaves import best_constants, of_one_score
from .plan import GrowthPlan
from .table import BinnedTable

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
        How many rows each of them stands for.
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
        # By scores in memory, as the core and NumPy go through them.
        self._scores = np.ascontiguousarray(z.T)
        self._leaf = np.empty(self._scores.shape, dtype=np.int32)
        self._gradient = np.empty_like(self._scores)
        self._curvature = np.empty_like(self._scores) if loss.has_curvature else None
        self._space = _core.GrowingSpace()

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
        """One tree for each score, from all rows or from those of the given weights.

        The scores of all rows move by what the trees say of them.
        """
        weights = self.weights if weights is None else weights
        rows = self.rows if rows is None else rows
        grown = self._grown(plan, seed, weights, rows)
        if plan.price > 0:
            for k in range(len(self._scores)):
                self._leaf[k] = grown.prune(k, plan.price)[self._leaf[k]]
        values = self._shrunk(plan, self._leaf_values(plan, grown, weights))
        _core.add_leaf_values(self._leaf, values, self._scores, thread_count(), deadline())
        is_plain = not plan.second_order
        return [
            grown.tree(k, self.table, values[k], self._spread(k, weights) if is_plain else None)
            for k in range(len(self._scores))
        ]

    def _grown(self, plan: GrowthPlan, seed: int, weights: Array, rows: Array) -> Grown:
        bins, K = self.table.bins, len(self._scores)
        leaves, limits = self._limits(plan, weights, rows)
        grown = Grown.empty(K, 2 * leaves - 1)
        is_one = weights is self.weights and self._is_one
        _core.grow_boosted(
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
        """The limits of the plan, which stay the same as long as no rows are drawn."""
        if weights is not self.weights:
            return plan.limits(rows, weights, len(self.table.bins.table))
        if self._known is None or self._known[0] is not plan:
            self._known = plan, plan.limits(rows, weights, len(self.table.bins.table))
        return self._known[1]

    def _leaf_values(self, plan: GrowthPlan, grown: Grown, weights: Array) -> Array:
        """Values of all nodes, (K, capacity); only those of leaves count."""
        values = grown.numbers[0].reshape(len(grown.count), -1).copy()
        if plan.leaves == "model":
            # A root that could not be split, of rows that cannot be predicted any better.
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

        A Newton step d is much too long where curvatures are small, as those of rare classes; cut
        to log(1 + |d|) it lowers the loss of its leaf (Sun and Tran-Dinh 2019, theorem 2).
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
