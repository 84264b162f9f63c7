"""Choosing the strength of a penalty by what the models score on rows they have not seen.

`tune` follows a path of strengths, the strongest first, predicts each row without its x at each
(`leave_one_out`; folds where it is not available), and takes the best or, with "1se", the simplest
within one standard error of it. The predictions of all rows are kept until the score of the winner
has been corrected for the choice (`corrected`). Estimators with a parameter at "loo" call it, those
at "cv" with the search of `fold_search`, and the classes of `cross_validated` with strengths of
their own.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..generalization.fitted import Fitted
from ..generalization.held_out import by_formula, drawn
from ..interrupt import TimeLimit
from ..leave_one_out import NotAvailable, leave_out, ridge_path_leave_out
from ..leave_one_out._base import squares_of
from ..leave_one_out.distinct import Distinct, by_appearance, left_together
from ..penalties import L2, Penalty
from ..problem import Parameters, Problem
from ..solvers import Trace, solve
from ..solvers.newton_path import Station, is_for, newton_path, settled
from ..solvers.newton_without import predict_without
from ..solvers.path import solve_folds, solve_path
from .path import Path

Array = np.ndarray
# Of each strength the solutions of all problems.
Stations = Iterator[Sequence[Station]]

# A path of ridge strengths spans so many decades, below a strength at which nothing is left, and
# for losses with kinks, which take long where the penalty is weak, so many; other paths span
# three, below the strength at which the last coefficient becomes 0.
DECADES, KINKED_DECADES, SPARSE_DECADES = 10, 6, 3
RIDGE_STRENGTHS, STRENGTHS, KINKED_STRENGTHS, FINER = 100, 25, 13, 3
# A path may end after so many strengths that were worse than the best by so many standard errors.
PATIENCE, CLEARLY = 3, 2.0
# So many of the rows that lie farthest out are left out by real refits, from which models learn
# whose strengths are within so many decades, the less the farther they are.
FARTHEST, REACH = 10, 2.0
FOLDS, STRENGTHS_AT_A_TIME = 5, 5
# The gap, relative to the null model's loss, at which models can be told apart by their scores; the
# chosen one is solved again, to all its digits.
ENOUGH = 1e-5
L1_RATIOS = (0.1, 0.5, 0.7, 0.9, 0.95, 0.99, 1.0)
LOO, CV = "loo", "cv"


@dataclass(frozen=True, eq=False)
class Trail:
    """Models along strengths that fall, and the scores of rows that they have not seen.

    Parameters
    ----------
    strengths, gaps : ndarray of shape (m,)
        λ of each model, and a bound of its duality gap.
    parameters : list of list of Parameters
        Of each model, one for each of its problems.
    rows : ndarray of int, shape (r,)
        The distinct rows (x, y): where each first stands in the data.
    weights : ndarray of shape (r,)
        Sums of the weights of equal rows.
    z : ndarray of shape (r, m, K), or None
        Their predictions without all rows of their x, where they were kept.
    unseen, standard_errors : ndarray of shape (m,)
        Minus the mean loss of held-out rows (for the squared loss, minus the mean squared error).
    method : str
        How rows were held out.
    status : str
        "optimal", or what ended the path: "time_limit", "callback" or "interrupted".
    """

    strengths: Array
    gaps: Array
    parameters: list[list[Parameters]]
    rows: Array
    weights: Array
    z: Any
    unseen: Array
    standard_errors: Array
    method: str
    status: str = "optimal"

    def best(self, select: str) -> int:
        """The best, or with "1se" the first (the strongest penalty) within a standard error."""
        best = int(np.nanargmax(self.unseen))
        if select == "min":
            return best
        enough = self.unseen[best] - np.nan_to_num(self.standard_errors[best])
        return int(np.flatnonzero(self.unseen >= enough)[0])


@dataclass(frozen=True, eq=False)
class Choice:
    """What a search chose: parameters of the estimator, and the path on which it found them.

    `values` are those of the tuned parameters by name, `start` the solution there, `trails` all
    paths that were followed, and `winner` the position of the chosen model on the one at `trail`,
    −1 if it is none of its models. `scoring` is the scorer that chose, None the loss, and `extra`
    holds further attributes of the fitted estimator by name.
    """

    values: dict[str, float]
    start: list[Parameters] | None
    path: Path | None
    trails: list[Trail]
    trail: int = 0
    winner: int = 0
    status: str = "optimal"
    extra: dict[str, Any] = field(default_factory=dict)
    scoring: Any = None

    def attributes(self) -> dict[str, Any]:
        """What the fitted estimator says of the choice."""
        known = {"path_": self.path} if self.path is not None else {}
        return {f"{name}_": value for name, value in self.values.items()} | known | self.extra


# Models along strengths, given problems with penalties of strength 1, and a callback.
Search = Callable[[Fitted, Any], Trail]


def exact_starts(problems: list[Problem], choice: Choice) -> list[Parameters] | None:
    """The chosen model to all its digits, with a dual point that proves it; None where unknown.

    It is then fitted anew, as if the strength had been given: the search had no use for all digits,
    and a start that is good enough already would keep what it has.
    """
    if choice.start is None:
        return None
    starts = [_exact_start(problem, at) for problem, at in zip(problems, choice.start)]
    return [start for start in starts if start is not None] if None not in starts else None


def _exact_start(problem: Problem, at: Parameters) -> Parameters | None:
    """The same of one problem."""
    if is_ridge([problem]):
        return Parameters(at.w, at.b, -problem.derivative(problem.predictions(at.w, at.b)))
    return settled(problem, at) if is_for(problem) else None


# ---- the search ----------------------------------------------------------------------------------


def tune(model: Any, data: Any, callback: Any, search: Search | None = None) -> Choice:
    """The tuned parameters of an estimator, by leave-one-out or another search along strengths."""
    name, ratios = model._strength_name, _ratios(model)
    trails, units = [], []
    for ratio in ratios:
        unit = model._at(**_values(model, name, 1.0, data, ratio))
        fitted = fitted_of(unit, data)
        trail = (search or _search)(fitted, callback)
        trails.append(trail)
        units.append(ratio)
        if trail.status != "optimal":
            break
    reached = [k for k, trail in enumerate(trails) if len(trail.strengths)]
    if not reached:
        values = _values(model, name, 1.0, data, ratios[0])
        return Choice(values, None, None, trails, status=trails[-1].status)
    k = max(reached, key=lambda k: np.nanmax(trails[k].unseen))
    trail = trails[k]
    at = trail.best(model.select)
    values = _values(model, name, float(trail.strengths[at]), data, units[k])
    strengths = [_values(model, name, s, data, None)[name] for s in trail.strengths]
    path = path_of(trail, np.array(strengths), at)
    return Choice(values, trail.parameters[at], path, trails, k, at, trails[-1].status)


def _ratios(model: Any) -> Sequence[float | None]:
    """The shares of the L1 penalty to try; None where that is not asked for."""
    if "l1_ratio" not in model._tuned():
        return [None]
    return L1_RATIOS if isinstance(model.l1_ratio, str) else [float(r) for r in model.l1_ratio]


def _values(model: Any, name: str, strength: float, data: Any, ratio: float | None) -> dict:
    """The parameters of the estimator at which its penalty has that strength."""
    value = 1 / strength if name == "C" else strength
    if model._averages:
        value /= float(data.weights.sum())
    values = {name: float(value)}
    return values if ratio is None else values | {"l1_ratio": ratio}


def fitted_of(
    model: Any, data: Any, solved: tuple[list[Problem], list[Parameters]] | None = None
) -> Fitted:
    """The problems of an estimator on its data, for held-out predictions.

    `solved` are its problems and their solution; without it null models stand for them.
    """
    problems = model._problems(data) if solved is None else solved[0]
    has_classes = data.classes is not None and data.y.ndim == 1
    return Fitted(
        problems,
        [problem.null for problem in problems] if solved is None else solved[1],
        targets=data.y,
        y=data.classes[data.y] if has_classes else data.y,
        weights=data.sample_weight,
        has_classes=has_classes,
        averages=model._averages,
        tol=model.tol,
    )


def _search(fitted: Fitted, callback: Any) -> Trail:
    """A path from where all is shrunk to where nothing is, finer around the best."""
    problems = fitted.problems
    if is_ridge(problems):
        top = largest_strength(problems)
        return ridge_trail(problems[0], np.geomspace(top, top / 10**DECADES, RIDGE_STRENGTHS))
    top, decades, count = largest_strength(problems), SPARSE_DECADES, STRENGTHS
    if all(is_quadratic(problem) for problem in problems):
        decades = DECADES
        if not problems[0].loss.has_curvature:
            decades, count = KINKED_DECADES, KINKED_STRENGTHS
    strengths = np.geomspace(top, top / 10**decades, count)
    trail = follow(fitted, strengths, callback, may_end=True)
    if trail.status != "optimal" or not len(trail.strengths) or "-fold" in trail.method:
        return trail
    best, m = int(np.nanargmax(trail.unseen)), len(trail.strengths)
    ends = trail.strengths[max(best - 1, 0)], trail.strengths[min(best + 1, m - 1)]
    between = np.geomspace(*ends, 2 * FINER + 3)[1:-1]
    fine = follow(fitted, between[between != trail.strengths[best]], callback)
    return _merged(trail, fine) if fine.method == trail.method else trail


def _merged(one: Trail, other: Trail) -> Trail:
    """Both trails in one, by falling strength."""

    def both(name: str, axis: int = 0) -> Array:
        return np.concatenate([getattr(one, name), getattr(other, name)], axis=axis)

    together = replace(
        one,
        strengths=both("strengths"),
        gaps=both("gaps"),
        parameters=one.parameters + other.parameters,
        z=both("z", axis=1),
        unseen=both("unseen"),
        standard_errors=both("standard_errors"),
        status=other.status,
    )
    return by_strength(together)


def by_strength(trail: Trail) -> Trail:
    """The trail by falling strength."""
    order = np.argsort(-trail.strengths, kind="stable")
    return replace(
        trail,
        strengths=trail.strengths[order],
        gaps=trail.gaps[order],
        parameters=[trail.parameters[i] for i in order],
        z=None if trail.z is None else trail.z[:, order],
        unseen=trail.unseen[order],
        standard_errors=trail.standard_errors[order],
    )


# ---- strengths -----------------------------------------------------------------------------------


def largest_strength(problems: list[Problem], nothing: float = 1.0) -> float:
    """How many times as strong the penalties must be for all coefficients to be 0, or nearly so.

    `nothing` where the data ask for no coefficients at any strength.
    """
    return max(_largest_strength(problem, nothing) for problem in problems)


def _largest_strength(problem: Problem, nothing: float) -> float:
    null = problem.null
    z = np.zeros_like(problem.origin.theta) + null.b
    if is_quadratic(problem):
        share = problem.weights / problem.weights.sum()
        centred = problem.design.shifted(problem.design.transposed_times(share))
        # λ above the sum of all eigenvalues of the Hessian leaves less than half of anything.
        sums = centred.column_square_sums(problem.weights)
        raw = problem.design.column_square_sums(problem.weights)
        # What rounding of the mean leaves of a constant column is nothing.
        total = float(np.sum(sums[sums > (problem.n * np.finfo(float).eps) ** 2 * raw]))
        return 10 * total * _steepness(problem, z) or nothing
    v = problem.design.transposed_times(problem.orthogonal(-problem.derivative(z)))
    size = float(np.max(np.abs(v), initial=0.0))
    if not size > 0:
        return nothing
    # The scale at which v/λ just is in the domain of R*: there the last coefficient becomes 0.
    return size / min(problem.penalty.feasible_scales(v * (1e6 / size))) / 1e6


def _steepness(problem: Problem, z: Array) -> float:
    """The mean curvature of the loss at z, or 1 where it has none."""
    if not problem.loss.has_curvature:
        return 1.0
    curvature = problem.loss.derivatives(problem.y, z)[2]
    rows = curvature if curvature.ndim == 1 else curvature.mean(axis=1)
    return float(np.sum(problem.weights * rows) / problem.weights.sum()) or 1.0


def is_quadratic(problem: Problem) -> bool:
    """Whether the penalty is ½Σ l2ⱼwⱼ² or none."""
    return squares_of(problem) is not None


def is_ridge(problems: list[Problem]) -> bool:
    """Whether one decomposition serves all strengths: squared loss and ½λ‖w‖²."""
    return (
        len(problems) == 1
        and problems[0].loss.name == "squared"
        and isinstance(problems[0].penalty, L2)
    )


# ---- paths by leave-one-out ----------------------------------------------------------------------


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


def _why_ended(count: int, strengths: Array) -> str:
    return "optimal" if count == len(strengths) else "time_limit"


class Walk:
    """The models and held-out predictions so far."""

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

    def add(self, strength: float, stations: list[Station]) -> bool:
        """Hold out the rows at one more strength; False if that is refused, and was before.

        Strengths at the begin of a path may be so large that no row answers.
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
        mean, error = mean_and_error(row_scores(self.fitted.problems, z), self.weights, self.units)
        self.strengths.append(strength)
        self.stations.append(stations)
        self.z.append(z)
        self.unseen.append(mean)
        self.errors.append(error)

    def settle(self) -> str:
        """Refit the model that seems best without its farthest rows, until it stays the best.

        One Newton step takes too lightly what the others will say of a row that they predict badly,
        the more so the weaker the penalty: of few rows, but they decide where the curve is flat.
        How much farther these rows really move, the other models learn from the nearest refits.
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
        """Move some rows so many times as far from the plain predictions as one Newton step."""
        curved = self.stations[k][0].curved
        if curved is None:
            return
        plain, z = curved.z[rows], step.copy()
        z[rows, 0] = plain + times * (step[rows, 0] - plain)
        scores = row_scores(self.fitted.problems, z)
        self.z[k] = z
        self.unseen[k], self.errors[k] = mean_and_error(scores, self.weights, self.units)

    def _refit_farthest(self, k: int, step: Array) -> tuple[Array, Array]:
        """The rows that lose most by being held out, and how many times as far they really move.

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
        """Whether the last few were worse than the best by so many standard errors."""
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

    def trail(self, rows: Array, weights: Array, status: str) -> Trail:
        """All of it as plain data."""
        return Trail(
            strengths=np.array(self.strengths),
            gaps=np.array([sum(station.gap for station in s) for s in self.stations]),
            parameters=[[_without_dual(station) for station in s] for s in self.stations],
            rows=rows,
            weights=weights,
            z=np.stack(self.z, axis=1) if self.z else None,
            unseen=np.array(self.unseen),
            standard_errors=np.array(self.errors),
            method=self.method,
            status=status,
        )


def _without_dual(station: Station) -> Parameters:
    """The dual point belongs to the distinct rows, and is not needed again."""
    return Parameters(station.parameters.w, station.parameters.b)


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
        start = None
        for penalty in penalties:
            part = problem.with_penalty(penalty)
            solution = solve(part, start=start, tol=tol, callback=callback, polish=not is_loose)
            if solution.status == "interrupted":
                raise KeyboardInterrupt
            if solution.status in ("time_limit", "callback"):
                return
            found = solution.parameters
            start = Parameters(found.w, found.b)
            yield Station(found, max(solution.gap, 0.0), solution.trace.steps)


def path_tolerance(fitted: Fitted) -> float:
    """How exact the models of a path need be: their scores differ by more than this part."""
    return max(fitted.tol, ENOUGH)


def scaled(penalty: Penalty, strength: float) -> Penalty:
    """The penalty, so many times as strong."""
    new = penalty.scaled(strength)
    if new is None:
        raise ValueError(
            f"the {penalty.name} penalty has no strength that could be tuned; give it a field "
            "`strength`, or set the strength by hand."
        )
    return new


def _held_out(fitted: Fitted, strength: float, stations: list[Station]) -> tuple[Array, str]:
    """Predictions (n, K) of each row without those of its x, and the method."""
    parts = [p.with_penalty(scaled(p.penalty, strength)) for p in fitted.problems]
    if len(parts) == 1:
        held = leave_out(parts[0], stations[0].parameters, curved=stations[0].curved)
        return held.z.reshape(len(held.z), -1), held.method
    parameters = [station.parameters for station in stations]
    estimate = by_formula(replace(fitted, problems=parts, start=parameters))
    return estimate.z, estimate.method


def merged_rows(fitted: Fitted) -> tuple[Fitted, Array, Array]:
    """One row for equal ones (x, y), where there is one problem; which rows those are, weights."""
    if len(fitted.problems) > 1:
        weights = np.where(fitted.is_counted, fitted.problems[0].weights, 0.0)
        return fitted, np.arange(len(weights)), weights
    problem = fitted.problems[0]
    distinct = Distinct.of(problem.equal_rows, problem.weights)
    if distinct.is_everything:
        return fitted, distinct.first, distinct.weights
    first, kept = distinct.first, distinct.kept
    design, y = problem.design.rows(first), problem.y[first]
    merged = replace(problem, design=design, y=y, weights=distinct.weights)
    of_merged = replace(
        fitted,
        problems=[merged],
        start=[merged.null],
        targets=fitted.targets[first],
        y=fitted.y[first],
        weights=np.bincount(distinct.inverse, fitted.weights[kept]),
    )
    return of_merged, first, distinct.weights


# ---- scores --------------------------------------------------------------------------------------


def row_scores(problems: list[Problem], z: Array) -> Array:
    """Minus the loss of each row, or its squared error, for predictions (n, K)."""
    total, column = np.zeros(len(z)), 0
    outputs = 0
    for problem in problems:
        K = problem.outputs or 1
        part = z[:, column : column + K]
        value = problem.loss.value(problem.y, part if problem.outputs is not None else part[:, 0])
        total -= value if value.ndim == 1 else value.sum(axis=1)
        column, outputs = column + K, outputs + K
    # ℓ = ½(y − z)², summed over the outputs, and the mean squared error is the mean over both.
    return total * (2 / outputs) if problems[0].loss.name == "squared" else total


def mean_and_error(scores: Array, weights: Array, units: Array) -> tuple[float, float]:
    """The weighted mean over rows, and its standard error, the units 0, 1, … being independent."""
    rows = weights > 0
    s, q = weights[rows], scores[rows]
    mean = float(np.average(q, weights=s))
    off = np.bincount(units[rows], s * (q - mean))
    spread = float(np.sum(off**2)) * len(off) / max(len(off) - 1, 1)
    return mean, float(np.sqrt(spread) / s.sum())


# ---- folds, where they are asked for or leave-one-out is refused ---------------------------------


def _by_folds(
    walk: Walk, solutions: Stations, strengths: Array, reason: str, callback: Any, may_end: bool
) -> str:
    """The same by folds of distinct x, drawn by content and stratified by class; the status."""
    fitted, units = walk.fitted, walk.fitted.units
    folds = folds_of_rows(fitted)
    walk.method = f"{len(folds)}-fold, because {reason}" if reason else f"{len(folds)}-fold"
    options = {"tol": path_tolerance(fitted), "callback": callback}
    for start in range(0, len(strengths), STRENGTHS_AT_A_TIME):
        some = strengths[start : start + STRENGTHS_AT_A_TIME]
        parts = [
            solve_folds(p, _per_fold(fitted, p, some), folds, **options) for p in fitted.problems
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


def penalty_on(fitted: Fitted, problem: Problem, strength: float, total: float) -> Penalty:
    """The penalty of a problem, so many times as strong, for rows of that weight."""
    share = total / float(problem.weights.sum()) if fitted.averages else 1.0
    return scaled(problem.penalty, share * strength)


def folds_of_rows(fitted: Fitted) -> list[tuple[Array, Array]]:
    """The folds of a fit, stratified where it has classes."""
    return content_folds(fitted.units, fitted.targets if fitted.has_classes else None)


def content_folds(units: Array, strata: Array | None) -> list[tuple[Array, Array]]:
    """Folds (train, test) of the units 0, 1, …, −1 being in none, whatever the rows' order."""
    count = int(units.max()) + 1
    fold = np.empty(count, dtype=int)
    fold[drawn(units, count, strata)] = np.arange(count) % min(FOLDS, count)
    of_row = np.where(units >= 0, fold[units], -1)
    return [
        (np.flatnonzero((of_row >= 0) & (of_row != k)), np.flatnonzero(of_row == k))
        for k in range(min(FOLDS, count))
    ]


# ---- what is kept --------------------------------------------------------------------------------


def path_of(trail: Trail, strengths: Array, chosen: int) -> Path:
    """The trail as plain data, its strengths in the units of the estimator."""
    several = len(trail.parameters[0]) > 1

    def stacked(name: str) -> Array:
        models = [[getattr(p, name) for p in model] for model in trail.parameters]
        return np.stack([np.stack(m, axis=-1) if several else m[0] for m in models])

    return Path(
        strengths=strengths,
        coefficients=stacked("w"),
        intercepts=stacked("b"),
        gaps=trail.gaps,
        unseen=trail.unseen,
        standard_errors=trail.standard_errors,
        chosen=chosen,
    )
