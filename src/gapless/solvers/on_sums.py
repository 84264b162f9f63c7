"""Newton's method for rows that are read in parts: each step needs one pass, which sums the parts.

The pass gives value, gradient and Hessian of the losses at a point; the step minimises that
quadratic plus the penalty, a problem of d rows that any solver of ours takes. So every convex
penalty is possible, and for the squared loss one pass is enough. Several problems on the same rows
share their passes. A step that overshoots is halved, which costs a pass as well; a start from a
sample makes that rare.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from .._ground.design import Design
from ..losses import Squared
from ..penalties import Penalty
from ..problem import Parameters, Problem, Quadratic
from .entrance import solve

Array = np.ndarray
EPS = float(np.finfo(float).eps)

# A decrease of this part of P₀ is left to the last step, after which nothing is left to gain.
LAST_STEP = 1e-11
# A step is halved at most so often before the solver gives up.
MOST_HALVINGS = 30
# The inner problem is solved to this part of its own P₀.
INNER = 1e-10

# Values, gradients and Hessians of several problems, each at a point or left out.
Evaluate = Callable[[Sequence[Parameters | None]], "list[Quadratic | None]"]


@dataclass(eq=False)
class Descent:
    """How far one of the problems has come.

    `at` is where the last sums belong to, `end` the point after the step that they suggest.
    """

    problem: Problem
    start: Parameters
    at: Parameters
    sums: Quadratic | None = None
    primal: float = np.inf
    end: Parameters | None = None
    decrease: float = np.inf
    halvings: int = 0
    steps: int = 0
    is_done: bool = False
    status: str = "optimal"

    @property
    def found(self) -> Parameters:
        """The best point known."""
        return self.at if self.end is None else self.end

    def take(self, trial: Parameters, sums: Quadratic, target: float) -> None:
        """Move to a trial point if it is better, and find the step from there."""
        penalty = self.problem.penalty
        primal = sums.value + penalty.value(trial.w)
        room = 8 * EPS * (abs(primal) + abs(self.primal)) if np.isfinite(self.primal) else 0.0
        if not primal <= self.primal + room:
            self._halve()
            return
        self.halvings, self.steps = 0, self.steps + (self.sums is not None)
        self.at, self.sums, self.primal = trial, sums, primal
        self.end, self.decrease = minimised(sums, self.problem, trial)
        self.is_done = self.decrease <= LAST_STEP * target

    def _halve(self) -> None:
        assert self.end is not None
        self.halvings += 1
        if self.halvings > MOST_HALVINGS:
            self.is_done, self.status, self.end = True, "stalled", self.at
            return
        self.end = Parameters(0.5 * (self.at.w + self.end.w), 0.5 * (self.at.b + self.end.b))

    @property
    def trial(self) -> Parameters:
        """Where the next pass evaluates."""
        return self.start if self.end is None else self.end


def newton_on_sums(
    descents: Sequence[Descent],
    evaluate: Evaluate,
    targets: Sequence[float],
    *,
    max_iter: int,
    after_pass: Callable[[Sequence[Descent]], bool],
) -> None:
    """Take steps until none of the problems has more to gain than a small part of its target.

    The last step is taken without a further look: what it gains is of second order in what was
    left. `after_pass` returns True to stop.
    """
    for _ in range(max_iter):
        todo = [None if each.is_done else each.trial for each in descents]
        if not any(point is not None for point in todo):
            return
        for each, point, sums, target in zip(descents, todo, evaluate(todo), targets):
            if point is not None and sums is not None:
                each.take(point, sums, target)
        if after_pass(descents):
            for each in descents:
                each.status = each.status if each.is_done else "callback"
            return
    for each in descents:
        each.status = each.status if each.is_done else "max_iter"


def minimised(sums: Quadratic, problem: Problem, at: Parameters) -> tuple[Parameters, float]:
    """The minimum of the quadratic around a point plus the penalty, and how far it is below.

    The best bias is a function of w, so that w alone remains: H − H_wb·H_bb⁻¹·H_bw.
    """
    penalty, w, b = problem.penalty, at.w, at.b
    D, m = w.size, np.size(b) if problem.fit_bias else 0
    H, g = sums.of_ww.reshape(D, D), sums.of_w.reshape(D)
    H, g = 0.5 * (H + H.T), g.copy()
    across = sums.of_wb.reshape(D, -1)[:, : max(m, 1)]
    of_bb = np.reshape(sums.of_bb, (np.size(b), np.size(b)))
    g_b = np.reshape(sums.of_b, -1)
    if m:
        back = np.linalg.pinv(of_bb, rcond=1e-13, hermitian=True)
        H -= across @ back @ across.T
        g -= across @ (back @ g_b)
    new = _best(H, g, w.reshape(D), penalty, w.shape)
    step = new - w.reshape(D)
    step_b = -back @ (g_b + across.T @ step) if m else np.zeros(np.size(b))
    end = Parameters(new.reshape(w.shape), b + step_b.reshape(np.shape(b)))
    model = sums.moved(end.w - w, end.b - b).value + penalty.value(end.w)
    return end, max(sums.value + penalty.value(w) - model, 0.0)


def _best(H: Array, g: Array, w: Array, penalty: Penalty, shape: tuple[int, ...]) -> Array:
    """argmin ½(v − w)ᵀH(v − w) + gᵀ(v − w) + R(v); of several, the one of least norm."""
    if not len(w):
        return w
    coordinates = penalty.coordinates(shape[0])
    if coordinates is not None and coordinates.is_quadratic():
        l2 = np.broadcast_to(coordinates.like(w.reshape(shape))[1], shape).reshape(-1)
        return _solved(H, l2, H @ w - g)
    if not np.any(H):
        return penalty.prox(np.zeros(shape), 1.0).reshape(-1)
    # With H = AᵀA it is least squares on as many rows as H has ranks, which are those of H in units
    # in which its diagonal is 1.
    scale = _units(H)
    values, vectors = np.linalg.eigh(H * scale[:, None] * scale)
    kept = values > len(w) * EPS * values[-1]
    values, vectors = values[kept], vectors[:, kept]
    A = (vectors * np.sqrt(values)).T / scale
    target = A @ w - (vectors.T @ (scale * g)) / np.sqrt(values)
    small = Problem(
        Design(np.ascontiguousarray(A)), target, Squared(), penalty, np.ones(len(A)), False
    )
    start = Parameters(w.copy(), np.zeros(()))
    return solve(small, start=start, tol=INNER).parameters.w


def _units(H: Array) -> Array:
    """What the rows and columns of H are multiplied by to have a diagonal of 1."""
    diagonal = np.diag(H)
    return 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))


def _solved(H: Array, l2: Array, right: Array) -> Array:
    """(H + diag(l2))⁻¹·right, in units in which the diagonal is 1; the shortest if singular."""
    whole = H + np.diag(l2)
    scale = _units(whole)
    scaled = whole * scale[:, None] * scale
    try:
        factor = scipy.linalg.cho_factor(scaled)
        if np.min(np.diag(factor[0])) ** 2 > 1e-11:
            found = scale * scipy.linalg.cho_solve(factor, scale * right)
            # One step of refinement.
            rest = right - whole @ found
            return found + scale * scipy.linalg.cho_solve(factor, scale * rest)
    except scipy.linalg.LinAlgError:
        pass
    values, vectors = np.linalg.eigh(scaled)
    kept = values > 1e-12 * values[-1]
    some = vectors[:, kept]
    found = scale * (some @ ((some.T @ (scale * right)) / values[kept]))
    # What moves it without a change of the quadratic makes it the shortest.
    basis, _ = np.linalg.qr(scale[:, None] * vectors[:, ~kept])
    return found - basis @ (basis.T @ found)
