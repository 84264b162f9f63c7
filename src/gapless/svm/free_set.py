"""Newton steps in the dual variables that are strictly inside their bounds.

Where rows are many for the rank of their kernel values, pairs of variables move by ever smaller
steps. All free ones together reach the minimum of their face at once, and what that step takes to
a bound stays there. `in_turns` takes such steps where a solver of pairs takes long, and `polished`
one of them at the end, after which multipliers that are unique agree in all their digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from ..interrupt import TimeLimit, check
from ..solvers.smo import BoxProblem, BoxSolution

Array = np.ndarray

# Eigenvalues below this part of the largest one are 0, as are slopes below this part of the others.
RANK, FLAT = 1e-12, 1e-9
# More variables are left to the solver of pairs: their eigenvalues take a tenth of a second.
MOST_FREE = 300
# Faces, each with fewer free variables than the one before it, that are tried in a row.
FACES = 50

# Problems of no more variables are solved by pairs and by Newton steps in turns, so many of them at
# most; the pairs have so many steps for each variable, and as many more as if there were so many
# more variables.
FEW_VARIABLES, TURNS, PATIENCE, MORE = 1000, 50, 20, 50
# Solutions with more free variables are not polished: that takes longer than many steps of pairs.
MOST_POLISHED = 50


def in_turns(
    solve: Callable[[list[BoxProblem], int], list[BoxSolution]],
    block: Callable[[Array], Array],
    boxes: list[BoxProblem],
    max_iter: int | None = None,
) -> list[BoxSolution]:
    """Solve problems by pairs of variables and, where these take long, by Newton steps.

    Parameters
    ----------
    solve : callable
        Moves pairs in some of the problems, from their starts, for at most so many steps.
    block : callable
        Kernel values between some rows.
    boxes : list of BoxProblem
        The problems.
    max_iter : int, default=None
        Steps of pairs for each problem in all.

    Returns
    -------
    list of BoxSolution
        "max_iter" is the status of those that are not solved, "time_limit" or "interrupted" where
        that came first.
    """
    patience = PATIENCE * (MORE + max((len(box.linear) for box in boxes), default=0))
    found, steps = dict[int, BoxSolution](), np.zeros(len(boxes), dtype=int)
    boxes, going = list(boxes), list(range(len(boxes)))
    limit = np.inf if max_iter is None else max_iter
    for _ in range(TURNS):
        if not going:
            break
        most = int(min(patience, limit - steps[going].max()))
        for k, solution in zip(going, solve([boxes[k] for k in going], most)):
            steps[k] += solution.steps
            found[k] = replace(solution, steps=int(steps[k]))
            boxes[k] = replace(boxes[k], start=solution.theta)
        going = [k for k in going if found[k].status == "max_iter" and steps[k] < limit]
        status = "max_iter"
        try:
            for k in going:
                K = block(_rows_of(boxes[k]))
                boxes[k] = replace(boxes[k], start=to_face_minimum(K, boxes[k]))
        except TimeLimit:
            status = "time_limit"
        except KeyboardInterrupt:
            status = "interrupted"
        if status != "max_iter":
            found |= {k: replace(found[k], status=status) for k in going}
            break
    return [found[k] for k in range(len(boxes))]


def polished(
    block: Callable[[Array, Array], Array], box: BoxProblem, solution: BoxSolution
) -> BoxSolution:
    """A solution after one Newton step in its free variables, as it was if that leaves the box.

    `block` has the kernel values between some rows and others. Steps and status stay.
    """
    theta = solution.theta
    has_kink = np.broadcast_to(box.absolute, theta.shape) > 0
    is_free = (theta > box.lower) & (theta < box.upper) & ~(has_kink & (theta == 0))
    free = np.flatnonzero(is_free)
    if not 1 < len(free) <= MOST_POLISHED:
        return solution
    rows = _rows_of(box)
    K = block(rows, rows[free]).astype(float, copy=False)
    groups = np.zeros(len(theta), dtype=int) if box.groups is None else box.groups
    slope = (solution.gradient + box.absolute * np.sign(theta))[free]
    step, length = _step(K[free], slope, groups[free])
    moved = theta.copy()
    moved[free] += step
    stays = (moved > box.lower) & (moved < box.upper) & (~has_kink | (moved * theta > 0))
    if length != 1.0 or not stays[free].all():
        return solution
    gradient = solution.gradient + K @ step
    return replace(solution, theta=moved, gradient=gradient, bias=box.biases(moved, gradient))


def _rows_of(box: BoxProblem) -> Array:
    return np.arange(len(box.linear)) if box.rows is None else np.asarray(box.rows)


def to_face_minimum(K: Array, box: BoxProblem) -> Array:
    """θ from the start of a problem to the minimum on its face, or on one of fewer free variables.

    Parameters
    ----------
    K : ndarray of shape (m, m)
        Kernel values between the rows of its variables.
    box : BoxProblem
        The problem, with its start.

    Returns
    -------
    ndarray of shape (m,)
        θ with the same sums, inside the box, and with no larger an objective.
    """
    count, K = len(box.linear), K.astype(float, copy=False)
    theta = np.zeros(count) if box.start is None else np.array(box.start, dtype=float)
    # |θ| has a kink at 0, where the quadratic ends as it does at a bound.
    has_kink, side = np.broadcast_to(box.absolute, theta.shape) > 0, np.sign(theta)
    lower = np.where(has_kink & (side >= 0), 0.0, box.lower)
    upper = np.where(has_kink & (side <= 0), 0.0, box.upper)
    groups = np.zeros(count, dtype=int) if box.groups is None else box.groups
    for _ in range(FACES):
        check()
        free = np.flatnonzero((theta > lower) & (theta < upper))
        if not 1 < len(free) <= MOST_FREE:
            break
        slope = K[free] @ theta + (box.linear + box.absolute * side)[free]
        step, length = _step(K[np.ix_(free, free)], slope, groups[free])
        room = np.where(step > 0, upper[free] - theta[free], theta[free] - lower[free])
        with np.errstate(divide="ignore", invalid="ignore"):
            until = np.where(step != 0, room / np.abs(step), np.inf)
        nearest = float(until.min())
        if not np.isfinite(min(length, nearest)):
            break
        moved = theta[free] + min(length, nearest) * step
        theta[free] = np.clip(moved, lower[free], upper[free])
        if nearest >= length:
            break
        # At its bound to the last digit, so that it is not free again.
        at = free[until <= nearest]
        theta[at] = np.where(step[until <= nearest] > 0, upper[at], lower[at])
    return theta


def _step(K: Array, slope: Array, groups: Array) -> tuple[Array, float]:
    """The way to the minimum with all sums kept and its length, ∞ where slopes never end."""
    kept = _centred(np.eye(len(slope)), groups)
    values, vectors = np.linalg.eigh(kept @ K @ kept)
    along = vectors.T @ _centred(slope, groups)
    is_curved = values > RANK * max(float(values[-1]), 0.0)
    if values[0] < -RANK * len(values) * float(np.abs(values).max()):
        # An indefinite kernel has no minimum inside.
        return np.zeros_like(slope), 0.0
    flat = np.where(is_curved, 0.0, along)
    if np.linalg.norm(flat) > FLAT * np.linalg.norm(slope):
        return -_centred(vectors @ flat, groups), np.inf
    curved = np.where(is_curved, along / np.where(is_curved, values, 1.0), 0.0)
    return -_centred(vectors @ curved, groups), 1.0


def _centred(values: Array, groups: Array) -> Array:
    """Values less the mean of their group."""
    values = np.array(values)
    for g in np.unique(groups):
        values[groups == g] -= values[groups == g].mean(axis=0)
    return values
