"""Machines solved again without some of their rows, on arrays: the span rule, and refits.

`span_losses` is a formula (src/core/kernels/span.hpp); `refit_without` refits, one x at a time;
`descend` solves problems that have lost any rows. `Mates` knows which variables of a problem leave
together. Called by `held_out` and `tuning_scores`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..._ground import core
from ..._ground.interrupt import deadline
from ..._ground.threads import single_blas, thread_count
from ...solvers import STATUS, BoxProblem, BoxSolution
from .free_set import in_turns
from .multiclass import Part
from .objectives import BOUNDED, INACTIVE, ON_MARGIN

Array = np.ndarray

# The most steps for one of many problems, and for a problem that has lost a single row.
MOST_STEPS, MOST_STEPS_OF_REFIT = 10**5, 10**4
# With more variables, MOST_STEPS steps of pairs take no longer than Newton steps between them.
NEWTON_VARIABLES = 1000
# Refits end after BUDGET operations, a third of a second; AT_A_TIME are made at a time, whatever
# the number of threads.
BUDGET, AT_A_TIME = 3e8, 16
# A dual variable this close to an end of its interval, relative to its length, is at that end.
AT_END = 1e-9
# Picking out one kernel value takes as long as reading this many in order.
PICKED = 8


class Mates:
    """The variables of several problems by the x of their rows: those of one leave together.

    Parameters
    ----------
    problem, rows : ndarray of int, shape (v,)
        The problem and the row of each variable.
    units : ndarray of int, shape (m,)
        Which distinct x each row has: 0, 1, …

    Attributes
    ----------
    leader : ndarray of int, shape (v,)
        The first variable that leaves with each.
    units : ndarray of int, shape (m,), or None
        The same as given; None if no two rows have one x.
    """

    def __init__(self, problem: Array, rows: Array, units: Array):
        count = int(units.max(initial=-1)) + 1
        self.leader, self.units = np.arange(len(rows)), None
        if count < len(units):
            self.units = np.ascontiguousarray(units, dtype=np.int64)
            keys = problem * count + units[rows]
            _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
            self.leader = first[inverse]

    def leaders(self, is_chosen: Array) -> Array:
        """The first of the variables that leave with any of the chosen ones, increasing."""
        return np.unique(self.leader[is_chosen])

    def sums(self, values: Array) -> Array:
        """Sums over the variables that leave together."""
        if self.units is None:
            return values
        return np.bincount(self.leader, values, len(values))[self.leader]

    def squares(self, squares: Array, support: Array) -> Array:
        """S² of the x of each variable, from those of the variables.

        The one inside its bounds decides: the others of its x are in the span of those inside. Two
        inside their bounds are in each other's span, so that the rule has no answer.
        """
        if self.units is None:
            return squares
        is_inside = support == ON_MARGIN
        inside = self.sums(is_inside.astype(float))
        largest = np.zeros(len(squares))
        np.maximum.at(largest, self.leader, np.where((inside == 0) | is_inside, squares, 0.0))
        return np.where(inside > 1, np.inf, largest[self.leader])


# ---- the span rule -------------------------------------------------------------------------------


def statuses_of(theta: Array, box: BoxProblem) -> Array:
    """INACTIVE, ON_MARGIN or BOUNDED for the dual variables of a problem with one for each row."""
    room = AT_END * (box.upper - box.lower)
    inside = (theta > box.lower + room) & (theta < box.upper - room)
    kind = np.where(theta == 0, INACTIVE, np.where(inside, ON_MARGIN, BOUNDED))
    return kind.astype(np.uint8)


def span_losses(
    gram: Array,
    parts: Sequence[Part],
    thetas: Sequence[Array],
    statuses: Sequence[Array],
    mates: Mates,
) -> list[Array]:
    """By how much the scores of rows fall without their x, for each problem on its rows.

    Parameters
    ----------
    gram : ndarray of shape (m, m), float32 or float64
        Kernel values of all rows.
    parts : sequence of Part
        The problems.
    thetas, statuses : sequences of ndarray
        Their dual variables, and which of them are inside their bounds.
    mates : Mates
        Which of them leave together.

    Returns
    -------
    list of ndarray
        θᵢSᵢ², θᵢ being the sum of those that leave together: the score without them is the score
        less this. Not finite where the rule has no answer: rows that are their problem's only one
        inside the bounds, and singular systems.
    """
    start = np.cumsum([0, *(len(part.rows) for part in parts)], dtype=np.int64)
    rows = np.concatenate([part.rows for part in parts]).astype(np.int64)
    support, squares = np.concatenate(statuses), np.empty(len(rows))
    noise = float(np.finfo(gram.dtype).eps)
    with single_blas():
        core.span_squares(gram, start, rows, support, noise, squares, thread_count(), deadline())
    is_active = mates.sums((support != INACTIVE).astype(float)) > 0
    squares = mates.squares(squares, support)
    with np.errstate(invalid="ignore"):
        lost = np.where(is_active, mates.sums(np.concatenate(thetas)) * squares, 0.0)
    return np.split(lost, start[1:-1])


# ---- solving again -------------------------------------------------------------------------------


def warm_start(theta: Array, box: BoxProblem) -> Array:
    """A feasible start near dual variables whose sums are no longer right.

    The difference is shared by the nonzero variables, in proportion to their room; by all if those
    have too little.
    """
    theta = np.clip(theta, box.lower, box.upper)
    wanted = np.zeros_like(theta) if box.start is None else box.start
    for of in box.each_group():
        some = theta[of]
        for is_open in (some != 0, np.ones(len(some), dtype=bool)):
            missing = float(wanted[of].sum() - some.sum())
            end = box.upper[of] if missing > 0 else box.lower[of]
            room = np.where(is_open, end - some, 0.0)
            total = float(room.sum())
            if missing and total:
                some = some + room * min(missing / total, 1.0)
        theta[of] = some
    return theta


def tasks_of(
    gram: Array, boxes: Sequence[BoxProblem], gradients: Sequence[Array], tol: float, steps: int
) -> list[tuple]:
    """Problems on a whole kernel matrix, at their starts, as the core takes them."""
    diagonal = np.diagonal(gram)
    tasks = []
    for box, gradient in zip(boxes, gradients):
        m = len(box.linear)
        rows = np.arange(m) if box.rows is None else box.rows.astype(np.int64, copy=False)
        start = np.zeros(m) if box.start is None else np.array(box.start, dtype=float)
        moving = start, np.array(gradient, dtype=float)
        tasks.append(box.task(slice(None), rows, diagonal[rows], *moving, tol, steps))
    return tasks


def descend(gram: Array, boxes: list[BoxProblem], tol: float) -> list[BoxSolution]:
    """Solve problems on a whole kernel matrix, from their starts.

    `solve_box` does it to the digits of the exact kernel, for one fit; this is for many.
    """

    def solve(some: list[BoxProblem], steps: int) -> list[BoxSolution]:
        tasks = tasks_of(gram, some, [_gradient(gram, box) for box in some], tol, steps)
        results = core.sum_descent(gram, None, tasks, thread_count(), deadline())
        solutions = []
        for box, task, (violation, taken, status) in zip(some, tasks, results):
            theta, gradient = task[7:9]
            bias = box.biases(theta, gradient)
            solutions.append(BoxSolution(theta, gradient, violation, bias, taken, STATUS[status]))
        return solutions

    if max((len(box.linear) for box in boxes), default=0) <= NEWTON_VARIABLES:
        return in_turns(solve, lambda rows: gram[np.ix_(rows, rows)], boxes, MOST_STEPS)
    return solve(boxes, MOST_STEPS)


def _gradient(gram: Array, box: BoxProblem) -> Array:
    """Kθ + linear at the start of a problem."""
    rows, start = np.asarray(box.rows), np.asarray(box.start)
    used = np.flatnonzero(start)
    with single_blas():
        if PICKED * len(rows) * len(used) < gram.size:
            product = gram[np.ix_(rows, rows[used])] @ start[used].astype(gram.dtype)
        else:
            # A row may have two variables, above and below 0.
            theta = np.bincount(rows, start, len(gram))
            product = (gram @ theta.astype(gram.dtype))[rows]
    return product + box.linear


def refit_without(
    gram: Array,
    boxes: Sequence[BoxProblem],
    gradients: Sequence[Array],
    cases: Array,
    units: Array | None,
    tol: float,
) -> tuple[Array, Array]:
    """The scores of rows by problems, at their solution, that are solved again without them.

    Each of the cases (c, 2) is a problem with one sum and the position of a variable, with which
    all leave whose rows have the same number in `units`. NaN if no other variable has room for it,
    and for all cases after the budget is used up. Also whether the problem was solved within the
    steps that a refit may take.
    """
    scores, is_exact = np.full(len(cases), np.nan), np.zeros(len(cases), dtype=bool)
    which, variables = np.ascontiguousarray(cases.T, dtype=np.int64)
    sizes = np.array([len(box.linear) for box in boxes])
    tasks = tasks_of(gram, boxes, gradients, tol, MOST_STEPS_OF_REFIT)
    used = 0.0
    for begin in range(0, len(cases), AT_A_TIME):
        if used > BUDGET:
            break
        some = slice(begin, begin + AT_A_TIME)
        found = np.empty(len(which[some]))
        steps = core.sum_leave_out(
            gram, tasks, which[some], variables[some], found, thread_count(), deadline(), units
        )
        scores[some], is_exact[some] = found, np.array(steps) < MOST_STEPS_OF_REFIT
        used += float(sizes[which[some]] @ steps)
    return scores, is_exact
