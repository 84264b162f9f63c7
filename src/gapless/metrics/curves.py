"""ROC and precision–recall curves with their areas, for every threshold of a score at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._ground.docstrings import described
from .._ground.drawing import AXES, pictures
from .._ground.notebook import ShownInNotebook
from .areas import Steps, average_of_precision, mean_of, need_both, read_rankings, roc_area
from .estimates import scored
from .inputs import read_ranking
from .intervals import MEASURED, Score, share

Array = np.ndarray

# Shared by the docstrings of several functions.
RANKED = """
y_true : array-like of shape (n,)
    True classes.
y_score : array-like of shape (n,) or (n, 2)
    Scores of the positive class: probabilities or decision values; of two columns the second.
pos_label : label
    The positive class; None takes the larger of two.
"""
# Points of a curve that are drawn: more than a screen can show.
MOST_DRAWN = 2000


@dataclass(frozen=True, eq=False)
class RocCurve(ShownInNotebook):
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
        How many rows of each kind; with weights that are not counts, effective numbers.
    level : float
        Confidence level of the intervals.
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
        return self._band(slice(None))

    def _band(self, at: Any) -> tuple[Array, Array]:
        return share(self.tpr[at] * self.positives, self.positives, self.level)

    @described(AXES)
    def __str__(self) -> str:
        return str(self.area)

    def plot(self, *, axes=None):
        """Draw the curve with its band and area; returns the axes."""
        plots, at = pictures(), _drawn(len(self.tpr))
        return plots.roc(
            self.fpr[at], self.tpr[at], band=self._band(at), label=str(self.area), axes=axes
        )


@dataclass(frozen=True, eq=False)
class PrecisionRecallCurve(ShownInNotebook):
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
        The share of positive rows: the precision of uninformative scores.
    predicted : ndarray of shape (m + 1,)
        How many rows are scored at least as high; effective numbers, with weights.
    level : float
        Confidence level of the intervals.
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
        return self._band(slice(None))

    def _band(self, at: Any) -> tuple[Array, Array]:
        found = self.predicted[at]
        return share(self.precision[at] * found, found, self.level)

    @described(AXES)
    def __str__(self) -> str:
        return str(self.area)

    def plot(self, *, axes=None):
        """Draw the curve with its band and area; returns the axes."""
        plots, at = pictures(), _drawn(len(self.recall))
        return plots.precision_recall(
            self.recall[at],
            self.precision[at],
            band=self._band(at),
            prevalence=self.prevalence,
            label=str(self.area),
            axes=axes,
        )


@described(RANKED, MEASURED)
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
    drop_intermediate : bool, default=True
        Whether points on a straight line between others are left out.

    Returns
    -------
    RocCurve
        Plain data with `area` and `plot()`; `fpr, tpr, thresholds = roc_curve(…)` works as well.

    Examples
    --------
    >>> from gapless.metrics import roc_curve
    >>> curve = roc_curve([0, 0, 1, 0, 1, 1], [0.1, 0.3, 0.35, 0.4, 0.7, 0.8])
    >>> print(curve.tpr.round(2), round(curve.area.value, 3))
    [0.   0.33 0.67 0.67 1.   1.  ] 0.889
    """
    data = read_ranking(y_true, y_score, pos_label, sample_weight)
    need_both(data)
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
    area = scored("area under the ROC curve", roc_area(data), level)
    return RocCurve(fpr, tpr, thresholds, area, positives, negatives, level)


@described(RANKED, MEASURED)
def precision_recall_curve(
    y_true: Any,
    y_score: Any,
    *,
    pos_label: Any = None,
    sample_weight: Any = None,
    level: float = 0.95,
) -> PrecisionRecallCurve:
    """The positive share of the rows found, against the share of positive rows found.

    Returns
    -------
    PrecisionRecallCurve
        Plain data with `area` and `plot()`; unpacks into precision, recall and thresholds.
    """
    data = read_ranking(y_true, y_score, pos_label, sample_weight)
    need_both(data)
    steps = Steps.of(data)
    found = steps.hits + steps.misses
    area = scored("average precision", average_of_precision(data), level)
    return PrecisionRecallCurve(
        precision=np.concatenate([(steps.hits / found)[::-1], [1.0]]),
        recall=np.concatenate([(steps.hits / steps.hits[-1])[::-1], [0.0]]),
        thresholds=steps.thresholds[::-1],
        area=area,
        prevalence=float(steps.hits[-1] / found[-1]),
        predicted=np.concatenate([steps.sizes[::-1], [0.0]]),
        level=level,
    )


@described(RANKED, MEASURED)
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
    y_score : array-like of shape (n,) or (n, K)
        Scores of the positive class, or of all classes in sorted order.

    Returns
    -------
    Score
        The value with an interval that knows how few rows the rarer class has. It holds the true
        area in 93 of 100 samples or more, from a single row of a class on, and in 92 where all but
        a few of a hundred rows are found perfectly; the guide to metrics has a table.

    References
    ----------
    DeLong, DeLong and Clarke-Pearson (1988), Biometrics 44: how rows vary. Newcombe (2006),
    Statistics in Medicine 25, 559: the interval. Zou (2007), Psychological Methods 12: means.
    """
    name = "area under the ROC curve"
    data = read_rankings(y_true, y_score, pos_label, sample_weight)
    return scored(name, mean_of([roc_area(part) for part in data]), level)


@described(RANKED, MEASURED)
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
    y_score : array-like of shape (n,) or (n, K)
        Scores of the positive class, or of all classes in sorted order.

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
    return scored("average precision", mean, level)


def _drawn(points: int) -> Array:
    """Which points of a curve are drawn: both ends, and others between."""
    return np.unique(np.linspace(0, points - 1, MOST_DRAWN).astype(int))
