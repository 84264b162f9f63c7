"""The chosen model fitted again: to more and more rows, and with other values of what it tuned."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from sklearn.base import clone
from sklearn.metrics import get_scorer, get_scorer_names

from ..._ground.interrupt import TimeLimit, check, time_limit
from ...data import Table, Task, read_target
from ...evaluation import LearningCurve, Rows, learning_curve
from ...models.linear import Path
from ...unseen import Search, row_scores
from .. import Choice, Metric, Tuning, baseline_model, model_of, rows_of, within
from .advice import curve_in_words
from .sections import Learning, Number, Validation, numbers, plain_value
from .words import curve_note, in_time, tuning_in_words

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
    fixed = {} if plan.is_tuned else _tuned_settings(choice)
    metric = Metric(choice.metric, choice.model.classes_, choice.costs)
    try:
        with time_limit(seconds):
            some = _some_rows(rows, plan.part, choice)
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
    return _as_section(
        curve, curve_in_words(choice, curve), curve_note(curve, fixed, plan.is_prepared)
    )


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
    one /= QUICKER if _tuned_settings(choice) else 1.0
    if FITS * FEW_FOLDS * one <= seconds:
        return _Plan(False, FEW_FOLDS, is_prepared=is_wide)
    if is_wide:
        return _Plan(False, FEWEST_FOLDS, WIDE_SIZES, is_prepared=True)
    part = max(seconds / (FEWEST_FITS * FEWEST_FOLDS * one), FEWEST_ROWS / rows)
    return _Plan(False, FEWEST_FOLDS, FEW_SIZES, min(part, 1.0), is_prepared=True)


def _some_rows(rows: Rows, part: float, choice: Choice) -> Rows:
    """The rows that the curve is made of; of those in time, the latest."""
    some = np.arange(len(rows))
    if part < 1:
        some = rows.hold_out(baseline_model(cast("Task", choice.task)), part, choice.seed)[1]
    groups, time = (None if of is None else of[some] for of in (rows.groups, rows.time))
    # Where there is time, folds go by it alone.
    return Rows(rows.take(some), rows.y[some], None, groups if time is None else None, time)


def _tuned_settings(choice: Choice) -> dict[str, Any]:
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


def _as_section(curve: LearningCurve, advice: str, note: str) -> Learning:
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


# The model is fitted again with so many of the values, to see how it does on its own rows.
MOST_FITS = 9
# Scores that scikit-learn calls otherwise.
SCORERS = {"R²": "r2"}


def validation_of(
    choice: Choice, table: Table, seconds: float | None, left_out: dict[str, str]
) -> Validation | None:
    """What the model tuned inside its fit; None, and the reason in `left_out`, if it did not."""
    tuned = choice[choice.chosen].tuning
    if tuned is None or len(tuned.values) < 2:
        left_out["validation"] = f"no parameter of {choice.chosen} was tuned"
        return None
    metric, is_loss = _own_sense(tuned.metric)
    sign = -1.0 if is_loss else 1.0
    own = _own_scores(choice, table, tuned, seconds)
    return Validation(
        parameter=tuned.parameter,
        values=tuple(plain_value(value) for value in tuned.values),
        train=numbers(None if value is None else sign * value for value in own),
        unseen=numbers(sign * value for value in tuned.unseen),
        standard_errors=numbers(tuned.standard_errors),
        best=int(tuned.best),
        chosen=int(tuned.chosen),
        metric=metric,
        higher_is_better=not is_loss,
        is_log=bool(tuned.is_log),
        words=tuning_in_words(tuned),
    )


def _own_sense(metric: str) -> tuple[str, bool]:
    """What a score is called in words, and whether it is a loss with its sign turned."""
    for turned in ("neg_", "negative "):
        if metric.startswith(turned):
            return metric.removeprefix(turned).replace("_", " "), True
    return metric.replace("_", " "), False


# ---- own rows ------------------------------------------------------------------------------------


def _own_scores(choice: Choice, table: Table, tuned: Tuning, seconds: float | None) -> list[Number]:
    """The score of the rows that were learned from, for each value; None where it is not known."""
    model = model_of(choice.model.pipeline_)
    unknown: list[Number] = [None] * len(tuned.values)
    if tuned.parameter == "rounds":
        # Boosting has seen it on the way, as far as it went.
        losses = getattr(getattr(model, "trace_", None), "training", ())
        return [-float(losses[int(r)]) if r < len(losses) else None for r in tuned.values]
    metric = SCORERS.get(tuned.metric, tuned.metric)
    # Fits of some of the rows would be another story: such models know theirs better.
    is_whole = choice.model.rows_ == len(choice.split.train)
    is_open = isinstance(model.get_params(deep=False).get(tuned.parameter), str)
    if not (is_whole and is_open):
        return unknown
    try:
        with time_limit(seconds), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if isinstance(getattr(model, "path_", None), Path):
                return _along_path(choice, table, tuned)
            if metric in get_scorer_names():
                return _fitted_again(choice, table, tuned, get_scorer(metric))
    except TimeLimit:
        pass
    return unknown


def _along_path(choice: Choice, table: Table, tuned: Tuning) -> list[Number]:
    """The scores of models that are known from the search itself, in the loss that it goes by."""
    model = model_of(choice.model.pipeline_)
    X, y = _own_rows(choice, table)
    path, problems = model.path_, model._fitted_to(X, y).problems
    places = {float(strength): k for k, strength in enumerate(path.strengths)}
    own: list[Number] = [None] * len(tuned.values)
    for at, value in enumerate(tuned.values):
        check()
        if value in places:
            k = places[value]
            z = X @ np.reshape(path.coefficients[k], (X.shape[1], -1)) + path.intercepts[k]
            own[at] = float(row_scores(problems, z).mean())
    return own


def _fitted_again(choice: Choice, table: Table, tuned: Tuning, scorer: Any) -> list[Number]:
    """The scores of models with some of the values, the chosen one among them."""
    model = model_of(choice.model.pipeline_)
    X, y = _own_rows(choice, table)
    if choice.task == "classification":
        # Errors of probabilities are of numbered classes alone.
        y = np.unique(y, return_inverse=True)[1]
    own: list[Number] = [None] * len(tuned.values)
    for k in _some_values(tuned):
        again = clone(model).set_params(**_settings_of(model, tuned, k)).fit(X, y)
        own[k] = float(scorer(again, X, y))
        # A fit that the limit has stopped is not the model that was judged.
        check()
    return own


def _own_rows(choice: Choice, table: Table) -> tuple[Any, np.ndarray]:
    """The rows for training as the model sees them, and their targets."""
    features = [column.name for column in choice.columns if column.is_feature]
    frame = table.frame[choice.split.train].select(features)
    y = within(read_target(table, choice.target), choice.split.train).values
    return choice.model.pipeline_[:-1].transform(frame), y


def _some_values(tuned: Tuning) -> list[int]:
    """Places of some of the values, from end to end; the best and the chosen are among them."""
    spread = np.linspace(0, len(tuned.values) - 1, MOST_FITS).round().astype(int)
    return sorted({*spread.tolist(), tuned.best, tuned.chosen})


def _settings_of(model: Any, tuned: Tuning, k: int) -> dict[str, Any]:
    """All that was tuned together, where the parameter had its k-th value and that score."""
    value = tuned.values[k]
    found = {tuned.parameter: value}
    search = getattr(model, "search_", None)
    if isinstance(search, Search):
        values = np.asarray(search.values[tuned.parameter], dtype=float)
        at = int(np.flatnonzero((values == value) & (search.unseen == tuned.unseen[k]))[-1])
        found |= {name: float(of[at]) for name, of in search.values.items()}
    # Counts, such as neighbours, have to be whole numbers, and strengths may be.
    return {name: int(of) if of.is_integer() else of for name, of in found.items()}
