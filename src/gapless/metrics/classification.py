"""How well classes are predicted: accuracy, precision, recall, F1 and costs, with intervals.

All but costs are shares of some rows, with exact intervals: of all rows, of those predicted to be
in a class, of those that are in it. F1 comes from one as well: F = 2J/(1 + J), where J is the share
of hits among the rows that are in the class or were predicted to be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._ground.cost_matrices import (
    abstaining_label,
    check_cost_rows,
    read_cost_matrix,
    read_row_costs,
    realised_costs,
)
from .._ground.docstrings import described
from .._ground.validation import read_labels, read_weights
from .estimates import Ratio, Smooth, scored
from .inputs import Decisions, positive_class, read_decisions
from .intervals import EXACT, MEASURED, NAMES, Rows, Score, share

Array = np.ndarray

# Shared by the docstrings of several functions.
CLASSES = """
y_true, y_pred : array-like of shape (n,)
    True and predicted classes.
average : {"binary", "macro", "weighted", "micro", None}
    "binary" is for one class. "macro" is the mean over classes, whose interval combines those of
    the classes; "weighted" weighs them by their share of the rows, with Student's interval of the
    logit, or that of the accuracy, which the weighted recall is. "micro" takes all classes
    together, which gives the accuracy. None returns each class by itself.
pos_label : label
    The class for "binary"; None takes the larger one.
method : {"exact", "wilson"}
    Clopper and Pearson's interval, which never covers less often than its level, or Wilson's, which
    is shorter and does so on average.
"""

AVERAGES = ("binary", "macro", "weighted", "micro", None)


@described(CLASSES, MEASURED)
def accuracy(
    y_true: Any,
    y_pred: Any,
    *,
    sample_weight: Any = None,
    level: float = 0.95,
    method: str = EXACT,
) -> Score:
    """The share of rows whose class was predicted.

    Returns
    -------
    Score
        The value with its interval; float() of it is the value.

    Examples
    --------
    >>> from gapless.metrics import accuracy
    >>> print(accuracy([0, 1, 1, 0, 1, 1, 0, 1], [0, 1, 1, 0, 1, 0, 0, 1]))
    accuracy 0.88 (0.47 to 1.00 at 95 %, exact (Clopper–Pearson), n = 8)
    """
    data = read_decisions(y_true, y_pred, sample_weight)
    return _share_of_all("accuracy", data, data.true == data.predicted, level, method)


@described(CLASSES, MEASURED)
def error_rate(
    y_true: Any,
    y_pred: Any,
    *,
    sample_weight: Any = None,
    level: float = 0.95,
    method: str = EXACT,
) -> Score:
    """The share of rows for which another class was predicted: 1 − accuracy.

    Returns
    -------
    Score
        The value with its interval.
    """
    data = read_decisions(y_true, y_pred, sample_weight)
    return _share_of_all("error rate", data, data.true != data.predicted, level, method)


@described(CLASSES, MEASURED)
def precision(
    y_true: Any,
    y_pred: Any,
    *,
    average: str | None = "binary",
    pos_label: Any = None,
    sample_weight: Any = None,
    level: float = 0.95,
    method: str = EXACT,
) -> Any:
    """Of the rows predicted to be in a class, the share that are.

    Returns
    -------
    Score, or dict of label to Score
        The value with its interval; a dict for average=None. If no row was predicted to be in the
        class, the value is 0, as in scikit-learn, and the interval reaches from 0 to 1.
    """
    data = read_decisions(y_true, y_pred, sample_weight)
    return _by_class(PRECISION, data, average, pos_label, level, method)


@described(CLASSES, MEASURED)
def recall(
    y_true: Any,
    y_pred: Any,
    *,
    average: str | None = "binary",
    pos_label: Any = None,
    sample_weight: Any = None,
    level: float = 0.95,
    method: str = EXACT,
) -> Any:
    """Of the rows in a class, the share predicted to be in it.

    Returns
    -------
    Score, or dict of label to Score
        The value with its interval, as for `precision`.
    """
    data = read_decisions(y_true, y_pred, sample_weight)
    return _by_class(RECALL, data, average, pos_label, level, method)


@described(CLASSES, MEASURED)
def f1(
    y_true: Any,
    y_pred: Any,
    *,
    average: str | None = "binary",
    pos_label: Any = None,
    sample_weight: Any = None,
    level: float = 0.95,
    method: str = EXACT,
) -> Any:
    """The harmonic mean of precision and recall, 2·hits/(rows of the class + rows predicted).

    Returns
    -------
    Score, or dict of label to Score
        The value with its interval, as for `precision`.

    Notes
    -----
    Hits are a share J of the rows that are of the class or predicted to be, and F = 2J/(1 + J)
    grows with it: the exact interval of J gives one of F.

    Examples
    --------
    >>> from gapless.metrics import f1
    >>> print(f1([0, 1, 1, 0, 1, 1], [0, 1, 1, 1, 1, 0], level=0.9))
    f1 0.75 (0.32 to 0.96 at 90 %, exact (Clopper–Pearson), n = 5)
    """
    data = read_decisions(y_true, y_pred, sample_weight)
    return _by_class(F1, data, average, pos_label, level, method)


# ---- shares of some rows -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Kind:
    """Which rows a metric uses for one class, and how it follows from the share of hits.

    `among` takes what a row is and what it was predicted to be; `below` counts a row in the
    denominator of the metric, where hits count `per_hit` above.
    """

    name: str
    among: Callable[[Array, Array], Array]
    of_share: Callable[[Any], Any]
    below: Callable[[Array, Array], Array]
    per_hit: float

    def ratio(self, data: Decisions, k: int) -> Ratio:
        """The metric for class k as a ratio of sums over the rows."""
        is_k, said_k = data.true == k, data.predicted == k
        hits = self.per_hit * (is_k & said_k)
        return Ratio(hits, self.below(is_k, said_k), data.rows, (0.0, 1.0))


PRECISION = Kind(
    "precision", lambda is_k, said: said, lambda p: p, lambda is_k, said: said.astype(float), 1.0
)
RECALL = Kind(
    "recall", lambda is_k, said: is_k, lambda p: p, lambda is_k, said: is_k.astype(float), 1.0
)
F1 = Kind(
    "f1",
    lambda is_k, said: is_k | said,
    lambda p: 2 * p / (1 + p),
    lambda is_k, said: is_k.astype(float) + said,
    2.0,
)


def _share_of_all(name: str, data: Decisions, hits: Array, level: float, method: str) -> Score:
    rows = data.rows
    value = rows.sum(hits) / rows.total
    low, high = share(value * rows.size, rows.size, level, method)
    return Score(name, value, float(low), float(high), level, NAMES[method], rows.size)


def _by_class(
    kind: Kind, data: Decisions, average: str | None, pos_label: Any, level: float, method: str
) -> Any:
    if average not in AVERAGES:
        raise ValueError(f"average={average!r} is not known; use one of {AVERAGES}.")
    if average == "binary":
        return _of_class(kind, data, positive_place(data, pos_label), level, method)
    if average is None:
        return dict(zip(data.classes.tolist(), _each_class(kind, data, level, method)))
    name = f"{average} {kind.name}"
    # Recalls by the shares of the classes are the share of all rows that is right.
    if average == "micro" or (average == "weighted" and kind is RECALL):
        return _share_of_all(name, data, data.true == data.predicted, level, method)
    mean = mean_over_classes(kind, data, average)
    if average == "macro":
        low, high = _recovered(mean.value, _each_class(kind, data, level, method))
        how = f"{NAMES[method]} of each class, recovered for their mean"
        return Score(name, mean.value, low, high, level, how, data.rows.size)
    return scored(name, mean, level)


def positive_place(data: Decisions, pos_label: Any) -> int:
    """Which of the classes is positive; one beyond the last where no row is of that class."""
    found = np.flatnonzero(data.classes == positive_class(data.classes, pos_label))
    return int(found[0]) if len(found) else len(data.classes)


def _each_class(kind: Kind, data: Decisions, level: float, method: str) -> list[Score]:
    return [_of_class(kind, data, k, level, method) for k in range(len(data.classes))]


def _recovered(mean: float, parts: list[Score]) -> tuple[float, float]:
    """Ends of a mean from those of its parts, which vary by themselves.

    A rare class may have all its few rows right; its interval shows how little that means, a
    standard error does not (Zou and Donner 2008, Statistics in Medicine 27).
    """
    down = np.sqrt(sum((part.value - part.low) ** 2 for part in parts)) / len(parts)
    up = np.sqrt(sum((part.high - part.value) ** 2 for part in parts)) / len(parts)
    return float(max(mean - down, 0.0)), float(min(mean + up, 1.0))


def _of_class(kind: Kind, data: Decisions, k: int, level: float, method: str) -> Score:
    """The metric of one class: exact, given the number of rows."""
    is_k, said_k = data.true == k, data.predicted == k
    rows = data.rows.only(np.flatnonzero(kind.among(is_k, said_k)))
    hits = data.rows.sum(is_k & said_k)
    p = hits / rows.total if rows.total > 0 else 0.0
    low, high = (kind.of_share(end) for end in share(p * rows.size, rows.size, level, method))
    value = kind.of_share(p)
    return Score(kind.name, value, float(low), float(high), level, NAMES[method], rows.size)


def mean_over_classes(kind: Kind, data: Decisions, average: str) -> Smooth:
    """The mean over classes, plain or by their share of the rows, to first order in the weights."""
    rows, K = data.rows, len(data.classes)
    value, pulls = 0.0, np.zeros(len(data.true))
    for k in range(K):
        of_class = kind.ratio(data, k).smooth
        is_k = (data.true == k).astype(float)
        part = rows.sum(is_k) / rows.total if average == "weighted" else 1 / K
        value += part * of_class.value
        pulls += part * of_class.pulls
        if average == "weighted":
            pulls += of_class.value * (is_k - part) / rows.total
    return Smooth(min(value, 1.0), pulls, rows, (0.0, 1.0))


@described(MEASURED)
def mean_cost(
    y_true: Any,
    y_pred: Any,
    cost_matrix: Any = None,
    *,
    costs: Any = None,
    cost_rows: str = "truth",
    abstain_cost: float | None = None,
    abstain_label: Any = None,
    labels: Any = None,
    sample_weight: Any = None,
    level: float = 0.95,
) -> Score:
    """The mean cost of decisions, as of `gapless.BayesDecision`.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        True classes and decisions.
    cost_matrix : array-like of shape (K, K) or (K,), or dict, default=None
        Row i, column j: the cost of deciding for class j when class i is true; or the costs of
        missing each class. None costs 1 for each error.
    costs : array-like of shape (n, K, K) or (n, K), default=None
        The same for each row, in place of `cost_matrix`.
    cost_rows : {"truth", "decision"}, default="truth"
        What the rows of a cost table are: "decision" for λ_ij, the cost of deciding for class i
        when class j is true.
    abstain_cost : float, default=None
        The cost of leaving a row undecided.
    abstain_label : label, default=None
        How that is written in `y_pred`; None is −1, or "abstain" where classes are text.
    labels : array-like of shape (K,), default=None
        All classes, sorted, if some have no row here.

    Returns
    -------
    Score
        The value with its interval, by the bootstrap of Student's t.

    Examples
    --------
    >>> from gapless.metrics import mean_cost
    >>> round(float(mean_cost([0, 0, 1, 1], [0, 1, 1, -1], {0: 5, 1: 1}, abstain_cost=0.5)), 3)
    1.375
    """
    check_cost_rows(cost_rows)
    true, decided = read_labels(y_true, y_true), read_labels(y_pred, y_true)
    found = true if labels is None else np.asarray(labels)
    absent = None if abstain_cost is None else abstaining_label(np.unique(found), abstain_label)
    if labels is None:
        found = np.concatenate([true, decided[decided != absent]])
    classes = np.unique(found)
    place = {label: k for k, label in enumerate(classes.tolist())}
    if abstain_cost is not None:
        place[absent] = len(classes)
    try:
        i, j = (np.array([place[label] for label in part.tolist()]) for part in (true, decided))
    except KeyError as error:
        raise ValueError(
            f"{error.args[0]!r} is not one of the classes {classes.tolist()}; pass all classes as "
            'labels, or abstain_cost if it means "no decision".'
        ) from error
    if costs is None:
        table = read_cost_matrix(cost_matrix, classes, cost_rows)
    else:
        table = read_row_costs(costs, len(i), len(classes), cost_rows)
    each = realised_costs(i, j, table, abstain_cost)
    bounds = _cost_bounds(table, abstain_cost)
    ratio = Ratio.mean(each, Rows.of(read_weights(sample_weight, each)), bounds)
    return scored("mean cost", ratio, level)


def _cost_bounds(table: Any, abstain_cost: float | None) -> tuple[float, float]:
    """The least and the largest cost of a row."""
    others = [] if abstain_cost is None else [abstain_cost]
    return float(min([table.min(), *others])), float(max([table.max(), *others]))
