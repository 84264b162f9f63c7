"""Regularisation paths: one problem minimised with each penalty of a sequence, and by folds.

Neighbours on a path have nearly the same solution, so each starts from the last. The entry points
are `solve_path` and `solve_folds`; estimators that tune a strength call them.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._ground.interrupt import TimeLimit, in_worker
from .._ground.threads import share_among_threads, thread_count
from ..penalties import Penalty
from ..problem import Parameters, Problem
from . import group_path, lasso_path
from ._base import Callback, Solution, Trace
from .entrance import ENDS, solve
from .joint_gram import KeptGram
from .lasso_folds import GramFolds, is_worth_it
from .lasso_path import PathPoint

Array = np.ndarray
Fold = tuple[Array, Array]  # positions of the training rows and of the held-out rows
# The penalties of a fold, or a function of the summed weight of its training rows.
Penalties = Sequence[Penalty] | Callable[[float], Sequence[Penalty]]
# The part of the work besides the folds 0, 1, …: the path that holds nothing out.
ALL_ROWS = -1


@dataclass(frozen=True, eq=False)
class PathSolution:
    """The solutions along a path of m penalties.

    w is (m, d) or (m, d, K), b (m,) or (m, K); `gaps` bounds how far each objective is from its
    minimum, and `steps` counts the solver's steps. `status` is "optimal" if all gaps are at most
    tol·P₀ (nan for a penalty that is not convex), else why the path ended or the status of its
    worst point: "stalled", "max_iter", "time_limit", "callback", "interrupted" (Ctrl-C). A point
    that was not reached repeats the one before it, with a gap of ∞.
    """

    w: Array
    b: Array
    gaps: Array
    steps: Array
    status: str


def solve_path(
    problem: Problem,
    penalties: Sequence[Penalty],
    *,
    tol: float = 1e-6,
    max_iter: int | None = None,
    callback: Callback | None = None,
    start: Parameters | None = None,
) -> PathSolution:
    """Minimise the problem with each of the penalties in place of its own.

    Parameters
    ----------
    problem : Problem
        Data, loss, weights; its own penalty is not used.
    penalties : sequence of Penalty
        Solved in this order: each starts from the solution before it, so the strongest should come
        first.
    tol : float, default=1e-6
        Stop at a duality gap of at most tol times the objective at w = 0.
    max_iter : int, default=None
        Largest number of steps for each penalty; None leaves it to the solver.
    callback : callable, default=None
        Called with the trace and the gap to reach after each step; True ends the path.
    start : Parameters, default=None
        The start of the first, without its dual point; None for the null model.

    Returns
    -------
    path : PathSolution
        One solution per penalty. Ctrl-C and a time limit end the path: see its `status`.
    """
    shape = (len(penalties), *problem.null.w.shape)
    w, b = np.zeros(shape), np.zeros((shape[0], *shape[2:]))
    gaps, steps = np.full(len(penalties), math.inf), np.zeros(len(penalties), dtype=int)
    reached, status = 0, "optimal"
    points = _points(problem, penalties, tol, max_iter, callback, start)
    try:
        for i, (at, gap, count, outcome) in enumerate(points):
            w[i], b[i], gaps[i], steps[i] = at.w, at.b, max(gap, 0.0), count
            is_fine = outcome in ("optimal", "stationary")
            reached, status = i + 1, status if is_fine else outcome
            if outcome in ENDS:
                break
    except TimeLimit:
        status = "time_limit"
    except KeyboardInterrupt:
        status = "interrupted"
    last = Parameters(w[reached - 1], b[reached - 1]) if reached else problem.null
    w[reached:], b[reached:] = last.w, last.b
    return PathSolution(w, b, gaps, steps, status)


# The parameters for one penalty, the gap reached, the number of steps, and the status.
Outcome = tuple[Parameters, float, int, str]


def _points(problem, penalties, tol, max_iter, callback, start) -> Iterator[Outcome]:
    """Yield the solutions in order: first those for which the penalty has a path solver."""
    at, done, quick = problem.null, 0, None
    if start is not None:
        at = Parameters(start.w, start.b)
    if group_path.takes(problem, penalties, tol):
        quick = group_path.group_points(problem, penalties, tol, max_iter)
    elif lasso_path.takes(problem):
        quick = lasso_path.lasso_points(problem, penalties, tol, max_iter)
    if quick is not None:
        for at, *outcome in _watched(quick, tol * problem.scale, callback):
            done += 1
            yield at, *outcome
    # If outputs share a penalty, or it is not convex, the polish takes longer than the solution.
    polish = problem.outputs is None and all(penalty.is_convex for penalty in penalties)
    options = {"max_iter": max_iter, "callback": callback, "polish": polish}
    for solution in solve_in_turn(problem, penalties[done:], at, tol=tol, **options):
        at = Parameters(solution.parameters.w, solution.parameters.b)
        # Without convexity no gap is known, but the point was reached.
        gap = math.nan if solution.status == "stationary" else solution.gap
        yield at, gap, solution.trace.steps, solution.status


def solve_in_turn(
    problem: Problem, penalties: Iterable[Penalty], start: Parameters | None = None, **options: Any
) -> Iterator[Solution]:
    """The solution for each penalty, starting from the last, with the options of `solve`."""
    kept, at = KeptGram(), problem.null if start is None else start
    for penalty in penalties:
        part = problem.with_penalty(penalty)
        if not penalty.is_convex:
            vars(part).setdefault("steepness", problem.steepness)  # computed once for all of them
        solution = solve(part, start=_feasible(part, at), kept=kept, **options)
        at = Parameters(solution.parameters.w, solution.parameters.b)
        yield solution


def _watched(
    points: Iterator[PathPoint], target: float, callback: Callback | None
) -> Iterator[Outcome]:
    trace, began = Trace(), time.monotonic()
    for point in points:
        trace.primal.append(point.primal)
        trace.gap.append(point.gap)
        trace.seconds.append(time.monotonic() - began)
        trace.steps += point.steps
        is_asked = callback is not None and callback(trace, target)
        status = "optimal" if point.is_optimal else "max_iter"
        yield (
            Parameters(point.w, np.array(point.b)),
            point.gap,
            point.steps,
            "callback" if is_asked else status,
        )


def solve_folds(
    problem: Problem,
    penalties: Penalties,
    folds: Sequence[Fold],
    *,
    tol: float = 1e-6,
    max_iter: int | None = None,
    callback: Callback | None = None,
    start: Parameters | None = None,
) -> Array:
    """Predictions of held-out rows along a path: for each fold by a path without its rows.

    Parameters
    ----------
    problem : Problem
        All rows; its own penalty is not used.
    penalties : sequence of Penalty, or callable
        As in `solve_path`. A callable is given the sum of the weights of a fold's training rows and
        returns its penalties, for models whose strength counts per sample.
    folds : sequence of (train, test)
        Positions of rows, as the splitters of scikit-learn yield them.
    tol, max_iter, callback, start
        As in `solve_path`.

    Returns
    -------
    z : ndarray of shape (n, m) or (n, m, K)
        Predictions on the scale of the loss, one column per penalty; if several folds hold a row
        out, the last counts. nan for rows of no fold, and after a time limit or a callback ended
        the work. Ctrl-C raises KeyboardInterrupt.
    """
    options = {"tol": tol, "max_iter": max_iter, "callback": callback, "start": start}
    work = _Folds(problem, penalties, folds, options)
    work.run(range(len(folds)))
    z = np.full((problem.n, *work.shape), np.nan)
    for (_, test), predictions in zip(folds, work.held_out):
        z[test] = predictions
    return z


def solve_path_and_folds(
    problem: Problem,
    penalties: Penalties,
    folds: Sequence[Fold],
    *,
    tol: float = 1e-6,
    max_iter: int | None = None,
    callback: Callback | None = None,
) -> tuple[PathSolution | None, list[Array]]:
    """The path on all rows and those without the rows of a fold, side by side.

    Parameters
    ----------
    problem, penalties, folds, tol, max_iter, callback
        As in `solve_folds`.

    Returns
    -------
    path : PathSolution or None
        The solutions on all rows; None if a time limit came first.
    held_out : list of ndarray of shape (rows, m) or (rows, m, K)
        Predictions of the held-out rows of each fold, nan as in `solve_folds`.
    """
    work = _Folds(
        problem, penalties, folds, {"tol": tol, "max_iter": max_iter, "callback": callback}
    )
    # The path with the most rows takes longest, so it goes first.
    work.run([ALL_ROWS, *range(len(folds))])
    return work.path, list(work.held_out)


class _Folds:
    """Solves the parts of the work on any thread and keeps their results."""

    def __init__(
        self, problem: Problem, penalties: Penalties, folds: Sequence[Fold], options: dict
    ):
        self.problem, self.penalties, self.options = problem, penalties, options
        self.folds = [(np.asarray(train), np.asarray(test)) for train, test in folds]
        self.is_over, self.lock = threading.Event(), threading.Lock()
        count = len(penalties(1.0) if callable(penalties) else penalties)
        self.shape = (count, *problem.null.w.shape[1:])
        self.held_out = [np.full((len(test), *self.shape), np.nan) for _, test in self.folds]
        self.path: PathSolution | None = None
        self.gram = GramFolds(problem) if is_worth_it(problem) else None

    def run(self, parts: Sequence[int]) -> None:
        """Do the parts (fold numbers, or ALL_ROWS) until done or out of time."""
        workers = min(thread_count(), len(parts))
        try:
            if workers > 1:
                in_worker(share_among_threads, self._solve, parts, workers)
            else:
                for part in parts:
                    self._solve(part)
        except TimeLimit:
            pass
        finally:
            self.is_over.set()

    def _solve(self, part: int) -> None:
        if self.is_over.is_set():
            return
        if part == ALL_ROWS:
            self.path = self._path(self.problem)
        else:
            self.held_out[part] = self._predictions(*self.folds[part])

    def _predictions(self, train: Array, test: Array) -> Array:
        """Predictions of the held-out rows of one fold."""
        if self.gram is not None:
            chosen = self._penalties(float(self.problem.weights[train].sum()))
            z = self.gram.predict(train, test, chosen, self.options["tol"])
            if z is not None:
                return z
        return _predict(self.problem, test, self._path(_training_part(self.problem, train)))

    def _path(self, problem: Problem) -> PathSolution:
        chosen = self._penalties(float(problem.weights.sum()))
        path = solve_path(problem, chosen, **self.options | {"callback": self._after_step})
        if path.status == "interrupted":
            raise KeyboardInterrupt
        return path

    def _penalties(self, total: float) -> Sequence[Penalty]:
        return self.penalties(total) if callable(self.penalties) else self.penalties

    def _after_step(self, trace: Trace, target: float) -> bool:
        if not self.is_over.is_set() and self.options["callback"] is not None:
            with self.lock:
                if self.options["callback"](trace, target):
                    self.is_over.set()
        return self.is_over.is_set()


def _feasible(problem: Problem, at: Parameters) -> Parameters:
    """The starting point, moved into the constraints of the penalty."""
    return dataclasses.replace(at, w=problem.penalty.prox(np.array(at.w, dtype=float), 0.0))


def _training_part(problem: Problem, rows: Array) -> Problem:
    """The problem on some of its rows."""
    return dataclasses.replace(
        problem,
        design=problem.design.rows(rows),
        y=problem.y[rows],
        weights=problem.weights[rows],
    )


def _predict(problem: Problem, rows: Array, path: PathSolution) -> Array:
    """Predictions of some rows, (rows, m) or (rows, m, K); nan where the path did not arrive."""
    z = np.full((len(rows), *path.b.shape), np.nan)
    reached = ~np.isposinf(path.gaps)
    w = np.moveaxis(path.w[reached], 1, 0)
    used = np.flatnonzero(np.any(w != 0, axis=tuple(range(1, w.ndim))))
    with contextlib.suppress(TimeLimit):
        # One product for all penalties, with the columns that any of them uses.
        design = problem.design.rows(rows).columns(used)
        change = design.times(w[used].reshape(len(used), path.b[reached].size))
        z[:, reached] = change.reshape(len(rows), *w.shape[1:]) + path.b[reached]
    return z
