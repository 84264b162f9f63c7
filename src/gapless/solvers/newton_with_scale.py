"""Newton's method for Huber's loss with an unknown scale (`problem.WithScale`).

With the scale at its best value for the current scores, the Hessian of the objective is that for a
given scale, less a matrix of rank one: with D = 2s/σ in the rows within ε and q = r/σ there,
XᵀDX + Λ − (XᵀDq)(XᵀDq)ᵀ/qᵀDq, the Schur complement of σ. Steps solve it by the formula of Sherman
and Morrison, and a line search moves along them without products with X. Where hardly any row is
within ε, as for ε near 1, there is next to no curvature, and the problem is solved for one scale
after another, whose slope of P, Σs − Σ s·min(r²/σ², ε²), rises in σ.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..problem import Parameters, WithScale
from ._base import Callback, Point, Registered, Solution, registry, run
from .distant_columns import distant_mean, solve_centred
from .newton_steps import inner
from .normal_equations import NormalMatrix

Array = np.ndarray
EPS = float(np.finfo(float).eps)

# Start from every SAMPLE_STEP-th row if that leaves this many rows per unknown.
SAMPLE_STEP, ROWS_PER_UNKNOWN, SAMPLE_POINTS = 8, 50, 12
NEWTON_STEPS = 25  # of the first kind, which take five to ten if they converge
HALVINGS = 30  # of a step, before the method gives up
SCALES = 60  # tried one after another, at most
TINY = 1e-3  # a scale this much below all errors may be that of rows on one plane
NEAR = 10.0  # the rows within so many times εσ may be those
NAME = "newton_with_scale"


def solve_with_scale(
    problem: WithScale,
    start: Parameters | None = None,
    *,
    tol: float = 1e-6,
    max_iter: int | None = None,
    callback: Callback | None = None,
) -> Solution:
    """Minimise until the gap is at most tol·P₀."""
    method = Registered(NAME, _iterates, lambda problem: None, 200)
    options = {"tol": tol, "max_iter": max_iter, "callback": callback}
    mean = distant_mean(problem)
    if mean is None:
        return run(method, problem, start, **options)
    return solve_centred(mean, problem, start, lambda moved, at: run(method, moved, at, **options))


@dataclass(frozen=True, eq=False)
class At:
    """Parameters, their scores and objective, and the best scale there."""

    problem: WithScale
    w: Array
    b: float
    z: Array
    sigma: float
    primal: float

    @classmethod
    def of(cls, problem: WithScale, w: Array, b: float, z: Array, near: float = np.inf) -> At:
        """The best scale and the objective there; `near` is a guess of the scale."""
        sigma = problem.best_scale(z, near)
        loss = problem.weighted_sum(problem.row_losses(z, sigma))
        return cls(problem, w, b, z, sigma, loss + problem.penalty.value(w))

    def point(self, theta: Array | None = None, estimate: float | None = None) -> Point:
        """The iterate as `run` takes it."""
        b = np.array(self.b)
        return Point(self.w, b, self.z, theta, estimate, primal=self.primal)


def _iterates(problem: WithScale, start: Parameters) -> Iterator[Point]:
    """Newton steps, and if they stall one scale after another."""
    w, b = np.asarray(start.w, dtype=float), float(start.b)
    at = At.of(problem, w, b, problem.predictions(w, np.array(b)))
    if not np.any(w):
        at = _from_sample(at)
    yield at.point()
    if at.sigma == 0:
        at = _off_zero(at)
        yield at.point()
    for _ in range(NEWTON_STEPS):
        if not at.sigma > 0:
            break
        theta = -problem.derivative(at.z, at.sigma)
        step = _step(at, theta)
        if step is None:
            break
        dw, db, decrease = step
        after = _line_search(at, dw, db, decrease)
        if after is None:
            break
        is_idle = at.primal - after.primal <= 4 * EPS * at.primal
        at = _through_near_rows(after)
        yield at.point(estimate=None if is_idle else decrease)
        if is_idle:
            break
    yield from _by_scales(at)


def _from_sample(at: At) -> At:
    """The solution on some of the rows, if it is better: steps there cost next to nothing."""
    problem = at.problem
    rows = np.arange(SAMPLE_STEP // 2, problem.n, SAMPLE_STEP)
    if len(rows) < max(ROWS_PER_UNKNOWN * (problem.d + 1), 1000):
        return at
    kept = float(problem.weights[rows].sum())
    if not kept > 0:
        return at
    sample = problem.part(rows, float(problem.weights.sum()) / kept)
    best = solve_with_scale(sample, tol=1e-4, max_iter=SAMPLE_POINTS).parameters
    w, b = best.w, float(best.b)
    found = At.of(problem, w, b, problem.predictions(w, best.b))
    return found if found.primal < at.primal else at


def _off_zero(at: At) -> At:
    """The solution for the scale of all errors: at a scale of 0 there is no curvature to follow."""
    problem, sigma = at.problem, _root_mean_square(at)
    if sigma == 0:
        return at
    found = run(registry["newton"], problem.at_scale(sigma), Parameters(at.w, np.array(at.b)))
    w, b = found.parameters.w, found.parameters.b
    return At.of(problem, w, float(b), problem.predictions(w, b))


def _root_mean_square(at: At) -> float:
    """The size of the errors."""
    problem = at.problem
    mean = problem.weighted_sum((at.z - problem.y) ** 2) / float(problem.weights.sum())
    return math.sqrt(mean)


def _step(at: At, theta: Array) -> tuple[Array, float, float] | None:
    """The Newton step in w and b, and half of what its model gains; None without curvature."""
    problem, s = at.problem, at.problem.weights
    coordinates = problem.coordinates
    assert coordinates is not None
    l2 = coordinates.l2
    r = at.z - problem.y
    D = np.where(np.abs(r) <= problem.epsilon * at.sigma, 2 * s / at.sigma, 0.0)
    if np.count_nonzero(D) <= problem.d + problem.fit_bias and not np.all(l2 > 0):
        return None
    pull = D * r / at.sigma
    curvature = inner(pull, r) / at.sigma
    if not curvature > 0:
        return None
    slopes = l2 * at.w - problem.design.transposed_times(theta)
    slope = -float(theta.sum()) if problem.fit_bias else 0.0
    v, beside = problem.design.transposed_times(pull), float(pull.sum())
    matrix = NormalMatrix(problem.design, D, l2, problem.fit_bias)
    w, b = matrix.solve(-slopes, -slope)
    vw, vb = matrix.solve(v, beside)
    left = curvature - inner(v, vw) - beside * vb
    if left > 1e-12 * curvature:
        share = (inner(v, w) + beside * b) / left
        w, b = w + share * vw, b + share * vb
    gain = -(inner(slopes, w) + slope * b)
    return (w, b, 0.5 * gain) if gain > 0 and math.isfinite(gain) else None


def _line_search(at: At, dw: Array, db: float, decrease: float) -> At | None:
    """The first of the halved steps with enough decrease (Armijo), or None."""
    along, t = at.problem.design.times(dw) + db, 1.0
    for _ in range(HALVINGS):
        moved = at.w + t * dw, at.b + t * db, at.z + t * along
        there = At.of(at.problem, *moved, near=at.sigma)
        if there.primal <= at.primal - 2e-4 * t * decrease + 4 * EPS * at.primal:
            return there
        t *= 0.5
    return None


def _through_near_rows(at: At) -> At:
    """The plane through the rows near this one, if they are many enough for a scale of 0 and on it.

    Steps only approach such a plane, and would leave errors of any size below the tolerance.
    """
    problem, s = at.problem, at.problem.weights
    r = at.z - problem.y
    is_near = np.abs(r) <= NEAR * problem.epsilon * at.sigma
    beyond, total = float(np.sum(np.where(is_near, 0.0, s))), float(s.sum())
    if beyond * problem.epsilon**2 >= total or not 0 < at.sigma < TINY * _root_mean_square(at):
        return at
    D = np.where(is_near, s, 0.0)
    slopes, slope = problem.design.transposed_times(D * r), float(np.sum(D * r))
    plane = NormalMatrix(problem.design, D, np.zeros(problem.d), problem.fit_bias)
    dw, db = plane.solve(-slopes, -slope * problem.fit_bias)
    w, b = at.w + dw, at.b + db
    there = At.of(problem, w, b, problem.predictions(w, np.array(b)))
    return there if there.primal < at.primal else at


def _by_scales(at: At) -> Iterator[Point]:
    """Solutions for one scale after another, by a bracket of the best scale that shrinks."""
    problem, size = at.problem, _root_mean_square(at)
    sigma = at.sigma if at.sigma > 1e-9 * size else 0.1 * size
    total, low, high = float(problem.weights.sum()), 0.0, math.inf
    w, b = at.w, np.array(at.b)
    for _ in range(SCALES if size > 0 else 0):
        given = problem.at_scale(sigma)
        found = run(registry["interior_point"], given, Parameters(w, b), tol=1e-10).parameters
        w, b = found.w, found.b
        z = problem.predictions(w, b)
        # θ for a given scale is that of the loss times σ/2.
        theta = None if found.theta is None else found.theta * (2 / sigma)
        here = At.of(problem, w, float(b), z, sigma)
        yield _through_near_rows(here).point(theta)
        share = (z - problem.y) ** 2 / sigma**2
        slope = total - problem.weighted_sum(np.minimum(share, problem.epsilon**2))
        low, high = (sigma, high) if slope < 0 else (low, sigma)
        if high - low <= 1e-12 * sigma or high <= EPS * size:
            return
        best = problem.best_scale(z, sigma)
        if low < best < high and abs(best - sigma) > 0.3 * sigma:
            sigma = best
        elif low > 0 and high < math.inf:
            sigma = math.sqrt(low * high)
        else:
            sigma = 0.1 * sigma if low == 0 else 10 * sigma
