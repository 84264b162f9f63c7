"""Newton steps in the dual variables that are strictly inside their bounds.

If there are many rows for the rank of their kernel values, pairs of variables move by ever smaller
steps. All free ones together reach the minimum of their face at once, and variables that the step
takes to a bound stay there. `in_turns` takes such steps if a solver of pairs takes long, and
`polished` one of them at the end, after which multipliers that are unique agree in all their
digits.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from ..._ground.interrupt import TimeLimit, check
from ..._ground.threads import single_blas
from ...solvers import BoxProblem, BoxSolution

Array = np.ndarray

# Eigenvalues below this part of the largest one are 0, as are slopes below this part of the others.
RANK, FLAT = 1e-12, 1e-9
# With more free variables than the first number, a factor replaces eigenvalues; each adds the
# second times the rounding of the diagonal. With more than the third, only pairs move.
MOST_SPLIT, RIDGE, MOST_FREE = 50, 8, 2000
# Faces tried in a row, each with fewer free variables than the one before.
FACES = 20

# Problems with up to FEW_VARIABLES variables are solved by pairs and by Newton steps in turn, for
# up to TURNS turns. Pairs take PATIENCE steps per variable, counting MORE variables than there are,
# and twice as many after SLACK turns.
FEW_VARIABLES, TURNS, PATIENCE, MORE, SLACK = 4000, 50, 20, 50, 4
# Solutions with more free variables are not polished: that takes longer than many steps of pairs.
MOST_POLISHED = 50


def in_turns(
    solve: Callable[[list[BoxProblem], int], list[BoxSolution]],
    block: Callable[[Array], Array],
    boxes: list[BoxProblem],
    max_iter: int | None = None,
    otherwise: Callable[[BoxProblem, BoxSolution], BoxSolution] | None = None,
) -> list[BoxSolution]:
    """Solve problems by pairs of variables and, where these take long, by Newton steps.

    Parameters
    ----------
    solve : callable
        Moves pairs in some of the problems, from their starts, for a given number of steps.
    block : callable
        Kernel values between some rows.
    boxes : list of BoxProblem
        The problems.
    max_iter : int, default=None
        Steps of pairs for each problem in all.
    otherwise : callable, optional
        Another way to solve a problem, for those that have taken SLACK turns; it returns where to
        go on if its status is "max_iter".

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
    for turn in range(TURNS):
        if not going:
            break
        most = int(min(patience * (1 + turn / SLACK), limit - steps[going].max()))
        for k, solution in zip(going, solve([boxes[k] for k in going], most)):
            steps[k] += solution.steps
            found[k] = replace(solution, steps=int(steps[k])) if turn else solution
        going = [k for k in going if found[k].status == "max_iter" and steps[k] < limit]
        if turn == SLACK and otherwise is not None:
            found |= {k: otherwise(boxes[k], found[k]) for k in going}
            going = [k for k in going if found[k].status == "max_iter"]
        status = "max_iter"
        try:
            for k in going:
                at = found[k].theta, found[k].gradient
                boxes[k] = replace(boxes[k], start=to_face_minimum(block, boxes[k], *at))
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
    """A solution after one Newton step in its free variables, unchanged if that leaves the box.

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


def to_face_minimum(
    block: Callable[[Array], Array], box: BoxProblem, theta: Array, gradient: Array
) -> Array:
    """θ to the minimum on its face, or on one of fewer free variables.

    Parameters
    ----------
    block : callable
        Kernel values between some rows.
    box : BoxProblem
        The problem.
    theta, gradient : ndarray of shape (m,)
        Where it is, and Kθ + linear there.

    Returns
    -------
    ndarray of shape (m,)
        θ with the same sums, inside the box, and with no larger an objective.
    """
    # |θ| has a kink at 0, where the quadratic ends as at a bound.
    has_kink, side = np.broadcast_to(box.absolute, theta.shape) > 0, np.sign(theta)
    lower = np.where(has_kink & (side >= 0), 0.0, box.lower)
    upper = np.where(has_kink & (side <= 0), 0.0, box.upper)
    free = np.flatnonzero((theta > lower) & (theta < upper))
    if not 1 < len(free) <= MOST_FREE:
        return theta
    values = block(_rows_of(box)[free])
    K, rounding = values.astype(float, copy=False), float(np.finfo(values.dtype).eps)
    groups = np.zeros(len(free), dtype=int) if box.groups is None else box.groups[free]
    moved = theta.copy()
    with single_blas(), suppress(LinAlgError):  # an indefinite kernel has no minimum inside
        is_many = len(free) > MOST_SPLIT
        way = _Factored(K, groups, rounding) if is_many else partial(_split_step, K, groups)
        slope = (gradient + box.absolute * side)[free]
        walked = _walked(K, way, theta[free], slope, lower[free], upper[free])
        is_inside = (walked > lower[free]) & (walked < upper[free])
        moved[free] = _with_sums(walked, theta[free], groups, is_inside)
    return moved


def _with_sums(moved: Array, theta: Array, groups: Array, is_inside: Array) -> Array:
    """Moved variables with the sums of θ again, from which long steps stray by their rounding."""
    for g in np.unique(groups):
        own = groups == g
        sharing = own & is_inside
        if sharing.any():
            moved[sharing] += (theta[own] - moved[own]).sum() / sharing.sum()
    return moved


def _walked(
    K: Array,
    way: Callable[[Array, Array], tuple[Array, float]],
    theta: Array,
    slope: Array,
    lower: Array,
    upper: Array,
) -> Array:
    """θ from face to face, all of it free at first; `way` leads to the minimum of a face."""
    inside = np.arange(len(theta))
    for _ in range(FACES):
        check()
        step, length = way(slope, inside)
        if slope[inside] @ step >= 0:
            break
        ends = np.where(step > 0, upper[inside], lower[inside])
        with np.errstate(divide="ignore", invalid="ignore"):
            until = np.where(step != 0, (ends - theta[inside]) / step, np.inf)
        nearest = float(until.min())
        taken = min(length, nearest)
        if not np.isfinite(taken):
            break
        change = np.zeros(len(theta))
        change[inside] = taken * step
        slope = slope + K @ change
        # At its bound to the last digit, so that it is not free again.
        theta[inside] = np.where(until <= taken, ends, theta[inside] + taken * step)
        inside = inside[until > taken]
        if nearest > length or len(inside) < 2:
            break
    return theta


def _split_step(K: Array, groups: Array, slope: Array, inside: Array) -> tuple[Array, float]:
    """The step of the variables inside, and its length, by eigenvalues."""
    return _step(K[np.ix_(inside, inside)], slope[inside], groups[inside])


def _step(K: Array, slope: Array, groups: Array) -> tuple[Array, float]:
    """The step to the minimum with all sums kept, and its length, ∞ if slopes never end."""
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


class _Factored:
    """Steps by one factor of K while variables leave, for many of them.

    Kept sums and variables that have left are constraints Bᵀ step = 0, which a small system in
    BᵀK⁻¹B enforces (Nocedal and Wright 2006, section 16.2). What is added to the diagonal turns a
    step along slopes that never end into a very long one, and keeps every step downhill.
    """

    def __init__(self, K: Array, groups: Array, rounding: float):
        self.groups, self.gone = groups, np.zeros(0, dtype=int)
        sums = (groups[:, None] == np.unique(groups)).astype(float)
        unit = float(np.mean(np.diagonal(K)))
        # Constants between variables of a group change no step that keeps its sum.
        lifted = K + unit * (sums @ sums.T + RIDGE * rounding * len(K) * np.eye(len(K)))
        self.factor = cho_factor(lifted, lower=True, overwrite_a=True, check_finite=False)
        self.constraints, self.solved = sums, self._solve(sums)

    def _solve(self, right: Array) -> Array:
        return cho_solve(self.factor, right, check_finite=False)

    def __call__(self, slope: Array, inside: Array) -> tuple[Array, float]:
        """The step of the variables that are inside, and its length."""
        left = np.setdiff1d(np.arange(len(slope)), np.concatenate([inside, self.gone]))
        units = (np.arange(len(slope))[:, None] == left).astype(float)
        self.gone = np.concatenate([self.gone, left])
        self.constraints = np.hstack([self.constraints, units])
        self.solved = np.hstack([self.solved, self._solve(units)])
        plain = self._solve(slope)
        system, wanted = self.constraints.T @ self.solved, self.constraints.T @ plain
        step = self.solved @ np.linalg.solve(system, wanted) - plain
        return _centred(step[inside], self.groups[inside]), 1.0


def _centred(values: Array, groups: Array) -> Array:
    """Values minus the mean of their group."""
    values = np.array(values)
    for g in np.unique(groups):
        values[groups == g] -= values[groups == g].mean(axis=0)
    return values
