"""Areas under ROC and precision–recall curves, and how each row pulls at them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._validation import read_labels
from .estimates import Smooth
from .reading import Ranking, read_ranking

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Steps:
    """What is found above each distinct score, the highest first, (m,) each.

    `hits` and `misses` are the weights of positive and negative rows, `sizes` the effective number
    of both, and `place` tells the step of each row, (n,).
    """

    thresholds: Array
    hits: Array
    misses: Array
    sizes: Array
    place: Array

    @classmethod
    def of(cls, data: Ranking) -> Steps:
        """From rows in any order."""
        rising, place = np.unique(data.scores, return_inverse=True)
        place = len(rising) - 1 - place
        rows, m = data.rows, len(rising)
        all_, hits, squares = (
            np.cumsum(np.bincount(place, values, m))
            for values in (rows.mass, rows.mass * data.is_positive, rows.mass * rows.weights)
        )
        return cls(rising[::-1], hits, all_ - hits, all_**2 / squares, place)


def read_rankings(y_true: Any, y_score: Any, pos_label: Any, sample_weight: Any) -> list[Ranking]:
    """One ranking of two classes, or one for each class against the rest."""
    scores = np.asarray(y_score, dtype=np.float64)
    if scores.ndim < 2 or scores.shape[1] <= 2:
        data = [read_ranking(y_true, scores, pos_label, sample_weight)]
    else:
        y = read_labels(np.ravel(y_true), scores)
        classes = np.unique(y)
        if len(classes) != scores.shape[1]:
            raise ValueError(
                f"y_score has {scores.shape[1]} columns, but y_true has {len(classes)} classes; "
                "each class needs a column and some rows."
            )
        data = [
            read_ranking(y == label, column, True, sample_weight)
            for label, column in zip(classes, scores.T)
        ]
    for part in data:
        need_both(part)
    return data


def roc_area(data: Ranking) -> Smooth:
    """The area as the mean over positive rows of the negative share below, ties counting half.

    What each row adds to it is DeLong's placement; those of either class vary by themselves.
    """
    steps, rows = Steps.of(data), data.rows
    positives, negatives = steps.hits[-1], steps.misses[-1]
    above = {
        True: 1 - (steps.misses - np.diff(steps.misses, prepend=0.0) / 2) / negatives,
        False: (steps.hits - np.diff(steps.hits, prepend=0.0) / 2) / positives,
    }
    placement = np.where(data.is_positive, above[True][steps.place], above[False][steps.place])
    area = rows.sum(placement * data.is_positive) / positives
    pulls = (placement - area) / np.where(data.is_positive, positives, negatives)
    counts = {sign: rows.only(data.is_positive == sign) for sign in (True, False)}
    # Each class has its own mean to lose: n/(n − 1) for each, in place of that for all rows.
    n = rows.count
    lost = {sign: part.count / max(part.count - 1, 1) for sign, part in counts.items()}
    factor = np.where(data.is_positive, lost[True], lost[False]) * (n - 1) / n
    fewest = min(part.size for part in counts.values())
    return Smooth(_within(area), pulls * np.sqrt(factor), rows, (0.0, 1.0), fewest)


def average_of_precision(data: Ranking) -> Smooth:
    """The average precision, and its derivative in the weight of each row.

    AP = Σ_t h_t P_t/H over thresholds t, with h_t the hits at t and P_t = H_t/N_t. A row changes
    H, P_t for all t below it, and if it is positive adds its own P.
    """
    steps, rows = Steps.of(data), data.rows
    found, own = steps.hits + steps.misses, np.diff(steps.hits, prepend=0.0)
    P, total = steps.hits / found, steps.hits[-1]
    value = float(own @ P) / total
    below = np.cumsum((own / found)[::-1])[::-1]
    lost = np.cumsum((own * P / found)[::-1])[::-1]
    if_positive = (P - value + below)[steps.place]
    pulls = (data.is_positive * if_positive - lost[steps.place]) / total
    fewest = min(rows.only(data.is_positive == sign).size for sign in (True, False))
    return Smooth(_within(value), pulls, rows, (0.0, 1.0), fewest)


def mean_of(parts: list[Smooth]) -> Smooth:
    """The mean of numbers of the same rows."""
    if len(parts) == 1:
        return parts[0]
    value = float(np.mean([part.value for part in parts]))
    pulls = np.mean([part.pulls for part in parts], axis=0)
    fewest = min(part.fewest or part.rows.size for part in parts)
    return Smooth(value, pulls, parts[0].rows, (0.0, 1.0), fewest)


def _within(value: float) -> float:
    return float(min(max(value, 0.0), 1.0))


def need_both(data: Ranking) -> None:
    """Refuse rows of one class alone."""
    if data.is_positive.all() or not data.is_positive.any():
        kind = "positive" if data.is_positive.all() else "negative"
        raise ValueError(
            f"all rows are {kind}, so that no curve compares two classes; add rows of the other "
            "class, or check pos_label."
        )
