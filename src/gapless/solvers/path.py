"""Regularisation paths: one problem minimised with each penalty of a sequence, and by folds.

Neighbours on a path have nearly the same solution, so each begins where the last one ended. The
entrances are `solve_path` and `solve_folds`; estimators that tune a strength call them.
"""

from __future__ import annotations

import contextvars
import dataclasses
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from ..interrupt import TimeLimit, in_worker
from ..penalties import Penalty
from ..problem import Parameters, Problem
from ..threads import thread_count, threads
from . import solve
from ._base import Callback, Trace
from .lasso_folds import GramFolds, is_worth_it
from .lasso_path import lasso_points, takes

Array = np.ndarray
Fold = tuple[Array, Array]  # positions of the rows to train on, and of those held out
# The penalties of a fold, or how they follow from the sum of the weights that it trains on.
Penalties = Sequence[Penalty] | Callable[[float], Sequence[Penalty]]
# Statuses of a point after which a path goes no further.
ENDS = ("interrupted", "time_limit", "callback")


@dataclass(frozen=True, eq=False)
class PathSolution:
    """The solutions along a path of m penalties.

    w is (m, d) or (m, d, K), b (m,) or (m, K); `gaps` bounds how far each objective is from its
    minimum, and `steps` counts the solver's steps. `status` is "optimal" if all gaps are at most
    tol·P₀, else why the path ended or what its worst point met: "stalled", "max_iter",
    "time_limit", "callback", "interrupted" (Ctrl-C). A point that was not reached repeats the one
    before it, with a gap of ∞.
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
) -> PathSolution:
    """Minimise the problem with each of the penalties in the place of its own.

    Parameters
    ----------
    problem : Problem
        Data, loss, weights; its own penalty is not used.
    penalties : sequence of Penalty
        In the order in which they are solved: each begins at the solution of the one before, so
        the strongest should come first.
    tol : float, default=1e-6
        Stop at a duality gap of at most tol times the objective at w = 0.
    max_iter : int, default=None
        Largest number of steps for each penalty; None leaves it to the solver.
    callback : callable, default=None
        Called with the trace and the gap to reach after each step; True ends the path.

    Returns
    -------
    path : PathSolution
        One solution per penalty. Ctrl-C and a time limit end the path: see its `status`.
    """
    shape = (len(penalties), *problem.null.w.shape)
    w, b = np.zeros(shape), np.zeros((shape[0], *shape[2:]))
    gaps, steps = np.full(len(penalties), math.inf), np.zeros(len(penalties), dtype=int)
    reached, status = 0, "optimal"
    points = _points(problem, penalties, tol, max_iter, callback)
    try:
        for i, (at, gap, count, outcome) in enumerate(points):
            w[i], b[i], gaps[i], steps[i] = at.w, at.b, max(gap, 0.0), count
            reached, status = i + 1, status if outcome == "optimal" else outcome
            if outcome in ENDS:
                break
    except TimeLimit:
        status = "time_limit"
    except KeyboardInterrupt:
        status = "interrupted"
    last = Parameters(w[reached - 1], b[reached - 1]) if reached else problem.null
    w[reached:], b[reached:] = last.w, last.b
    return PathSolution(w, b, gaps, steps, status)


# The parameters for one penalty, the gap they reach, the steps they took, and the status.
Outcome = tuple[Parameters, float, int, str]


def _points(problem, penalties, tol, max_iter, callback) -> Iterator[Outcome]:
    """The solutions one by one: first those that the lasso's own path takes."""
    at, done = problem.null, 0
    if takes(problem):
        for at, *outcome in _lasso_points(problem, penalties, tol, max_iter, callback):
            done += 1
            yield at, *outcome
    for penalty in penalties[done:]:
        part = dataclasses.replace(problem, penalty=penalty)
        options = {"tol": tol, "max_iter": max_iter, "callback": callback}
        # For outputs that meet in the penalty the polish takes longer than the solution itself.
        polish = problem.outputs is None
        solution = solve(part, start=_feasible(part, at), polish=polish, **options)
        at = Parameters(solution.parameters.w, solution.parameters.b)
        yield at, solution.gap, solution.trace.steps, solution.status


def _lasso_points(problem, penalties, tol, max_iter, callback) -> Iterator[Outcome]:
    trace, began = Trace(), time.monotonic()
    for point in lasso_points(problem, penalties, tol, max_iter):
        trace.primal.append(point.primal)
        trace.gap.append(point.gap)
        trace.seconds.append(time.monotonic() - began)
        trace.steps += point.steps
        is_asked = callback is not None and callback(trace, tol * problem.scale)
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
    tol, max_iter, callback
        As in `solve_path`.

    Returns
    -------
    z : ndarray of shape (n, m) or (n, m, K)
        Predictions on the scale of the loss, one column per penalty; the last fold counts where a
        row is held out by several. nan for rows of no fold, and where a time limit or a callback
        ended the work. Ctrl-C raises KeyboardInterrupt.
    """
    options = {"tol": tol, "max_iter": max_iter, "callback": callback}
    work = _Folds(problem, penalties, options)
    workers = min(thread_count(), len(folds))
    try:
        if workers > 1:
            in_worker(_share, work.solve, folds, workers)
        else:
            for fold in folds:
                work.solve(fold)
    except TimeLimit:
        pass
    finally:
        work.is_over.set()
    return work.z.copy()


class _Folds:
    """Solves folds, on any thread, and keeps their predictions; `is_over` makes it stop."""

    def __init__(self, problem: Problem, penalties: Penalties, options: dict):
        self.problem, self.penalties, self.options = problem, penalties, options
        self.is_over, self.lock = threading.Event(), threading.Lock()
        count = len(penalties(1.0) if callable(penalties) else penalties)
        shape = problem.null.w.shape[1:]
        self.z = np.full((problem.n, count, *shape), np.nan)
        self.gram = GramFolds(problem) if is_worth_it(problem) else None

    def solve(self, fold: Fold) -> None:
        """Fill in the predictions of one fold's held-out rows."""
        if self.is_over.is_set():
            return
        train, test = (np.asarray(rows) for rows in fold)
        part = _training_part(self.problem, train)
        chosen = self.penalties
        chosen = chosen(float(part.weights.sum())) if callable(chosen) else chosen
        if self.gram is not None:
            z = self.gram.predict(train, test, chosen, self.options["tol"])
            if z is not None:
                self.z[test] = z
                return
        path = solve_path(part, chosen, **self.options | {"callback": self._after_step})
        if path.status == "interrupted":
            raise KeyboardInterrupt
        self.z[test] = _predict(self.problem, test, path)

    def _after_step(self, trace: Trace, target: float) -> bool:
        if not self.is_over.is_set() and self.options["callback"] is not None:
            with self.lock:
                if self.options["callback"](trace, target):
                    self.is_over.set()
        return self.is_over.is_set()


def _share(function: Callable[[Fold], None], folds: Sequence[Fold], workers: int) -> None:
    """function(fold) for all folds by some threads, which share the cores."""
    inside = max(1, thread_count() // workers)

    def work(fold: Fold) -> None:
        with threads(inside):
            function(fold)

    contexts = [contextvars.copy_context() for _ in folds]
    with ThreadPoolExecutor(workers) as pool:
        done = [pool.submit(context.run, work, fold) for context, fold in zip(contexts, folds)]
        for each in done:
            each.result()


def _feasible(problem: Problem, at: Parameters) -> Parameters:
    """Where to begin: the given point, moved into the constraints of the penalty."""
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
    design, reached = problem.design.rows(rows), np.isfinite(path.gaps)
    z = np.full((len(rows), len(path.gaps), *path.w.shape[2:]), np.nan)
    try:
        for i in np.flatnonzero(reached):
            z[:, i] = design.times(path.w[i]) + path.b[i]
    except TimeLimit:
        z[:, i:] = np.nan
    return z
