"""Proximal gradient descent: plain, which is iterative soft-thresholding, and accelerated.

Takes any loss with a continuous derivative and any penalty with a proximal map, including a user's
own.

References
----------
Beck and Teboulle (2009), A fast iterative shrinkage-thresholding algorithm, SIAM J. Imaging Sci. 2.
O'Donoghue and Candès (2015), Adaptive restart for accelerated gradient schemes, Found. Comput.
Math. 15.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..problem import Parameters, Problem
from ._base import Point, solver
from .face_newton import newton_on_face
from .quadratic_model import evaluate

Array = np.ndarray
EPS = float(np.finfo(float).eps)

# A gap costs about as much as a step, so it is computed only every so often.
STEPS_PER_GAP = 10
# The first step length, in units of that for a loss of curvature 1, and the factor that shortens
# it.
FIRST_LENGTH, SHORTENING = 4.0, 0.7
# At the start, after this many steps, and twice, four times … as many, Newton steps are tried where
# they are possible, and repeated while they help.
FIRST_NEWTON, MOST_NEWTON_STEPS = 5, 20
# After this many steps in a row that gain only rounding, there is no point in continuing.
SETTLED_STEPS = 50


def _refuses(problem: Problem) -> str | None:
    if problem.loss.is_piecewise_linear:
        return f"needs a loss with a continuous derivative, got {problem.loss.name}"
    return None


@solver("proximal_gradient", refuses=_refuses, max_iter=50_000)
def proximal_gradient(problem: Problem, start: Parameters) -> Iterator[Point]:
    """Accelerated steps, restarted whenever the momentum points uphill.

    Plain steps if the penalty is not convex: each of them lowers P, those with momentum may not.
    """
    return _descend(Centred(problem), start, accelerated=problem.penalty.is_convex)


@solver("ista", refuses=_refuses, max_iter=100_000)
def ista(problem: Problem, start: Parameters) -> Iterator[Point]:
    """Plain steps w ← prox(w − t∇): with the L1 penalty, iterative soft-thresholding."""
    return _descend(Centred(problem), start, accelerated=False)


@dataclass(frozen=True, eq=False)
class Position:
    """Coefficients, the bias of the centred data, and z."""

    w: Array
    c: Array
    z: Array

    def beyond(self, other: Position, factor: float) -> Position:
        """The point beyond this one on the line from `other`, by `factor` times their distance."""
        pairs = ((self.w, other.w), (self.c, other.c), (self.z, other.z))
        return Position(*(a + factor * (a - b) for a, b in pairs))


class Centred:
    """The problem with the weighted mean of each column moved into the bias: z = (X − 1μᵀ)w + c.

    The columns are then orthogonal to the bias, which gets a step of its own, t·κ: the ratio κ is
    that of the largest curvature of w to that of c. The minimiser is the same.
    """

    def __init__(self, problem: Problem):
        self.problem, self.design = problem, problem.design
        total = float(np.sum(problem.weights))
        self.mean = np.zeros(problem.d)
        if problem.fit_bias and total > 0:
            self.mean = self.design.transposed_times(problem.weights) / total
        largest = self._largest_curvature()
        self.ratio = largest / total if problem.fit_bias and total > 0 else 0.0
        self.largest = largest or total or 1.0

    def position(self, w: Array, c: Array) -> Position:
        """The position of given coefficients."""
        return Position(w, c, self.design.times(w) + (c - self.shift(w)))

    def bias(self, position: Position) -> Array:
        """b = c − μᵀw."""
        return position.c - self.shift(position.w)

    def shift(self, w: Array) -> Array:
        """μᵀw."""
        return np.sum(self.mean * w.T, axis=-1)

    def product(self, a: Position, b: Position, p: Position, q: Position) -> float:
        """⟨a − b, p − q⟩, the bias measured by its own step."""
        inner = float(np.sum((a.w - b.w) * (p.w - q.w)))
        return (
            inner + float(np.sum((a.c - b.c) * (p.c - q.c))) / self.ratio if self.ratio else inner
        )

    def gradient(self, z: Array) -> tuple[Array, Array]:
        """The derivatives of Σ s·ℓ in w and in c."""
        slope = self.problem.derivative(z)
        total = np.sum(slope, axis=0)
        return self.design.transposed_times(slope) - np.multiply.outer(self.mean, total), total

    def _largest_curvature(self) -> float:
        """The largest eigenvalue of (X − 1μᵀ)ᵀS(X − 1μᵀ), approximately, by the power method."""
        v = np.cos(np.arange(self.problem.d) + 1.0)  # any vector without special structure
        value = 0.0
        for _ in range(10):
            norm = float(np.sqrt(np.sum(v**2)))
            if norm == 0:
                break
            v = v / norm
            u = self.problem.weights * (self.design.times(v) - np.sum(self.mean * v))
            v = self.design.transposed_times(u) - self.mean * np.sum(u)
            value = float(np.sqrt(np.sum(v**2)))
        return value


def _descend(centred: Centred, start: Parameters, accelerated: bool) -> Iterator[Point]:
    problem = centred.problem
    w = problem.penalty.prox(np.array(start.w, dtype=float), 0.0)  # into the constraints
    at = centred.position(w, start.b + centred.shift(w))
    origin, momentum, length = at, 1.0, FIRST_LENGTH / centred.largest
    steps = settled = next_newton = 0
    while settled < SETTLED_STEPS:
        is_checked = steps % STEPS_PER_GAP == 0
        yield Point(at.w, centred.bias(at), at.z, estimate=None if is_checked else math.inf)
        if accelerated and steps == next_newton:
            next_newton = max(2 * next_newton, FIRST_NEWTON)
            better = _newton(centred, at)
            if better is not None:
                at = origin = better
                momentum = 1.0
                yield Point(at.w, centred.bias(at), at.z)
        step = _step(centred, origin, length)
        if step is None:
            if origin is at:
                break
            origin, momentum = at, 1.0
            continue
        new, length = step.to, step.length
        settled = settled + 1 if step.is_negligible else 0
        if accelerated and centred.product(origin, new, new, at) <= 0:
            following = 0.5 * (1 + math.sqrt(1 + 4 * momentum**2))
            origin = new.beyond(at, (momentum - 1) / following)
            momentum = following
        else:
            origin, momentum = new, 1.0
        at, steps = new, steps + 1
    yield Point(at.w, centred.bias(at), at.z)


def _newton(centred: Centred, at: Position) -> Position | None:
    """Newton steps where the penalty is smooth, as ‖w‖_p is away from 0; None if they do not help.

    Only for a penalty that no faster solver takes.
    """
    problem, d = centred.problem, centred.problem.d
    penalty = problem.penalty
    is_compiled = penalty.coordinates(d) is not None or penalty.blocks(d) is not None
    if is_compiled or not (penalty.has_curvature and problem.loss.has_curvature):
        return None
    here = evaluate(problem, at.w, centred.bias(at), penalty.value(at.w), at.z)
    begin = here
    for _ in range(MOST_NEWTON_STEPS):
        new = newton_on_face(problem, None, here)
        if new is None or not new.primal < here.primal:
            break
        here, gain = new, here.primal - new.primal
        if gain <= EPS * abs(new.primal):
            break
    return None if here is begin else Position(here.w, here.b + centred.shift(here.w), here.z)


@dataclass(frozen=True, eq=False)
class Step:
    """The end of a step, its length t, and whether its gain is lost in rounding."""

    to: Position
    length: float
    is_negligible: bool


def _step(centred: Centred, at: Position, length: float) -> Step | None:
    """A proximal gradient step, shortened until the loss grows no faster than the step assumes.

    None if the step leads nowhere: `at` is optimal, or the loss has a kink there.
    """
    problem = centred.problem
    loss = problem.loss_sum(at.z)
    g, g_bias = centred.gradient(at.z)
    rounding = EPS * abs(loss)
    while length > 1e-300:
        w = problem.penalty.prox(at.w - length * g, length)
        new = centred.position(w, at.c - length * centred.ratio * g_bias)
        square = centred.product(new, at, new, at)
        if square == 0:
            return None
        linear = float(np.sum(g * (w - at.w))) + float(np.sum(g_bias * (new.c - at.c)))
        # Within the rounding of the sums both sides are noise, so the step is taken.
        if problem.loss_sum(new.z) <= loss + linear + 0.5 * square / length + 4 * rounding:
            return Step(new, length, is_negligible=square / length <= rounding)
        length *= SHORTENING
    return None
