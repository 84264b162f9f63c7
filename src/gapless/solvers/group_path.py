"""Paths of the group lasso and the multi-task lasso: squared loss and norms of blocks.

With few features, everything happens on their Gram matrix, which all strengths share: the compiled
coordinate descent goes from one strength to the next, and the gap takes two small products.

References
----------
Qin, Scheinberg and Goldfarb (2013), Efficient block-coordinate descent algorithms for the group
lasso, Mathematical Programming Computation 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .._ground import core
from .._ground.interrupt import check, deadline
from ..penalties import Penalty
from ..problem import Problem
from .lasso_path import FEW_FEATURES, PathPoint
from .working_set import BlockPenalty

Array = np.ndarray
EPS = float(np.finfo(float).eps)
# Gaps are differences of sums of squares, which leave no more digits than this.
FINEST = 1e-11
MOST_ROUNDS, SWEEPS = 60, 200


def takes(problem: Problem, penalties: Sequence[Penalty], tol: float) -> bool:
    """Whether all penalties are norms of blocks of few features under the squared loss."""
    is_plain = problem.loss.name == "squared" and 0 < problem.d <= min(FEW_FEATURES, problem.n)
    if not is_plain or tol < FINEST or not float(np.sum(problem.weights)) > 0:
        return False
    blocks = [penalty.blocks(problem.d) for penalty in penalties]
    return all(each is not None and np.all(each.strength > 0) for each in blocks)


def group_points(
    problem: Problem, penalties: Sequence[Penalty], tol: float, max_iter: int | None = None
) -> Iterator[PathPoint]:
    """The solutions for the penalties, in their order."""
    path = GroupPath(problem, tol, MOST_ROUNDS if max_iter is None else max_iter)
    for penalty in penalties:
        check()
        yield path.solve(BlockPenalty(penalty, problem.d))


class GroupPath:
    """The state along a path: the Gram matrix and the last solution."""

    def __init__(self, problem: Problem, tol: float, max_iter: int):
        s, design = problem.weights, problem.design
        self.max_iter, self.target = max_iter, tol * problem.scale
        self.shape = problem.null.w.shape
        y = np.asarray(problem.y, dtype=float).reshape(problem.n, -1)
        self.mean, self.y_mean = np.zeros(problem.d), np.zeros(y.shape[1])
        if problem.fit_bias:
            # A free bias is equivalent to centring everything.
            self.mean = design.transposed_times(s) / np.sum(s)
            self.y_mean = s @ y / np.sum(s)
            design, y = design.shifted(self.mean), y - self.y_mean
        self.gram = design.gram(s)
        self.q = design.transposed_times(s[:, None] * y)
        self.square = float(np.sum(s[:, None] * y**2))
        self.w = np.zeros_like(self.q)

    def solve(self, blocks: BlockPenalty) -> PathPoint:
        """The solution for a penalty, started from the last one."""
        part = blocks.part(np.arange(blocks.count))
        order = part.features
        gram = np.ascontiguousarray(self.gram[np.ix_(order, order)])
        q, w = self.q[order], self.w[order]
        steps, tolerance, is_optimal = 0, 1e-3, False
        while not is_optimal and steps < self.max_iter:
            slope = gram @ w - q
            core.gram_descent(gram, slope, part.arrays, w, tolerance, SWEEPS, deadline())
            primal, gap = self._gap(gram, q, w, part, blocks)
            is_optimal = gap <= self.target + 8 * EPS * self.square
            steps, tolerance = steps + 1, max(0.1 * tolerance, 1e-14)
        self.w[order] = w
        b = self.y_mean - self.mean @ self.w
        w = self.w.reshape(self.shape).copy()
        return PathPoint(w, b.reshape(self.shape[1:]), primal, gap, steps, is_optimal)

    def _gap(self, gram, q, w, part, blocks) -> tuple[float, float]:
        """P, and P − D(a·sr) = P − a⟨y, r⟩ + ½a²‖r‖² for the a that makes all ‖a·v_g‖ ≤ λ_g.

        In weighted products, with v = Xᵀsr.
        """
        v = q - gram @ w
        product = self.square - float(np.sum(q * w))
        square = max(product - float(np.sum(v * w)), 0.0)
        primal = 0.5 * square + part.value(w)
        unsorted = np.empty_like(v)
        unsorted[part.features] = v
        scale = 1 / max(float(np.max(blocks.norms(unsorted) / blocks.strength)), 1.0)
        return primal, max(primal - scale * product + 0.5 * scale**2 * square, 0.0)
