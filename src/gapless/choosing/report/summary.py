"""From a choice to a report: plain data, the cheapest parts first, within a time limit."""

from __future__ import annotations

import importlib.metadata
import platform
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._ground.interrupt import seconds_left
from ...data import Table
from .. import Candidate, Choice
from . import words
from .advice import advice_of
from .curves import learning_of, validation_of
from .model_uses import uses_of
from .row_reasons import reasons_of
from .sections import Model, Number, Report, measured, number, plain_value
from .table_facts import ceiling_of, data_of
from .tested import calibration_of, confusion_of, curves_of, residuals_of

# Of the time left, this part is for the learning curve, of the rest this part for what the model
# uses, and of what is left then this part for single rows; what remains is for its tuning.
SHARE_OF_LEARNING, SHARE_OF_USES, SHARE_OF_REASONS = 0.55, 0.7, 0.3
# Scores nearer to 0 count as 0.
NOTHING = 1e-12
PACKAGES = ("gapless", "numpy", "scipy", "scikit-learn", "polars")


def summarize(
    choice: Choice,
    table: Table,
    *,
    time_limit: float | None = None,
    on_progress: Callable[..., None] | None = None,
) -> Report:
    """Compute a report.

    Parameters
    ----------
    choice : Choice
        The result of `gapless.choose`.
    table : Table
        Its table.
    time_limit : float or None, default=None
        Seconds; parts without enough time are left out, and listed in the report.
    on_progress : callable or None, default=None
        Called before each part with its name.

    Returns
    -------
    Report
        Plain data for `to_text`, `to_json` and `to_html`.
    """
    began = time.monotonic()
    tell = on_progress or (lambda part: None)
    left_out: dict[str, str] = {}
    tell("test rows")
    parts = _of_test_rows(choice, table, left_out)
    tell("learning curve")
    left = _part(SHARE_OF_LEARNING, seconds_left(time_limit, began))
    learning = learning_of(choice, table, left, left_out)
    tell("what the model uses")
    left = _part(SHARE_OF_USES, seconds_left(time_limit, began))
    uses, missing = uses_of(choice, table, left)
    left_out |= missing
    tell("reasons for single rows")
    left = _part(SHARE_OF_REASONS, seconds_left(time_limit, began))
    reasons = reasons_of(choice, table, left, left_out)
    tell("what was tuned")
    validation = validation_of(choice, table, seconds_left(time_limit, began), left_out)
    data = data_of(choice, table, [one.name for one in uses.importances])
    return Report(
        source=choice.source,
        target=choice.target,
        task=choice.task,
        metric=words.metric_title(choice.metric),
        higher_is_better=bool(choice.higher_is_better),
        method=words.method_in_words(choice),
        train_rows=len(choice.split.train),
        test_rows=len(choice.split.test),
        seed=int(choice.seed),
        seconds=float(choice.seconds + time.monotonic() - began),
        model=choice.chosen,
        answer=words.answer(choice),
        certainty=words.certainty(choice),
        test=measured(choice.test),
        baseline=measured(choice.baseline),
        ahead=measured(choice.ahead),
        expected=number(choice.expected),
        expected_error=number(choice.expected_error),
        expected_low=number(choice.expected_range[0]),
        expected_high=number(choice.expected_range[1]),
        models=_models(choice),
        choice=words.why_chosen(choice),
        gaps=words.gaps(choice),
        learning=learning,
        validation=validation,
        **parts,
        uses=uses,
        reasons=reasons,
        data=data,
        advice=advice_of(
            choice, learning, validation, parts["calibration"], ceiling_of(choice, table)
        ),
        code=choice.code,
        versions=versions(),
        left_out=left_out,
    )


def _part(share: float, seconds: float | None) -> float | None:
    return None if seconds is None else share * seconds


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that compute."""
    found = {"Python": platform.python_version()}
    return found | {name: importlib.metadata.version(name) for name in PACKAGES}


def _models(choice: Choice) -> tuple[Model, ...]:
    """All candidates, the best first, then those without a score."""
    judged = choice.judged
    others = tuple(one for one in choice.candidates if one.unseen is None)
    return tuple(_model(one, choice) for one in (*judged, *others))


def _model(one: Candidate, choice: Choice) -> Model:
    return Model(
        family=one.family,
        status=one.status,
        reason=one.reason,
        is_chosen=one.family == choice.chosen,
        is_best=one.family == choice.best,
        rows=int(one.rows),
        train=_without_rounding(one.train),
        unseen=_without_rounding(one.unseen),
        standard_error=number(one.standard_error),
        behind=number(one.behind),
        behind_error=number(one.behind_error),
        optimality=one.optimality,
        generalization=one.generalization,
        seconds=float(one.seconds),
        settings={str(name): plain_value(value) for name, value in one.settings.items()},
    )


def _without_rounding(score: float | None) -> Number:
    """A score, or 0 if it is only rounding."""
    known = number(score)
    return 0.0 if known is not None and abs(known) < NOTHING else known


def _of_test_rows(choice: Choice, table: Table, left_out: dict[str, str]) -> dict[str, Any]:
    """The sections about the test rows; None for those of the other task."""
    names = ("confusion", "calibration", "residuals")
    parts: dict[str, Any] = dict.fromkeys(names) | {"roc": (), "precision_recall": ()}
    answers, learned = choice.answers, choice.model.classes_
    if learned is None:
        parts["residuals"] = residuals_of(answers, choice.seed)
        return parts
    # The latest rows, or other groups, may have classes that the model has never seen.
    classes = np.union1d(learned, answers.y)
    parts["confusion"] = confusion_of(answers, classes)
    if answers.probabilities is None:
        left_out["calibration"] = (
            f"the model ({choice.chosen}) predicts classes without probabilities"
        )
    else:
        parts["calibration"] = calibration_of(answers, classes)
    scores = _scores(choice, table, len(learned))
    if words.is_baseline(choice):
        left_out["curves"] = "the model predicts the same for all rows"
    elif scores is None:
        left_out["curves"] = f"the model ({choice.chosen}) gives neither probabilities nor scores"
    else:
        known = classes if scores.shape[1] == len(classes) else learned
        parts["roc"], parts["precision_recall"] = curves_of(answers.y, scores, known)
        if not parts["roc"]:
            left_out["curves"] = "all test rows belong to one class"
    return parts


def _scores(choice: Choice, table: Table, classes: int) -> np.ndarray | None:
    """The model's confidence in each class for each test row, (m, K); None if it has none."""
    if choice.answers.probabilities is not None:
        return choice.answers.probabilities
    pipeline = choice.model.pipeline_
    if not hasattr(pipeline, "decision_function"):
        return None
    found = np.asarray(pipeline.decision_function(table.frame[choice.split.test]))
    if found.ndim == 1:
        return np.column_stack([-found, found])
    return found if found.shape[1] == classes else None
