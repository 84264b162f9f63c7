"""ROC and precision–recall curves with their areas, for every threshold of a score at once."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._validation import read_labels
from .estimates import Smooth
from .intervals import share
from .reading import Ranking, read_ranking
from .result import Score

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class RocCurve:
    """True and false positive rates at every threshold. Unpacks like scikit-learn's three arrays.

    Attributes
    ----------
    fpr, tpr : ndarray of shape (m,)
        The share of negative, and of positive rows, scored at least as high as each threshold.
    thresholds : ndarray of shape (m,)
        Falling scores; the first is ∞, above all rows.
    area : Score
        The area under the curve: how often a positive row is scored above a negative one.
    positives, negatives : float
        How many rows of each kind; effective numbers, with weights that are no counts.
    level : float
        How sure the intervals are.
    """

    fpr: Array
    tpr: Array
    thresholds: Array
    area: Score
    positives: float
    negatives: float
    level: float

    def __iter__(self) -> Iterator[Array]:
        return iter((self.fpr, self.tpr, self.thresholds))

    def band(self) -> tuple[Array, Array]:
        """Low and high ends of the true positive rate at each threshold, exact for each alone."""
        return share(self.tpr * self.positives, self.positives, self.level)

    def plot(self, *, axes=None):
        """Draw the curve with its band and area.

        Parameters
        ----------
        axes : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        axes : matplotlib Axes
        """
        # matplotlib takes as long to import as all the rest, so it waits until it is needed.
        plots = importlib.import_module("gapless.plots")
        return plots.roc(self.fpr, self.tpr, band=self.band(), label=str(self.area), axes=axes)


@dataclass(frozen=True, eq=False)
class PrecisionRecallCurve:
    """Precision and recall at every threshold. Unpacks like scikit-learn's three arrays.

    Attributes
    ----------
    precision, recall : ndarray of shape (m + 1,)
        Of the rows scored at least as high as each threshold, the positive share; and the share of
        all positive rows that are among them. The last point is (1, 0), without rows.
    thresholds : ndarray of shape (m,)
        Rising scores.
    area : Score
        The average precision, Σ (recall_k − recall_{k+1}) precision_k.
    prevalence : float
        The share of positive rows: the precision of scores that say nothing.
    predicted : ndarray of shape (m + 1,)
        How many rows are scored at least as high; effective numbers, with weights.
    level : float
        How sure the intervals are.
    """

    precision: Array
    recall: Array
    thresholds: Array
    area: Score
    prevalence: float
    predicted: Array
    level: float

    def __iter__(self) -> Iterator[Array]:
        return iter((self.precision, self.recall, self.thresholds))

    def band(self) -> tuple[Array, Array]:
        """Low and high ends of the precision at each threshold, exact for each alone."""
        return share(self.precision * self.predicted, self.predicted, self.level)

    def plot(self, *, axes=None):
        """Draw the curve with its band and area.

        Parameters
        ----------
        axes : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        axes : matplotlib Axes
        """
        # matplotlib takes as long to import as all the rest, so it waits until it is needed.
        plots = importlib.import_module("gapless.plots")
        return plots.precision_recall(
            self.recall,
            self.precision,
            band=self.band(),
            prevalence=self.prevalence,
            label=str(self.area),
            axes=axes,
        )


def roc_curve(
    y_true: Any,
    y_score: Any,
    *,
    pos_label: Any = None,
    sample_weight: Any = None,
    drop_intermediate: bool = True,
    level: float = 0.95,
) -> RocCurve:
    """The share of positive rows found, against that of negative rows found with them.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two classes.
    y_score : array-like of shape (n,) or (n, 2)
        How much speaks for the positive class: probabilities or decision values; of two columns the
        second.
    pos_label : label, default=None
        The positive class; the larger one if None.
    sample_weight : array-like of shape (n,), default=None
        How much each row counts. Whole numbers are counts: 2 is the row twice.
    drop_intermediate : bool, default=True
        Whether points on a straight line between others are left out.
    level : float, default=0.95
        How sure the intervals are.

    Returns
    -------
    RocCurve
        Plain data with `area` and `plot()`; `fpr, tpr, thresholds = roc_curve(…)` works, too.

    Examples
    --------
    >>> from gapless.metrics import roc_curve
    >>> curve = roc_curve([0, 0, 1, 0, 1, 1], [0.1, 0.3, 0.35, 0.4, 0.7, 0.8])
    >>> print(curve.tpr.round(2), curve.area.value.__round__(3))
    [0.   0.67 0.67 1.   1.  ] 0.889
    """
    data = read_ranking(y_true, y_score, pos_label, sample_weight)
    _need_both(data)
    steps = Steps.of(data)
    kept = np.ones(len(steps.hits), dtype=bool)
    if drop_intermediate:
        kept[1:-1] = (np.diff(steps.hits, 2) != 0) | (np.diff(steps.misses, 2) != 0)
    tpr = np.append(0.0, steps.hits[kept] / steps.hits[-1])
    fpr = np.append(0.0, steps.misses[kept] / steps.misses[-1])
    thresholds = np.append(np.inf, steps.thresholds[kept])
    positives, negatives = (
        data.rows.only(rows).size for rows in (data.is_positive, ~data.is_positive)
    )
    area = score_of("area under the ROC curve", roc_area(data), level)
    return RocCurve(fpr, tpr, thresholds, area, positives, negatives, level)


def precision_recall_curve(
    y_true: Any,
    y_score: Any,
    *,
    pos_label: Any = None,
    sample_weight: Any = None,
    level: float = 0.95,
) -> PrecisionRecallCurve:
    """The positive share of the rows found, against the share of positive rows found.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Two classes.
    y_score : array-like of shape (n,) or (n, 2)
        How much speaks for the positive class, as for `roc_curve`.
    pos_label : label, default=None
        The positive class; the larger one if None.
    sample_weight : array-like of shape (n,), default=None
        How much each row counts, as for `roc_curve`.
    level : float, default=0.95
        How sure the intervals are.

    Returns
    -------
    PrecisionRecallCurve
        Plain data with `area` and `plot()`; unpacks into precision, recall and thresholds.
    """
    data = read_ranking(y_true, y_score, pos_label, sample_weight)
    _need_both(data)
    steps = Steps.of(data)
    found = steps.hits + steps.misses
    area = score_of("average precision", average_of_precision(data), level)
    return PrecisionRecallCurve(
        precision=np.concatenate([(steps.hits / found)[::-1], [1.0]]),
        recall=np.concatenate([(steps.hits / steps.hits[-1])[::-1], [0.0]]),
        thresholds=steps.thresholds[::-1],
        area=area,
        prevalence=float(steps.hits[-1] / found[-1]),
        predicted=np.concatenate([steps.sizes[::-1], [0.0]]),
        level=level,
    )


def roc_auc(
    y_true: Any,
    y_score: Any,
    *,
    pos_label: Any = None,
    sample_weight: Any = None,
    level: float = 0.95,
) -> Score:
    """The area under the ROC curve; of more than two classes the mean of one against the rest.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Classes.
    y_score : array-like of shape (n,) or (n, K)
        Scores of the positive class, or of all classes in sorted order.
    pos_label : label, default=None
        The positive one of two classes; the larger one if None.
    sample_weight : array-like of shape (n,), default=None
        How much each row counts, as for `roc_curve`.
    level : float, default=0.95
        How sure the interval is.

    Returns
    -------
    Score
        The value with DeLong's interval, taken of the logit so that it stays below 1.

    References
    ----------
    DeLong, DeLong and Clarke-Pearson (1988), Biometrics 44.
    """
    name = "area under the ROC curve"
    data = read_rankings(y_true, y_score, pos_label, sample_weight)
    return score_of(name, mean_of([roc_area(part) for part in data]), level)


def average_precision(
    y_true: Any,
    y_score: Any,
    *,
    pos_label: Any = None,
    sample_weight: Any = None,
    level: float = 0.95,
) -> Score:
    """The area under the precision–recall curve; the mean over classes if more than two.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Classes.
    y_score : array-like of shape (n,) or (n, K)
        Scores of the positive class, or of all classes in sorted order.
    pos_label : label, default=None
        The positive one of two classes; the larger one if None.
    sample_weight : array-like of shape (n,), default=None
        How much each row counts, as for `roc_curve`.
    level : float, default=0.95
        How sure the interval is.

    Returns
    -------
    Score
        The value with Student's interval of the logit.

    References
    ----------
    Boyd, Eng and Page (2013), European Conference on Machine Learning: intervals of the logit.
    """
    data = read_rankings(y_true, y_score, pos_label, sample_weight)
    mean = mean_of([average_of_precision(part) for part in data])
    return score_of("average precision", mean, level)


# ---- areas ---------------------------------------------------------------------------------------


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
        _need_both(part)
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


def score_of(name: str, measured: Smooth, level: float) -> Score:
    """A score with its interval."""
    found = measured.interval(level)
    n = measured.rows.size
    return Score(name, measured.value, found.low, found.high, level, found.method, n)


def _within(value: float) -> float:
    return float(min(max(value, 0.0), 1.0))


def _need_both(data: Ranking) -> None:
    if data.is_positive.all() or not data.is_positive.any():
        kind = "positive" if data.is_positive.all() else "negative"
        raise ValueError(
            f"all rows are {kind}, so that no curve compares two classes; add rows of the other "
            "class, or check pos_label."
        )
