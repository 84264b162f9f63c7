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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from .._ground import core
from .._ground.interrupt import TimeLimit, check, deadline
from .._ground.threads import thread_count
from ..problem import KernelMatrix
from ._base import Callback, Trace

Array = np.ndarray

STATUS = ("optimal", "stalled", "max_iter", "unbounded")
MARGIN = 0.9  # of tol is the target in the matrix at hand, so that rounding does not undo it
ROUNDS = 100  # of one problem: corrections by slopes in float64, or parts of it
WHOLE = 4000  # rows of a problem that is not split into parts
FEW = 32  # features from which the kernel rows of small problems are computed, not stored
FIRST_ROWS, FIRST_SHARE = 1000, 5  # variables of the first part: this many, or one in five
GROWTH, MOST_ROWS = 4, 12_000  # the next part is at most this many times larger; the largest part
SHARE = 0.03  # of the violation that a part may leave


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
        The row of the kernel matrix for each variable; None: one variable per row.
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
        """Slopes of the objective as each θ grows, and as it falls; ±inf at the ends of the box."""
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

    def ends(self, theta: Array, gradient: Array) -> Array:
        """Where the slopes of each group end, (groups, 3).

        The smallest slope of a θ that may grow, the largest of one that may fall, and the mean of
        those that may do both, NaN if there are none.
        """
        costs, lower, upper, groups, count = self._as_arrays
        found = np.empty((count, 3))
        core.sum_slopes(theta, gradient, costs, lower, upper, groups, found)
        return found

    def violation(self, theta: Array, gradient: Array) -> float:
        """The largest fall minus the smallest rise within a group; ∞ for NaN."""
        if np.isnan(gradient).any():
            return np.inf
        rise, fall, _ = self.ends(theta, gradient).T
        return max(float((fall - rise).max()), 0.0)

    def biases(self, theta: Array, gradient: Array) -> Array:
        """The multiplier of each group's sum: minus the free slope, or the middle of the ends."""
        return np.array(
            [
                -_middle(rise, fall) if np.isnan(free) else -free
                for rise, fall, free in self.ends(theta, gradient).tolist()
            ]
        )

    @cached_property
    def _as_arrays(self) -> tuple[Array | None, Array, Array, Array | None, int]:
        """Costs of |θ|, bounds and groups as the core takes them, and the number of groups.

        No costs if all are 0.
        """
        lower, upper = (np.ascontiguousarray(v, float) for v in (self.lower, self.upper))
        costs = groups = None
        if np.any(self.absolute):
            of_each = np.broadcast_to(self.absolute, len(self.linear))
            costs = np.ascontiguousarray(of_each, float)
        if self.groups is not None:
            groups = np.ascontiguousarray(self.groups, np.int64)
        count = 1 if groups is None else int(groups.max(initial=0)) + 1
        return costs, lower, upper, groups, count

    def task(
        self,
        part: Any,
        rows: Array,
        diagonal: Array,
        theta: Array,
        gradient: Array,
        tol: float,
        steps: int,
    ) -> tuple[Any, ...]:
        """Some of the variables as the core takes them; θ and their gradient change in place.

        `rows` and `diagonal` are those of the part, in the matrix given to the core.
        """
        costs, lower, upper, groups, _ = self._as_arrays
        diagonal, linear = (np.ascontiguousarray(v, float) for v in (diagonal, self.linear[part]))
        costs, groups = (None if v is None else v[part] for v in (costs, groups))
        box = linear, costs, lower[part], upper[part], groups
        return (rows, diagonal, *box, theta, gradient, tol, steps)


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
    matrix: KernelMatrix,
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
        The largest violation of the optimality conditions, as in LIBSVM. It holds for the kernel in
        float64, even if the matrix at hand is float32.
    max_iter : int, default=None
        Pair steps for each problem; None: 10⁷, or 100 per variable if that is more.
    callback : callable, default=None
        Called between compiled calls with a trace, whose gap is the largest violation, and tol;
        True stops.

    Notes
    -----
    Ctrl-C and the time limit return the θ reached so far.

    References
    ----------
    Fan, Chen and Lin (2005), Working set selection using second order information.
    Joachims (1999), Making large-scale SVM learning practical.
    """
    descents = [Descent(matrix, problem, max_iter) for problem in problems]
    _renew(matrix, [descent for descent in descents if descent.theta.any()])
    going = [descent for descent in descents if not descent.is_done(tol)]
    status, trace, began = "optimal", Trace(), time.monotonic()
    try:
        descend = _core_on(matrix, len(going))
        while going:
            check()
            if descend is not None:
                _advance(descend, matrix, going, tol)
            else:
                going[0].advance_part(tol)
                descend = _core_on_most(matrix, going[0])
            going = [descent for descent in going if not descent.is_done(tol)]
            if callback is None:
                continue
            trace.steps = sum(descent.steps for descent in descents)
            trace.gap.append(max((descent.violation for descent in descents), default=0.0))
            trace.primal.append(sum(descent.objective for descent in descents))
            trace.seconds.append(time.monotonic() - began)
            if callback(trace, tol):
                status = "callback"
                break
    except TimeLimit:
        status = "time_limit"
    except KeyboardInterrupt:
        status = "interrupted"
    return [descent.solution(tol, status) for descent in descents]


def _core_on(matrix: KernelMatrix, problems: int) -> Callable | None:
    """The compiled descent for all variables of the problems; None to solve them by parts."""
    operands = matrix.operands() if problems > 1 and matrix.dtype == np.float32 else None
    if operands is not None and matrix.n > WHOLE and operands[1].shape[1] <= FEW:
        return partial(core.sum_descent_of_rows, *operands)
    whole = matrix.whole() if problems > 1 or (problems and matrix.n <= WHOLE) else None
    return None if whole is None else partial(core.sum_descent, whole, None)


def _core_on_most(matrix: KernelMatrix, descent: Descent) -> Callable | None:
    """The same once a part has shown that most rows will be support vectors, if K fits.

    Otherwise parts would hold almost all rows, each computing its kernel values and all slopes.
    """
    is_dense = 2 * np.count_nonzero(descent.theta) >= descent.part
    if matrix.n > MOST_ROWS or not is_dense or 2 * len(descent.wanted()) < matrix.n:
        return None
    whole = matrix.whole()
    return None if whole is None else partial(core.sum_descent, whole, None)


def _advance(
    descend: Callable, matrix: KernelMatrix, descents: Sequence[Descent], tol: float
) -> None:
    """Solve with all kernel values, then check what remains with those in float64."""
    tasks = [descent.task(MARGIN * tol) for descent in descents]
    for descent, result in zip(descents, descend(tasks, thread_count(), deadline())):
        descent.note(result)
    if matrix.dtype != np.float64:
        return _renew(matrix, descents)
    for descent in descents:
        descent.look()


def _renew(matrix: KernelMatrix, descents: Sequence[Descent]) -> None:
    """Recompute the gradients for θ from kernel values in float64."""
    products = matrix.times_each([descent.product(descent.theta) for descent in descents])
    for descent, product in zip(descents, products):
        descent.gradient = descent.problem.linear + descent.spread(product)
        descent.look()


def _spread(count: int, some: int) -> Array:
    """About `some` of the positions 0 … count − 1, evenly spread over any order they are in."""
    golden = 0.5 * (np.sqrt(5.0) - 1)
    return np.unique((np.arange(some) * golden % 1 * count).astype(np.int64))


class Descent:
    """The state of one problem between compiled calls."""

    def __init__(self, matrix: KernelMatrix, problem: BoxProblem, max_iter: int | None):
        m = len(problem.linear)
        self.matrix, self.problem = matrix, problem
        self.rows = np.arange(m) if problem.rows is None else np.asarray(problem.rows, np.int64)
        # The rows of the variables, and each variable's place among them if some share a row.
        self.own, self.places = self.rows, None
        if not np.all(self.rows[1:] > self.rows[:-1]):
            self.own, self.places = np.unique(self.rows, return_inverse=True)
        self.theta = np.zeros(m) if problem.start is None else np.array(problem.start, float)
        self.most = max(10**7, 100 * m) if max_iter is None else max_iter
        self.steps, self.rounds, self.ending = 0, 0, "optimal"
        self.part = 0  # how many variables the last part had
        # For θ = 0; `solve_box` recomputes it for other starts.
        self.gradient = np.array(problem.linear, float)
        self.look()

    def look(self) -> None:
        """Check how far θ is from optimal."""
        self.violation = self.problem.violation(self.theta, self.gradient)

    def task(self, tol: float) -> tuple:
        """All variables, as the core takes them; θ and gradient change in place."""
        moving, diagonal = (self.theta, self.gradient), self.matrix.diagonal[self.rows]
        return self.problem.task(slice(None), self.rows, diagonal, *moving, tol, self._steps_left)

    def product(self, theta: Array) -> tuple[Array, Array]:
        """Rows and coefficients; `spread` takes the product of their kernel values with them."""
        if self.places is None:
            return self.own, theta
        return self.own, np.bincount(self.places, theta, minlength=len(self.own))

    def spread(self, product: Array) -> Array:
        """A value for each variable, from those of the rows."""
        return product if self.places is None else product[self.places]

    def advance_part(self, tol: float) -> None:
        """Solve for the variables that should move, on the kernel matrix of their rows alone.

        First for some that are spread over all variables: their solution predicts whether most of
        the others will be support vectors. The slopes of all variables then follow from kernel
        values in float64 that are not kept.
        """
        part = self._choose_part()
        rows, places = np.unique(self.rows[part], return_inverse=True)
        gram = self.matrix.part(rows, self.room)
        theta, gradient = self.theta[part], self.gradient[part]
        target = max(MARGIN * tol, SHARE * self.violation)
        moving, diagonal = (theta, gradient), self.matrix.diagonal[self.rows[part]]
        task = self.problem.task(part, places, diagonal, *moving, target, self._steps_left)
        [result] = core.sum_descent(gram, None, [task], thread_count(), deadline())
        change = np.zeros(len(self.theta))
        change[part] = theta - self.theta[part]
        [product] = self.matrix.times_each([self.product(change)])
        self.gradient += self.spread(product)
        self.theta[part] = theta
        self.part = len(part)
        self.note(result)
        self.look()

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
        """The solution reached."""
        is_over = self.ending != "optimal"
        status = "optimal" if self.violation <= tol else self.ending if is_over else ending
        bias = self.problem.biases(self.theta, self.gradient)
        return BoxSolution(self.theta, self.gradient, self.violation, bias, self.steps, status)

    @cached_property
    def room(self) -> Array:
        """Memory for the kernel values of a part."""
        return self.matrix.room(MOST_ROWS)

    @property
    def _steps_left(self) -> int:
        return max(self.most - self.steps, 0)

    def note(self, result: tuple) -> None:
        """Record what the core did and why it ended."""
        _, steps, status = result
        self.steps += steps
        self.rounds += 1
        self.ending = STATUS[status]
        if self.rounds >= ROUNDS and self.ending == "optimal":
            self.ending = "stalled"

    def wanted(self) -> Array:
        """The variables in violating pairs: less than half of the violation behind the level."""
        return np.flatnonzero(np.maximum(*self._distances()) > -0.5 * self.violation)

    def _distances(self) -> tuple[Array, Array]:
        """How far each slope is beyond the level of its group, as θ grows and as it falls."""
        rise, fall = self.problem.slopes(self.theta, self.gradient)
        for group in self.problem.each_group():
            ends = rise[group].min(initial=np.inf), fall[group].max(initial=-np.inf)
            level = _middle(*ends)
            rise[group], fall[group] = level - rise[group], fall[group] - level
        return rise, fall

    def _choose_part(self) -> Array:
        """Variables that should move: those in violating pairs, the worst first."""
        limit = int(np.sqrt(len(self.room)))
        lack, excess = self._distances()
        urgency, wanted = np.maximum(lack, excess), self.wanted()
        if not self.part:
            some = max(FIRST_ROWS, len(wanted) // FIRST_SHARE)
            return wanted[_spread(len(wanted), min(some, limit))]
        # Stable sorts, so that ties are broken by position.
        wanted = wanted[np.argsort(-urgency[wanted], kind="stable")]
        # Free variables come first: without them the others would move the level to and fro.
        free = wanted[lack[wanted] == -excess[wanted]][: limit // 2]
        others = wanted[~np.isin(wanted, free)]
        # As many that should grow as fall, if possible: a pair has one of each.
        grows = lack[others] >= excess[others]
        place = np.where(grows, np.cumsum(grows), np.cumsum(~grows))
        order = np.concatenate([free, others[np.argsort(place, kind="stable")]])
        return np.sort(order[: min(GROWTH * self.part, limit)])


def _middle(rise: float, fall: float) -> float:
    """The middle of the smallest slope of a θ that may grow and the largest of one that may fall.

    Just one of them if no θ may move the other way, and 0 if none may move.
    """
    ends = [end for end in (rise, fall) if np.isfinite(end)]
    return sum(ends) / max(len(ends), 1)
