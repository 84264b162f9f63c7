"""Folds for the classes with "CV" in their name: which rows, models along strengths, and scores.

Splitters of scikit-learn split as they always do. A number of folds, or none given, means
scikit-learn's splitter over the distinct x that have a weight, in the order in which they first
appear: the rows of one x stay together, so weight 2 is the row twice for the choice too, and data
without equal x is split as scikit-learn splits it.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer, make_scorer
from sklearn.model_selection import check_cv
from sklearn.utils.validation import _check_method_params

from ..._ground.design import Design
from ..._ground.validation import Training
from ...problem import Parameters, Problem
from ...solvers import Station
from ...unseen import by_appearance, left_together
from .following import along, ridge_trail
from .selection import fitted_of
from .strengths import is_quadratic, is_ridge

Array = np.ndarray
Fold = tuple[Array, Array]


def folds_of(
    cv: Any, data: Training, *, classifier: bool, params: dict | None = None
) -> list[Fold]:
    """Pairs (train, test) of rows; tests without any weight are left out."""
    y = data.y if data.classes is None or data.y.ndim == 2 else data.classes[data.y]
    if not (cv is None or isinstance(cv, int | np.integer)):
        splitter = check_cv(cv, y, classifier=classifier)
        pairs = splitter.split(data.X, y, **params or {})
        folds = [(np.asarray(train), np.asarray(test)) for train, test in pairs]
        counted = [fold for fold in folds if np.any(data.weights[fold[1]] > 0)]
        if folds and not counted:
            raise ValueError(
                "no fold of cv tests a row with sample_weight > 0; use a cv whose test folds have "
                "such rows."
            )
        return counted
    is_counted = data.weights > 0
    labels = left_together(Design(data.X), np.asarray(data.y, dtype=float), is_counted)
    units, first = by_appearance(labels, is_counted)
    y = y[first] if data.classes is None or data.y.ndim == 2 else _usual_class(data, units)
    if cv is None:
        # Five, or fewer where there are not as many distinct x, or x of any class.
        most = len(first) if not classifier else max(np.unique(y, return_counts=True)[1])
        cv = max(min(5, int(most)), 2)
    splitter = check_cv(cv, y, classifier=classifier)
    by_unit = splitter.split(np.zeros((len(first), 1)), y)
    return [
        (np.flatnonzero(np.isin(units, train)), np.flatnonzero(np.isin(units, test)))
        for train, test in by_unit
    ]


def _usual_class(data: Training, units: Array) -> Array:
    """The class that most rows of each unit have, by weight."""
    assert data.classes is not None
    K, rows = len(data.classes), np.flatnonzero(units >= 0)
    cells = units[rows] * K + data.y[rows]
    size = K * (int(units.max(initial=-1)) + 1)
    shares = np.bincount(cells, data.sample_weight[rows], size).reshape(-1, K)
    return data.classes[shares.argmax(axis=1)]


def part_of(data: Training, rows: Array) -> Training:
    """The data of some rows; classes stay, also those that have none of them."""
    return replace(
        data,
        X=data.X[rows],
        y=data.y[rows],
        weights=data.weights[rows],
        sample_weight=data.sample_weight[rows],
    )


@dataclass(frozen=True, eq=False)
class FoldPath:
    """The models of one fold along strengths: problems, parameters, numbers of steps, gaps."""

    problems: list[Problem]
    parameters: list[list[Parameters]]
    steps: Array
    gaps: Array


def fold_path(model: Any, data: Training, strengths: Array, callback: Any) -> FoldPath:
    """Models along strengths, the strongest first; `model` has a penalty of strength 1."""
    fitted = fitted_of(model, data)
    if is_ridge(fitted.problems):
        trail = ridge_trail(fitted.problems[0], np.asarray(strengths, dtype=float))
        steps = np.ones(len(strengths), dtype=int)
        return FoldPath(fitted.problems, trail.parameters, steps, trail.gaps)
    if all(is_quadratic(problem) for problem in fitted.problems):
        # Newton's method doubles the digits with every step, so that many of them cost little.
        fitted = replace(fitted, tol=max(1e-6 * fitted.tol, 1e-13))
    paths = zip(*(along(p, strengths, fitted, callback) for p in fitted.problems))
    found: list[tuple[Station, ...]] = list(paths)
    return FoldPath(
        fitted.problems,
        [[station.parameters for station in stations] for stations in found],
        np.array([max(station.steps for station in stations) for stations in found]),
        np.array([sum(station.gap for station in stations) for stations in found]),
    )


class Scorer:
    """A scorer of scikit-learn that knows all classes, for folds that lack some."""

    def __init__(self, scoring: Any, classes: Array | None):
        self.scorer = get_scorer(scoring)
        function = getattr(self.scorer, "_score_func", None)
        takes = inspect.signature(function).parameters if function is not None else {}
        if classes is not None and "labels" in takes:
            options = dict(getattr(self.scorer, "_kwargs", {}))
            if len(classes) == 2 and "pos_label" in takes:
                options.setdefault("pos_label", classes[-1])
            self.scorer = make_scorer(
                function,
                greater_is_better=self.scorer._sign == 1,
                response_method=self.scorer._response_method,
                labels=classes,
                **options,
            )

    def score(self, model: Any, data: Training, rows: Array, params: dict, X: Any = None) -> float:
        """The score of a model on some rows of the data, or on X in their place."""
        X, y = data.X[rows] if X is None else X, data.y[rows]
        y = data.classes[y] if data.classes is not None and y.ndim == 1 else y
        params = _check_method_params(data.X, params, indices=rows)
        return float(self.scorer(model, X, y, **params))
