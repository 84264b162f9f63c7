"""The input of every metric: labels, scores, probabilities and numbers become arrays, or an error.

Rows without weight are dropped here, so that the rest can ignore them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import column_or_1d

from .._ground.validation import check_values, naming_text, read_labels, read_weights
from .intervals import Rows

Array = np.ndarray

# How far the probabilities of a row may be from a sum of 1.
SUM_TO_ONE = 1e-5


@dataclass(frozen=True, eq=False)
class Decisions:
    """True and predicted classes, as positions in `classes`, (n,) each."""

    true: Array
    predicted: Array
    classes: Array
    rows: Rows


@dataclass(frozen=True, eq=False)
class Ranking:
    """Which rows are positive, and how high each is scored, (n,) each."""

    is_positive: Array
    scores: Array
    rows: Rows


@dataclass(frozen=True, eq=False)
class Forecasts:
    """True classes, as positions in `classes`, and probabilities (n, K) of all classes."""

    true: Array
    probabilities: Array
    classes: Array
    rows: Rows


@dataclass(frozen=True, eq=False)
class Numbers:
    """True and predicted numbers, (n, outputs) each."""

    true: Array
    predicted: Array
    rows: Rows


def read_decisions(y_true: Any, y_pred: Any, sample_weight: Any, labels: Any = None) -> Decisions:
    """Classes of both kinds; with `labels` these and no others."""
    y_true = column_or_1d(y_true, input_name="y_true")
    y_pred = column_or_1d(y_pred, input_name="y_pred")
    check_consistent_length(y_true, y_pred)
    (true, predicted), rows = _counted(
        sample_weight, read_labels(y_true, y_true), read_labels(y_pred, y_pred)
    )
    classes = np.unique(np.concatenate([_comparable(true, predicted), predicted]))
    if labels is not None:
        classes = _read_classes(labels, classes)
    return Decisions(_place(classes, true), _place(classes, predicted), classes, rows)


def read_ranking(y_true: Any, y_score: Any, pos_label: Any, sample_weight: Any) -> Ranking:
    """Two classes and a number for each row; of several columns that of the positive class."""
    y_true = column_or_1d(y_true, input_name="y_true")
    y_score = read_scores(y_score)
    check_consistent_length(y_true, y_score)
    (true, scores), rows = _counted(sample_weight, read_labels(y_true, y_true), y_score)
    classes = np.unique(true)
    positive = positive_class(classes, pos_label)
    return Ranking(true == positive, _one_column(scores, classes, positive), rows)


def read_scores(y_score: Any) -> Array:
    """Finite numbers (n,) or (n, K)."""
    with naming_text(y_score, "y"):
        scores = np.asarray(y_score, dtype=np.float64)
    if scores.ndim not in (1, 2):
        raise ValueError(f"y_score must have shape (n,) or (n, K), got {scores.shape}.")
    check_values(scores, "y_score", None)
    return scores


def positive_class(classes: Array, pos_label: Any) -> Any:
    """The class that counts as positive: the one requested, or the larger of two."""
    if pos_label is not None:
        if len(classes) and pos_label not in classes.tolist():
            raise ValueError(
                f"pos_label={pos_label!r} is not a class of these rows: {_listed(classes)}."
            )
        return pos_label
    if len(classes) > 2:
        raise ValueError(
            f"there are {len(classes)} classes, {_listed(classes)}; set pos_label to the positive "
            "one, or average over classes."
        )
    # With one class alone, 1 and True are positive and 0, False and −1 are not.
    if len(classes) == 1 and classes[0] in (0, -1):
        return 1
    return classes[-1]


def read_forecasts(
    y_true: Any, y_proba: Any, sample_weight: Any, labels: Any = None, pos_label: Any = None
) -> Forecasts:
    """Classes and probabilities (n, K), in the order of the sorted classes, or (n,) of one."""
    y_true = column_or_1d(y_true, input_name="y_true")
    probabilities = read_distributions(y_proba, "y_proba")
    check_consistent_length(y_true, probabilities)
    (true, probabilities), rows = _counted(
        sample_weight, read_labels(y_true, y_true), probabilities
    )
    classes = np.unique(true)
    if labels is not None:
        classes = _read_classes(labels, classes)
        if np.any(np.sort(classes) != classes):
            raise ValueError(f"labels must be sorted like the columns of y_proba; got {labels!r}.")
    if probabilities.ndim == 1:
        classes = _two_classes(classes, pos_label)
        probabilities = np.column_stack([1 - probabilities, probabilities])
    if probabilities.shape[1] != len(classes):
        raise ValueError(
            f"y_proba has {probabilities.shape[1]} columns, but there are {len(classes)} classes, "
            f"{_listed(classes)}; pass all classes, in the order of the columns, as labels."
        )
    if pos_label is not None:
        classes, probabilities = _positive_last(classes, probabilities, pos_label)
    place = _place(classes, true)
    if np.any(place < 0):
        raise ValueError(f"y_true has classes that are not in labels, {_listed(classes)}.")
    return Forecasts(place, probabilities, classes, rows)


def read_distributions(values: Any, name: str) -> Array:
    """Probabilities (n,) of one class, or (n, K) that sum to 1 in each row."""
    with naming_text(values, "y"):
        p = check_array(
            values,
            ensure_2d=False,
            dtype=np.float64,
            ensure_all_finite=False,
            ensure_min_samples=0,
            input_name=name,
        )
    check_values(p, name, None)
    if p.ndim == 2 and p.shape[1] == 1:
        p = p[:, 0]
    outside = (p < 0) | (p > 1 + SUM_TO_ONE)
    if np.any(outside):
        row = int(np.argwhere(outside)[0][0])
        raise ValueError(
            f"{name} must be probabilities from 0 to 1, but row {row} has {p[row]}; pass the "
            "result of predict_proba."
        )
    if p.ndim == 2:
        sums = p.sum(axis=1)
        wrong = np.abs(sums - 1) > SUM_TO_ONE
        if np.any(wrong):
            row = int(np.argmax(wrong))
            raise ValueError(
                f"the probabilities of row {row} of {name} sum to {sums[row]:.6g}, not 1; divide "
                "each row by its sum."
            )
    return p


def read_numbers(y_true: Any, y_pred: Any, sample_weight: Any) -> Numbers:
    """Numbers (n,) or (n, outputs)."""
    both = []
    for name, values in (("y_true", y_true), ("y_pred", y_pred)):
        with naming_text(values, "y"):
            values = check_array(
                values, ensure_2d=False, dtype=np.float64, ensure_all_finite=False, input_name=name
            )
        check_values(values, name, None)
        both.append(values.reshape(len(values), -1))
    check_consistent_length(*both)
    if both[0].shape != both[1].shape:
        raise ValueError(
            f"y_true has {both[0].shape[1]} outputs and y_pred has {both[1].shape[1]}; pass the "
            "same number for both."
        )
    (true, predicted), rows = _counted(sample_weight, *both)
    return Numbers(true, predicted, rows)


def _counted(sample_weight: Any, *arrays: Array) -> tuple[list[Array], Rows]:
    """The rows that have any weight."""
    if not len(arrays[0]):
        raise ValueError("there are no rows to score; pass at least one.")
    weights = read_weights(sample_weight, arrays[0])
    is_counted = weights > 0
    if np.all(is_counted):
        return list(arrays), Rows.of(weights)
    return [array[is_counted] for array in arrays], Rows.of(weights[is_counted])


def _one_column(scores: Array, classes: Array, positive: Any) -> Array:
    """The column of the positive class, of one, or of as many as there are classes, sorted."""
    if scores.ndim == 1 or scores.shape[1] == 1:
        return scores.reshape(len(scores))
    if scores.shape[1] == len(classes):
        return scores[:, int(np.argmax(classes == positive))]
    if scores.shape[1] == 2:
        return scores[:, 1]
    raise ValueError(
        f"y_score has {scores.shape[1]} columns, but there are {len(classes)} classes, "
        f"{_listed(classes)}; pass the scores of one class, and which class it is as pos_label."
    )


def _two_classes(classes: Array, pos_label: Any) -> Array:
    """Both classes, the positive one last; a class that no row has is called 0, or "other"."""
    positive = positive_class(classes, pos_label)
    others = [label for label in classes.tolist() if label != positive]
    if len(others) > 1:
        raise ValueError(
            f"y_proba has probabilities of one class, but there are {len(classes)} classes, "
            f"{_listed(classes)}; pass those of all classes."
        )
    if not others:
        others = ["other"] if isinstance(positive, str) else [0 if positive != 0 else -1]
    return np.array([others[0], positive])


def _positive_last(classes: Array, probabilities: Array, pos_label: Any) -> tuple[Array, Array]:
    """Two classes and their columns in the order in which the positive one is the second."""
    if len(classes) > 2:
        raise ValueError(
            f"pos_label={pos_label!r} chooses one of two classes, but there are {len(classes)}; "
            "leave it out, or pass that class's column with y_true == pos_label."
        )
    is_last = classes[-1] == positive_class(classes, pos_label)
    return (classes, probabilities) if is_last else (classes[::-1], probabilities[:, ::-1])


def _read_classes(labels: Any, found: Array) -> Array:
    classes = column_or_1d(labels, input_name="labels")
    if len(classes) != len(set(classes.tolist())) or not len(classes):
        raise ValueError(f"labels must be distinct classes, got {labels!r}.")
    if len(found) and not np.any(np.isin(found, classes)):
        raise ValueError(f"none of the labels {_listed(classes)} is among {_listed(found)}.")
    return classes


def _place(classes: Array, labels: Array) -> Array:
    """The position of each label among the classes; −1 for one that is not there."""
    order = np.argsort(classes, kind="stable")
    at = np.minimum(np.searchsorted(classes[order], labels), len(classes) - 1)
    return np.where(classes[order][at] == labels, order[at], -1)


def _comparable(true: Array, predicted: Array) -> Array:
    """The true labels, if they and the predicted ones are both text, or both numbers."""
    if len(_kinds(true) | _kinds(predicted)) > 1:
        raise ValueError(
            "y_true and y_pred mix text and numbers as labels; use the same kind in both."
        )
    return true


def _kinds(labels: Array) -> set[bool]:
    """Whether labels are text: one answer, or both for a mixture."""
    if labels.dtype.kind != "O":
        return {labels.dtype.kind in "US"}
    return {isinstance(label, str) for label in set(labels.tolist())}


def _listed(classes: Array) -> str:
    shown = ", ".join(repr(label) for label in classes.tolist()[:6])
    return f"{shown}, …" if len(classes) > 6 else shown
