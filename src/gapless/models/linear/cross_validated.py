"""What the classes with "CV" in their name share: routing, folds and scorers.

They are in `ridge_cv`, `lasso_cv`, `multi_task` and `logistic_cv`. Each has the methods `fit` and
`get_metadata_routing` of this file, chooses from strengths of its own, by leave-one-out or by
folds, and settles on the estimator `_plain`, which defines what is minimised; all else is in
`_base`.

scikit-learn's splitters are used unchanged. A number of folds, or the default, means scikit-learn's
splitter over the distinct x with a weight, in order of first appearance: the rows of one x stay
together, so weight 2 equals the row twice for the choice too, and data without equal x are split as
in scikit-learn.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.metrics import get_scorer, get_scorer_names, make_scorer
from sklearn.model_selection import check_cv
from sklearn.utils import check_scalar
from sklearn.utils._metadata_requests import (
    MetadataRouter,
    MethodMapping,
    _raise_for_params,
    _routing_enabled,
    process_routing,
)
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import _check_method_params

from ..._ground.design import Design
from ..._ground.docstrings import described
from ..._ground.interrupt import TimeLimit
from ..._ground.validation import Training
from ...problem import Parameters, Problem
from ...solvers import Station
from ...unseen import Judge, best_of, by_appearance, left_together
from ._base import LinearModel
from .parameters import DATA
from .path import ScoredPath
from .path_following import along, ridge_path
from .problems import fitted_of, pack
from .strengths import is_quadratic, is_ridge

Array = np.ndarray
Fold = tuple[Array, Array]
SCORING = [StrOptions(set(get_scorer_names())), callable, None]


@described(DATA)
def fit(self, X, y, sample_weight=None, **params):
    """Choose the strength, and fit the model.

    Parameters
    ----------
    **params : dict
        Further parameters for the splitter and the scorer, with metadata routing.

    Returns
    -------
    self : object
        The fitted estimator. Ctrl-C keeps the best coefficients found so far and raises
        KeyboardInterrupt; an error leaves the estimator as it was.
    """
    _raise_for_params(params, self, "fit")
    self._routed = _route(self, sample_weight, params)
    try:
        return LinearModel.fit(self, X, y, sample_weight)
    finally:
        del self._routed


def _route(model, sample_weight, params) -> tuple[dict, dict]:
    """The metadata for the splitter and the scorer."""
    weights = {} if sample_weight is None else {"sample_weight": sample_weight}
    if not _routing_enabled():
        return {}, weights
    routed = process_routing(model, "fit", **weights, **params)
    scorer = routed.get("scorer", {"score": {}})
    return routed.splitter.split, scorer["score"]


def get_metadata_routing(self):
    """What is passed on to the splitter and the scorer.

    Returns
    -------
    routing : MetadataRouter
        As scikit-learn has it.
    """
    splitting = MethodMapping().add(caller="fit", callee="split")
    splitter = None if isinstance(self.cv, str) else self.cv
    router = MetadataRouter(owner=self).add_self_request(self)
    router.add(splitter=splitter, method_mapping=splitting)
    if hasattr(self, "_scorer"):
        scoring = MethodMapping()
        for caller in getattr(self, "_scoring_methods", ("fit",)):
            scoring.add(caller=caller, callee="score")
        router.add(scorer=self._scorer(), method_mapping=scoring)
    return router


def check_strengths(values: list, boundaries: str) -> Array:
    """Strengths as an array, if they are numbers ≥ 0; > 0 for boundaries="neither"."""
    for position, value in enumerate(values):
        name = "alphas" if len(values) == 1 else f"alphas[{position}]"
        check_scalar(value, name, target_type=Real, min_val=0.0, include_boundaries=boundaries)
    return np.array(values, dtype=float)


def chosen(trail: ScoredPath, select: str) -> int:
    """The best in the order given, or the strongest within one standard error."""
    if np.all(np.isnan(trail.unseen)):  # such as R² of folds with a single row
        return 0
    if select == "min":
        return int(np.nanargmax(trail.unseen))
    order = np.argsort(-trail.strengths, kind="stable")
    return int(order[best_of(trail.unseen[order], trail.standard_errors[order], select)])


def fitted_twin(model, data, problems, parameters):
    """A copy of an estimator with these parameters, as if it had been fitted."""
    coef, intercept, _ = pack(problems, parameters)
    learned = {
        "coef_": coef,
        "intercept_": intercept,
        "n_features_in_": data.X.shape[1],
        "n_iter_": 0,
    }
    twin = model._at()
    for name, value in (learned | model._specifics(data, learned, [], [])).items():
        setattr(twin, name, value)
    return twin


def all_rows(z: list[Array], folds, weights: Array) -> Array | None:
    """The predictions of the folds as (n, m, K), 0 for rows in no test.

    None if a row with a weight is in two tests, or in none.
    """
    tests = np.concatenate([test for _, test in folds])
    if np.any(np.bincount(tests, minlength=len(weights))[weights > 0] != 1):
        return None
    whole = np.zeros((len(weights), *z[0].shape[1:]))
    whole[tests] = np.concatenate(z)
    return whole


def scored_errors(model, fitted, trail: ScoredPath, scoring) -> Array:
    """Standard errors of the scores of held-out rows by a scorer, for each model of a trail."""
    judge = Judge(model, fitted.y[trail.rows], trail.weights, scoring)
    units = fitted.units[trail.rows]
    return np.array([judge.standard_error(z, units) for z in trail.z.swapaxes(0, 1)])


# ---- folds ---------------------------------------------------------------------------------------


def folds_of(
    cv: Any, data: Training, *, classifier: bool, params: dict | None = None
) -> list[Fold]:
    """Pairs (train, test) of rows; tests without any weight are dropped."""
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
        # Five, or fewer if there are not as many distinct x, or x of any class.
        most = len(first) if not classifier else max(np.unique(y, return_counts=True)[1])
        cv = max(min(5, int(most)), 2)
    splitter = check_cv(cv, y, classifier=classifier)
    by_unit = splitter.split(np.zeros((len(first), 1)), y)
    return [
        (np.flatnonzero(np.isin(units, train)), np.flatnonzero(np.isin(units, test)))
        for train, test in by_unit
    ]


def _usual_class(data: Training, units: Array) -> Array:
    """The most frequent class of each unit, by weight."""
    assert data.classes is not None
    K, rows = len(data.classes), np.flatnonzero(units >= 0)
    cells = units[rows] * K + data.y[rows]
    size = K * (int(units.max(initial=-1)) + 1)
    shares = np.bincount(cells, data.sample_weight[rows], size).reshape(-1, K)
    return data.classes[shares.argmax(axis=1)]


def part_of(data: Training, rows: Array) -> Training:
    """The data of some rows; all classes stay, even those without rows."""
    return replace(
        data,
        X=data.X[rows],
        y=data.y[rows],
        weights=data.weights[rows],
        sample_weight=data.sample_weight[rows],
    )


@dataclass(frozen=True, eq=False)
class FoldPath:
    """The models of some rows along strengths: problems, parameters, numbers of steps, gaps."""

    problems: list[Problem]
    parameters: list[list[Parameters]]
    steps: Array
    gaps: Array


def fold_path(model: Any, data: Training, strengths: Array, callback: Any) -> FoldPath:
    """Models at strengths in the order given; `model` has a penalty of strength 1."""
    fitted = fitted_of(model, data)
    if is_ridge(fitted.problems):
        found = ridge_path(fitted.problems[0], strengths)
        steps = np.ones(len(strengths), dtype=int)
        return FoldPath(fitted.problems, found.parameters, steps, found.gaps)
    if all(is_quadratic(problem) for problem in fitted.problems):
        # Newton's method doubles the digits with every step, so many of them cost little.
        fitted = replace(fitted, tol=max(1e-6 * fitted.tol, 1e-13))
    order = np.argsort(-strengths, kind="stable")
    stations = zip(*(along(p, strengths[order], fitted, callback) for p in fitted.problems))
    reached: list[tuple[Station, ...]] = list(stations)
    if len(reached) < len(strengths):
        raise TimeLimit
    reached = [reached[place] for place in np.argsort(order)]
    return FoldPath(
        fitted.problems,
        [[station.parameters for station in each] for each in reached],
        np.array([max(station.steps for station in each) for each in reached]),
        np.array([sum(station.gap for station in each) for each in reached]),
    )


@dataclass(frozen=True, eq=False)
class ScoredFolds:
    """The models of each fold, their scores (folds, m), and their predictions of all test rows.

    The predictions z are (n, m, K), None if a row with a weight is in two tests, or in none.
    """

    paths: list[FoldPath]
    scores: Array
    z: Array | None

    @property
    def standard_errors(self) -> Array:
        """The standard errors of the mean scores; nan for a single fold."""
        return errors_over_folds(self.scores)


def score_folds(
    unit: Any, data: Training, strengths: Array, folds: list[Fold], scorer: Scorer, params: dict,
    callback: Any = None,
) -> ScoredFolds:  # fmt: skip
    """Fit `unit`, whose penalty has strength 1, to each fold at all strengths, and score it."""
    paths, scores, z = [], [], []
    for train, test in folds:
        part = part_of(data, train)
        path = fold_path(unit, part, strengths, callback)
        models = [fitted_twin(unit, part, path.problems, p) for p in path.parameters]
        paths.append(path)
        scores.append([scorer.score(model, data, test, params) for model in models])
        held = [model._scores(data.X[test]).reshape(len(test), -1) for model in models]
        z.append(np.stack(held, axis=1))
    return ScoredFolds(paths, np.array(scores), all_rows(z, folds, data.weights))


def errors_over_folds(scores: Array) -> Array:
    """Standard errors of means over folds, from scores (folds, m); nan for a single fold."""
    count = len(scores)
    if count < 2:
        return np.full(scores.shape[1], np.nan)
    with np.errstate(over="ignore"):  # huge scores have squares beyond all floats
        return np.std(scores, axis=0, ddof=1) / np.sqrt(count)


class Scorer:
    """A scikit-learn scorer that knows all classes, for folds that lack some."""

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
