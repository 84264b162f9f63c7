"""The chosen model refitted: to more and more rows, and with other values of what it tuned."""

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


# Folds of a curve, as in the comparison.
FOLDS = 5
# Folds for many rows, or in a short time.
FEW_FOLDS = 3
# Folds in the shortest time: with one, the curve would have no errors.
FEWEST_FOLDS = 2
# From this many rows on, few folds are enough for a curve.
MANY_ROWS = 20_000
# Each fold takes as long as this many fits of all its rows: over twice the sum of its sizes, since
# the comparison, which measures a fit, prepares rows once for all models.
FITS = 6.0
# The same for the shortest curve: about the sum alone, since it prepares rows once too.
FEWEST_FITS = 1.8
# Without tuning fits are at least this many times faster.
QUICKER = 3.0
# Sizes of a curve, as parts of the rows of a fold.
USUAL_SIZES = tuple(np.geomspace(0.1, 1.0, 6).tolist())
# Sizes of the shortest curve: each doubles the one before.
FEW_SIZES = tuple(np.geomspace(1 / 8, 1.0, 4).tolist())
# The shortest curve has at least this many rows, so that its smallest size has more than a few.
FEWEST_ROWS = 160
# Sizes with more columns than rows: fits of few rows take as long as others, so there are few.
WIDE_SIZES = tuple(np.geomspace(1 / 3, 1.0, 3).tolist())
# The fewest sizes of a curve, if models cannot be fitted to the smallest.
FEWEST_SIZES = 3
# The parameters of chosen settings with another name.
PARAMETERS = {"rounds": "max_iter"}
# The curve ends at this many times the present number of rows.
BEYOND = 4


def learning_of(
    choice: Choice, table: Table, seconds: float | None, left_out: dict[str, str]
) -> Learning | None:
    """The curve as far as there is time; without one None, and the reason in `left_out`."""
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
        # The training rows that the folds of the comparison leave.
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
            # Few rows may all be of one class, or fewer than the neighbours requested.
            failure = error
    raise failure


@dataclass(frozen=True)
class _Plan:
    """How a curve is computed.

    Whether every fit is tuned, the number of folds and sizes, the part of the rows, and whether
    they are prepared once, as for the model itself, or for each fit.
    """

    is_tuned: bool
    folds: int
    sizes: tuple[float, ...] = USUAL_SIZES
    part: float = 1.0
    is_prepared: bool = False


def _plan(choice: Choice, rows: int, seconds: float | None) -> _Plan:
    """The best curve that the time allows, as far as can be known in advance.

    With rows in time the first fold has the shortest past, shorter with more folds.
    """
    plan = _best_plan(choice, rows, seconds)
    return replace(plan, folds=FEWEST_FOLDS) if in_time(choice) else plan


def _best_plan(choice: Choice, rows: int, seconds: float | None) -> _Plan:
    # Preparing many columns for every fit would take longer than the fits.
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
    """The rows of the curve; of those in time, the latest."""
    some = np.arange(len(rows))
    if part < 1:
        some = rows.hold_out(baseline_model(cast("Task", choice.task)), part, choice.seed)[1]
    groups, time = (None if of is None else of[some] for of in (rows.groups, rows.time))
    # With time, folds follow it alone.
    return Rows(rows.take(some), rows.y[some], None, groups if time is None else None, time)


def _tuned_settings(choice: Choice) -> dict[str, Any]:
    """The model's tuned settings as parameters, so that no fit tunes them again."""
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
    """The curve with the metric's own sign."""
    sign = -1.0 if curve.is_loss else 1.0
    last = float(curve.sizes[-1])
    beyond = np.geomspace(last, max(BEYOND * last, 2.0 * curve.wanted), 9)
    law = np.array([curve.expected(float(size)) for size in beyond])
    # More rows are not worse: a law below the end of the curve has missed a late rise.
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


# Refit the model with this many of the values, to see its training score.
MOST_FITS = 9
# Scores with other names in scikit-learn.
SCORERS = {"R²": "r2"}


def validation_of(
    choice: Choice, table: Table, seconds: float | None, left_out: dict[str, str]
) -> Validation | None:
    """What the model tuned inside its fit; if nothing None, and the reason in `left_out`."""
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
    """The name of a score in words, and whether it is a loss with its sign reversed."""
    for turned in ("neg_", "negative "):
        if metric.startswith(turned):
            return metric.removeprefix(turned).replace("_", " "), True
    return metric.replace("_", " "), False


# ---- training rows -------------------------------------------------------------------------------


def _own_scores(choice: Choice, table: Table, tuned: Tuning, seconds: float | None) -> list[Number]:
    """The training score for each value; None if it is not known."""
    model = model_of(choice.model.pipeline_)
    unknown: list[Number] = [None] * len(tuned.values)
    if tuned.parameter == "rounds":
        # Boosting has recorded it, as far as it went.
        losses = getattr(getattr(model, "trace_", None), "training", ())
        return [-float(losses[int(r)]) if r < len(losses) else None for r in tuned.values]
    metric = SCORERS.get(tuned.metric, tuned.metric)
    # Fits of some of the rows would differ: such models know theirs better.
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
    """The scores of models known from the search itself, in its own loss."""
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
    """The scores of models with some of the values, including the chosen one."""
    model = model_of(choice.model.pipeline_)
    X, y = _own_rows(choice, table)
    if choice.task == "classification":
        # Errors of probabilities need numbered classes.
        y = np.unique(y, return_inverse=True)[1]
    own: list[Number] = [None] * len(tuned.values)
    for k in _some_values(tuned):
        again = clone(model).set_params(**_settings_of(model, tuned, k)).fit(X, y)
        own[k] = float(scorer(again, X, y))
        # A fit stopped by the limit is not the model that was judged.
        check()
    return own


def _own_rows(choice: Choice, table: Table) -> tuple[Any, np.ndarray]:
    """The training rows as the model sees them, and their targets."""
    features = [column.name for column in choice.columns if column.is_feature]
    frame = table.frame[choice.split.train].select(features)
    y = within(read_target(table, choice.target), choice.split.train).values
    return choice.model.pipeline_[:-1].transform(frame), y


def _some_values(tuned: Tuning) -> list[int]:
    """Positions of some of the values, from end to end, including the best and the chosen one."""
    spread = np.linspace(0, len(tuned.values) - 1, MOST_FITS).round().astype(int)
    return sorted({*spread.tolist(), tuned.best, tuned.chosen})


def _settings_of(model: Any, tuned: Tuning, k: int) -> dict[str, Any]:
    """All parameters tuned together when this one had its k-th value and that score."""
    value = tuned.values[k]
    found = {tuned.parameter: value}
    search = getattr(model, "search_", None)
    if isinstance(search, Search):
        values = np.asarray(search.values[tuned.parameter], dtype=float)
        at = int(np.flatnonzero((values == value) & (search.unseen == tuned.unseen[k]))[-1])
        found |= {name: float(of[at]) for name, of in search.values.items()}
    # Counts, such as neighbours, must be integers, and strengths may be.
    return {name: int(of) if of.is_integer() else of for name, of in found.items()}
