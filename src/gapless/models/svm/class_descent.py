"""One hinge for all classes on a whole kernel matrix: the compiled descent, call by call.

Called by `all_in_one`; see `src/core/kernels/all_in_one.hpp` for the method. Its θ has the right
sums over rows only in the limit, so they are corrected at the end.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..._ground import core
from ..._ground.design import Design
from ..._ground.interrupt import TimeLimit, deadline
from ..._ground.threads import single_blas
from ...losses import Loss, nearest_slopes
from ...penalties import L2
from ...problem import Problem
from ...solvers import Trace

Array = np.ndarray

# The curvature lent to the biases at first, in units of the mean kᵢᵢ. More slows the rows down,
# less the biases.
LENT = 0.05
# Sweeps through all rows in one compiled call.
SWEEPS = 50
# Without a limit by the caller: sweeps per row, at least and at most. Kernels of low rank need
# ever more, and Newton's method is fast for few rows.
SWEEPS_PER_ROW, FEWEST_SWEEPS, MOST_SWEEPS = 10, 2000, 20_000
# The first tolerance of the rows, in units of the margin.
FIRST = 1.0
# Rows are solved to this part of the tolerance, since those after them still move their scores.
MARGIN = 0.25
# The share of a gap that may come from sums of θ over rows.
OF_SUMS = 0.1


@dataclass(frozen=True, eq=False)
class ClassProblem:
    """Σᵢ limitᵢ ℓ(yᵢ, zᵢ) + ½Σₖ‖wₖ‖² on a kernel matrix.

    Parameters
    ----------
    gram : ndarray of shape (n, n)
        Kernel values of the rows.
    y : ndarray of int, shape (n,)
        Their classes.
    limit : ndarray of shape (n,)
        Weights > 0, C included.
    loss : Loss
        One of all classes, with a box for its slopes.
    count : int
        How many classes there are.
    scale : float
        The objective at w = 0, to which gaps are relative.
    margin : float, default=1.0
        Δ of the loss, to which violations are relative.
    """

    gram: Array
    y: Array
    limit: Array
    loss: Loss
    count: int
    scale: float
    margin: float = 1.0

    def descend(
        self,
        tol: float,
        start: tuple[Array, Array] | None = None,
        max_iter: int | None = None,
        callback: Callable | None = None,
    ) -> ClassSolution:
        """Solve until no row violates its conditions by more than tol·Δ, from (θ, b) if given."""
        state = _State(self, start)
        trace, began, status = Trace(), time.monotonic(), "max_iter"
        most = min(max(SWEEPS_PER_ROW * len(self.y), FEWEST_SWEEPS), MOST_SWEEPS)
        most = most if max_iter is None else max_iter
        try:
            while trace.steps < most:
                sharper = MARGIN * tol * self.margin
                violation, sums = state.advance(sharper, min(SWEEPS, most - trace.steps), trace)
                if violation <= sharper and sums <= state.sum_limit(sharper):
                    status = "optimal"
                    break
                trace.gap.append(violation)
                trace.primal.append(violation)
                trace.seconds.append(time.monotonic() - began)
                if callback is not None and callback(trace, tol):
                    status = "callback"
                    break
        except TimeLimit:
            status = "time_limit"
        except KeyboardInterrupt:
            status = "interrupted"
        if status == "max_iter" and max_iter is None:
            status = "stalled"
        return ClassSolution(self._balanced(state.theta), state.b, trace.steps, status)

    def _balanced(self, theta: Array) -> Array:
        """θ moved until its sums over the rows are 0 for every class."""
        unit = float(self.limit.mean())
        nothing = Design(np.zeros((len(self.y), 0)))
        weights = self.limit / unit
        problem = Problem(nothing, self.y, self.loss, L2(1.0), weights, True, self.count)
        return unit * problem.orthogonal(theta / unit)


@dataclass(frozen=True, eq=False)
class ClassSolution:
    """θ (n, K) that is a dual point, biases (K,), sweeps, and why the descent ended."""

    theta: Array
    b: Array
    steps: int
    status: str


def finished_descent(solution: ClassSolution) -> ClassSolution:
    """The solution, unless Ctrl-C or the time limit came first."""
    if solution.status == "interrupted":
        raise KeyboardInterrupt
    if solution.status == "time_limit":
        raise TimeLimit
    return solution


class _State:
    """The state of a descent between compiled calls."""

    def __init__(self, problem: ClassProblem, start: tuple[Array, Array] | None):
        self.problem = problem
        n, K = len(problem.y), problem.count
        box, limit = problem.loss.class_box(problem.y, K), problem.limit[:, None]
        self.linear = np.ascontiguousarray(box.linear, dtype=float)
        # θ = −limit·u for slopes u in their box.
        self.lower, self.upper = -limit * box.upper, -limit * box.lower
        self.theta, self.b = np.zeros((n, K)), np.zeros(K)
        self.products = np.zeros((K, n))
        self.accuracy = FIRST * problem.margin
        self.unit = float(np.diagonal(problem.gram).mean()) or 1.0
        self.rho = LENT * self.unit
        if start is not None:
            theta, b = start
            self.theta = np.ascontiguousarray(-limit * nearest_slopes(-theta / limit, box))
            self.b = np.array(b, dtype=float)
            with single_blas():
                product = problem.gram @ self.theta.astype(problem.gram.dtype)
            self.products = np.ascontiguousarray(product.T, dtype=float)

    def sum_limit(self, tol: float) -> float:
        """How far the sums of θ may be from 0, so that they hardly affect gap and violation."""
        largest = float(np.max(np.abs(self.b), initial=self.problem.margin))
        of_gap = self.problem.scale / (len(self.b) * largest)
        return OF_SUMS * tol * min(of_gap, 1 / self.unit)

    def advance(self, tol: float, sweeps: int, trace: Trace) -> tuple[float, float]:
        """At most `sweeps` sweeps; returns the largest violation and the largest sum."""
        violation, sums, taken, self.accuracy, self.rho = core.class_descent(
            self.problem.gram,
            self.linear,
            self.lower,
            self.upper,
            self.theta,
            self.products,
            self.b,
            max(self.accuracy, tol),
            self.rho,
            tol,
            self.sum_limit(tol),
            sweeps,
            deadline(),
        )
        trace.steps += taken
        return violation, sums
