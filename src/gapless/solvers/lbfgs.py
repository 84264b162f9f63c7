"""L-BFGS: Newton's method with a Hessian that is learned from the last few steps.

For a loss with curvature and a penalty ½Σ l2ⱼwⱼ². Line searches are those of Newton's method. The
matrix that the recursion begins with is the diagonal of the Hessian, for columns centred at their
weighted mean, so that the units of the features do not matter.

References
----------
Nocedal (1980), Updating quasi-Newton matrices with limited storage, Math. Comp. 35; algorithm 7.4
of Nocedal and Wright (2006). Liu and Nocedal (1989), On the limited memory BFGS method for large
scale optimization, Math. Programming 45.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..problem import Parameters, Problem
from ._base import Point, Solver, registry
from .newton import begin, descend, refuses
from .newton_steps import Change, Damping, Iterate, columns
from .updates import check_whole

Array = np.ndarray

# A gap costs about as much as a step, so it is computed only every so often.
STEPS_PER_GAP = 5
# A pair whose curvature is below this part of its lengths would spoil the matrix.
FLAT = 1e-10


@dataclass(frozen=True)
class LBFGS(Solver):
    """Quasi-Newton steps from the last few gradients.

    Parameters
    ----------
    memory : int, default=10
        How many steps are remembered.
    keep_iterates : bool, default=False
        Whether `trace_.iterates` has the coefficients of every step.
    """

    memory: int = 10
    keep_iterates: bool = False
    name: ClassVar[str] = "lbfgs"
    max_iter: ClassVar[int] = 20_000

    def __post_init__(self):
        check_whole(self.memory, "memory")

    def refuses(self, problem: Problem) -> str | None:
        """Why it cannot take the problem; None if it can."""
        return refuses(problem)

    def method(self, problem: Problem, start: Parameters) -> Iterator[Point]:
        """The iterates."""
        return descend(begin(problem, start), QuasiNewton(self.memory))


class QuasiNewton:
    """Steps −B⁻¹∇P, where B explains the changes of the gradient along the last steps."""

    unsettled = None

    def __init__(self, memory: int):
        # Changes of the parameters and of the gradient, with 1 over their product.
        self.pairs: deque[tuple[Change, Change, float]] = deque(maxlen=memory)
        self.scaling: Scaling | None = None
        self.before: Iterate | None = None
        self.steps = 0

    def estimate(self, at: Iterate) -> float | None:
        """An upper bound of P − P*, or ∞ between the steps at which the gap is computed."""
        self.steps += 1
        if at.gap_guess is not None:
            return at.gap_guess
        return None if self.steps % STEPS_PER_GAP == 0 else math.inf

    def step(self, at: Iterate, damping: Damping) -> Change | None:
        """The two loops of the recursion (algorithm 7.4)."""
        self._remember(at)
        if self.scaling is None:
            self.scaling = Scaling(at)
        direction, factors = at.gradient, []
        for moved, bent, inverse in reversed(self.pairs):
            factors.append(inverse * moved.dot(direction))
            direction = direction.plus(bent, -factors[-1])
        direction = self.scaling.solve(direction)
        if self.pairs:
            _, bent, inverse = self.pairs[-1]
            size = 1 / (inverse * bent.dot(self.scaling.solve(bent)))
            direction = Change(size * direction.w, size * direction.b)
        for moved, bent, inverse in self.pairs:
            factor = factors.pop() - inverse * bent.dot(direction)
            direction = direction.plus(moved, factor)
        return Change(-direction.w, -direction.b)

    def renew(self) -> bool:
        """Forget all; whether that may make the next step better than the last."""
        is_known = bool(self.pairs)
        self.pairs.clear()
        self.scaling = self.before = None
        return is_known

    def _remember(self, at: Iterate) -> None:
        before, self.before = self.before, at
        if before is None or before is at:
            return
        moved = Change(at.w - before.w, at.b - before.b)
        bent = at.gradient.plus(before.gradient, -1.0)
        curvature = moved.dot(bent)
        if curvature > FLAT * math.sqrt(moved.dot(moved) * bent.dot(bent)):
            self.pairs.append((moved, bent, 1 / curvature))


class Scaling:
    """The diagonal of the Hessian at an iterate, for columns centred at their weighted mean."""

    def __init__(self, at: Iterate):
        problem, curvature = at.problem, columns(at.curvature)
        if problem.loss.task == "multiclass":
            # Alike for all classes, so that coefficients whose sum over them is 0 keep it: only
            # differences between classes matter to the loss.
            alike = curvature.mean(axis=1, keepdims=True)
            curvature = np.repeat(alike, curvature.shape[1], axis=1)
        self.shape, d = at.w.shape, len(at.w)
        self.is_biased = problem.fit_bias
        totals = np.array([float(np.sum(c)) for c in curvature.T])
        self.totals = np.where(totals > 0, totals, 1.0)
        self.mean = np.zeros((d, len(totals)))
        diagonal = np.stack([problem.design.column_square_sums(c) for c in curvature.T], axis=1)
        if problem.fit_bias:
            self.mean = problem.design.transposed_times(curvature) / self.totals
            diagonal = np.maximum(diagonal - self.totals * self.mean**2, 0.0)
        diagonal = diagonal + at.l2.reshape(d, -1)
        # Columns without curvature, or left without any by rounding, move as the mean column does.
        usual = float(np.mean(diagonal)) or 1.0
        self.diagonal = np.where(diagonal > 1e-12 * usual, diagonal, usual)

    def solve(self, g: Change) -> Change:
        """The scaled gradient: w in units of its curvature, the bias such that means do not move.

        With b = c − μᵀw the derivatives are ∇_w − μ∇_b in w and ∇_b in c.
        """
        g_w, g_b = g.w.reshape(self.mean.shape), g.b.reshape(-1)
        w = (g_w - self.mean * g_b) / self.diagonal
        b = np.zeros_like(g_b)
        if self.is_biased:
            b = g_b / self.totals - np.sum(self.mean * w, axis=0)
        return Change(w.reshape(self.shape), b.reshape(np.shape(g.b)))


registry["lbfgs"] = LBFGS()
