"""Choose the strength of a penalty by the models' scores on unseen rows.

`tune` follows a path of strengths, the strongest first, holds rows out at each, and takes the best
or, with "1se", the simplest within one standard error of it. Estimators with a parameter at "loo"
leave out one x at a time (folds if that is not available), those at "cv" use folds, with as few
fits as possible: if leaving one row out takes as long as a fit (weights of many words: more
features than rows), five folds are cheaper. Every strength then costs six fits, so ridge paths are
short: one strength for each decade, and two more next to the best. With more features than rows
they start with a few decades around the mean eigenvalue of the Hessian, and continue only while the
scores still rise; with fewer, a small eigenvalue may matter, and all decades are tried.

For large data a sample decides, of which one part is held out, and all strengths together cost
about as much as two or three fits to all rows. A penalty expresses what is known about the
coefficients before any row is seen, which does not depend on the number of rows, and its strength
is weighed against the sum of their losses: so the best strength of a sample is about that of all
rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...problem import Parameters, Problem
from ...solvers import FoldModels, Station, is_for, settled
from ...unseen import CV, Fitted, best_of, drawn
from .path import ScoredPath, score_of
from .path_choice import PathChoice
from .path_following import GrowingPath, ended, follow, path_tolerance, ridge_path
from .problems import fitted_of
from .strengths import is_quadratic, is_ridge, largest_strength, penalty_on

Array = np.ndarray
# A path of ridge strengths spans DECADES below a strength at which nothing is left, and
# KINKED_DECADES for losses with kinks, which take long if the penalty is weak; other paths span
# SPARSE_DECADES below the strength at which the last coefficient becomes 0.
DECADES, KINKED_DECADES, SPARSE_DECADES = 10, 6, 3
RIDGE_STRENGTHS, STRENGTHS, KINKED_STRENGTHS, FINER = 100, 25, 13, 3
L1_RATIOS = (0.1, 0.5, 0.7, 0.9, 0.95, 0.99, 1.0)
# Up to MOST_IN_FOLDS entries and coefficients per output, all rows are in five folds, which takes
# seconds; so are few rows, of which a part would say too little. Otherwise one part of a sample
# decides: a sample of PART of the distinct rows, or of FEWEST if these are more.
MOST_IN_FOLDS, FEW, PART, FEWEST = 1e6, 400, 0.25, 2000
# The first strengths for more features than rows: the mean eigenvalue times these powers of ten.
WINDOW = (1, 0, -1, -2, -3)
# The window grows while its last decade has gained more than this part of a standard error.
GAIN = 0.1


def tune(model: Any, data: Any, callback: Any) -> PathChoice:
    """The tuned parameters of an estimator, by leave-one-out or by folds."""
    name, ratios = model._strength_name, _ratios(model)
    search = search_by_folds if getattr(model, name) == CV else search_by_leave_one_out
    callback = Watched(callback)
    paths, units = [], []
    for ratio in ratios:
        unit = model._at(**_values(model, name, 1.0, data, ratio))
        fitted = fitted_of(unit, data)
        found = search(fitted, callback)
        if callback.has_stopped and found.status == "time_limit":
            found = replace(found, status="callback")
        paths.append(found)
        units.append(ratio)
        if found.status != "optimal":
            break
    reached = [k for k, path in enumerate(paths) if len(path.strengths)]
    if not reached:
        values = _values(model, name, 1.0, data, ratios[0])
        return PathChoice(values, paths=paths, status=paths[-1].status)
    k = max(reached, key=lambda k: np.nanmax(paths[k].unseen))
    best = paths[k]
    at = best_of(best.unseen, best.standard_errors, model.select)
    values = _values(model, name, float(best.strengths[at]), data, units[k])
    strengths = [_values(model, name, s, data, None)[name] for s in best.strengths]
    targets = None if fitted.has_classes else fitted.y
    metric = score_of(fitted.problems[0].loss)
    shown = best.shown(np.array(strengths), at, metric, targets)
    return PathChoice(values, best.parameters[at], shown, paths, k, at, paths[-1].status)


class Watched:
    """A solver callback, and whether it requested a stop: solvers only report that time is up."""

    def __init__(self, callback: Any):
        self.callback, self.has_stopped = callback, False

    def __call__(self, trace: Any, target: float) -> bool:
        """The callback's answer."""
        if self.callback is not None and self.callback(trace, target):
            self.has_stopped = True
        return self.has_stopped


def _ratios(model: Any) -> Sequence[float | None]:
    """The shares of the L1 penalty to try; None if it is not tuned."""
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


def search_by_leave_one_out(fitted: Fitted, callback: Any) -> ScoredPath:
    """A path from where all is shrunk to where nothing is, finer around the best."""
    problems = fitted.problems
    if is_ridge(problems):
        top = largest_strength(problems)
        return ridge_path(problems[0], np.geomspace(top, top / 10**DECADES, RIDGE_STRENGTHS))
    top, decades, count = largest_strength(problems), SPARSE_DECADES, STRENGTHS
    if all(is_quadratic(problem) for problem in problems):
        decades = DECADES
        if not problems[0].loss.has_curvature:
            decades, count = KINKED_DECADES, KINKED_STRENGTHS
    strengths = np.geomspace(top, top / 10**decades, count)
    path = follow(fitted, strengths, callback, may_end=True)
    if path.status != "optimal" or not len(path.strengths) or "-fold" in path.method:
        return path
    best, m = int(np.nanargmax(path.unseen)), len(path.strengths)
    ends = path.strengths[max(best - 1, 0)], path.strengths[min(best + 1, m - 1)]
    between = np.geomspace(*ends, 2 * FINER + 3)[1:-1]
    fine = follow(fitted, between[between != path.strengths[best]], callback)
    return path.joined(fine) if fine.method == path.method else path


# ---- folds ---------------------------------------------------------------------------------------


def search_by_folds(fitted: Fitted, callback: Any) -> ScoredPath:
    """Models along strengths, by falling strength, and the scores of rows held out by folds.

    For large data, the models of a sample.

    Parameters
    ----------
    fitted : Fitted
        Problems whose penalties have strength 1.
    callback : callable or None
        The callback of the solvers.

    Returns
    -------
    ScoredPath
    """
    if not all(is_quadratic(problem) for problem in fitted.problems):
        top = largest_strength(fitted.problems)
        strengths = np.geomspace(top, top / 10**SPARSE_DECADES, STRENGTHS)
        return follow(fitted, strengths, callback, may_end=True, by_folds=True)
    fitted, rows, weights = fitted.merged()
    some = _sample(fitted)
    if some is None:
        return _search(fitted, rows, weights, fitted.folds(), callback)
    part = fitted.part(some)
    path = _search(part, rows[some], weights[some], part.folds()[:1], callback)
    # A penalty against the mean of losses is stronger with more rows.
    times = float(weights.sum() / weights[some].sum()) if fitted.averages else 1.0
    return replace(path, strengths=times * path.strengths, is_sample=True)


def _sample(fitted: Fitted) -> Array | None:
    """The rows of a sample of large data, stratified by class; None if all decide.

    All rows have weight, and no two are equal.
    """
    problems, units = fitted.problems, fitted.units
    design, outputs = problems[0].design, sum(problem.outputs or 1 for problem in problems)
    count = int(units.max()) + 1
    most = max(int(PART * count), FEWEST)
    work = (design.density * design.n + 1) * design.d * outputs
    if count <= FEW or work <= MOST_IN_FOLDS:
        return None
    is_drawn = np.zeros(count, dtype=bool)
    is_drawn[drawn(units, most, fitted.targets if fitted.has_classes else None)] = True
    return np.flatnonzero(is_drawn[units])


def _search(
    fitted: Fitted, rows: Array, weights: Array, folds: list[tuple[Array, Array]], callback: Any
) -> ScoredPath:
    """Move to where the scores of held-out rows are best."""
    top, path = largest_strength(fitted.problems), GrowingPath(fitted, weights)
    path.hold_out(folds)
    models = FoldModels(
        fitted.problems,
        folds,
        partial(penalty_on, fitted),
        tol=path_tolerance(fitted),
        callback=callback,
    )

    def search() -> str:
        for strength in _wanted(path, top):
            solutions, z = models.at(strength)
            found = [Station(s.parameters, max(s.gap, 0.0), s.trace.steps) for s in solutions]
            path.note(strength, found, z)
        return "optimal"

    status = ended(search)
    return path.scored(rows, weights, status).by_strength()


def _wanted(path: GrowingPath, top: float) -> Iterator[float]:
    """The strengths to try in turn, given the path so far."""
    first, lowest = path.fitted.problems[0], top / 10**DECADES
    if first.d <= first.n:
        yield from np.geomspace(top, lowest, DECADES + 1).tolist()
    else:
        # `top` is ten times the sum of the eigenvalues, of which at most n are nonzero.
        yield from (top / (10 * first.n) * 10.0**power for power in WINDOW)
    further = _further(path)
    while further is not None and lowest <= further <= top:
        yield further
        further = _further(path)
    best = path.strengths[int(np.argmax(path.unseen))]
    if min(path.strengths) < best < max(path.strengths):
        yield from (best / np.sqrt(10), best * np.sqrt(10))


def _further(path: GrowingPath) -> float | None:
    """The strength a decade beyond the best, if that is at an end and still gaining, else None."""
    order = np.argsort(path.strengths)
    unseen, errors = np.array(path.unseen)[order], np.array(path.errors)[order]
    best = int(np.argmax(unseen))
    enough = unseen[best] - GAIN * errors[best]
    if best == 0 and unseen[1] < enough:
        return path.strengths[order[0]] / 10
    if best == len(unseen) - 1 and unseen[-2] < enough:
        return path.strengths[order[-1]] * 10
    return None


# ---- the fit itself ------------------------------------------------------------------------------


def exact_starts(problems: list[Problem], choice: PathChoice) -> list[Parameters] | None:
    """The chosen model to all its digits, with a dual point that proves it; None if unknown.

    It is then refitted, as if the strength had been given: the search did not need all digits, and
    a start that is already good enough would stay unchanged.
    """
    if choice.start is None or choice.paths[choice.on].is_sample:
        return None
    starts = [_exact_start(problem, at) for problem, at in zip(problems, choice.start)]
    return [start for start in starts if start is not None] if None not in starts else None


def _exact_start(problem: Problem, at: Parameters) -> Parameters | None:
    """The same for one problem."""
    if is_ridge([problem]):
        return Parameters(at.w, at.b, -problem.derivative(problem.predictions(at.w, at.b)))
    return settled(problem, at) if is_for(problem) else None
