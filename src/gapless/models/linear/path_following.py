"""Follow a path of strengths: solve at each, and predict held-out rows, one at a time or by folds.

`follow` does it for any loss and penalty, `ridge_path` for ridge regression, where one
decomposition serves all strengths. A `GrowingPath` collects the results, and ends as a
`ScoredPath`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..._ground.interrupt import TimeLimit
from ...penalties import Penalty
from ...problem import Parameters, Problem
from ...solvers import (
    Station,
    Trace,
    is_for,
    newton_path,
    predict_without,
    solve_folds,
    solve_in_turn,
    solve_path,
)
from ...unseen import (
    LOO,
    Fitted,
    NotAvailable,
    by_appearance,
    by_formula,
    leave_out,
    left_together,
    mean_and_error,
    ridge_path_leave_out,
)
from .path import ScoredPath
from .strengths import is_quadratic, penalty_on, scaled

Array = np.ndarray
# The solutions of all problems at each strength.
Stations = Iterator[Sequence[Station]]
STRENGTHS_AT_A_TIME = 5
# The gap, relative to the null model's loss, at which scores can tell models apart; the chosen one
# is solved again, to all its digits.
ENOUGH = 1e-5
# A path may end after this many strengths that were worse than the best by this many standard
# errors.
PATIENCE, CLEARLY = 3, 2.0
# Refit without this many of the farthest rows; models within this many decades learn from it, less
# so the farther away they are.
FARTHEST, REACH = 10, 2.0


def ridge_path(
    problem: Problem, strengths: Array, *, keep: bool = False, error: Any = None
) -> ScoredPath:
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
    return ScoredPath(
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
) -> ScoredPath:
    """Solve at each strength, and predict each row without all rows of its x, or `by_folds`.

    The problems of `fitted` have penalties of strength 1. With `may_end` the path ends when it has
    become clearly worse. If leave-one-out is refused, the path ends if it was getting worse;
    otherwise folds replace it for all strengths.
    """
    fitted, rows, weights = fitted.merged()
    path = GrowingPath(fitted, weights)
    # Shared by both ways, so that folds need not solve again what leave-one-out has solved.
    paths = [along(p, strengths, fitted, callback, is_loose=True) for p in fitted.problems]
    solutions: Stations = zip(*paths)
    if by_folds:
        status = ended(lambda: _by_folds(path, solutions, strengths, "", callback, may_end))
        return path.scored(rows, weights, status)
    try:
        status = ended(lambda: _by_leave_one_out(path, solutions, strengths, callback, may_end))
        if status == "optimal":
            status = ended(path.settle)
    except NotAvailable as error:
        reason, status = str(error), "optimal"
        if not path.is_past(0.0):
            solutions = itertools.chain(path.reached, solutions)
            path = GrowingPath(fitted, weights)
            status = ended(lambda: _by_folds(path, solutions, strengths, reason, callback, may_end))
    return path.scored(rows, weights, status)


def ended(work: Callable[[], str]) -> str:
    """What ended the work: its own status, the clock, or Ctrl-C."""
    try:
        return work()
    except TimeLimit:
        return "time_limit"
    except KeyboardInterrupt:
        return "interrupted"


def _by_leave_one_out(
    path: GrowingPath, solutions: Stations, strengths: Array, callback: Any, may_end: bool
) -> str:
    """Follow the strengths; return the status."""
    for strength, stations in zip(strengths, solutions):
        if not path.add(float(strength), list(stations)):
            continue
        if callback is not None and callback(path.trace(), np.inf):
            return "callback"
        if may_end and path.is_past():
            return "optimal"
    if not path.unseen and path.refusal:
        raise NotAvailable(path.refusal)
    return _why_ended(path.seen, strengths)


def _by_folds(
    path: GrowingPath,
    solutions: Stations,
    strengths: Array,
    reason: str,
    callback: Any,
    may_end: bool,
) -> str:
    """The same by folds of distinct x, drawn by content, stratified by class; the status."""
    fitted, units = path.fitted, path.fitted.units
    folds = fitted.folds()
    path.hold_out(folds)
    if reason:
        path.method += f", because {reason}"
    options = {"tol": path_tolerance(fitted), "callback": callback}
    nowhere = [None] * len(fitted.problems)
    for first in range(0, len(strengths), STRENGTHS_AT_A_TIME):
        some = strengths[first : first + STRENGTHS_AT_A_TIME]
        # The last model of all rows is not far from the models of the folds.
        starts = [station.parameters for station in path.stations[-1]] if path.stations else nowhere
        parts = [
            solve_folds(p, _per_fold(fitted, p, some), folds, start=start, **options)
            for p, start in zip(fitted.problems, starts)
        ]
        z = np.concatenate([part.reshape(len(units), len(some), -1) for part in parts], axis=2)
        for k, (strength, stations) in enumerate(zip(some, solutions)):
            if not np.all(np.isfinite(z[units >= 0, k])):
                return "time_limit"
            path.note(float(strength), list(stations), z[:, k])
        if may_end and path.is_past():
            return "optimal"
    return _why_ended(len(path.unseen), strengths)


def _per_fold(
    fitted: Fitted, problem: Problem, strengths: Array
) -> Callable[[float], list[Penalty]]:
    """The penalties of a fold, given the weight of its training rows."""
    return lambda total: [penalty_on(fitted, problem, s, total) for s in strengths]


def _why_ended(count: int, strengths: Array) -> str:
    return "optimal" if count == len(strengths) else "time_limit"


def along(
    problem: Problem, strengths: Array, fitted: Fitted, callback: Any, *, is_loose: bool = False
) -> Iterator[Station]:
    """The solutions of one problem, by the fastest method for it.

    With `is_loose` they need only be as accurate as scores require, if that saves time.
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
        # The span of piecewise-linear losses needs the rows at kinks, which only a polish
        # identifies.
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
    """How exact the models of a path need to be: their scores differ by more than this part."""
    return max(fitted.tol, ENOUGH)


class GrowingPath:
    """The models along strengths so far, and their predictions for held-out rows."""

    def __init__(self, fitted: Fitted, weights: Array):
        self.fitted, self.weights = fitted, weights
        counted = fitted.is_counted
        together = left_together(fitted.design, fitted.targets, counted)
        self.units, self.first = by_appearance(together, counted)
        self.seen, self.refusal = 0, ""
        self.strengths: list[float] = []
        self.reached: list[Sequence[Station]] = []
        self.stations: list[list[Station]] = []
        self.z: list[Array] = []
        self.unseen: list[float] = []
        self.errors: list[float] = []
        self.method = LOO
        # Whether all rows are scored.
        self.is_whole = True

    def hold_out(self, folds: Sequence[tuple[Array, Array]]) -> None:
        """Score the rows that folds (train, test) hold out; with one fold, those of a sample.

        Rows of classes without training rows in a fold are left out: no strength teaches a model
        about them, and its predictions for them are so wrong that they would decide.
        """
        targets, is_judged = self.fitted.targets, np.zeros(len(self.weights), dtype=bool)
        for train, test in folds:
            is_known = np.isin(targets[test], targets[train]) | (not self.fitted.has_classes)
            is_judged[test[is_known]] = True
        is_missed = (self.weights > 0) & ~is_judged
        self.is_whole = not np.any(is_missed)
        self.weights = np.where(is_judged, self.weights, 0.0)
        if not np.any(self.weights):
            raise NotAvailable("no class has rows on both sides of a fold")
        self.method = f"{len(folds)}-fold"
        if len(folds) == 1:
            train, test = folds[0]
            self.method = f"hold-out of {len(test):,} of a sample of {len(train) + len(test):,}"

    def add(self, strength: float, stations: list[Station]) -> bool:
        """Hold out the rows at one more strength; False if that is refused, as before.

        Strengths at the start of a path may be so large that no row responds.
        """
        self.seen += 1
        self.reached.append(stations)
        try:
            z, self.method = _held_out(self.fitted, strength, stations)
        except NotAvailable as error:
            if self.unseen:
                raise
            self.refusal = str(error)
            return False
        self.note(strength, stations, z)
        return True

    def note(self, strength: float, stations: list[Station], z: Array) -> None:
        """Keep a model and its held-out predictions."""
        mean, error = mean_and_error(self.fitted.row_scores(z), self.weights, self.units)
        self.strengths.append(strength)
        self.stations.append(stations)
        self.z.append(z)
        self.unseen.append(mean)
        self.errors.append(error)

    def settle(self) -> str:
        """Refit the apparent best model without its farthest rows, until it stays the best.

        One Newton step underestimates how far a row moves that the others predict badly, more so
        with a weaker penalty: such rows are few, but they decide if the curve is flat. The other
        models learn from the nearest refits how much farther these rows really move.
        """
        refitted: list[int] = []
        steps, place = list(self.z), np.log10(self.strengths)
        while len(self.fitted.problems) == 1 and self.unseen:
            best = int(np.argmax(self.unseen))
            if best in refitted or self.stations[best][0].curved is None:
                break
            rows, times = self._refit_farthest(best, steps[best][:, 0])
            decades = np.abs(place - place[best])
            from_others = np.abs(np.subtract.outer(place, place[refitted]))
            for k in np.flatnonzero(decades < np.min(from_others, axis=1, initial=REACH)):
                share = 1 - decades[k] / REACH
                self._move_farther(int(k), steps[k], rows, 1 + share * (times - 1))
            refitted.append(best)
        return "optimal"

    def _move_farther(self, k: int, step: Array, rows: Array, times: Array) -> None:
        """Move some rows `times` as far from the plain predictions as one Newton step."""
        curved = self.stations[k][0].curved
        if curved is None:
            return
        plain, z = curved.z[rows], step.copy()
        z[rows, 0] = plain + times * (step[rows, 0] - plain)
        scores = self.fitted.row_scores(z)
        self.z[k] = z
        self.unseen[k], self.errors[k] = mean_and_error(scores, self.weights, self.units)

    def _refit_farthest(self, k: int, step: Array) -> tuple[Array, Array]:
        """The rows that lose most by being held out, and how many times farther they really move.

        `step` are the predictions (n,) by one Newton step. Rows of one x move together.
        """
        problem, station = self.fitted.problems[0], self.stations[k][0]
        assert station.curved is not None
        plain, value = station.curved.z, problem.loss.value
        lost = problem.weights * (value(problem.y, step) - value(problem.y, plain))
        farthest = np.argsort(-np.bincount(self.units, lost), kind="stable")[:FARTHEST]
        rows = self.first[farthest]
        found = predict_without(problem, self.strengths[k], station, rows)
        moved, really = step[rows] - plain[rows], found - plain[rows]
        is_known = np.isfinite(really) & (moved != 0)
        times = np.divide(really, moved, out=np.ones(len(rows)), where=is_known)
        if len(self.first) == len(self.units):
            return rows, times
        of_unit = np.full(len(self.first), np.nan)
        of_unit[farthest] = times
        rows = np.flatnonzero(np.isin(self.units, farthest))
        return rows, of_unit[self.units[rows]]

    def is_past(self, clearly: float = CLEARLY) -> bool:
        """Whether the last few were worse than the best by `clearly` standard errors."""
        if not self.unseen:
            return False
        best = int(np.argmax(self.unseen))
        enough = self.unseen[best] - clearly * self.errors[best]
        last = self.unseen[best + 1 :]
        return len(last) >= PATIENCE and max(last[-PATIENCE:]) < enough

    def trace(self) -> Trace:
        """For progress: the steps so far."""
        last = self.stations[-1]
        steps = sum(station.steps for stations in self.stations for station in stations)
        gap = sum(station.gap for station in last)
        return Trace([-self.unseen[-1]], [gap], [0.0], steps)

    def scored(self, rows: Array, weights: Array, status: str) -> ScoredPath:
        """All of it as plain data."""
        return ScoredPath(
            strengths=np.array(self.strengths),
            gaps=np.array([sum(station.gap for station in s) for s in self.stations]),
            parameters=[[_without_dual(station) for station in s] for s in self.stations],
            rows=rows,
            weights=weights,
            z=np.stack(self.z, axis=1) if self.z and self.is_whole else None,
            unseen=np.array(self.unseen),
            standard_errors=np.array(self.errors),
            method=self.method,
            status=status,
        )


def _without_dual(station: Station) -> Parameters:
    """The dual point belongs to the distinct rows, and is not needed again."""
    return Parameters(station.parameters.w, station.parameters.b)


def _held_out(fitted: Fitted, strength: float, stations: list[Station]) -> tuple[Array, str]:
    """Predictions (n, K) of each row without those of its x, and the method."""
    parts = [p.with_penalty(scaled(p.penalty, strength)) for p in fitted.problems]
    if len(parts) == 1:
        held = leave_out(parts[0], stations[0].parameters, curved=stations[0].curved)
        return held.z.reshape(len(held.z), -1), held.method
    parameters = [station.parameters for station in stations]
    estimate = by_formula(replace(fitted, problems=parts, start=parameters))
    return estimate.z, estimate.method
