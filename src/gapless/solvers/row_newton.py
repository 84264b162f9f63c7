"""Newton's method for losses that the core knows row by row: logistic, Poisson, gamma.

The core takes whole steps, each by one pass over X, so that nothing here is as long as the data
until the end. Called by `newton`, which continues where the core finds no better point.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from .._ground import core
from .._ground.interrupt import deadline
from .._ground.threads import single_blas, thread_count
from ..problem import Parameters, Problem
from ._base import Point
from .newton_steps import strengths
from .positive_definite import EPS

Array = np.ndarray

# Beyond this many features, conjugate gradients may be faster than a factor.
MOST_FEATURES = 500
# Up to this many entries, X in F order is copied, so that it can be read by rows.
MOST_COPIED = 5_000_000
# Start from every SAMPLE_STEP-th row if that leaves enough of them.
SAMPLE_STEP, ROWS_PER_UNKNOWN, FEWEST_ROWS = 8, 50, 1000
# A step on the sample must improve by this part to be followed by another.
IMPROVES = 1e-3
# Steps that change the objective by rounding, after which the method ends.
IDLE_STEPS = 3
# Dual points are made for iterates about this near to the solution: in parts of P₀, and of the
# coefficients. The driver makes them itself if its tolerance is looser.
NEAR, NEARLY_SETTLED = 1e-3, 1e-4


def is_taken(problem: Problem) -> bool:
    """Whether the core knows the loss and reads X by rows."""
    design = problem.design
    if problem.loss.smooth_loss is None or problem.outputs is not None or design.is_sparse:
        return False
    is_read = design.is_read_by_rows or problem.n * problem.d <= MOST_COPIED
    return is_read and 0 < problem.d <= MOST_FEATURES and bool(problem.weights.any())


def row_newton(problem: Problem, start: Parameters) -> Iterator[Point]:
    """Newton steps by the core until none improves."""
    steps = Steps(problem)
    if np.any(start.w):
        steps.begin(start)
    else:
        _begin_with_sample(steps)
    yield steps.point()
    idle, last = 0, steps.primal
    while idle < IDLE_STEPS and steps.step():
        idle = idle + 1 if last - steps.primal <= EPS * abs(steps.primal) else 0
        last = steps.primal
        yield steps.point()


class Steps:
    """The method of the core on a problem."""

    def __init__(self, problem: Problem):
        self.problem, self.l2 = problem, np.ravel(strengths(problem))
        self._w, self._gradient = np.empty(problem.d), np.empty(problem.d)
        self.core = core.RowNewton(
            problem.loss.smooth_loss,
            problem.design.rows_view(),
            problem.design.center,
            np.ascontiguousarray(problem.y, dtype=float),
            None if problem.has_unit_weights else np.ascontiguousarray(problem.weights, float),
            np.ascontiguousarray(self.l2, dtype=float),
            problem.fit_bias,
            problem.scale,
        )

    @property
    def primal(self) -> float:
        """The objective of the current iterate."""
        return self.core.primal

    def begin(self, start: Parameters) -> None:
        """Start from w and b."""
        w = np.ascontiguousarray(start.w, dtype=float)
        with single_blas():
            self.core.begin(w, float(start.b), thread_count(), deadline())

    def step(self) -> bool:
        """Take a step; False if there is no better iterate."""
        with single_blas():
            return self.core.step(thread_count(), deadline())

    def parameters(self) -> Parameters:
        """The current iterate."""
        b = self.core.parameters(self._w, self._gradient)
        return Parameters(self._w.copy(), np.array(b))

    def point(self) -> Point:
        """The same as a point; what is as long as the data is left out while the gap is large."""
        at, problem = self.parameters(), self.problem
        estimate, unsettled = self.core.promise, self.core.unsettled
        if np.all(self.l2 > 0):
            # Fenchel's inequality is tight in every row at θ = −sℓ′: the penalty leaves this.
            estimate = float(np.sum(self._gradient**2 / (2 * self.l2)))
        known = {"estimate": estimate, "unsettled": None if unsettled < 0 else unsettled}
        if estimate > NEAR * problem.scale or unsettled > NEARLY_SETTLED:
            return Point(at.w, at.b, primal=self.primal, **known)
        scores, theta = np.empty(problem.n), np.empty(problem.n)
        self.core.rows(scores, theta)
        problem.keep_scores(at.w, scores)
        product = self.l2 * at.w - self._gradient
        return Point(at.w, at.b, scores + at.b, theta, primal=self.primal, product=product, **known)


def _begin_with_sample(steps: Steps) -> None:
    """Start from the solution on a sample of the rows if it beats the model without features.

    Every SAMPLE_STEP-th row, reweighted to the whole: all steps there cost about one here. The
    sample's Hessian is near that of all rows, so its factor serves the first steps as well.
    """
    problem = steps.problem
    index = np.arange(SAMPLE_STEP // 2, problem.n, SAMPLE_STEP)
    kept = float(problem.weights[index].sum())
    if len(index) < max(ROWS_PER_UNKNOWN * (problem.d + 1), FEWEST_ROWS) or not kept > 0:
        steps.begin(problem.null)
        return
    sample = replace(
        problem,
        design=problem.design.rows(index),
        y=problem.y[index],
        weights=problem.weights[index] * (float(problem.weights.sum()) / kept),
    )
    of_sample = Steps(sample)
    _begin_with_sample(of_sample)
    before = math.inf
    while of_sample.primal <= (1 - IMPROVES) * before:
        before = of_sample.primal
        if not of_sample.step():
            break
    steps.begin(of_sample.parameters())
    if steps.primal < problem.scale + problem.origin.dual:
        with single_blas():
            steps.core.take_factor(of_sample.core, deadline())
    else:
        steps.begin(problem.null)
