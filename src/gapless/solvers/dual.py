"""Dual coordinate descent: losses with a dual box, the penalty ½Σ l2ⱼwⱼ² with every l2ⱼ > 0."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from .. import _core
from ..interrupt import deadline
from ..problem import Parameters, Problem
from ._base import Point, solver
from .newton_steps import inner

EPS = np.finfo(float).eps


def _refuses(problem: Problem) -> str | None:
    if not problem.loss.has_dual_box:
        return f"needs a loss with a dual box, such as the hinge, got {problem.loss.name}"
    if problem.outputs is not None:
        return f"takes one column of predictions, got {problem.outputs}"
    coordinates = problem.penalty.coordinates(problem.d)
    if coordinates is None or not coordinates.is_quadratic() or np.any(coordinates.l2 == 0):
        return f"needs the penalty ½Σ l2·w² with every l2 > 0, got {problem.penalty.name}"
    if problem.design.center is not None and not problem.fit_bias:
        return "takes a centred X only together with a bias"
    return None


@solver("dual", refuses=_refuses, max_iter=2000)
def dual(problem: Problem, start: Parameters) -> Iterator[Point]:
    """One θᵢ after the other, in random order, with shrinking; w = Xᵀθ/l2 throughout.

    An epoch costs as much as two products with X, and only the rows still in play are visited.
    Few epochs are enough when the penalty is strong against the data; with a weak penalty and
    few features the augmented Lagrangian is faster.

    References
    ----------
    Hsieh, Chang, Lin, Keerthi and Sundararajan (2008), A dual coordinate descent method for
    large-scale linear SVM. Ho and Lin (2012), Large-scale linear support vector regression.
    """
    design, s = problem.design, problem.weights
    box = problem.loss.dual_box(problem.y)
    lower, upper = problem.box()
    quadratic = np.divide(box.quadratic, s, out=np.zeros(problem.n), where=s > 0)
    terms = tuple(
        np.ascontiguousarray(v, dtype=float) for v in (-box.linear, quadratic, lower, upper)
    )
    inverse = 1 / problem.penalty.coordinates(problem.d).l2
    theta = np.zeros(problem.n) if start.theta is None else np.clip(start.theta, lower, upper)
    w = inverse * design.transposed_times(theta)
    # With a free bias the centre of X only moves the bias: the rows are used as they are.
    center = np.zeros(problem.d) if design.center is None else design.center
    b = float(start.b) - inner(center, w)
    sigma = _bias_curvature(problem, inverse, quadratic) if problem.fit_bias else 0.0
    threshold, target, epochs = math.inf, 1e-4 * problem.scale, 16
    smallest = EPS * problem.scale
    for seed in range(10**9):
        gap, _, b, sigma, threshold = _core.box_descent(
            design.rows_view(), inverse, terms, box.absolute, theta, w,
            b, sigma, threshold, target, epochs, seed, deadline(),
        )  # fmt: skip
        yield Point(w, np.array(b + inner(center, w)), theta=theta, estimate=gap)
        if gap > target:
            epochs = min(2 * epochs, 4096)
        elif target <= smallest:
            return
        else:
            target = max(0.1 * target, smallest)


def _bias_curvature(problem: Problem, inverse: np.ndarray, quadratic: np.ndarray) -> float:
    """σ of the augmented Lagrangian for Σθ = 0, relative to the mean curvature in a θᵢ.

    With thousands of rows that share the bias a tenth is enough and does not couple them; with
    few rows the bias needs more to settle, and epochs cost nothing.
    """
    rows = max(np.count_nonzero(problem.weights), 1)
    squares = problem.design.column_square_sums((problem.weights > 0).astype(float))
    mean = (inner(squares, inverse) + float(quadratic.sum())) / rows
    return max(0.1, 10 / math.sqrt(rows)) * mean if mean > 0 else 1.0
