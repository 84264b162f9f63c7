"""Held-out predictions of a fit: by a formula if one can be trusted, else by refits.

A *unit* is left out at a time: a distinct x with all its rows and weights, or a group of rows. If
only some rows of an x were left out, the others would contradict them: of two classes at one x each
would be blamed for the other. Fits that do not solve a `Problem`, such as kernel machines, register
their own versions of the three functions: `by_formula`, `by_refits`, `by_time`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial, singledispatch
from typing import Any

import numpy as np

from ..penalties import Penalty
from ..problem import Parameters, Problem
from ..solvers import Fold, FoldModels, solve_folds
from .fitted import Array, Fitted
from .folds import FOLDS, dealt, drawn, splits
from .leave_one_out import HeldOut, NotAvailable, forward, leave_out

# With large data, hold out a single part of this many units: folds would take longer than three
# fits, and a score over 2,000 rows is precise enough.
LARGE_SAMPLE = 2000
# The step of a finite difference in the strength of a penalty.
LIGHTER = 0.01
# From the best to the worst: several problems together are as good as the worst of them.
METHODS = ("loo", "approximate loo", "span")


@dataclass(frozen=True, eq=False)
class Estimate:
    """Held-out predictions.

    Parameters
    ----------
    z : ndarray of shape (n, K)
        Predictions of all outputs on the scale of the loss; NaN for rows that were not held out.
    method : str
        The method, in words.
    is_exact : bool
        Whether they equal the predictions of refits.
    is_refitted : ndarray of bool, shape (n, K), optional
        Which of them do, if not all.
    """

    z: Array
    method: str
    is_exact: bool
    is_refitted: Array | None = None


@singledispatch
def by_formula(fitted: Any, groups: Array | None = None) -> Estimate:
    """Predict from the fit alone, or raise NotAvailable."""
    problem = fitted.problems[0]
    if len(fitted.problems) > 1 and problem.d > problem.n > LARGE_SAMPLE:
        raise NotAvailable(
            f"{len(fitted.problems)} dense systems of {problem.n} rows take longer than refits"
        )
    held = [leave_out(p, q, groups) for p, q in zip(fitted.problems, fitted.parameters)]
    method = max((h.method for h in held), key=METHODS.index)
    z = _joined(held)
    if fitted.averages:
        z += _by_lighter_penalty(fitted, fitted.units if groups is None else groups)
    return Estimate(z, method, method == "loo")


def _by_lighter_penalty(fitted: Fitted, units: Array) -> Array:
    """The effect of a penalty that falls with the weight left out, to first order in it."""
    lighter = fitted.scaled(1 - LIGHTER)
    if lighter is None:
        return np.zeros_like(fitted.predictions)
    weights, counted = fitted.problems[0].weights, units >= 0
    share = np.zeros(len(units))
    share[counted] = np.bincount(units[counted], weights[counted])[units[counted]] / weights.sum()
    return (share / LIGHTER)[:, None] * (lighter.predictions - fitted.predictions)


@singledispatch
def by_refits(fitted: Any, units: Array, reason: str, by: str = "row") -> Estimate:
    """Predict by models fitted without some units, −1 being none; `reason` says why."""
    folds, method = folds_of(fitted, units, by)
    z = _by_one_part(fitted, folds) if len(folds) == 1 else _by_folds(fitted, folds)
    return Estimate(z, f"{method}, because {reason}" if reason else method, True)


def _by_one_part(fitted: Fitted, folds: list[Fold]) -> Array:
    """Predictions (n, K) of the one part of large data, all problems together, which is faster."""

    def penalty_at(problem: Problem, _: float, total: float) -> Penalty:
        return fitted.penalty_for(problem, total)

    return FoldModels(fitted.problems, folds, penalty_at, tol=fitted.tol).at(1.0)[1]


def _by_folds(fitted: Fitted, folds: list[Fold]) -> Array:
    """Predictions (n, K) of all parts, which share the cores."""
    narrow, problems = fitted.narrow, fitted.problems
    if narrow is not None:
        problems = [narrow.problem(problem) for problem in problems]
    z = [
        solve_folds(p, partial(_penalties_for, fitted, p), folds, tol=fitted.tol)[:, 0]
        for p in problems
    ]
    return np.hstack([part.reshape(len(part), -1) for part in z])


def _penalties_for(fitted: Fitted, problem: Problem, total: float) -> list[Penalty]:
    return [fitted.penalty_for(problem, total)]


@singledispatch
def by_time(fitted: Any, time: Array) -> Estimate:
    """Predict each row by models of earlier rows; NotAvailable if there are none."""
    held = [
        forward(problem, partial(_solve_past, fitted, problem), time) for problem in fitted.problems
    ]
    return Estimate(_joined(held), "forward (each row predicted from earlier ones)", True)


def _solve_past(
    fitted: Fitted, problem: Problem, known: Problem, start: Parameters | None
) -> Parameters:
    """The solution of a problem on the rows known so far."""
    known = replace(known, penalty=fitted.penalty_for(problem, float(known.weights.sum())))
    return fitted.solve([known], [known.null if start is None else start])[0]


def _joined(held: list[HeldOut]) -> Array:
    return np.hstack([h.z.reshape(len(h.z), -1) for h in held])


def folds_of(fitted: Any, units: Array, by: str) -> tuple[list[Fold], str]:
    """Pairs (train, test) of rows, and their name in words."""
    count = int(units.max()) + 1
    order = drawn(units, count, fitted.targets if fitted.has_classes and by == "row" else None)
    if count <= fitted.few_units:
        return splits(dealt(units, count, order=order)), f"refits (each {by} left out)"
    if not fitted.is_large:
        return splits(dealt(units, order=order)), f"{FOLDS}-fold"
    size = min(LARGE_SAMPLE, count // FOLDS)
    is_held = np.isin(units, order[:size])
    part = np.flatnonzero((units >= 0) & ~is_held), np.flatnonzero(is_held)
    return [part], f"hold-out of {size} {by}s"
