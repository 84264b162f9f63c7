"""Choosing the strength of a penalty by what the models score on rows they have not seen.

`tune` follows a path of strengths, the strongest first, predicts each row without its x at each
(`unseen.leave_one_out`; folds where it is not available), and takes the best or, with "1se", the
simplest within one standard error of it. The predictions of all rows are kept until the score of
the winner has been corrected for the choice (`corrected`). Estimators with a parameter at "loo"
call it, those at "cv" with the search of `fold_search`, and the classes of `cross_validated` with
strengths of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...problem import Parameters, Problem
from ...solvers import is_for, settled
from ...unseen import Fitted, best_of
from .following import follow, ridge_trail
from .strengths import is_quadratic, is_ridge, largest_strength
from .trail import Choice, Trail, merged, path_of, score_of

Array = np.ndarray
# A path of ridge strengths spans so many decades, below a strength at which nothing is left, and
# for losses with kinks, which take long where the penalty is weak, so many; other paths span
# three, below the strength at which the last coefficient becomes 0.
DECADES, KINKED_DECADES, SPARSE_DECADES = 10, 6, 3
RIDGE_STRENGTHS, STRENGTHS, KINKED_STRENGTHS, FINER = 100, 25, 13, 3
L1_RATIOS = (0.1, 0.5, 0.7, 0.9, 0.95, 0.99, 1.0)
# Models along strengths, given problems with penalties of strength 1, and a callback.
Search = Callable[[Fitted, Any], Trail]


def tune(model: Any, data: Any, callback: Any, search: Search | None = None) -> Choice:
    """The tuned parameters of an estimator, by leave-one-out or another search along strengths."""
    name, ratios = model._strength_name, _ratios(model)
    callback = Watched(callback)
    trails, units = [], []
    for ratio in ratios:
        unit = model._at(**_values(model, name, 1.0, data, ratio))
        fitted = fitted_of(unit, data)
        trail = (search or _search)(fitted, callback)
        if callback.has_stopped and trail.status == "time_limit":
            trail = replace(trail, status="callback")
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
    at = best_of(trail.unseen, trail.standard_errors, model.select)
    values = _values(model, name, float(trail.strengths[at]), data, units[k])
    strengths = [_values(model, name, s, data, None)[name] for s in trail.strengths]
    path = path_of(trail, np.array(strengths), at, score_of(fitted.problems[0].loss))
    return Choice(values, trail.parameters[at], path, trails, k, at, trails[-1].status)


class Watched:
    """A callback of solvers, and whether it has asked to stop: solvers say just that time is up."""

    def __init__(self, callback: Any):
        self.callback, self.has_stopped = callback, False

    def __call__(self, trace: Any, target: float) -> bool:
        """What the callback says."""
        if self.callback is not None and self.callback(trace, target):
            self.has_stopped = True
        return self.has_stopped


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
    return merged(trail, fine) if fine.method == trail.method else trail


def exact_starts(problems: list[Problem], choice: Choice) -> list[Parameters] | None:
    """The chosen model to all its digits, with a dual point that proves it; None where unknown.

    It is then fitted anew, as if the strength had been given: the search had no use for all digits,
    and a start that is good enough already would keep what it has.
    """
    if choice.start is None or choice.trails[choice.trail].is_sample:
        return None
    starts = [_exact_start(problem, at) for problem, at in zip(problems, choice.start)]
    return [start for start in starts if start is not None] if None not in starts else None


def _exact_start(problem: Problem, at: Parameters) -> Parameters | None:
    """The same of one problem."""
    if is_ridge([problem]):
        return Parameters(at.w, at.b, -problem.derivative(problem.predictions(at.w, at.b)))
    return settled(problem, at) if is_for(problem) else None
