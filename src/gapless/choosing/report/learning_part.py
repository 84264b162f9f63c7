"""The learning curve of the chosen model: fitted again to more and more of the training rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from sklearn.base import clone

from ..._ground.interrupt import TimeLimit, time_limit
from ...data import Table, Task, read_target
from ...evaluation import LearningCurve, Rows, learning_curve
from .. import Choice, Metric, model_of, null_model, rows_of
from .advice import curve_in_words
from .plain import numbers
from .sections import Learning
from .words import curve_note, in_time

Array = np.ndarray

FOLDS, FEW_FOLDS, FEWEST_FOLDS = 5, 3, 2
# Rows from which on few folds are enough for a curve.
MANY_ROWS = 20_000
# A curve takes as long as so many fits of all rows in each of its folds, doubled, since in the
# comparison, by which a fit is measured, rows are prepared once for all models; the shortest, which
# does the same, as many.
FITS, FEWEST_FITS = 6.0, 1.8
# Without tuning fits are at least so many times quicker.
QUICKER = 3.0
# Parts of the rows of a fold: of a curve, and of the shortest one, made of at least so many rows.
# With more columns than rows all fits are as dear, and there are fewer.
USUAL_SIZES = tuple(np.geomspace(0.1, 1.0, 6).tolist())
FEW_SIZES, FEWEST_ROWS = tuple(np.geomspace(1 / 8, 1.0, 4).tolist()), 160
WIDE_SIZES = tuple(np.geomspace(1 / 3, 1.0, 3).tolist())
# From so many sizes on there is a curve, if models cannot be fitted to the smallest.
FEWEST_SIZES = 3
# What chosen settings are called as parameters, where that is not the same.
PARAMETERS = {"rounds": "max_iter"}
# So many times as many rows as there are is the end of the curve.
BEYOND = 4


def learning_of(
    choice: Choice, table: Table, seconds: float | None, left_out: dict[str, str]
) -> Learning | None:
    """The curve as far as there is time; None, and the reason in `left_out`, without one."""
    target = read_target(table, choice.target, cast("Task", choice.task))
    rows = rows_of(table, choice.columns, target, choice.split.train)
    plan = _plan(choice, len(rows), seconds)
    fixed = {} if plan.is_tuned else _settings(choice)
    metric = Metric(choice.metric, choice.model.classes_, choice.costs)
    try:
        with time_limit(seconds):
            some = _some(rows, plan.part, choice)
            curve = _curve(choice, some, plan, metric, fixed)
    except TimeLimit:
        left_out["learning"] = (
            "there was no time to fit the model to parts of the rows; allow a longer time limit"
        )
        return None
    except ValueError as error:
        left_out["learning"] = str(error).rstrip(".")
        return None
    wanted = curve.wanted
    if rows.time is None and (plan.folds, plan.part) != (FOLDS, 1.0):
        # What the folds of the comparison leave to learn from.
        wanted = round((1 - 1 / FOLDS) * len(rows))
    curve = replace(curve, metric=metric.title, is_loss=metric.is_loss, wanted=wanted)
    return _plain(curve, curve_in_words(choice, curve), curve_note(curve, fixed, plan.is_prepared))


def _curve(
    choice: Choice, rows: Rows, plan: _Plan, metric: Metric, fixed: dict[str, Any]
) -> LearningCurve:
    """The curve of these rows."""
    pipeline = choice.model.pipeline_
    model, X = clone(pipeline).set_params(**fixed), rows.X
    if plan.is_prepared:
        model, X = model[-1], pipeline[:-1].transform(X)
    for first in range(len(plan.sizes) - FEWEST_SIZES + 1):
        try:
            return learning_curve(
                model,
                X,
                rows.y,
                sizes=plan.sizes[first:],
                k=plan.folds,
                scoring=metric,
                groups=rows.groups,
                time=rows.time,
                random_state=choice.seed,
            )
        except ValueError as error:
            # Of few rows all may be of one class, or fewer than neighbours are asked.
            failure = error
    raise failure


@dataclass(frozen=True)
class _Plan:
    """How a curve is made.

    Whether every fit tunes anew, of how many folds and sizes, of which part of the rows, and
    whether they are prepared once, as for the model itself, and not for each fit.
    """

    is_tuned: bool
    folds: int
    sizes: tuple[float, ...] = USUAL_SIZES
    part: float = 1.0
    is_prepared: bool = False


def _plan(choice: Choice, rows: int, seconds: float | None) -> _Plan:
    """The best curve that the time allows, as far as one can know before.

    With rows in time the first fold has the shortest past, and the more folds the shorter it is.
    """
    plan = _best_plan(choice, rows, seconds)
    return replace(plan, folds=FEWEST_FOLDS) if in_time(choice) else plan


def _best_plan(choice: Choice, rows: int, seconds: float | None) -> _Plan:
    # To prepare many columns for every fit would take longer than the fits.
    is_wide = rows < sum(column.is_feature for column in choice.columns)
    one = choice[choice.chosen].seconds / (FOLDS if rows < MANY_ROWS else 1)
    folds = FOLDS if rows < MANY_ROWS else FEW_FOLDS
    if seconds is None or FITS * folds * one <= seconds:
        return _Plan(True, folds, is_prepared=is_wide)
    one /= QUICKER if _settings(choice) else 1.0
    if FITS * FEW_FOLDS * one <= seconds:
        return _Plan(False, FEW_FOLDS, is_prepared=is_wide)
    if is_wide:
        return _Plan(False, FEWEST_FOLDS, WIDE_SIZES, is_prepared=True)
    part = max(seconds / (FEWEST_FITS * FEWEST_FOLDS * one), FEWEST_ROWS / rows)
    return _Plan(False, FEWEST_FOLDS, FEW_SIZES, min(part, 1.0), is_prepared=True)


def _some(rows: Rows, part: float, choice: Choice) -> Rows:
    """The rows that the curve is made of; of those in time, the latest."""
    some = np.arange(len(rows))
    if part < 1:
        some = rows.hold_out(null_model(cast("Task", choice.task)), part, choice.seed)[1]
    groups, time = (None if of is None else of[some] for of in (rows.groups, rows.time))
    # Where there is time, folds go by it alone.
    return Rows(rows.take(some), rows.y[some], None, groups if time is None else None, time)


def _settings(choice: Choice) -> dict[str, Any]:
    """What the model has chosen for itself, as parameters: so that no fit tunes them again."""
    pipeline = choice.model.pipeline_
    model = model_of(pipeline)
    within = pipeline.steps[-1][0] + ("" if model is pipeline[-1] else "__estimator")
    given = model.get_params(deep=False)
    found = {
        PARAMETERS.get(name, name): value for name, value in choice[choice.chosen].settings.items()
    }
    return {
        f"{within}__{name}": value
        for name, value in found.items()
        if isinstance(given.get(name), str)
    }


def _plain(curve: LearningCurve, advice: str, note: str) -> Learning:
    """The curve in the own sense of the metric."""
    sign = -1.0 if curve.is_loss else 1.0
    last = float(curve.sizes[-1])
    beyond = np.geomspace(last, max(BEYOND * last, 2.0 * curve.wanted), 9)
    law = np.array([curve.expected(float(size)) for size in beyond])
    # More rows are not worse: a law that is below the end of the curve has missed a late rise.
    law[:, 0] = np.maximum(law[:, 0], curve.unseen[-1])
    return Learning(
        sizes=numbers(curve.sizes),
        train=numbers(sign * curve.train),
        unseen=numbers(sign * curve.unseen),
        standard_errors=numbers(curve.standard_errors),
        more_sizes=numbers(beyond),
        more_unseen=numbers(sign * law[:, 0]),
        more_errors=numbers(law[:, 1]),
        metric=curve.metric,
        advice=advice,
        note=note,
    )
