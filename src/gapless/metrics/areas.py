"""Areas under ROC and precision–recall curves, how each row pulls at them, and their intervals."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from .._ground.validation import read_labels
from .estimates import Interval, Smooth
from .inputs import Ranking, read_ranking, read_scores
from .intervals import check_level

Array = np.ndarray

# How often the search for the end of an interval halves it.
HALVINGS = 60
# Rows placed wrongly that must have been seen, or else are assumed possible; by simulation.
ADDED = 10.0


@dataclass(frozen=True, eq=False)
class Steps:
    """What is found above each distinct score, the highest first, (m,) each.

    `hits` and `misses` are the weights of positive and negative rows, `sizes` the effective number
    of both, and `place` is the step of each row, (n,).
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
        largest = rows.weights.max()
        all_, hits, squares = (
            np.cumsum(np.bincount(place, values, m))
            for values in (
                rows.mass,
                rows.mass * data.is_positive,
                rows.mass * (rows.weights / largest),
            )
        )
        return cls(rising[::-1], hits, all_ - hits, all_ * (all_ / largest / squares), place)


def read_rankings(y_true: Any, y_score: Any, pos_label: Any, sample_weight: Any) -> list[Ranking]:
    """One ranking of two classes, or one for each class against the rest."""
    scores = read_scores(y_score)
    if scores.ndim < 2 or scores.shape[1] <= 2 or pos_label is not None:
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


@dataclass(frozen=True, eq=False)
class RocArea(Smooth):
    """An area under an ROC curve, with how many rows of each class it has and how they vary.

    `sizes` are effective numbers of positive and negative rows, and `squares` the sums of squared
    distances of their placements from the area.
    """

    sizes: tuple[float, float] = (0.0, 0.0)
    squares: tuple[float, float] = (0.0, 0.0)

    def minus(self, other: Smooth) -> Smooth:
        """The difference of two areas of the same rows."""
        return Blend.of([(1.0, self), (-1.0, other)])

    def interval(self, level: float) -> Interval:
        """All areas from which that seen is not more than t standard errors away.

        A standard error at the area seen is far too small where that is near 1 by luck, so it is
        taken at the area in question, as the placements of exponential scores vary there (Newcombe
        2006, Statistics in Medicine 25, 559, method 5), times how much more or less those at hand
        do. That they vary less is only believed as far as there are rows to show it: an area of
        0.98 comes from a few rows in a hundred that are placed wrongly, and where none of them was
        seen, the others hardly seem to vary. So rows of exponential scores are added, as many as
        have `ADDED` such; that those at hand vary more is believed at once, with one row added.
        """
        check_level(level)
        if self.is_known_exactly:
            return self._without_spread(level)
        sizes = [float(size) for size in self.sizes]
        # This many rows of exponential scores would have the same sums of squares.
        alike = (np.array(self.squares) / _placement_variance(self.value)).tolist()

        # In Python's numbers: it is called a hundred times for two classes.
        def is_near(area: float) -> bool:
            added = ADDED / max(min(area, 1 - area), sys.float_info.min)
            most, variance = area * (1 - area), _placement_variance(area)
            parts = [
                min(max((k + 1) / n, (k + added) / (n - 1 + added)) * variance, most) / n
                for k, n in zip(alike, sizes)
            ]
            total = sum(parts)
            if not total > 0:
                return False
            freedom = total**2 / sum(part**2 / n for part, n in zip(parts, sizes))
            return abs(self.value - area) <= stdtrit(freedom, (1 + level) / 2) * math.sqrt(total)

        low, high = (_last(is_near, self.value, end) for end in (0.0, 1.0))
        return Interval(low, high, "Student's t at each area")


def _placement_variance(area: float) -> float:
    """The variance of placements for exponential scores (Hanley and McNeil 1982, Radiology 143).

    The mean of those of positive and negative rows, which change places if scores change signs.
    """
    return (area / (2 - area) + 2 * area**2 / (1 + area)) / 2 - area**2


def _last(holds: Callable[[float], bool], inside: float, outside: float) -> float:
    """Where on the way from inside to outside something ceases to hold."""
    for _ in range(HALVINGS):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return inside


@dataclass(frozen=True, eq=False)
class Blend(Smooth):
    """A sum of numbers of the same rows, each times a factor: a mean, or a difference."""

    parts: tuple[tuple[float, Smooth], ...] = ()

    @classmethod
    def of(cls, parts: list[tuple[float, Smooth]]) -> Blend:
        """From pairs of factor and number."""
        one = parts[0][1]
        ends = [sorted(factor * end for end in part.bounds) for factor, part in parts]
        return cls(
            value=float(sum(factor * part.value for factor, part in parts)),
            pulls=np.sum([factor * part.pulls for factor, part in parts], axis=0),
            rows=one.rows,
            bounds=(_tidy(sum(low for low, _ in ends)), _tidy(sum(high for _, high in ends))),
            fewest=min(part.fewest or part.rows.size for _, part in parts),
            parts=tuple(parts),
        )

    def minus(self, other: Smooth) -> Smooth:
        """The difference of two blends of the same rows."""
        others = other.parts if isinstance(other, Blend) else ((1.0, other),)
        return Blend.of([*self.parts, *((-factor, part) for factor, part in others)])

    def interval(self, level: float) -> Interval:
        """From the ends of the parts and how they vary together (Zou 2007, Psychol. Methods 12)."""
        check_level(level)
        if self.is_known_exactly:
            return self._without_spread(level)
        together = self._correlations()
        found = [part.interval(level) for _, part in self.parts]
        reach = []
        for sign in (-1.0, 1.0):
            away = [
                max(sign * factor * (end - part.value) for end in (ends.low, ends.high))
                for (factor, part), ends in zip(self.parts, found)
            ]
            reach.append(float(np.sqrt(max(away @ together @ np.array(away), 0.0))))
        low = max(self.value - reach[0], self.bounds[0])
        high = min(self.value + reach[1], self.bounds[1])
        return Interval(low, high, f"{found[0].method}, recovered")

    def _correlations(self) -> Array:
        """Between the parts, signs of the factors included, (m, m)."""
        weights = np.sqrt(self.rows.repeats) * self.rows.weights
        pulls = np.array([factor * weights * part.pulls for factor, part in self.parts])
        covariances = pulls @ pulls.T
        spread = np.sqrt(np.diag(covariances))
        scale = np.outer(spread, spread)
        found = np.divide(covariances, scale, out=np.zeros(scale.shape), where=scale > 0)
        np.fill_diagonal(found, 1.0)
        return found


def _tidy(bound: float) -> float:
    """A bound without what rounding adds to a sum of thirds."""
    return float(np.round(bound, 12))


def roc_area(data: Ranking) -> RocArea:
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
    sizes = counts[True].size, counts[False].size
    squared = (placement - area) ** 2
    squares = (
        sizes[0] * counts[True].sum(squared[data.is_positive]) / positives,
        sizes[1] * counts[False].sum(squared[~data.is_positive]) / negatives,
    )
    pulls = pulls * np.sqrt(factor)
    return RocArea(_within(area), pulls, rows, (0.0, 1.0), min(sizes), sizes, squares)


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
    return parts[0] if len(parts) == 1 else Blend.of([(1 / len(parts), part) for part in parts])


def _within(value: float) -> float:
    return float(min(max(value, 0.0), 1.0))


def need_both(data: Ranking) -> None:
    """Refuse rows of one class alone."""
    if data.is_positive.all() or not data.is_positive.any():
        kind = "positive" if data.is_positive.all() else "negative"
        raise ValueError(
            f"all rows are {kind}, so there is no curve to draw; add rows of the other class, or "
            "check pos_label."
        )
