"""Problems of few rows by an interior point on a factor of their kernel matrix.

Called by `machine` where pairs of variables take long, which is where the eigenvalues of K differ
by many powers of ten: a polynomial kernel on features that were not scaled. Such matrices have few
eigenvalues that matter. With K = ΦΦᵀ of few columns the machine is a linear model of Φ, whose
interior point takes some thirty steps whatever the eigenvalues are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..._ground.design import Design
from ..._ground.threads import single_blas
from ...losses import Loss
from ...penalties import L2
from ...problem import KernelMatrix, Problem, minimise_bias, pivoted_cholesky
from ...solvers import BoxProblem, BoxSolution, solve

Array = np.ndarray
EPS = float(np.finfo(float).eps)

# The gap of the linear model, relative to P₀: that of the multipliers alone is larger by far.
SHARP = 1e-8
# The most operations of a step, n·r²: more take longer than pairs.
MOST_WORK = 1e9
# Multipliers nearer to a bound than this part of it are moved there, if the gap allows it.
SETTLED = (1e-3, 1e-5, 1e-7, 0.0)
# A gap above this part of P₀ is not worth going on from.
HOPEFUL = 0.1
# The scores of rows are lost if their rounding is larger than this, in units of the margin.
LOST = 1.0


def solve_factored(
    matrix: KernelMatrix, box: BoxProblem, loss: Loss, rough: BoxSolution, tol: float, unit: float
) -> BoxSolution:
    """A better solution than a rough one that took long.

    Parameters
    ----------
    matrix : KernelMatrix
        The kernel values, of a positive semi-definite kernel.
    box : BoxProblem
        The dual of Σ limitᵢ ℓ(yᵢ, zᵢ) + ½‖w‖²: its linear term is −y, the larger bound the limit.
    loss : Loss
        ℓ.
    rough : BoxSolution
        Where pairs of variables have come.
    tol : float
        The largest gap, relative to P₀.
    unit : float
        The size of scores.

    Returns
    -------
    BoxSolution
        "optimal" if its gap is small enough; "max_iter" if pairs should go on from it;
        "unresolved" if that is hopeless, because float64 does not resolve the scores.
    """
    at = _Factored.of(matrix, box, loss)
    nothing = at.solution(np.zeros_like(rough.theta), rough.steps)
    if EPS * at.norm * float(np.abs(rough.theta).sum()) > LOST * unit:
        return replace(nothing, status="unresolved")
    found = [at.solution(rough.theta, rough.steps), nothing]
    if (factor := at.factor()) is not None:
        theta, steps, status = at.by_interior_point(factor, min(tol, SHARP))
        if status in ("time_limit", "interrupted"):
            return replace(rough, status=status)
        # The fewest support vectors that the tolerance allows: an interior point has all rows.
        for share in SETTLED:
            found.append(at.solution(at.settled(theta, share), rough.steps + steps))
            if at.gap(found[-1]) <= tol * at.scale:
                return replace(found[-1], status="optimal")
    best = min(found, key=at.gap)
    is_hopeful = at.gap(best) <= HOPEFUL * at.scale or factor is None
    return replace(best, status="max_iter" if is_hopeful else "unresolved")


@dataclass(frozen=True, eq=False)
class _Factored:
    """A box problem with its kernel matrix K, y, ℓ and the limits of θ."""

    box: BoxProblem
    K: Array
    norm: float
    y: Array
    loss: Loss
    limit: Array

    @classmethod
    def of(cls, matrix: KernelMatrix, box: BoxProblem, loss: Loss) -> _Factored:
        rows = np.arange(matrix.n) if box.rows is None else np.asarray(box.rows)
        K = matrix.exact(rows)
        limit = np.maximum(box.upper, -box.lower)
        return cls(box, K, float(np.max(np.diagonal(K))), -box.linear, loss, limit)

    @cached_property
    def scale(self) -> float:
        """P₀, the objective at w = 0."""
        return float(self.limit.max()) * self.problem(np.zeros((len(self.y), 0))).scale

    def problem(self, factor: Array) -> Problem:
        """The linear model of K = norm·ΦΦᵀ, with the objective divided by the largest limit."""
        largest = float(self.limit.max())
        penalty = L2(1 / (self.norm * largest))
        return Problem(Design(factor), self.y, self.loss, penalty, self.limit / largest, True)

    def factor(self) -> Array | None:
        """Φ, or None if K has too many eigenvalues that matter, or negative ones."""
        try:
            factor = pivoted_cholesky(self.K / self.norm, 1.0)[0]
        except ValueError:
            return None
        n, r = factor.shape
        return factor if n * r**2 <= MOST_WORK else None

    def by_interior_point(self, factor: Array, tol: float) -> tuple[Array, int, str]:
        """θ of the linear model, the steps taken and why they ended."""
        found = solve(self.problem(factor), "interior_point", tol=tol)
        theta = found.parameters.theta
        theta = np.zeros_like(self.y) if theta is None else float(self.limit.max()) * theta
        return np.clip(theta, self.box.lower, self.box.upper), found.trace.steps, found.status

    def settled(self, theta: Array, share: float) -> Array:
        """θ with what is near a bound, or near 0, moved there; the others keep the sum at 0."""
        near = share * self.limit
        for end in (self.box.lower, self.box.upper, 0.0):
            theta = np.where(np.abs(theta - end) <= near, end, theta)
        total = float(theta.sum())
        # Those that move to restore the sum share it by the room that they have.
        room = theta - self.box.lower if total > 0 else self.box.upper - theta
        room = np.where(
            (theta == self.box.lower) | (theta == self.box.upper) | (theta == 0), 0, room
        )
        return theta - total * room / room.sum() if room.sum() > abs(total) else theta

    def solution(self, theta: Array, steps: int) -> BoxSolution:
        """The solution with these multipliers, and the best bias for their scores."""
        with single_blas():
            product = self.K @ theta
        gradient = product + self.box.linear
        bias = np.atleast_1d(minimise_bias(self.loss, self.y, product, self.limit))
        violation = self.box.violation(theta, gradient)
        return BoxSolution(theta, gradient, violation, bias, steps, "max_iter")

    def gap(self, at: BoxSolution) -> float:
        """P − D of multipliers alone, by the kernel values themselves."""
        product = at.gradient - self.box.linear
        losses = float(self.limit @ self.loss.value(self.y, product + at.bias[0]))
        costs = float(np.sum(self.box.absolute * np.abs(at.theta)))
        gap = float(at.theta @ (product + self.box.linear)) + losses + costs
        return gap if gap == gap else np.inf
