"""The learning curve of the chosen model: fitted again to more and more of the training rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from sklearn.base import clone

from ..choosing.choice import Choice
from ..choosing.metric import Metric
from ..choosing.ranking import model_of
from ..choosing.splitting import null_model, rows_of
from ..data import Table, read_target
from ..data.target import Task
from ..evaluation import LearningCurve, learning_curve
from ..evaluation.rows import Rows
from ..interrupt import TimeLimit
from .advice import curve_in_words
from .phrases import joined
from .plain import numbers
from .sections import Learning

Array = np.ndarray

FOLDS, FEW_FOLDS, FEWEST_FOLDS = 5, 3, 2
# Rows from which on few folds are enough for a curve.
MANY_ROWS = 20_000
# A curve takes as long as so many fits of all rows in each of its folds, the shortest as many; both
# doubled, since the comparison, by which a fit is measured, prepares rows once for all models.
FITS, FEWEST_FITS = 6.0, 3.2
# Without tuning fits are at least so many times quicker.
QUICKER = 3.0
# The shortest curve has so many sizes, the first so many times smaller than the last, and is made
# of at least so many rows. With more columns than rows all fits are as dear, and there are fewer.
SIZES, SPAN, FEWEST_ROWS = 4, 8.0, 160
WIDE_SIZES, WIDE_SPAN = 3, 3.0
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
    some = _some(rows, plan.part, choice)
    metric = Metric(choice.metric, choice.model.classes_, choice.costs)
    try:
        curve = learning_curve(
            clone(choice.model.pipeline_).set_params(**fixed),
            rows.take(some),
            rows.y[some],
            sizes=plan.sizes,
            k=plan.folds,
            scoring=metric,
            groups=None if rows.time is not None else _of(rows.groups, some),
            time=_of(rows.time, some),
            time_limit=seconds,
            random_state=choice.seed,
        )
    except TimeLimit:
        left_out["learning"] = (
            "there was no time to fit the model to parts of the rows; gapless fit with a longer "
            "--time-limit has it"
        )
        return None
    except ValueError as error:
        left_out["learning"] = str(error).rstrip(".")
        return None
    # What a fold of all rows leaves to learn from.
    wanted = round(curve.wanted * len(rows) / len(some))
    curve = replace(curve, metric=metric.title, is_loss=metric.is_loss, wanted=wanted)
    return _plain(curve, curve_in_words(choice, curve), _said(curve, fixed))


@dataclass(frozen=True)
class _Plan:
    """How a curve is made.

    Whether every fit tunes anew, of how many folds, of which sizes, the usual ones if None, and of
    which part of the rows.
    """

    is_tuned: bool
    folds: int
    sizes: list[float] | None = None
    part: float = 1.0


def _plan(choice: Choice, rows: int, seconds: float | None) -> _Plan:
    """The best curve that the time allows, as far as one can know before."""
    chosen = choice[choice.chosen]
    one = chosen.seconds / (FOLDS if rows < MANY_ROWS else 1)
    folds = FOLDS if rows < MANY_ROWS else FEW_FOLDS
    if seconds is None or FITS * folds * one <= seconds:
        return _Plan(True, folds)
    one /= QUICKER if _settings(choice) else 1.0
    if FITS * FEW_FOLDS * one <= seconds:
        return _Plan(False, FEW_FOLDS)
    if rows < sum(column.is_feature for column in choice.columns):
        return _Plan(False, FEWEST_FOLDS, np.geomspace(1 / WIDE_SPAN, 1.0, WIDE_SIZES).tolist())
    part = max(seconds / (FEWEST_FITS * FEWEST_FOLDS * one), FEWEST_ROWS / rows)
    sizes = np.geomspace(1 / SPAN, 1.0, SIZES).tolist()
    return _Plan(False, FEWEST_FOLDS, sizes, min(part, 1.0))


def _some(rows: Rows, part: float, choice: Choice) -> Array:
    """Which rows the curve is made of; of those in time, the latest."""
    if part >= 1:
        return np.arange(len(rows))
    return rows.hold_out(null_model(cast("Task", choice.task)), part, choice.seed)[1]


def _of(labels: Array | None, rows: Array) -> Array | None:
    return None if labels is None else labels[rows]


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


def _said(curve: LearningCurve, fixed: dict[str, Any]) -> str:
    """How the fits of the curve differ from that of the model, and where it ends too early."""
    said = []
    if fixed:
        settings = [f"{name.rpartition('__')[2]} = {value:.3g}" for name, value in fixed.items()]
        said.append(
            f"To save time, every fit has {joined(settings)}, as chosen for all training rows."
        )
    if curve.sizes[-1] < curve.wanted:
        said.append(
            f"The curve ends at {curve.sizes[-1]:,} of about {curve.wanted:,} rows: there was no "
            "time for more."
        )
    return " ".join(said)
