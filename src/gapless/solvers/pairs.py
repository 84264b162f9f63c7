"""SMO on a linear model: pairs of θ at a time, on the Gram matrix of the rows.

The algorithm of support vector machines, for any piecewise-linear loss under ½Σ l2ⱼwⱼ² with a bias:
two θ move at once, so that Σθ = 0 holds throughout; see `smo`. On linear models `dual` and
`augmented_lagrangian` are faster, since they never form the n × n matrix.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..kernels import Precomputed
from ..problem import KernelMatrix, Parameters, Problem
from ._base import Point, registry, solver
from .newton_steps import strengths
from .smo import BoxProblem, solve_box

Array = np.ndarray

# The largest Gram matrix: 800 MB.
MOST_ROWS = 10_000
# Each round of steps reduces the violation of the optimality conditions to this part.
PART, FIRST, SMALLEST = 0.1, 0.1, 1e-14


def _refuses(problem: Problem) -> str | None:
    if not (problem.loss.is_piecewise_linear and problem.loss.has_dual_box):
        return f"needs a piecewise-linear loss with a dual box, got {problem.loss.name}"
    if not problem.fit_bias:
        return "moves two θ so that Σθ = 0, which only a bias requires"
    if problem.n > MOST_ROWS:
        return f"forms the matrix of all rows, at most {MOST_ROWS:,}, got {problem.n:,}"
    return registry["dual"].refuses(problem)


@solver("smo", refuses=_refuses, max_iter=1000)
def smo(problem: Problem, start: Parameters) -> Iterator[Point]:
    """Move the pair of θ that promises most, until no pair promises more than a tolerance.

    One iteration is as many moves as it takes to reduce the violation of the optimality conditions
    tenfold. Memory is O(n²), a move costs O(n).
    """
    box, (lower, upper) = problem.loss.dual_box(problem.y), problem.box()
    inverse = 1 / strengths(problem)
    matrix = KernelMatrix(Precomputed(), problem.design.outer_gram(inverse))
    pairs = BoxProblem(-np.asarray(box.linear, float), lower, upper, box.absolute)
    violation = pairs.violation(np.zeros(problem.n), pairs.linear)
    tol, found = FIRST * violation, None
    while True:
        theta = np.zeros(problem.n) if found is None else found.theta
        w = inverse * problem.design.transposed_times(theta)
        b = start.b if found is None else found.bias[0]
        yield Point(w, np.array(b, dtype=float), theta=theta)
        if tol < SMALLEST * violation or (found is not None and found.status != "optimal"):
            return
        [found] = solve_box(matrix, [replace(pairs, start=theta)], tol=tol)
        tol *= PART
