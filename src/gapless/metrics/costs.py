"""What decisions have cost, with an interval."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._ground.cost_matrices import (
    abstaining_label,
    read_cost_matrix,
    read_row_costs,
    realised_costs,
)
from .._ground.validation import read_labels, read_weights
from .estimates import Ratio
from .intervals import Rows
from .result import Score


def mean_cost(
    y_true: Any,
    y_pred: Any,
    cost_matrix: Any = None,
    *,
    costs: Any = None,
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
        Row i, column j: what it costs to decide for class j where class i is true; or the costs of
        missing each class. None costs 1 for each error.
    costs : array-like of shape (n, K, K) or (n, K), default=None
        The same for each row, in place of `cost_matrix`.
    abstain_cost : float, default=None
        What it costs to leave a row to somebody else.
    abstain_label : label, default=None
        How that is called in `y_pred`; None is −1, or "abstain" where classes are text.
    labels : array-like of shape (K,), default=None
        All classes, sorted, if some have no row here.
    sample_weight : array-like of shape (n,), default=None
        How much each row counts. Whole numbers are counts: 2 is the row twice.
    level : float, default=0.95
        How sure the interval is.

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
        table = read_cost_matrix(cost_matrix, classes)
    else:
        table = read_row_costs(costs, len(i), len(classes))
    each = realised_costs(i, j, table, abstain_cost)
    bounds = _bounds(table, abstain_cost)
    ratio = Ratio.mean(each, Rows.of(read_weights(sample_weight, each)), bounds)
    ends = ratio.interval(level)
    n = ratio.rows.size
    return Score("mean cost", ratio.value, ends.low, ends.high, level, ends.method, n)


def _bounds(table: Any, abstain_cost: float | None) -> tuple[float, float]:
    """The least and the largest cost of a row."""
    others = [] if abstain_cost is None else [abstain_cost]
    return float(min([table.min(), *others])), float(max([table.max(), *others]))
