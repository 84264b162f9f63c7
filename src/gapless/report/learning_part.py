"""The learning curve of the chosen model: fitted again to more and more of the training rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import numpy as np
from sklearn.base import clone

from ..choosing.choice import Choice
from ..choosing.metric import Metric
from ..choosing.splitting import rows_of
from ..data import Table, read_target
from ..data.target import Task
from ..evaluation import LearningCurve, learning_curve
from ..interrupt import TimeLimit
from .advice import curve_in_words
from .phrases import joined
from .plain import numbers
from .sections import Learning

FOLDS, FEW_FOLDS = 5, 3
# Rows from which on few folds are enough for a curve.
MANY_ROWS = 20_000
# So many times as many rows as there are is the end of the curve.
BEYOND = 4


def learning_of(
    choice: Choice, table: Table, seconds: float | None, left_out: dict[str, str]
) -> Learning | None:
    """The curve as far as there is time; None, and the reason in `left_out`, without one."""
    target = read_target(table, choice.target, cast("Task", choice.task))
    rows = rows_of(table, choice.columns, target, choice.split.train)
    is_dear = _is_dear(choice, seconds)
    fixed = _settings(choice) if is_dear else {}
    metric = Metric(choice.metric, choice.model.classes_, choice.costs)
    try:
        curve = learning_curve(
            clone(choice.model.pipeline_).set_params(**fixed),
            rows.X,
            rows.y,
            k=FEW_FOLDS if is_dear or len(rows) >= MANY_ROWS else FOLDS,
            scoring=metric,
            groups=rows.groups if rows.time is None else None,
            time=rows.time,
            time_limit=seconds,
            random_state=choice.seed,
        )
    except TimeLimit:
        left_out["learning"] = "there was no time to fit the model to parts of the rows"
        return None
    except ValueError as error:
        left_out["learning"] = str(error).rstrip(".")
        return None
    curve = replace(curve, metric=metric.title, is_loss=metric.is_loss)
    return _plain(curve, curve_in_words(choice, curve), _said(curve, fixed))


def _is_dear(choice: Choice, seconds: float | None) -> bool:
    """Whether five folds would take too long: about two and a half fits of all rows each."""
    return seconds is not None and 2.5 * choice[choice.chosen].seconds > seconds


def _settings(choice: Choice) -> dict[str, Any]:
    """What the model has chosen for itself, as parameters: so that no fit tunes them again."""
    pipeline = choice.model.pipeline_
    name, model = pipeline.steps[-1]
    given = model.get_params(deep=False)
    return {
        f"{name}__{parameter}": value
        for parameter, value in choice[choice.chosen].settings.items()
        if isinstance(given.get(parameter), str)
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
            f"The curve ends at {curve.sizes[-1]:,} of {curve.wanted:,} rows, where the time was "
            "over."
        )
    return " ".join(said)
