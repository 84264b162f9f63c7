"""Newton's method: a loss with curvature and a penalty ½Σ l2ⱼwⱼ², zeros allowed, with a free bias.

Each step minimises the quadratic model of the objective, (XᵀDX + Λ)δ = −∇P with D = diag(s·ℓ″), by
a factor of that matrix (`newton_cholesky`) or by conjugate gradients (`newton_cg`). The step length
is found on the true objective, where a trial costs no product with X because X(w + tδ) = Xw + t·Xδ.
For a loss whose curvature jumps (squared hinge, Huber) this is the semismooth Newton method.

References
----------
Nocedal and Wright (2006), Numerical Optimization, 2nd edition, Springer: chapters 3, 6 and 7.
Qi and Sun (1993), A nonsmooth version of Newton's method, Mathematical Programming 58.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Protocol

import numpy as np

from ..problem import Parameters, Problem
from . import class_newton, row_newton
from ._base import Point, made_by, solver
from .conjugate_gradients import ConjugateGradients
from .newton_steps import Blocks, Change, Damping, Factored, Iterate, Joint, Line, strengths
from .positive_definite import EPS
from .row_space import RowSpace, is_wide

Array = np.ndarray

# Factorise the Hessian with at most FEW_FEATURES, or MOST_FEATURES while the Gram matrix takes at
# most CHEAP operations; beyond, conjugate gradients are faster.
FEW_FEATURES, MOST_FEATURES = 500, 3000
CHEAP = 2e9
# The same for the unknowns of all classes together.
FEW_UNKNOWNS = 100
# Start from every SAMPLE_STEP-th row if that leaves enough rows per unknown.
SAMPLE_STEP, ROWS_PER_UNKNOWN = 8, 50
# A Gram matrix of so few operations, such as a sample's, costs no more than the work around it.
NO_WORK = 1e7
SMALLEST_DAMPING, LARGEST_DAMPING = 1e-6, 1e3
# The line search ends at a slope this much flatter, or after this many acceptable trials.
LEVEL, MOST_TRIALS = 0.25, 3


def refuses(problem: Problem) -> str | None:
    """Why Newton's method cannot take the problem; None if it can."""
    if not problem.loss.has_curvature:
        return f"needs a loss with curvature, got {problem.loss.name}"
    coordinates = problem.coordinates
    if coordinates is None or not coordinates.is_quadratic():
        return f"needs a penalty ½Σ l2ⱼwⱼ² or none, got {problem.penalty.name}"
    return None


@solver("newton", refuses=refuses, max_iter=500)
def newton(problem: Problem, start: Parameters) -> Iterator[Point]:
    """Minimise by Newton steps, found in the way that is cheapest for the shape of the data.

    A step costs O(n·d²) by a factor, or a few dozen products with X by conjugate gradients. With
    fewer rows than features the problem is first moved into the row space of X.
    """
    if is_wide(problem):
        yield from _in_row_space(problem, start)
    else:
        yield from _in_features(problem, start)


def _in_features(problem: Problem, start: Parameters) -> Iterator[Point]:
    """The method for the size of the problem, after the core has done what it can."""
    by_core = None
    if row_newton.is_taken(problem):
        by_core = row_newton.row_newton(problem, start)
    elif class_newton.is_taken(problem):
        by_core = class_newton.class_newton(problem, start)
    for point in by_core or ():
        yield point
        start = Parameters(point.w, point.b)
    if _is_small(problem):
        yield from made_by("newton_cholesky", newton_cholesky(problem, start))
    else:
        yield from made_by("newton_cg", newton_cg(problem, start))


@solver("newton_cholesky", refuses=refuses, max_iter=500)
def newton_cholesky(problem: Problem, start: Parameters) -> Iterator[Point]:
    """Minimise by Newton steps from a factor of the Hessian, kept while its steps are good."""
    steps = Joint(problem) if problem.loss.task == "multiclass" else Blocks(problem)
    at = begin(problem, start) if np.any(start.w) else _from_sample(problem, steps)
    yield from descend(at, steps)


@solver("newton_cg", refuses=refuses, max_iter=500)
def newton_cg(problem: Problem, start: Parameters) -> Iterator[Point]:
    """Minimise by truncated Newton steps from preconditioned conjugate gradients."""
    yield from descend(begin(problem, start), ConjugateGradients(problem))


def begin(problem: Problem, start: Parameters, z: Array | None = None) -> Iterate:
    """The first iterate."""
    return Iterate(problem, strengths(problem), np.asarray(start.w, dtype=float), start.b, z)


def _is_small(problem: Problem) -> bool:
    """Whether a factor of the Hessian is faster than conjugate gradients."""
    n, d = problem.n, problem.d
    if problem.loss.task == "multiclass":
        return (problem.outputs or 1) * (d + 1) <= FEW_UNKNOWNS
    return d <= FEW_FEATURES or (d <= MOST_FEATURES and n * d**2 <= CHEAP)


class Steps(Protocol):
    """How a step is found: a factor of the Hessian, conjugate gradients, or the last gradients."""

    # The relative change of the coefficients by the next step, while they settle fast; else None.
    unsettled: float | None

    def estimate(self, at: Iterate) -> float | None:
        """About P − P*; None if it is not known."""

    def step(self, at: Iterate, damping: Damping) -> Change | None:
        """The step; None if there is none at this damping."""

    def renew(self) -> bool:
        """Whether a step from the same place may now be better."""


def descend(at: Iterate, steps: Steps) -> Iterator[Point]:
    """Take Newton steps until they change the objective by no more than rounding."""
    damping, idle = Damping(), 0
    estimate = steps.estimate(at)
    yield at.point(estimate, steps.unsettled)
    while max(damping.rows, damping.diagonal) <= LARGEST_DAMPING and idle < 3:
        step = steps.step(at, damping)
        found = None if step is None else _line_search(at, step)
        if found is None:
            if step is None:
                damping = replace(damping, rows=_more(damping.rows))
            elif steps.renew():
                continue
            elif abs(at.gradient.dot(step)) <= _rounding(at):
                break
            else:
                damping = Damping(_more(damping.rows), _more(damping.diagonal))
            continue
        idle = idle + 1 if at.primal - found[0].primal <= EPS * abs(at.primal) else 0
        at, t = found
        # Less after a full step, which the model predicted; more after a short one.
        rows = _more(damping.rows) if t < 0.1 else _less(damping.rows) if t >= 0.5 else damping.rows
        damping = Damping(rows, _less(damping.diagonal))
        estimate = steps.estimate(at)
        yield at.point(estimate, steps.unsettled)
    if estimate is not None:
        yield at.point(None)


def _more(damping: float) -> float:
    return max(10 * damping, SMALLEST_DAMPING)


def _less(damping: float) -> float:
    return 0.1 * damping if damping > SMALLEST_DAMPING else 0.0


def _line_search(at: Iterate, step: Change) -> tuple[Iterate, float] | None:
    """A point at + t·step with enough decrease (Armijo) and a flat enough slope (Wolfe), or None.

    A trial costs passes over the rows but no further product with X: a few of them pay off if they
    save a step. If rounding hides the decrease, the slope must be at most half as steep (Hager and
    Zhang 2005).
    """
    first = at.gradient.dot(step)
    if not first < 0:
        return None
    line = Line(at, step)
    low, high = (0.0, first), (math.inf, math.inf)
    best, t = None, 1.0
    for trial in range(40):
        with np.errstate(over="ignore", invalid="ignore"):
            there = line.at(t)
            slope = line.slope(there)
        falls = there.primal <= at.primal + 1e-4 * t * first
        if not falls and abs(there.primal - at.primal) <= _rounding(at):
            falls = abs(slope) <= 0.5 * abs(first)
        if falls and (best is None or there.primal <= best[0].primal):
            best = there, (t if best is None else max(t, best[1]))
            if abs(slope) <= LEVEL * abs(first) or (trial >= MOST_TRIALS and slope > 0.9 * first):
                return best
        elif best is not None and trial >= MOST_TRIALS:
            return best
        before = low
        if falls and slope < 0:
            low = t, slope
        else:
            high = t, slope
        t = _between(low, high) if math.isfinite(high[0]) else _beyond(before, low)
    return best


def _between(low: tuple[float, float], high: tuple[float, float]) -> float:
    """Where a line through both slopes is 0, kept off the ends; a tenth if there is none."""
    share = 0.1
    if math.isfinite(high[1]) and low[1] < 0 < high[1]:
        share = min(max(low[1] / (low[1] - high[1]), 0.1), 0.9)
    return low[0] + share * (high[0] - low[0])


def _beyond(before: tuple[float, float], low: tuple[float, float]) -> float:
    """The same beyond both, between 1.25 and four times as far."""
    rise = low[1] - before[1]
    ahead = -low[1] * (low[0] - before[0]) / rise if rise > 0 else math.inf
    return min(max(low[0] + ahead, 1.25 * low[0]), 4 * low[0])


def _rounding(at: Iterate) -> float:
    """The rounding error of the objective."""
    return 8 * EPS * (abs(at.primal) + at.problem.scale)


def _from_sample(problem: Problem, steps: Factored) -> Iterate:
    """The start: the solution on a sample of the rows if it beats the model without features.

    Every SAMPLE_STEP-th row, reweighted to the whole: a few steps there cost less than one here.
    The sample's Hessian is near that of all rows, so its factor serves the first steps as well.
    """
    null = begin(problem, problem.null, _null_scores(problem))
    index = np.arange(SAMPLE_STEP // 2, problem.n, SAMPLE_STEP)
    unknowns = (problem.outputs or 1) * (problem.d + 1)
    kept = float(problem.weights[index].sum())
    is_quick = problem.n * unknowns**2 <= NO_WORK
    if is_quick or len(index) < max(ROWS_PER_UNKNOWN * unknowns, 1000) or not kept > 0:
        return null
    sample = replace(
        problem,
        design=problem.design.rows(index),
        y=problem.y[index],
        weights=problem.weights[index] * (float(problem.weights.sum()) / kept),
    )
    before, of_sample = math.inf, type(steps)(sample)
    for point in islice(descend(_from_sample(sample, of_sample), of_sample), 12):
        primal = sample.primal(point.w, point.b, point.z)
        if primal > 0.999 * before:
            break
        before = primal
    start = begin(problem, Parameters(point.w, point.b))
    if not start.primal < null.primal:
        return null
    steps.begin_with(of_sample)
    return start


def _null_scores(problem: Problem) -> Array:
    """z at w = 0."""
    shape = (problem.n,) if problem.outputs is None else (problem.n, problem.outputs)
    return np.zeros(shape) + problem.null.b


def _in_row_space(problem: Problem, start: Parameters) -> Iterator[Point]:
    """The same problem in as many coordinates as there are rows."""
    space = RowSpace.of(problem.design)
    for point in _in_features(space.problem(problem), space.enter(Parameters(start.w, start.b))):
        # Its product is with the rows in those coordinates.
        yield replace(point, w=space.leave(point.w), product=None)
