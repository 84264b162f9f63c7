"""What the test rows show about a model: mistakes, curves and calibration, or residuals."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...metrics import (
    ConfusionMatrix,
    RocCurve,
    accuracy,
    confusion_matrix,
    precision_recall_curve,
    reliability_curve,
    roc_curve,
)
from .. import Answers
from .sections import Calibration, Confusion, Curve, Mistake, Residuals, measured, number, numbers
from .words import calibration_in_words, confusion_in_words, errors_in_words

Array = np.ndarray

# A matrix of more classes is unreadable; this many mistakes are listed.
MOST_CLASSES, MOST_MISTAKES = 12, 8
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
        words=confusion_in_words(found, mistakes),
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


def curves_of(
    y: Array, scores: Array, classes: Array
) -> tuple[tuple[Curve, ...], tuple[Curve, ...]]:
    """ROC and precision-recall curves: of the second of two classes, or of each against the others.

    Scores are (m, K): probabilities, or anything else that is larger for more likely classes. Of
    many classes the hardest to distinguish are kept, by the area below their ROC curve. Classes
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
        words=calibration_in_words(found.ece),
    )


def residuals_of(answers: Answers, seed: int) -> Residuals:
    """True and predicted numbers, and their differences."""
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
        words=errors_in_words(y - said),
    )
