"""Newton's method for the probabilities of several classes, compiled, for small data.

On a few hundred rows a step takes less time than the dozens of NumPy calls that describe it, so the
core takes whole steps. It knows the softmax loss; `row_newton` knows that of two classes. Called by
`newton`, which continues where the core finds no better point.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from .._ground import core
from .._ground.interrupt import deadline
from .._ground.threads import single_blas
from ..losses import Softmax
from ..problem import Parameters, Problem
from ._base import Point
from .newton_steps import strengths
from .polish import MOST_FACTORED
from .positive_definite import EPS

Array = np.ndarray

# Up to this many entries of X times scores, NumPy's calls take longer than their arithmetic.
MOST_PRODUCTS = 5_000_000
# Up to this many unknowns the whole Hessian is factorised; beyond, conjugate gradients are faster.
# The Hessian costs rows × unknowns².
FEW_UNKNOWNS, MOST_OPERATIONS = 100, 2e7
# Solvers compute a certificate at ten times the tolerance because most estimate their gap less
# well. Here the estimate is the gap, except for the bias.
GAP_MARGIN = 10.0


def is_taken(problem: Problem) -> bool:
    """Whether the core knows the loss and the penalty and the data are small."""
    design, K = problem.design, problem.outputs
    if type(problem.loss) is not Softmax or K is None or not problem.d:
        return False
    if design.is_sparse or design.center is not None or design.dtype != np.float64:
        return False
    is_small = problem.n * problem.d * K <= MOST_PRODUCTS
    return is_small and bool(np.all(strengths(problem) > 0)) and problem.weights.any()


def class_newton(problem: Problem, start: Parameters) -> Iterator[Point]:
    """Newton steps by the core until none improves."""
    K = problem.outputs
    assert K is not None
    operations = problem.n * (K * (problem.d + 1)) ** 2
    is_joint = K * (problem.d + 1) <= FEW_UNKNOWNS and operations <= MOST_OPERATIONS
    # The final polish would do the same, at a higher cost per step.
    settles = operations <= MOST_FACTORED
    l2 = np.ravel(strengths(problem))
    newton = core.ClassNewton(
        problem.design.X,
        np.ascontiguousarray(problem.y, dtype=np.int64),
        np.ascontiguousarray(problem.weights, dtype=float),
        np.ascontiguousarray(l2),
        K,
        problem.fit_bias,
        problem.scale,
        is_joint,
        not is_joint and not settles,
    )
    w = np.array(start.w, dtype=float, order="C").reshape(problem.d, K)
    b = np.array(start.b, dtype=float).reshape(K)
    z, slope = np.empty((problem.n, K)), np.empty((problem.n, K))
    gradient = np.empty_like(w)

    def point(estimate: float) -> Point:
        return Point(w, b, z, -slope, estimate, primal, l2[:, None] * w - gradient)

    def gap_guess() -> float:
        return float(np.sum(gradient**2 / (2 * l2[:, None])))

    arrays = w, b, z, slope, gradient
    with single_blas():
        primal = newton.begin(*arrays, deadline())
    yield point(GAP_MARGIN * gap_guess())
    idle = 0
    while idle < 3:
        last = primal
        with single_blas():
            is_better, primal, decrement = newton.step(*arrays, primal, deadline())
        if not is_better:
            return
        idle = idle + 1 if last - primal <= EPS * abs(primal) else 0
        # The last steps make coefficients agree to many digits, whatever the tolerance.
        is_settling = settles and decrement > 0.01 * EPS * abs(primal)
        yield point(math.inf if is_settling else GAP_MARGIN * gap_guess())
