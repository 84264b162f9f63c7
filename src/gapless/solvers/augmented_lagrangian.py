"""The augmented Lagrangian on the loss: piecewise-linear losses as a series of smooth problems."""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from ..losses import DualBox, Loss, nearest_slopes, smoothed
from ..problem import Parameters, Problem
from ._base import Point, registry, solver
from .auto import choose
from .newton_steps import inner, strengths
from .normal_equations import NormalMatrix

Array = np.ndarray
EPS = np.finfo(float).eps

GROWTH = 2.0  # of ρ from one smooth problem to the next, each of which then takes one to five steps
ACCURACY = 0.03  # of the solution of a smooth problem, relative to the change of θ it makes
SHARP = 1e4  # times the first ρ adds digits to a solution
STEPS = 1000  # at most, for one smooth problem
NEWTON_STEPS = 100  # where a handful is usual, and more means that rounding stands in the way
LAST = 3  # slopes before the last that are also tried as bounds at the end
ABANDONED = 8  # smooth problems without progress and none solved between: a larger ρ is harder
PATIENCE = 20  # steps without progress after which a smooth problem is abandoned
FEW = 2000  # rows or features: Newton's equations are solved directly
# Solve the first problems on every SAMPLE_STEP-th row if that leaves enough rows per unknown.
SAMPLE_STEP, ROWS_PER_UNKNOWN, SAMPLE_PROBLEMS = 8, 20, 3


@dataclass(frozen=True, eq=False)
class _Smooth(Loss):
    """The loss with the given conjugate, row by row: ℓ(z) = max_u zu − ℓ*(u) over the box.

    The target y of a row is its index, so that the loss also works on a subset of the rows.
    """

    box: DualBox
    rows: Array
    task = "regression"

    def slopes(self, y: Array, z: Array) -> tuple[DualBox, Array]:
        """The box of the given rows, and the u that attains the maximum."""
        box = self.dual_box(y)
        t = z - box.linear
        if box.absolute:
            t = np.sign(t) * np.maximum(np.abs(t) - box.absolute, 0)
        return box, np.clip(t / box.quadratic, box.lower, box.upper)

    def value(self, y, z):
        box, u = self.slopes(y, z)
        return u * (z - box.linear) - box.absolute * np.abs(u) - 0.5 * box.quadratic * u**2

    def gradient(self, y, z):
        return self.slopes(y, z)[1]

    def curvature(self, y, z):
        return self.bends(y, z)[1]

    def derivatives(self, y, z):
        return self.value(y, z), *self.bends(y, z)

    def bends(self, y: Array, z: Array) -> tuple[Array, Array]:
        """The first and second derivatives, without the value."""
        box, u = self.slopes(y, z)
        is_inside = (u > box.lower) & (u < box.upper)
        if box.absolute:
            is_inside &= u != 0
        return u, is_inside / box.quadratic

    def dual_box(self, y):
        if y is self.rows:
            return self.box
        chosen = y.astype(np.intp)
        arrays = (v.ravel()[chosen] for v in (self.box.linear, self.box.lower, self.box.upper))
        return DualBox(*arrays, self.box.absolute, self.box.quadratic)


def _refuses(problem: Problem) -> str | None:
    if not problem.loss.is_piecewise_linear:
        return f"needs a piecewise-linear loss, such as the hinge, got {problem.loss.name}"
    if not problem.penalty.is_convex:
        return f"needs a convex penalty, got {problem.penalty.name}"
    return None


@solver("augmented_lagrangian", refuses=_refuses, max_iter=200)
def augmented_lagrangian(problem: Problem, start: Parameters) -> Iterator[Point]:
    """Minimise Σ sᵢ·eᵢ(zᵢ) + R(w) repeatedly, with e smooth and ever closer to the loss ℓ.

    e(z) = max_u zu − ℓ*(u) − (u − u₀)²/2ρ is quadratic around each kink of ℓ; u₀ = −θ/s is the
    slope at the end of the previous problem, so that e and ℓ finally have the same minimiser, at a
    finite ρ. Newton's method sees only the rows near a kink, which become few. This is the proximal
    point method on the dual; it converges superlinearly as ρ grows.

    References
    ----------
    Rockafellar (1976), Augmented Lagrangians and applications of the proximal point algorithm in
    convex programming. Li, Sun and Toh (2018), A highly efficient semismooth Newton augmented
    Lagrangian method for solving Lasso problems.
    """
    yield from _rounds(problem, *_begin(problem, start))


def sharpen(problem: Problem, parameters: Parameters, rounds: int) -> Point | None:
    """The last iterate of `rounds` more smooth problems from a solution whose θ is nearly optimal.

    ρ is so large that each of them adds digits.
    """
    box = _box_of(problem)
    _, _, u, _ = _begin(problem, parameters)
    rho = SHARP * _first_rho(problem, box, problem.null)
    *_, last = islice(_rounds(problem, parameters.w, parameters.b, u, rho), rounds)
    return last


def _rounds(problem: Problem, w: Array, b: Array, u: Array, rho: float) -> Iterator[Point]:
    """Solve the smooth problems in turn, from given slopes u₀ and ρ."""
    s = problem.row_weights
    # Without a polish for classes at kinks, whose gap is of first order in θ, every digit counts.
    least = (1e-6 if problem.loss.has_class_box else 1.0) * EPS * problem.scale
    earlier: deque[Array] = deque(maxlen=LAST)
    abandoned = 0
    while abandoned < ABANDONED:
        smooth = _smooth_problem(problem, u, rho)
        lowest = closest = np.inf
        kept: Point | None = None
        most = NEWTON_STEPS if _has_newton(smooth) else STEPS
        for step, point in enumerate(_minimise(smooth, Parameters(w, b)), start=1):
            w, b = point.w, point.b
            z = problem.predictions(w, b) if point.z is None else point.z
            moved = smooth.loss.gradient(smooth.y, z)
            # The cost of the proximal term of e: when e is minimised, the gap is of that order.
            change = inner(s * (moved - u), moved - u) / (2 * rho)
            enough = max(ACCURACY * change, least)
            if _is_solved(smooth, point, enough):
                abandoned = 0
                break
            if step >= most:
                break
            if point.estimate is not None and abs(point.estimate) < closest:
                closest, kept = abs(point.estimate), point
            if step % PATIENCE == 0:
                before, lowest = lowest, smooth.primal(w, b, z)
                if not lowest < before - 1e-3 * enough:
                    abandoned += 1
                    # Beyond what P resolves, steps lose digits that earlier ones had.
                    if kept is not None and _gap(smooth, kept) < _gap(smooth, point):
                        w, b = kept.w, kept.b
                        z = problem.predictions(w, b)
                        moved = smooth.loss.gradient(smooth.y, z)
                        change = inner(s * (moved - u), moved - u) / (2 * rho)
                    break
        earlier.append(u)
        u = moved
        yield Point(w, b, z=z, theta=-s * u, estimate=change)
        if change <= least:
            # They differ by how well their problems were solved, and a bound under constraints is
            # sensitive to that; those at which w was far off have not been checked.
            for slopes in earlier:
                yield Point(w, b, z=z, theta=-s * slopes, estimate=change)
            return
        rho *= GROWTH


def _is_solved(smooth: Problem, point: Point, enough: float) -> bool:
    """Whether the smooth problem is solved well enough, by the solver's estimate and in fact.

    Far from the solution an estimate may be wrong, even negative; that of Newton's method is right.
    Without one, the gap alone decides.
    """
    if point.estimate is not None and abs(point.estimate) > enough:
        return False
    if _has_newton(smooth):
        return True
    return _gap(smooth, point) <= 10 * enough


def _gap(smooth: Problem, point: Point) -> float:
    """The gap of a smooth problem, with the slopes at the point as its θ."""
    z = smooth.predictions(point.w, point.b) if point.z is None else point.z
    u = smooth.loss.gradient(smooth.y, z)
    return smooth.primal(point.w, point.b, z) - smooth.bound(-smooth.row_weights * u).dual


def _minimise(smooth: Problem, start: Parameters) -> Iterator[Point]:
    """The iterates of the fastest solver available, then of one that never gives up."""
    if _has_newton(smooth):
        yield from _newton_on_band(smooth, start)
    for point in registry[choose(smooth)].method(smooth, start):
        yield point
        start = Parameters(point.w, point.b)
    yield from registry["proximal_gradient"].method(smooth, start)


def _has_newton(smooth: Problem) -> bool:
    """Whether all l2 > 0 and Newton's equations are small enough to solve directly."""
    coordinates = smooth.coordinates
    is_ridge = coordinates is not None and coordinates.is_quadratic() and np.all(coordinates.l2)
    return bool(is_ridge and smooth.outputs is None and min(smooth.n, smooth.d) <= FEW)


def _newton_on_band(smooth: Problem, start: Parameters) -> Iterator[Point]:
    """Newton's method on the rows in the quadratic part of e, updated for rows that change.

    Apart from that a step costs one product with X. The step length is exact: e is piecewise
    quadratic.
    """
    design, s, l2 = smooth.design, smooth.weights, strengths(smooth)
    w, b = np.array(start.w, dtype=float), float(start.b)
    z = smooth.predictions(w, b)
    u, curvature = smooth.loss.bends(smooth.y, z)
    force = design.transposed_times(s * u)
    rest, rest_b = -(force + l2 * w), -inner(s, u)
    steepest = float(s.sum()) / smooth.loss.box.quadratic
    while True:
        stiffness = s * curvature
        # Where no row holds the bias, pretend that a thousandth of them do.
        hold = max(1e-3 * steepest - float(stiffness.sum()), 0.0)
        matrix = NormalMatrix(design, stiffness, l2, smooth.fit_bias, 0.0, hold)
        # Not refined: the next step makes up for the rounding.
        dw, db = matrix.inverse.solve(rest, rest_b)
        decrement = inner(rest, dw) + rest_b * db
        dz = design.times(dw) + db
        first, second = inner(l2 * w, dw), inner(l2 * dw, dw)
        length, moved, curvature = _exact_length(smooth, z, dz, first, second, 0.1 * decrement)
        w, b, z = w + length * dw, b + length * db, z + length * dz
        force = force + design.transposed_times(s * (moved - u))
        u = moved
        rest, rest_b = -(force + l2 * w), -inner(s, u)
        # The gain of the next step if the same rows were in the band.
        dw, db = matrix.inverse.solve(rest, rest_b)
        yield Point(w, np.array(b), z=z, estimate=0.5 * (inner(rest, dw) + rest_b * db))


def _exact_length(
    smooth: Problem, z: Array, dz: Array, first: float, second: float, enough: float
) -> tuple[float, Array, Array]:
    """The t that minimises Σ sᵢ·eᵢ(zᵢ + t·dzᵢ) + t·first + ½t²·second, and e′ and e″ there.

    Stops once the slope is at most `enough`.
    """
    weighted = smooth.weights * dz
    low, high, t = 0.0, np.inf, 1.0
    for _ in range(20):
        u, curvature = smooth.loss.bends(smooth.y, z + t * dz)
        reached, slope = t, inner(weighted, u) + first + t * second
        if abs(slope) <= enough:
            break
        low, high = (t, high) if slope < 0 else (low, t)
        curved = inner(weighted, curvature * dz) + second
        # The curvature of tiny data underflows to 0: halve or double instead.
        t = t - slope / curved if curved > 0 else np.inf
        if not low < t < high:
            t = 2 * low if np.isinf(high) else 0.5 * (low + high)
    return reached, u, curvature


def _smooth_problem(problem: Problem, u: Array, rho: float) -> Problem:
    """The problem with e in place of ℓ. e* = ℓ* + (u − u₀)²/2ρ, up to a constant."""
    box = _box_of(problem)
    smooth: Loss
    if problem.loss.has_class_box:
        smooth = smoothed(box, u, rho)
        rows = smooth.rows
    else:
        rows = np.arange(problem.y.size, dtype=float).reshape(problem.y.shape)
        box = dataclasses.replace(box, linear=box.linear - u / rho, quadratic=1 / rho)
        smooth = _Smooth(box, rows)
    out = dataclasses.replace(problem, loss=smooth, y=rows)
    # The model without features is nearly the same for all of them, and is already known.
    vars(out).update(null=problem.null, scale=problem.scale)
    return out


def _begin(problem: Problem, start: Parameters) -> tuple[Array, Array, Array, float]:
    """Where to start: w, b, the slopes u₀ and ρ."""
    box = _box_of(problem)
    middle = _inside(problem, box, 0.5 * (box.lower + box.upper))
    if start.theta is not None:
        s = problem.row_weights
        u = np.divide(-start.theta, s, out=middle, where=s > 0)
        u = _inside(problem, box, u)
        # From the first ρ on, the remaining gap falls like 1/ρ².
        gap = problem.primal(start.w, start.b) - problem.bound(-s * u).dual
        ahead = np.sqrt(problem.scale / gap) if 0 < gap < problem.scale else 1.0
        return start.w, start.b, u, ahead * _first_rho(problem, box, start)
    rho = _first_rho(problem, box, problem.null)
    index = np.arange(SAMPLE_STEP // 2, problem.n, SAMPLE_STEP)
    unknowns = (problem.outputs or 1) * (problem.d + 1)
    kept = float(problem.weights[index].sum())
    if np.any(start.w) or len(index) < ROWS_PER_UNKNOWN * unknowns or not kept > 0:
        return start.w, start.b, middle, rho
    sample = dataclasses.replace(
        problem,
        design=problem.design.rows(index),
        y=problem.y[index],
        weights=problem.weights[index] * (float(problem.weights.sum()) / kept),
    )
    points = islice(augmented_lagrangian(sample, sample.null), SAMPLE_PROBLEMS)
    *_, last = points
    rho *= GROWTH ** (SAMPLE_PROBLEMS - 1)
    smooth = _smooth_problem(problem, middle, rho)
    u = smooth.loss.gradient(smooth.y, problem.predictions(last.w, last.b))
    return last.w, last.b, u, rho


def _box_of(problem: Problem) -> DualBox:
    """The conjugate of the loss, for one score or several."""
    if problem.loss.has_class_box:
        return problem.loss.class_box(problem.y, problem.outputs or 1)
    return problem.loss.dual_box(problem.y)


def _inside(problem: Problem, box: DualBox, u: Array) -> Array:
    """The slopes nearest to u."""
    if problem.loss.has_class_box:
        return nearest_slopes(u, box)
    return np.clip(u, box.lower, box.upper)


def _first_rho(problem: Problem, box: DualBox, at: Parameters) -> float:
    """The ρ at which a typical row is in the quadratic part of e."""
    width = problem.weighted_sum(box.upper - box.lower)
    away = problem.predictions(at.w, at.b) - box.linear
    if problem.loss.has_class_box:
        # Only differences of scores matter. A smaller ρ takes more problems but fewer steps: a
        # third as many on wine at a thousandth of the usual penalty, two thirds on digits.
        width, away = 0.1 * width, away - away.mean(axis=1, keepdims=True)
    distance = problem.weighted_sum(np.abs(away))
    return 0.25 * width / distance if distance > 0 else 1.0
