"""Newton's method along a path of ridge strengths: the Hessian of one solution serves the next.

For a loss with curvature, one prediction per row, and ½λ‖w‖² with λ falling. Solutions and Gram
matrices XᵀDX are smooth in log λ: the last three predict the next starting point and the matrix of
its first steps (chord steps). The matrix is recomputed when the steps contract slowly, and at the
solution, where leave-one-out needs it. Called by the selection of strengths; a strength at which
this fails is left to `solve`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._ground.interrupt import check
from ..penalties import L2, Penalty
from ..problem import Parameters, Problem
from ._base import Callback
from .entrance import solve
from .newton_steps import inner
from .positive_definite import Cholesky

Array = np.ndarray
Point = tuple[Any, ...]

# Keep an old factor while each step reduces the squared decrement by this factor.
CONTRACTS = 0.25
MOST_STEPS = 50
# Continue until the gap is this part of the tolerance: held-out predictions take the solution for
# the minimum, and the last steps cost little.
TARGET = 0.1
# The gap, as a part of the objective, of a solution with all its digits.
MANY_DIGITS = 1e-18
# The number of solutions that predict the next one: a parabola in log λ.
REMEMBERED = 3
# With at most this many features, a factor of the Hessian is cheap.
FEW_FEATURES = 500


@dataclass(frozen=True, eq=False)
class Curved:
    """The loss to second order at a point, one prediction per row.

    Parameters
    ----------
    z, slope, curvature : ndarray of shape (n,)
        Predictions, g = s·ℓ′ and A = s·ℓ″.
    mean : ndarray of shape (d,)
        m, the mean of the rows weighted by A; 0 without a bias.
    gram : ndarray of shape (d, d)
        (X − 1mᵀ)ᵀA(X − 1mᵀ), the Hessian in the coefficients with the bias eliminated.
    """

    z: Array
    slope: Array
    curvature: Array
    mean: Array
    gram: Array


@dataclass(frozen=True, eq=False)
class Station:
    """A solution on the path: its parameters, a bound on its gap, and its number of steps.

    `curved` is the loss there, None if another solver found the solution.
    """

    parameters: Parameters
    gap: float
    steps: int
    curved: Curved | None = None


def is_for(problem: Problem) -> bool:
    """Whether this file can follow the path of this problem."""
    fits = problem.loss.has_curvature and problem.outputs is None
    return fits and problem.d <= min(problem.n, FEW_FEATURES) and _is_plain(problem.penalty)


def _is_plain(penalty: Penalty) -> bool:
    """Whether the penalty is ½λ‖w‖² with one λ > 0 for all."""
    return isinstance(penalty, L2) and penalty.weights is None and penalty.strength > 0


def newton_path(
    problem: Problem,
    strengths: Sequence[float] | Array,
    *,
    tol: float = 1e-6,
    callback: Callback | None = None,
) -> Iterator[Station]:
    """Solutions for ½λ‖w‖² with each of the strengths λ > 0, the strongest first.

    Ends early when Ctrl-C, the time limit or the callback stops a solver; raises `TimeLimit` or
    KeyboardInterrupt if they come in between.
    """
    at = _Place(problem, problem.null.w, problem.null.b)
    at.curve()
    past: deque[tuple[float, Point]] = deque(maxlen=REMEMBERED)
    for strength in strengths:
        check()
        if len(past) > 1 and strength != past[-1][0]:
            at.leap(_ahead(past, strength), strength)
        steps = at.settle(strength, TARGET * tol * problem.scale)
        if steps is not None:
            at.curve()
            if not past or strength != past[-1][0]:
                past.append((strength, at.point))
            parameters = Parameters(at.w, at.b, -at.slope)
            curved = Curved(at.z, at.slope, at.curvature, at.mean, at.gram)
            yield Station(parameters, at.gap(strength), steps, curved)
            continue
        past.clear()
        part = problem.with_penalty(L2(strength))
        start = Parameters(at.w, at.b)
        solution = solve(part, start=start, tol=tol, callback=callback)
        if solution.status in ("interrupted", "time_limit", "callback"):
            return
        parameters = solution.parameters
        at = _Place(problem, parameters.w, parameters.b)
        at.curve()
        yield Station(parameters, max(solution.gap, 0.0), solution.trace.steps)


def settled(problem: Problem, start: Parameters) -> Parameters | None:
    """The solution to many digits, from a point close to it; None if it is not found."""
    penalty, at = problem.penalty, _Place(problem, start.w, start.b)
    assert isinstance(penalty, L2)
    at.curve()
    steps = at.settle(penalty.strength, MANY_DIGITS * problem.scale)
    return None if steps is None else Parameters(at.w, at.b, -at.slope)


def _ahead(past: Collection[tuple[float, Point]], strength: float) -> Point:
    """The value at a strength of the polynomial in log λ through the last points (Lagrange)."""
    at, known = np.log(strength), np.log([before for before, _ in past])
    shares = [
        np.prod([(at - other) / (own - other) for other in known if other != own]) for own in known
    ]
    columns = zip(*(point for _, point in past))
    return tuple(sum(share * value for share, value in zip(shares, column)) for column in columns)


class _Place:
    """A point (w, b), the loss there, and the Gram matrix of a nearby point."""

    def __init__(self, problem: Problem, w: Array, b: Array):
        self.problem, self.w, self.b = problem, w, b
        self._look(problem.predictions(w, b))

    def _look(self, z: Array) -> None:
        """Evaluate the loss and its derivatives at predictions z."""
        problem = self.problem
        value, slope, curvature = problem.loss.derivatives(problem.y, z)
        self.z, self.loss_sum = z, problem.weighted_sum(value)
        self.slope, self.curvature = problem.weighted(slope), problem.weighted(curvature)

    def curve(self) -> None:
        """Recompute the Gram matrix."""
        problem, design = self.problem, self.problem.design
        self.total = float(self.curvature.sum())
        self.mean = np.zeros(problem.d)
        if problem.fit_bias and self.total > 0:
            self.mean = design.transposed_times(self.curvature) / self.total
            design = design.shifted(self.mean)
        self.gram = design.gram(self.curvature)

    @property
    def point(self) -> Point:
        """Everything that is smooth in log λ: w, b, z, and the Gram matrix, its mean and total."""
        return self.w, self.b, self.z, self.gram, self.mean, self.total

    def leap(self, to: Point, strength: float) -> None:
        """Move to a point if the objective is lower there."""
        before, primal = self.point, self._primal(strength)
        self.w, self.b, z, self.gram, self.mean, self.total = to
        self._look(z)
        if not self._primal(strength) < primal:
            self.w, self.b, z, self.gram, self.mean, self.total = before
            self._look(z)

    def settle(self, strength: float, target: float) -> int | None:
        """Move to the minimum for a strength, up to a gap; return the steps, or None on failure."""
        is_fresh, before = False, np.inf
        factor = self._factor(strength)
        for steps in range(1, MOST_STEPS):
            if factor is None and not is_fresh:
                self.curve()
                factor, is_fresh = self._factor(strength), True
            if factor is None:
                return None
            g, g_bias = self._gradient(strength)
            if self._gap(g, g_bias, strength) <= target:
                return steps
            step = -factor.solve(g)
            decrement = -inner(g, step)
            is_slow = decrement > CONTRACTS * before and not is_fresh
            if is_slow or not self._move(step, g_bias, strength, most_trials=40 if is_fresh else 1):
                if is_fresh:
                    return None
                self.curve()
                factor, is_fresh = self._factor(strength), True
                continue
            before, is_fresh = decrement, False
        return None

    def _factor(self, strength: float) -> Cholesky | None:
        """The factor of the Hessian, if it can be trusted."""
        if not self.total > 0:
            return None
        H = self.gram.copy()
        H[np.diag_indices(len(H))] += strength
        factor = Cholesky(H)
        return factor if factor.is_reliable else None

    def _gradient(self, strength: float) -> tuple[Array, float]:
        """∇P in w after the best change of the bias, and in the bias itself."""
        g = self.problem.design.transposed_times(self.slope) + strength * self.w
        self.gradient = g, float(self.slope.sum()) if self.problem.fit_bias else 0.0
        return self._centred()

    def _centred(self) -> tuple[Array, float]:
        g, g_bias = self.gradient
        return g - g_bias * self.mean, g_bias

    def _move(self, step: Array, g_bias: float, strength: float, most_trials: int) -> bool:
        """Move by a step, or half of it, …, until the objective falls; False if it never does."""
        problem = self.problem
        change = -g_bias / self.total - inner(self.mean, step) if problem.fit_bias else 0.0
        along = problem.design.times(step) + change
        w, b, z, primal = self.w, self.b, self.z, self._primal(strength)
        for trial in range(most_trials):
            t = 0.5**trial
            self.w, self.b = w + t * step, b + t * change
            self._look(z + t * along)
            if self._primal(strength) <= primal * (1 + 1e-12):
                return True
        self.w, self.b = w, b
        self._look(z)
        return False

    def _primal(self, strength: float) -> float:
        return self.loss_sum + 0.5 * strength * inner(self.w, self.w)

    def gap(self, strength: float) -> float:
        """P − D at the solution, at θ = −sℓ′ for the best bias, which is close to this one."""
        return self._gap(*self._centred(), strength)

    def _gap(self, g: Array, g_bias: float, strength: float) -> float:
        """The same from the gradient.

        Fenchel's inequality is tight in every row, so only the penalty's part, ‖∇P‖²/2λ, and the
        possible gain of the bias remain.
        """
        of_bias = g_bias * (g_bias / (2 * self.total)) if self.total > 0 else 0.0
        return inner(g, g) / (2 * strength) + of_bias
