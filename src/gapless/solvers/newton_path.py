"""Newton's method along a path of ridge strengths, the Hessian of one solution serving the next.

For a loss with curvature, one prediction per row, and ½λ‖w‖² with λ falling. From the last solution
the first steps use its Gram matrix XᵀDX with the new λ (chord steps); a new one is made when they
contract slowly, and at the solution, where leave-one-out needs it and the next strength begins.
Called by the selection of strengths; a strength at which this fails is left to `solve`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..interrupt import check
from ..penalties import L2
from ..problem import Parameters, Problem
from . import solve
from ._base import Callback
from .newton_steps import inner
from .positive_definite import Cholesky

Array = np.ndarray

# Steps are taken with an old factor while each makes the squared decrement so much smaller.
CONTRACTS = 0.25
MOST_STEPS = 50
# Without a row: until a step promises so little of what the first did, so that predictions have
# moved by a hundredth of what they had moved before.
SETTLED = 1e-4
# Features up to which a factor of the Hessian is cheap.
FEW_FEATURES = 500


@dataclass(frozen=True, eq=False)
class Station:
    """A solution on the path: its parameters, a bound of its gap, and how many steps it took.

    `gram` is (X − 1mᵀ)ᵀD(X − 1mᵀ) there, D = s·ℓ″ and m the mean of the rows weighted by D (0
    without a bias); None where another solver found the solution.
    """

    parameters: Parameters
    gap: float
    steps: int
    gram: Array | None = None


def is_for(problem: Problem) -> bool:
    """Whether the path of this problem can be followed here, its penalty being ½λ‖w‖²."""
    fits = problem.loss.has_curvature and problem.outputs is None
    return fits and problem.d <= min(problem.n, FEW_FEATURES)


def newton_path(
    problem: Problem,
    strengths: Sequence[float] | Array,
    *,
    tol: float = 1e-6,
    callback: Callback | None = None,
) -> Iterator[Station]:
    """Solutions for ½λ‖w‖² with each of the strengths λ > 0, the strongest first.

    Ends early when Ctrl-C, the time limit or the callback stops a solver; raises `TimeLimit` or
    KeyboardInterrupt where they come between.
    """
    at = _Place(problem, problem.null.w, problem.null.b)
    at.curve()
    for strength in strengths:
        check()
        steps = at.settle(strength, tol * problem.scale)
        if steps is not None:
            at.curve()
            parameters = Parameters(at.w, at.b, -at.slope)
            yield Station(parameters, at.gap(strength), steps, at.gram)
            continue
        part = problem.with_penalty(L2(strength))
        start = Parameters(at.w, at.b)
        solution = solve(part, start=start, tol=tol, callback=callback)
        if solution.status in ("interrupted", "time_limit", "callback"):
            return
        parameters = solution.parameters
        at = _Place(problem, parameters.w, parameters.b)
        at.curve()
        yield Station(parameters, max(solution.gap, 0.0), solution.trace.steps)


def predict_without(problem: Problem, strength: float, station: Station, row: int) -> float | None:
    """What a row is predicted by the model that was fitted without it, for real.

    From a solution with its Gram matrix: the first step is that of approximate leave-one-out, and
    the next ones go on from there. None where they do not find the minimum.
    """
    weights = problem.weights.copy()
    weights[row] = 0.0
    at = _Place(replace(problem, weights=weights), station.parameters.w, station.parameters.b)
    at.gram, at.mean, at.total = _gram_without(problem, station, row)
    steps = at.settle(strength, 0.0, share=SETTLED)
    return None if steps is None else float(at.z[row])


def _gram_without(problem: Problem, station: Station, row: int) -> tuple[Array, Array, float]:
    """The Gram matrix, the mean and the sum of the curvatures without a row."""
    assert station.gram is not None
    z = problem.predictions(station.parameters.w, station.parameters.b)
    curvature = problem.weights * problem.loss.derivatives(problem.y, z)[2]
    total, own = float(curvature.sum()), float(curvature[row])
    mean, left = np.zeros(problem.d), total - own
    x = problem.design.rows(slice(row, row + 1)).dense()[0]
    share = 1.0
    if problem.fit_bias and left > 0:
        mean = problem.design.transposed_times(curvature) / total
        x, share = x - mean, total / left
        mean = mean - (own / left) * x
    return station.gram - share * own * np.outer(x, x), mean, left


class _Place:
    """A point (w, b), what the loss says there, and the Gram matrix of a point near it."""

    def __init__(self, problem: Problem, w: Array, b: Array):
        self.problem, self.w, self.b = problem, w, b
        self._look(problem.predictions(w, b))

    def _look(self, z: Array) -> None:
        """Take note of the loss and its derivatives at predictions z."""
        problem = self.problem
        value, slope, curvature = problem.loss.derivatives(problem.y, z)
        self.z, self.loss_sum = z, problem.weighted_sum(value)
        self.slope, self.curvature = problem.weights * slope, problem.weights * curvature

    def curve(self) -> None:
        """Make the Gram matrix anew."""
        problem, design = self.problem, self.problem.design
        self.total = float(self.curvature.sum())
        self.mean = np.zeros(problem.d)
        if problem.fit_bias and self.total > 0:
            self.mean = design.transposed_times(self.curvature) / self.total
            design = design.shifted(self.mean)
        self.gram = design.gram(self.curvature)

    def settle(self, strength: float, target: float, share: float = 0.0) -> int | None:
        """Go to the minimum for a strength; the number of steps, or None if it is not found.

        Up to a gap of `target`, or until a step promises at most that share of what the first did.
        """
        is_fresh, before, first = False, np.inf, 0.0
        factor = self._factor(strength)
        for steps in range(1, MOST_STEPS):
            if factor is None:
                return None
            g, g_bias = self._gradient(strength)
            step = -factor.solve(g)
            decrement = -inner(g, step)
            is_slow = decrement > CONTRACTS * before and not is_fresh
            if is_slow or not self._move(step, g_bias, strength, most_trials=40 if is_fresh else 1):
                if is_fresh:
                    return None
                self.curve()
                factor, is_fresh = self._factor(strength), True
                continue
            before, is_fresh, first = decrement, False, max(first, decrement)
            if inner(g, g) <= 2 * strength * target or decrement <= share * first:
                return steps
        return None

    def _factor(self, strength: float) -> Cholesky | None:
        """The Hessian's, if it can be trusted."""
        if not self.total > 0:
            return None
        H = self.gram.copy()
        H[np.diag_indices(len(H))] += strength
        factor = Cholesky(H)
        return factor if factor.is_reliable else None

    def _gradient(self, strength: float) -> tuple[Array, float]:
        """∇P in w after the best change of the bias, and in the bias itself."""
        g = self.problem.design.transposed_times(self.slope) + strength * self.w
        g_bias = float(self.slope.sum()) if self.problem.fit_bias else 0.0
        return g - g_bias * self.mean, g_bias

    def _move(self, step: Array, g_bias: float, strength: float, most_trials: int) -> bool:
        """Move by a step, or half of it, …, until the objective falls; False where it does not."""
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
        """P − D at θ = −sℓ′ for the best bias, which is next to this one.

        Fenchel's inequality is tight in every row, so what is left is that of the penalty,
        ‖∇P‖²/2λ, and what the bias could still gain.
        """
        g, g_bias = self._gradient(strength)
        of_bias = g_bias**2 / (2 * self.total) if self.total > 0 else 0.0
        return inner(g, g) / (2 * strength) + of_bias
