"""Coordinate descent: one coefficient after the other, or one θᵢ after the other.

In the coefficients each is moved to the minimum of the objective along it, in turn, which for the
squared loss and the L1 penalty is one soft-thresholding. Losses with kinks under ½Σ l2ⱼwⱼ² are
minimised in their dual, where the kinks are ends of intervals; see `dual`.

References
----------
Friedman, Hastie and Tibshirani (2010), Regularization paths for generalized linear models via
coordinate descent, J. Stat. Software 33. Tseng (2001), Convergence of a block coordinate descent
method for nondifferentiable minimization, J. Optim. Theory Appl. 109.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from .._ground.interrupt import check
from ..problem import Parameters, Problem
from ._base import Point, made_by, registry, solver

Array = np.ndarray
EPS = float(np.finfo(float).eps)

# A step along a coordinate is halved this often at most until the objective falls.
MOST_HALVINGS = 30


def _refuses(problem: Problem) -> str | None:
    dual = registry["dual"].refuses(problem)
    if problem.loss.is_piecewise_linear:
        return dual
    if not problem.loss.has_curvature:
        return f"needs a loss with curvature or a dual box, got {problem.loss.name}"
    if problem.coordinates is None:
        return f"needs a penalty on coordinates, got {problem.penalty.name}"
    if problem.outputs is not None:
        return f"takes one column of predictions, got {problem.outputs}"
    return None


@solver("coordinate_descent", refuses=_refuses, max_iter=20_000)
def coordinate_descent(problem: Problem, start: Parameters) -> Iterator[Point]:
    """Sweep over the coefficients and the bias, moving each to the minimum along it.

    A sweep costs about two products with X. For the squared loss every move is exact; for others it
    is a Newton step, halved until the objective falls.
    """
    if problem.loss.is_piecewise_linear:
        yield from made_by("dual", registry["dual"].method(problem, start))
        return
    state = Sweeps(problem, start)
    idle = 0
    while idle < 3:
        yield Point(state.w.copy(), np.array(state.b), state.z.copy())
        idle = 0 if state.sweep() else idle + 1
    yield Point(state.w, np.array(state.b), state.z)


class Sweeps:
    """Coefficients, bias and z = Xw + b, which follows each move."""

    def __init__(self, problem: Problem, start: Parameters):
        self.problem = problem
        assert problem.coordinates is not None
        self.coordinates = problem.coordinates
        self.w = problem.penalty.prox(np.array(start.w, dtype=float), 0.0)
        self.b = float(start.b)
        self.z = problem.predictions(self.w, np.array(self.b))
        self.columns = [problem.design.columns(np.array([j])) for j in range(problem.d)]
        self.squares = problem.design.column_square_sums(problem.weights)

    def sweep(self) -> bool:
        """Move every coefficient once, then the bias; whether anything moved beyond rounding."""
        problem, c = self.problem, self.coordinates
        # What the moves leave in z by rounding is removed.
        self.z = problem.predictions(self.w, np.array(self.b))
        before = problem.loss_sum(self.z)
        for j, column in enumerate(self.columns):
            check()
            if self.squares[j] == 0 and c.l2[j] == 0 and c.l1[j] == 0:
                continue
            g, h = self._derivatives(column, self.squares[j])
            w = _minimum(self.w[j], g, h, c.l1[j], c.l2[j], c.lower[j], c.upper[j])
            cost = _cost(c.l1[j], c.l2[j])
            self._move(column, j, w - self.w[j], cost)
        if problem.fit_bias:
            slope = problem.derivative(self.z)
            h = self._curvature() or float(np.sum(problem.weights)) or 1.0
            self._move(None, None, -float(np.sum(slope)) / h, lambda b: 0.0)
        change = abs(problem.loss_sum(self.z) - before)
        return change > EPS * (abs(before) + problem.scale)

    def _derivatives(self, column, squares: float) -> tuple[float, float]:
        """The slope of the loss along a column, and its curvature, or the one of a unit loss."""
        problem = self.problem
        g = float(column.transposed_times(problem.derivative(self.z))[0])
        curvature = problem.weighted(problem.loss.curvature(problem.y, self.z))
        h = float(column.column_square_sums(curvature)[0])
        return g, h if h > 1e-12 * squares else float(squares)

    def _curvature(self) -> float:
        problem = self.problem
        return float(np.sum(problem.weighted(problem.loss.curvature(problem.y, self.z))))

    def _move(self, column, j: int | None, by: float, cost) -> None:
        """Change one coefficient, or the bias if j is None, by as much as lowers the objective."""
        if by == 0 or not math.isfinite(by):
            return
        problem, old = self.problem, self.b if j is None else self.w[j]
        along = 1.0 if column is None else column.times(np.ones(1))
        before = problem.loss_sum(self.z)
        rounding = 4 * EPS * (abs(before) + problem.scale)
        for _ in range(MOST_HALVINGS):
            z = self.z + by * along
            if problem.loss_sum(z) + cost(old + by) <= before + cost(old) + rounding:
                self.z = z
                if j is None:
                    self.b = old + by
                else:
                    self.w[j] = old + by
                return
            by *= 0.5


def _minimum(
    w: float, g: float, h: float, l1: float, l2: float, lower: float, upper: float
) -> float:
    """argmin_v g(v − w) + ½h(v − w)² + l1|v| + ½l2v² between the bounds."""
    if h + l2 == 0:
        return w
    t = h * w - g
    best = math.copysign(max(abs(t) - l1, 0.0), t) / (h + l2)
    return min(max(best, lower), upper)


def _cost(l1: float, l2: float):
    return lambda w: l1 * abs(w) + 0.5 * l2 * w**2
