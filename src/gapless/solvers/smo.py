"""Sequential minimal optimisation: quadratic problems in a box with fixed sums, on a kernel matrix.

The duals of kernel machines with a bias, in signed form (no label anywhere):

    min ½ θᵀKθ + linearᵀθ + absoluteᵀ|θ|,   lower ≤ θ ≤ upper,   Σθ of each group as at the start

========================  ==========================================================================
C-SVC                     θᵢ = yᵢαᵢ in [0, C] or [−C, 0], linear = −y
SVR                       θ in [−C, C], linear = −y, absolute = ε
ν-SVC                     the same boxes with C = 1, linear = 0, a group per class of sum ±νn/2
ν-SVR                     every row twice, θ in [0, C] and in [−C, 0], a group for each half
one-class                 θ in [0, 1], linear = 0, one group of sum νn
========================  ==========================================================================
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _core
from ..interrupt import TimeLimit, deadline
from ..threads import thread_count
from ._base import Callback, Trace

Array = np.ndarray

STATUS = ("optimal", "stalled", "max_iter", "unbounded")
MARGIN = 0.9  # of tol is aimed at in the matrix at hand, so that rounding does not undo it
REFINEMENTS = 20


@dataclass(frozen=True, eq=False)
class BoxProblem:
    """min ½θᵀKθ + linearᵀθ + absoluteᵀ|θ| in a box, the sum of θ over each group kept.

    Parameters
    ----------
    linear, lower, upper : ndarray of shape (m,)
        Bounds may be infinite; a variable with equal bounds stays.
    absolute : ndarray of shape (m,) or float, default=0.0
        The cost of |θ|, at least 0: ε of support vector regression.
    rows : ndarray of shape (m,) of int64, default=None
        The row of the kernel matrix that each variable stands for; None: one variable per row.
    groups : ndarray of shape (m,) of int64, default=None
        Labels 0, 1, … of the groups whose sums are kept; None: one group.
    start : ndarray of shape (m,), default=None
        A θ in the box with the right sums; None: 0.
    """

    linear: Array
    lower: Array
    upper: Array
    absolute: Array | float = 0.0
    rows: Array | None = None
    groups: Array | None = None
    start: Array | None = None

    def slopes(self, theta: Array, gradient: Array) -> tuple[Array, Array]:
        """Slopes of the objective as each θ grows, and as it falls; ±inf where the box ends."""
        above = np.where(theta >= 0, self.absolute, -np.asarray(self.absolute))
        below = np.where(theta > 0, self.absolute, -np.asarray(self.absolute))
        rise = np.where(theta < self.upper, gradient + above, np.inf)
        fall = np.where(theta > self.lower, gradient + below, -np.inf)
        return rise, fall

    def each_group(self) -> list[Any]:
        """The positions of each group's variables."""
        if self.groups is None:
            return [slice(None)]
        return [np.flatnonzero(self.groups == g) for g in range(np.max(self.groups, initial=0) + 1)]

    def biases(self, theta: Array, gradient: Array) -> Array:
        """The multiplier of each group's sum."""
        rise, fall = self.slopes(theta, gradient)
        return np.array([_bias(rise[g], fall[g]) for g in self.each_group()])


@dataclass(frozen=True, eq=False)
class BoxSolution:
    """θ, its gradient Kθ + linear, and how far it is from optimal.

    violation : the largest (slope of a θ that may fall) − (slope of a θ that may grow) in a group,
        the tolerance of LIBSVM.
    bias : ndarray of shape (groups,)
        The multiplier of each group's sum: minus the mean slope of the free variables, or the
        middle of what the optimality conditions allow.
    status : "optimal", "stalled" (rounding, or an indefinite kernel, allows no progress),
        "max_iter", "unbounded" (no minimiser exists: a hard margin on classes that overlap),
        "time_limit", "callback", "interrupted".
    """

    theta: Array
    gradient: Array
    violation: float
    bias: Array
    steps: int
    status: str


def solve_box(
    matrix: Any,
    problems: Sequence[BoxProblem],
    *,
    tol: float = 1e-3,
    max_iter: int | None = None,
    callback: Callback | None = None,
) -> list[BoxSolution]:
    """Solve problems that share a kernel matrix.

    Parameters
    ----------
    matrix : KernelMatrix
    problems : sequence of BoxProblem
    tol : float, default=1e-3
        The largest violation of the optimality conditions, with the meaning of LIBSVM. It holds for
        the kernel in float64, also when the matrix at hand is float32.
    max_iter : int, default=None
        Pair steps for each problem; None: 10⁷, or 100 per variable if that is more.
    callback : callable, default=None
        Called between compiled calls with a trace, whose gap is the largest violation, and tol;
        True stops.

    Notes
    -----
    Ctrl-C and the time limit end the work with the θ reached so far.

    References
    ----------
    Fan, Chen and Lin (2005), Working set selection using second order information.
    Joachims (1999), Making large-scale SVM learning practical.
    """
    descents = [Descent(matrix, problem, max_iter) for problem in problems]
    status = "optimal"
    trace, began = Trace(), time.monotonic()
    try:
        going = [descent for descent in descents if not descent.is_done(tol)]
        for _ in range(REFINEMENTS):
            if not going:
                break
            _advance(matrix, going, tol)
            for descent in going:
                descent.refine(tol)
            going = [descent for descent in going if not descent.is_done(tol)]
            trace.steps = sum(descent.steps for descent in descents)
            trace.gap.append(max((descent.violation for descent in descents), default=0.0))
            trace.primal.append(sum(descent.objective for descent in descents))
            trace.seconds.append(time.monotonic() - began)
            if callback is not None and callback(trace, tol):
                status = "callback"
                break
    except TimeLimit:
        status = "time_limit"
    except KeyboardInterrupt:
        status = "interrupted"
    return [descent.solution(tol, status) for descent in descents]


def _advance(matrix: Any, descents: Sequence[Descent], tol: float) -> None:
    """Move every descent until the matrix at hand calls it solved."""
    tasks = [descent.task(MARGIN * tol) for descent in descents]
    results = _core.sum_descent(matrix.whole(), None, tasks, thread_count(), deadline())
    for descent, result in zip(descents, results):
        descent.take(result)


class Descent:
    """Where one problem stands between compiled calls."""

    def __init__(self, matrix: Any, problem: BoxProblem, max_iter: int | None):
        m = len(problem.linear)
        self.matrix, self.problem = matrix, problem
        self.rows = np.arange(m) if problem.rows is None else problem.rows
        self.theta = np.zeros(m) if problem.start is None else np.array(problem.start, float)
        self.most = max(10**7, 100 * m) if max_iter is None else max_iter
        self.steps, self.ending = 0, "optimal"
        self.gradient = np.array(problem.linear, float)
        if np.any(self.theta):
            self.gradient = self._true_gradient()
        self._measure()

    def task(self, tol: float) -> tuple:
        """What the core is asked to do."""
        problem = self.problem
        m = len(self.theta)
        absolute = None
        if np.any(problem.absolute):
            absolute = np.ascontiguousarray(np.broadcast_to(problem.absolute, m), float)
        diagonal = np.asarray(self.matrix.diagonal, float)[self.rows]
        vectors = [np.ascontiguousarray(v, float) for v in (problem.lower, problem.upper)]
        linear = np.ascontiguousarray(problem.linear, float)
        rows = None if problem.rows is None else np.ascontiguousarray(problem.rows, np.int64)
        groups = None if problem.groups is None else np.ascontiguousarray(problem.groups, np.int64)
        moving = (self.theta, self.gradient)
        limits = (tol, self.most - self.steps)
        return (rows, diagonal, linear, absolute, *vectors, groups, *moving, *limits)

    def take(self, result: tuple) -> None:
        """Take over what the core did."""
        self.violation, steps, status = result
        self.steps += steps
        self.ending = STATUS[status]

    def refine(self, tol: float) -> None:
        """Compute the gradient again, with kernel values in float64."""
        self.gradient = self._true_gradient()
        self._measure()

    def is_done(self, tol: float) -> bool:
        """Whether nothing is left to do."""
        return self.violation <= tol or self.ending != "optimal"

    @property
    def objective(self) -> float:
        """½θᵀKθ + linearᵀθ + absoluteᵀ|θ|."""
        problem, theta = self.problem, self.theta
        smooth = 0.5 * float(theta @ (self.gradient + problem.linear))
        return smooth + float(np.sum(problem.absolute * np.abs(theta)))

    def solution(self, tol: float, ending: str) -> BoxSolution:
        """What was reached."""
        if self.violation <= tol:
            status = "optimal"
        elif self.ending == "optimal":
            status = "stalled" if ending == "optimal" else ending
        else:
            status = self.ending
        bias = self.problem.biases(self.theta, self.gradient)
        return BoxSolution(self.theta, self.gradient, self.violation, bias, self.steps, status)

    def _true_gradient(self) -> Array:
        moved = np.flatnonzero(self.theta)
        coef = np.bincount(self.rows[moved], self.theta[moved], minlength=self.matrix.n)
        return self.matrix.times(coef)[self.rows] + self.problem.linear

    def _measure(self) -> None:
        rise, fall = self.problem.slopes(self.theta, self.gradient)
        groups = self.problem.each_group()
        ends = [(fall[g].max(initial=-np.inf), rise[g].min(initial=np.inf)) for g in groups]
        self.violation = float(max((f - r for f, r in ends if np.isfinite(f - r)), default=0.0))
        self.violation = max(self.violation, 0.0)


def _bias(rise: Array, fall: Array) -> float:
    """The multiplier of a sum, from slopes of its variables as they grow and as they fall."""
    free = rise == fall
    if np.any(free):
        return -float(np.mean(rise[free]))
    low, high = -float(rise.min(initial=np.inf)), -float(fall.max(initial=-np.inf))
    if np.isfinite(low) and np.isfinite(high):
        return 0.5 * (low + high)
    return low if np.isfinite(low) else high if np.isfinite(high) else 0.0
