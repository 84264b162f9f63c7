"""What the test rows say of a model: mistakes, curves and calibration, or residuals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..._ground.percent import percent
from ...metrics import (
    ConfusionMatrix,
    RocCurve,
    Score,
    accuracy,
    confusion_matrix,
    precision_recall_curve,
    reliability_curve,
    roc_curve,
)
from .. import Answers
from .phrases import amount, named
from .plain import measured, number, numbers
from .row_sections import Calibration, Confusion, Curve, Mistake, Residuals

Array = np.ndarray

# A matrix of more classes cannot be read; so many mistakes are named beside it.
MOST_CLASSES, MOST_MISTAKES = 12, 8
# From this end of its interval on, it is open whether probabilities are right.
UNCLEAR = 0.05
# Curves in a picture, points of a curve, and rows in a picture of single rows.
MOST_CURVES, CURVE_POINTS, MOST_DOTS = 5, 150, 400


def confusion_of(answers: Answers, classes: Array) -> Confusion:
    """Which class was predicted for which."""
    found = confusion_matrix(answers.y, answers.predicted, labels=classes)
    mistakes = _mistakes(found)
    names = tuple(str(label) for label in found.classes.tolist())
    is_shown = len(names) <= MOST_CLASSES
    return Confusion(
        class_count=len(names),
        classes=names if is_shown else (),
        counts=tuple(tuple(map(int, row)) for row in found.counts) if is_shown else (),
        mistakes=mistakes,
        words=_confusion_in_words(found, mistakes),
    )


def _mistakes(found: ConfusionMatrix) -> tuple[Mistake, ...]:
    wrong = np.array(found.counts, dtype=float)
    np.fill_diagonal(wrong, 0)
    first = np.argsort(-wrong, axis=None, kind="stable")[:MOST_MISTAKES]
    places = [divmod(int(k), len(wrong)) for k in first]
    names = [str(label) for label in found.classes.tolist()]
    totals = np.asarray(found.counts).sum(axis=1)
    return tuple(
        Mistake(names[i], names[j], int(wrong[i, j]), float(wrong[i, j] / totals[i]))
        for i, j in places
        if wrong[i, j] > 0
    )


def _confusion_in_words(found: ConfusionMatrix, mistakes: tuple[Mistake, ...]) -> str:
    counts = np.asarray(found.counts)
    right, total = int(np.trace(counts)), int(counts.sum())
    text = f"{right:,} of {total:,} test rows are predicted correctly."
    if not mistakes:
        return f"{text} There are no mistakes."
    worst = mistakes[0]
    of = round(worst.rows / worst.share)
    return (
        f"{text} The most common mistake is to predict {named(worst.predicted)} when it is "
        f"{named(worst.true)}: {worst.rows:,} of {of:,} rows ({percent(worst.share)})."
    )


def curves_of(
    y: Array, scores: Array, classes: Array
) -> tuple[tuple[Curve, ...], tuple[Curve, ...]]:
    """ROC and precision by recall: of the second of two classes, or of each against the others.

    Scores are (m, K): probabilities, or whatever else is larger for more likely classes. Of many
    classes those are kept that are hardest to tell, by the area below their ROC curve. Classes
    without test rows have no curve.
    """
    first = 1 if len(classes) == 2 else 0
    places = [k for k in range(first, len(classes)) if 0 < np.mean(y == classes[k]) < 1]
    found = {k: roc_curve(y == classes[k], scores[:, k]) for k in places}
    hardest = sorted(places, key=lambda k: found[k].area.value)[:MOST_CURVES]
    kept = sorted(hardest)
    return (
        tuple(_roc(found[k], str(classes[k])) for k in kept),
        tuple(_precision_recall(y == classes[k], scores[:, k], str(classes[k])) for k in kept),
    )


def _roc(found: RocCurve, of: str) -> Curve:
    at = _some(len(found.fpr))
    some = replace(found, fpr=found.fpr[at], tpr=found.tpr[at], thresholds=found.thresholds[at])
    return _curve(some.fpr, some.tpr, some, None, of)


def _precision_recall(is_it: Array, said: Array, of: str) -> Curve:
    found = precision_recall_curve(is_it, said)
    at = _some(len(found.recall))
    some = replace(
        found,
        precision=found.precision[at],
        recall=found.recall[at],
        predicted=found.predicted[at],
    )
    return _curve(some.recall, some.precision, some, some.prevalence, of)


def _curve(x: Array, y: Array, found: Any, chance: float | None, of: str) -> Curve:
    low, high = found.band()
    area = measured(found.area)
    return Curve(numbers(x), numbers(y), numbers(low), numbers(high), area, number(chance), of)


def _some(points: int) -> Array:
    return np.unique(np.linspace(0, points - 1, CURVE_POINTS).round().astype(int))


def calibration_of(answers: Answers, classes: Array) -> Calibration:
    """Whether probabilities came true."""
    found = reliability_curve(answers.y, answers.probabilities, labels=classes)
    return Calibration(
        said=numbers(found.said),
        happened=numbers(found.happened),
        low=numbers(found.low),
        high=numbers(found.high),
        sizes=numbers(found.sizes),
        error=measured(found.ece),
        of=found.of,
        words=_calibration_in_words(found.ece),
    )


def _calibration_in_words(error: Score) -> str:
    """Whether probabilities are wrong, as far as the test rows can show."""
    between = f"{percent(error.low)} to {percent(error.high)}"
    if error.low > 0:
        return (
            f"The probabilities are off by {percent(error.value)} on average (95 % interval "
            f"{between}), more than chance explains."
        )
    if error.high > UNCLEAR:
        return (
            f"Nothing looks wrong, but {error.n:,.0f} test rows show little: on average, the "
            f"probabilities may be off by up to {percent(error.high)}."
        )
    return (
        f"The probabilities look reliable: on average they are off by at most "
        f"{percent(error.high)}, and chance alone would explain the error seen."
    )


def residuals_of(answers: Answers, seed: int) -> Residuals:
    """True and predicted numbers, and how far they are apart."""
    y, said = (np.asarray(of, dtype=float) for of in (answers.y, answers.predicted))
    rows = np.arange(len(y))
    if len(y) > MOST_DOTS:
        rows = np.sort(np.random.default_rng(seed).choice(len(y), MOST_DOTS, replace=False))
    coverage, ends = None, (np.zeros(0), np.zeros(0))
    if answers.lower is not None and answers.upper is not None:
        ends = answers.lower[rows], answers.upper[rows]
        inside = (answers.lower <= y) & (y <= answers.upper)
        coverage = replace(accuracy(np.ones(len(y)), inside.astype(float)), name="coverage")
    return Residuals(
        true=numbers(y[rows]),
        predicted=numbers(said[rows]),
        lower=numbers(ends[0]),
        upper=numbers(ends[1]),
        shown=len(rows),
        rows=len(y),
        coverage=None if coverage is None else measured(coverage),
        level=None if coverage is None else float(answers.coverage),
        words=_errors_in_words(y - said),
    )


def _errors_in_words(errors: Array) -> str:
    half, most = np.quantile(np.abs(errors), [0.5, 0.9])
    mean = float(errors.mean())
    spread = float(errors.std(ddof=1) / np.sqrt(len(errors))) if len(errors) > 1 else np.inf
    text = (
        f"Half of the test rows are predicted to within {amount(half)}, nine in ten to within "
        f"{amount(most)}."
    )
    if abs(mean) <= 2 * spread:
        return f"{text} Predictions are not clearly too high or too low on average."
    way = "too low" if mean > 0 else "too high"
    return f"{text} On average, predictions are {way} by {amount(abs(mean))}."
