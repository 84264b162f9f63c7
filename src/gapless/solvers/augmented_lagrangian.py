"""The augmented Lagrangian on the loss: piecewise-linear losses by a row of smooth problems."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..losses import DualBox, Loss
from ..problem import Parameters, Problem
from ._base import Point, registry, solver
from .auto import choose

Array = np.ndarray
EPS = np.finfo(float).eps

GROWTH = 3.0  # of ρ from one smooth problem to the next; with 3 each takes two to ten Newton steps
ACCURACY = 0.1  # to which a smooth problem is solved, against the move of θ that it makes
STEPS = 100  # that one smooth problem may take


@dataclass(frozen=True, eq=False)
class _Smooth(Loss):
    """The loss whose conjugate is given, row by row: ℓ(z) = max_u zu − ℓ*(u) over the box.

    The target y of a row is its number, so that the loss also works on some of the rows.
    """

    box: DualBox
    rows: Array
    task = "regression"

    def slopes(self, y: Array, z: Array) -> tuple[DualBox, Array]:
        """The box of the given rows, and the u at which the maximum is reached."""
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
        return self._curvature(*self.slopes(y, z))

    def derivatives(self, y, z):
        box, u = self.slopes(y, z)
        value = u * (z - box.linear) - box.absolute * np.abs(u) - 0.5 * box.quadratic * u**2
        return value, u, self._curvature(box, u)

    def _curvature(self, box: DualBox, u: Array) -> Array:
        bends = (u > box.lower) & (u < box.upper)
        if box.absolute:
            bends &= u != 0
        return bends / box.quadratic

    def dual_box(self, y):
        if y is self.rows:
            return self.box
        chosen = y.astype(np.intp)
        arrays = (v.ravel()[chosen] for v in (self.box.linear, self.box.lower, self.box.upper))
        return DualBox(*arrays, self.box.absolute, self.box.quadratic)


def _refuses(problem: Problem) -> str | None:
    if not problem.loss.is_piecewise_linear:
        return f"needs a piecewise-linear loss, such as the hinge, got {problem.loss.name}"
    return None


@solver("augmented_lagrangian", refuses=_refuses, max_iter=200)
def augmented_lagrangian(problem: Problem, start: Parameters) -> Iterator[Point]:
    """Minimise Σ sᵢ·eᵢ(zᵢ) + R(w) again and again, e smooth and ever closer to the loss ℓ.

    e(z) = max_u zu − ℓ*(u) − (u − u₀)²/2ρ is quadratic around each kink of ℓ; u₀ = −θ/s is the
    slope that the last such problem ended with, so that e and ℓ have the same minimiser in the
    end, at a finite ρ. Newton's method sees only the rows near a kink, which become few. It is
    the proximal point method on the dual, whose speed is superlinear as ρ grows.

    References
    ----------
    Rockafellar (1976), Augmented Lagrangians and applications of the proximal point algorithm in
    convex programming. Li, Sun and Toh (2018), A highly efficient semismooth Newton augmented
    Lagrangian method for solving Lasso problems.
    """
    box = problem.loss.dual_box(problem.y)
    s = problem.row_weights
    w, b = start.w, start.b
    z = problem.predictions(w, b)
    u = _start_slopes(problem, box, start)
    rho = _start_rho(problem, box, z)
    while True:
        smooth = _smooth_problem(problem, u, rho)
        moved = u
        for step, point in enumerate(_minimise(smooth, Parameters(w, b))):
            w, b = point.w, point.b
            z = problem.predictions(w, b) if point.z is None else point.z
            moved = smooth.loss.gradient(smooth.y, z)
            change = float(np.sum(s * (moved - u) ** 2)) / (2 * rho)
            enough = max(ACCURACY * change, EPS * problem.scale)
            if step >= STEPS or (point.estimate is not None and point.estimate <= enough):
                break
        u = moved
        yield Point(w, b, z=z, theta=-s * u, estimate=None)
        if change <= EPS * problem.scale:
            return
        rho *= GROWTH


def _minimise(smooth: Problem, start: Parameters) -> Iterator[Point]:
    return registry[choose(smooth)].method(smooth, start)


def _smooth_problem(problem: Problem, u: Array, rho: float) -> Problem:
    """The problem with e in place of ℓ. e* = ℓ* + (u − u₀)²/2ρ, up to a constant."""
    box = problem.loss.dual_box(problem.y)
    rows = np.arange(problem.y.size, dtype=float).reshape(problem.y.shape)
    smooth = _Smooth(dataclasses.replace(box, linear=box.linear - u / rho, quadratic=1 / rho), rows)
    out = dataclasses.replace(problem, loss=smooth, y=rows)
    # The model without features is the same for all of them, near enough, and is known already.
    vars(out).update(null=problem.null, scale=problem.scale)
    return out


def _start_slopes(problem: Problem, box: DualBox, start: Parameters) -> Array:
    """u₀: the slopes of the given dual point, or the middle of the box."""
    if start.theta is None:
        return 0.5 * (box.lower + box.upper)
    s = problem.row_weights
    u = np.divide(-start.theta, s, out=np.zeros(problem.y.shape), where=s > 0)
    return np.clip(u, box.lower, box.upper)


def _start_rho(problem: Problem, box: DualBox, z: Array) -> float:
    """ρ at which a typical row is in the quadratic part of e at the start."""
    width = problem.weighted_sum(box.upper - box.lower)
    distance = problem.weighted_sum(np.abs(z - box.linear))
    return 0.25 * width / distance if distance > 0 else 1.0
