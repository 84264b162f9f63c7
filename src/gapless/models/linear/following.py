"""Paths of strengths: solve at each, and predict rows held out, one at a time or by folds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..._ground.interrupt import TimeLimit
from ...penalties import Penalty
from ...problem import Parameters, Problem
from ...solvers import (
    Station,
    is_for,
    newton_path,
    solve_folds,
    solve_in_turn,
    solve_path,
)
from ...unseen import Fitted, NotAvailable, ridge_path_leave_out
from .held_out import folds_of_rows, merged_rows
from .strengths import is_quadratic, penalty_on, scaled
from .trail import Trail
from .walk import Walk

Array = np.ndarray
# Of each strength the solutions of all problems.
Stations = Iterator[Sequence[Station]]
STRENGTHS_AT_A_TIME = 5
# The gap, relative to the null model's loss, at which models can be told apart by their scores; the
# chosen one is solved again, to all its digits.
ENOUGH = 1e-5


def ridge_trail(
    problem: Problem, strengths: Array, *, keep: bool = False, error: Any = None
) -> Trail:
    """Ridge regression by exact leave-one-out, all strengths at once."""
    options = {} if error is None else {"error": error}
    held = ridge_path_leave_out(
        problem.design,
        problem.y,
        problem.weights,
        strengths,
        fit_bias=problem.fit_bias,
        keep=keep,
        **options,
    )
    models = [[Parameters(w, np.asarray(b))] for w, b in zip(held.coefficients, held.intercepts)]
    z = None if held.z is None else held.z.reshape(problem.n, len(strengths), -1)
    return Trail(
        strengths=np.asarray(strengths, dtype=float),
        gaps=held.gaps,
        parameters=models,
        rows=np.arange(problem.n),
        weights=problem.weights,
        z=z,
        unseen=-held.errors,
        standard_errors=held.standard_errors,
        method="loo",
    )


def follow(
    fitted: Fitted,
    strengths: Array,
    callback: Any = None,
    *,
    may_end: bool = False,
    by_folds: bool = False,
) -> Trail:
    """Solve at each strength, and predict each row without the rows of its x, or `by_folds`.

    The problems of `fitted` have penalties of strength 1. With `may_end` the path ends when it has
    become clearly worse. Where leave-one-out is refused, the path ends if it was getting worse, and
    else folds take its place for all strengths.
    """
    fitted, rows, weights = merged_rows(fitted)
    walk = Walk(fitted, weights)
    # One for both ways, so that folds need not solve again what leave-one-out has solved.
    paths = [along(p, strengths, fitted, callback, is_loose=True) for p in fitted.problems]
    solutions: Stations = zip(*paths)
    if by_folds:
        status = ended(lambda: _by_folds(walk, solutions, strengths, "", callback, may_end))
        return walk.trail(rows, weights, status)
    try:
        status = ended(lambda: _by_leave_one_out(walk, solutions, strengths, callback, may_end))
        if status == "optimal":
            status = ended(walk.settle)
    except NotAvailable as error:
        reason, status = str(error), "optimal"
        if not walk.is_past(0.0):
            solutions = itertools.chain(walk.reached, solutions)
            walk = Walk(fitted, weights)
            status = ended(lambda: _by_folds(walk, solutions, strengths, reason, callback, may_end))
    return walk.trail(rows, weights, status)


def ended(work: Callable[[], str]) -> str:
    """What ended the work: what it says itself, or the clock, or Ctrl-C."""
    try:
        return work()
    except TimeLimit:
        return "time_limit"
    except KeyboardInterrupt:
        return "interrupted"


def _by_leave_one_out(
    walk: Walk, solutions: Stations, strengths: Array, callback: Any, may_end: bool
) -> str:
    """Go along the strengths; the status."""
    for strength, stations in zip(strengths, solutions):
        if not walk.add(float(strength), list(stations)):
            continue
        if callback is not None and callback(walk.trace(), np.inf):
            return "callback"
        if may_end and walk.is_past():
            return "optimal"
    if not walk.unseen and walk.refusal:
        raise NotAvailable(walk.refusal)
    return _why_ended(walk.seen, strengths)


def _by_folds(
    walk: Walk, solutions: Stations, strengths: Array, reason: str, callback: Any, may_end: bool
) -> str:
    """The same by folds of distinct x, drawn by content and stratified by class; the status."""
    fitted, units = walk.fitted, walk.fitted.units
    folds = folds_of_rows(fitted)
    walk.hold_out(folds)
    if reason:
        walk.method += f", because {reason}"
    options = {"tol": path_tolerance(fitted), "callback": callback}
    nowhere = [None] * len(fitted.problems)
    for first in range(0, len(strengths), STRENGTHS_AT_A_TIME):
        some = strengths[first : first + STRENGTHS_AT_A_TIME]
        # Where the model of all rows was last is not far from where those of the folds will be.
        starts = [station.parameters for station in walk.stations[-1]] if walk.stations else nowhere
        parts = [
            solve_folds(p, _per_fold(fitted, p, some), folds, start=start, **options)
            for p, start in zip(fitted.problems, starts)
        ]
        z = np.concatenate([part.reshape(len(units), len(some), -1) for part in parts], axis=2)
        for k, (strength, stations) in enumerate(zip(some, solutions)):
            if not np.all(np.isfinite(z[units >= 0, k])):
                return "time_limit"
            walk.note(float(strength), list(stations), z[:, k])
        if may_end and walk.is_past():
            return "optimal"
    return _why_ended(len(walk.unseen), strengths)


def _per_fold(
    fitted: Fitted, problem: Problem, strengths: Array
) -> Callable[[float], list[Penalty]]:
    """The penalties of a fold, given the weight that it trains on."""
    return lambda total: [penalty_on(fitted, problem, s, total) for s in strengths]


def _why_ended(count: int, strengths: Array) -> str:
    return "optimal" if count == len(strengths) else "time_limit"


def along(
    problem: Problem, strengths: Array, fitted: Fitted, callback: Any, *, is_loose: bool = False
) -> Iterator[Station]:
    """The solutions of one problem, by the way that is fastest for it.

    With `is_loose` they need be no better than scores ask for, where that saves time.
    """
    penalties = [scaled(problem.penalty, strength) for strength in strengths]
    if is_for(problem):
        yield from newton_path(problem, strengths, tol=fitted.tol, callback=callback)
    elif problem.loss.name == "squared" and not is_quadratic(problem):
        path = solve_path(problem, penalties, tol=fitted.tol, callback=callback)
        if path.status == "interrupted":
            raise KeyboardInterrupt
        for w, b, gap, steps in zip(path.w, path.b, path.gaps, path.steps):
            if np.isfinite(gap):
                yield Station(Parameters(w, np.asarray(b)), float(gap), int(steps))
    else:
        # The span of piecewise-linear losses needs the rows at kinks, which only a polish tells.
        is_loose = is_loose and problem.loss.has_curvature
        tol = path_tolerance(fitted) if is_loose else fitted.tol
        options = {"tol": tol, "callback": callback, "polish": not is_loose}
        for solution in solve_in_turn(problem, penalties, **options):
            if solution.status == "interrupted":
                raise KeyboardInterrupt
            if solution.status in ("time_limit", "callback"):
                return
            yield Station(solution.parameters, max(solution.gap, 0.0), solution.trace.steps)


def path_tolerance(fitted: Fitted) -> float:
    """How exact the models of a path need be: their scores differ by more than this part."""
    return max(fitted.tol, ENOUGH)
