"""Probabilities that can be trusted, from predictions for rows that the model had not seen.

A model of gapless predicts its training rows without them (leave-one-out, out of bag, folds), as
its `generalization_` does; others are fitted again to five folds. A map from scores to
probabilities is fitted to these held-out predictions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, logit
from sklearn.base import (
    _fit_context,
    clone,
)
from sklearn.isotonic import IsotonicRegression
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .._ground.around import AROUND, INSIDE, AroundClassifier, taken_from
from .._ground.docstrings import described
from .._ground.stored import (
    INPUT,
    Declaration,
    Each,
    FittedModel,
    Labels,
    Number,
    Numbers,
    Unused,
    Value,
    Word,
)
from .._ground.validation import read_weights
from .._ground.weighted_fits import weight_argument, weight_options
from ..unseen import (
    FOLDS,
    Judge,
    NotAvailable,
    Part,
    Population,
    Remembering,
    StandIn,
    Trial,
    dealt,
    take_over,
)

Array = np.ndarray

# When a line is fitted well enough: when a step would gain less than this for each row.
NEWTON_STEPS, ENOUGH = 100, 1e-18


@dataclass(frozen=True, eq=False)
class Sigmoid:
    """p = σ(slope·s + shift): two numbers to fit, so that few rows will do."""

    _stored: ClassVar[Declaration] = {"slope": Number(), "shift": Number()}
    slope: float
    shift: float

    @classmethod
    def fit(cls, scores: Array, is_true: Array, weights: Array) -> Sigmoid:
        """The likeliest one, for Platt's targets (N + 1)/(N + 2) in place of 1."""
        target = _targets(is_true, weights)
        size = float(np.sqrt(np.average(scores**2, weights=weights))) or 1.0
        slope, shift = _likeliest_line(scores / size, target, weights)
        if slope > 0:
            return cls(slope / size, shift)
        # Scores that point the wrong way are ignored: every row gets the share of the class.
        return cls(0.0, float(logit(np.average(target, weights=weights))))

    def __call__(self, scores: Array) -> Array:
        """Probabilities of rows with these scores."""
        return expit(self.slope * scores + self.shift)


def _likeliest_line(x: Array, target: Array, weights: Array) -> tuple[float, float]:
    """(a, b) of least Σ weight·(log(1 + exp(ax + b)) − target·(ax + b)), by Newton's method.

    No target is 0 or 1, so a minimiser exists; halved steps find it from anywhere.
    """
    A = np.column_stack([x, np.ones(len(x))])
    # Scores that are all equal leave the slope open: a hair of a penalty makes it 0.
    hair = 1e-12 * float(weights.sum())

    def objective(at: Array) -> float:
        z = A @ at
        return float(weights @ (np.logaddexp(0.0, z) - target * z) + hair * at @ at / 2)

    at = np.zeros(2)
    value = objective(at)
    for _ in range(NEWTON_STEPS):
        p = expit(A @ at)
        gradient = A.T @ (weights * (p - target)) + hair * at
        curvature = (A.T * (weights * p * (1 - p))) @ A + hair * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        if gradient @ step <= ENOUGH * float(weights.sum()):
            break
        length = 1.0
        while (new := objective(at - length * step)) > value and length > 1e-10:
            length /= 2
        at, value = at - length * step, min(new, value)
    return float(at[0]), float(at[1])


@dataclass(frozen=True, eq=False)
class Steps:
    """Probabilities at rising scores, and lines between them: any rising shape, from more rows."""

    _stored: ClassVar[Declaration] = {
        "scores": Numbers("steps"),
        "values": Numbers("steps", low=0.0, high=1.0),
    }
    scores: Array
    values: Array

    @classmethod
    def fit(cls, scores: Array, is_true: Array, weights: Array) -> Steps:
        """Isotonic least squares, as far from 0 and 1 as Platt's targets are."""
        target = _targets(is_true, weights)
        model = IsotonicRegression(y_min=target.min(), y_max=target.max())
        model.fit(scores, is_true, sample_weight=weights)
        return cls(model.X_thresholds_, model.y_thresholds_)

    def __call__(self, scores: Array) -> Array:
        """Probabilities of rows with these scores."""
        return np.interp(scores, self.scores, self.values)


def _targets(is_true: Array, weights: Array) -> Array:
    """(N + 1)/(N + 2) for the N rows that are true, 1/(N + 2) for the N others (Platt 1999)."""
    yes, no = weights @ is_true, weights @ (1 - is_true)
    return np.where(is_true > 0, (yes + 1) / (yes + 2), 1 / (no + 2))


def mapped(maps: list[Any], scores: Array) -> Array:
    """Probabilities (n, K) from scores, by a map for each class, or one for two classes."""
    columns = [one(column) for one, column in zip(maps, scores.T)]
    if len(columns) == 1:
        return np.column_stack([1 - columns[0], columns[0]])
    p = np.column_stack(columns)
    return p / p.sum(axis=1, keepdims=True)


# Probabilities nearer to 0 or 1 than this count as this.
LEAST = 1e-6
TOO_FEW = (
    "no class has two distinct rows, one to learn from and one to hold out; add rows of each class."
)


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Scores (n, K), or (n, 1) of two classes, of rows by models that had not seen them.

    `true` are positions of their classes, and `plain` the probabilities as the model has them, None
    if it has none. Equal rows are one, with their weights summed, and the order is by content.
    """

    scores: Array
    plain: Array | None
    true: Array
    weights: Array
    method: str

    @classmethod
    def of(cls, model: Any, rows: Any, y: Array, weights: Array, method: str) -> HeldOut:
        """From a model that answers for the rows without having seen them."""
        plain = None
        if hasattr(model, "predict_proba"):
            plain = np.asarray(model.predict_proba(rows), dtype=float)
        true = np.searchsorted(model.classes_, y)
        return cls(scores_of(model, rows), plain, true, weights, method)

    @cached_property
    def fold(self) -> Array:
        """The fold of each row, 0 to 4, with a fair part of each class in all of them."""
        return dealt(np.arange(len(self.true)), strata=self.true, in_turn=True)


def scores_of(model: Any, X: Any) -> Array:
    """Log-odds of each class, or decision values: (n, K), or (n, 1) of two classes."""
    if hasattr(model, "predict_proba"):
        p = np.clip(np.asarray(model.predict_proba(X), dtype=float), LEAST, 1 - LEAST)
        return logit(p[:, 1:] if p.shape[1] == 2 else p)
    scores = np.asarray(model.decision_function(X), dtype=float)
    if scores.ndim == 2 and scores.shape[1] != len(model.classes_):
        raise ValueError(
            f"{type(model).__name__} has decision values for pairs of classes, not for classes; "
            'set decision_function_shape="ovr".'
        )
    return scores.reshape(len(scores), -1)


def held_out(model: Any, X: Any, y: Any, sample_weight: Any) -> HeldOut:
    """Scores of rows that the model had not seen."""
    if isinstance(model, Remembering):
        return _from_the_fit(model, X, y, sample_weight)
    if X is None or y is None:
        raise ValueError(
            f"{type(model).__name__} no longer holds its training data; call recalibrate(model, "
            "X, y)."
        )
    return _from_folds(model, X, y, sample_weight)


def _from_the_fit(model: Any, X: Any, y: Any, sample_weight: Any) -> HeldOut:
    if X is None:
        fitted = model._remembered("recalibrate(model, X, y, sample_weight)")
    else:
        fitted = model._fitted_to(X, y, sample_weight)
    weights = np.where(fitted.is_counted, fitted.weights, 0.0)
    try:
        outcome = Trial(fitted, Judge(model, fitted.y, weights)).run(fitted)
    except NotAvailable as reason:
        raise ValueError(f"no rows of this fit can be held out: {reason}.") from reason
    z = outcome.estimate.z
    if outcome.keeps_shares:
        z = fitted.with_shares(z)
    is_held = (weights > 0) & np.all(np.isfinite(z), axis=1)
    held = np.flatnonzero(is_held)
    code = np.searchsorted(model.classes_, fitted.y[held])
    # One row for each class at each x, in the order of their content.
    pairs, first, place = np.unique(
        np.column_stack([fitted.units[held], code]), axis=0, return_index=True, return_inverse=True
    )
    summed = np.bincount(place.ravel(), weights[held])
    # A row that is all there is of its class: a model without it knows of no such class.
    kept = np.bincount(pairs[:, 1])[pairs[:, 1]] > 1
    rows, summed = held[first][kept], summed[kept]
    if not len(rows):
        raise ValueError(TOO_FEW)
    twin = model._standing_in(z)
    return HeldOut.of(twin, rows[:, None], fitted.y[rows], summed, outcome.method)


def _from_folds(model: Any, X: Any, y: Any, sample_weight: Any) -> HeldOut:
    """By copies of the model that were fitted without a fold of the distinct rows."""
    y = column_or_1d(y)
    X, _ = indexable(X if hasattr(X, "shape") else np.asarray(X), y)
    others = set(np.unique(y).tolist()) - set(model.classes_.tolist())
    if others:
        raise ValueError(
            f"y has {next(iter(others))!r}, which is not one of the classes of the model, "
            f"{model.classes_.tolist()}; pass the y it was fitted to."
        )
    code = np.searchsorted(model.classes_, y).astype(float)
    population = Population.of(X, code, read_weights(sample_weight, y))
    rows, weights = population.first, population.weights
    fold = dealt(np.arange(len(rows)), strata=y[rows], in_turn=True)
    parts = []
    for k in np.unique(fold):
        train, test = rows[fold != k], np.flatnonzero(fold == k)
        # The only row of a class is not held out: a model without it knows of no such class.
        if len(np.unique(y[train])) == len(model.classes_):
            other = _fit_again(model, X, y, train, weights[fold != k])
            parts.append(Part(other, _safe_indexing(X, rows[test]), test))
    if not parts:
        raise ValueError(TOO_FEW)
    held = np.sort(np.concatenate([part.rows for part in parts]))
    models = StandIn(parts, len(rows), model.classes_)
    return HeldOut.of(models, held[:, None], y[rows[held]], weights[held], f"{FOLDS}-fold")


def _fit_again(model: Any, X: Any, y: Array, rows: Array, weights: Array) -> Any:
    """A copy of the model, fitted to some distinct rows with weights, or repeats in their place."""
    other = clone(model)
    if np.all(weights == 1):
        return other.fit(_safe_indexing(X, rows), y[rows])
    # Repeats reach all steps of a pipeline, its weights the last alone.
    takes_weights = weight_argument(model) == "sample_weight"
    if not takes_weights and np.all(weights == np.floor(weights)):
        repeated = np.repeat(rows, weights.astype(int))
        return other.fit(_safe_indexing(X, repeated), y[repeated])
    return other.fit(_safe_indexing(X, rows), y[rows], **weight_options(model, weights))


AUTO, NONE, SIGMOID, ISOTONIC = "auto", "none", "sigmoid", "isotonic"
MAPS: dict[str, Any] = {SIGMOID: Sigmoid, ISOTONIC: Steps}


@described(AROUND)
class RecalibratedClassifier(AroundClassifier):
    """A classifier with probabilities recalibrated on held-out rows.

    Parameters
    ----------
    estimator : classifier
        Any classifier with `predict_proba` or `decision_function`.
    method : {"auto", "sigmoid", "isotonic", "none"}, default="auto"
        The map from scores to probabilities: σ(a·s + b) with s the log-odds or the decision value
        (Platt 1999), or a step function that does not fall (Zadrozny and Elkan 2002), which needs
        some hundred rows. With more than two classes each has its own, and they are scaled to a sum
        of 1. "auto" takes the one with the least log loss by folds of the held-out rows, including
        the unchanged probabilities.

    Attributes
    ----------
    method_ : str
        The map that was chosen.
    log_losses_ : dict of str to float
        The log loss of held-out rows with each map, by folds.
    held_out_ : str
        How rows were held out, in words.

    Notes
    -----
    The classifier is fitted once. `predict` gives the class that is now most probable.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from gapless.metrics import RecalibratedClassifier, log_loss
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> plain = GaussianNB().fit(X[:400], y[:400])
    >>> better = RecalibratedClassifier(GaussianNB()).fit(X[:400], y[:400])
    >>> [round(float(log_loss(y[400:], m.predict_proba(X[400:]))), 2) for m in (plain, better)]
    [0.29, 0.13]
    """

    _stored: ClassVar[Declaration] = {
        "classes_": Labels(),
        "estimator_": FittedModel("predict_proba", "features", "classes"),
        "method_": Word(),
        "log_losses_": Unused(),
        "held_out_": Unused(),
        **INPUT,
        "_maps": Each(Value(Sigmoid, Steps)),
    }
    _parameter_constraints: ClassVar[dict] = {
        "estimator": [
            HasMethods(["fit", "predict_proba"]),
            HasMethods(["fit", "decision_function"]),
        ],
        "method": [StrOptions({AUTO, NONE, SIGMOID, ISOTONIC})],
    }

    def __init__(self, estimator, *, method=AUTO):
        self.estimator = estimator
        self.method = method

    @_fit_context(prefer_skip_nested_validation=False)
    @described(INSIDE)
    def fit(self, X, y, sample_weight=None):
        """Fit the classifier, and the map to its held-out predictions.

        Returns
        -------
        self : object
            The fitted estimator; an error leaves it as it was.
        """
        y = y if y is None else column_or_1d(y, warn=True)
        options = weight_options(self.estimator, sample_weight)
        inner = clone(self.estimator).fit(X, y, **options)
        take_over(self, _learned(inner, (X, y, sample_weight), self.method))
        return self

    @described(INSIDE)
    def predict_proba(self, X):
        """Probabilities of the classes.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, K)
            In the order of `classes_`.
        """
        check_is_fitted(self)
        if self.method_ == NONE:
            return self.estimator_.predict_proba(X)
        return mapped(self._maps, scores_of(self.estimator_, X))

    @described(INSIDE)
    def predict(self, X):
        """The most probable class.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Classes.
        """
        p = self.predict_proba(X)
        return self.classes_[np.argmax(p, axis=1)]


def recalibrate(
    model: Any, X: Any = None, y: Any = None, sample_weight: Any = None, *, method: str = AUTO
) -> RecalibratedClassifier:
    """Recalibrate the probabilities of a fitted classifier on held-out rows.

    Parameters
    ----------
    model : classifier
        A fitted classifier with `predict_proba` or `decision_function`. It is not changed.
    X, y : array-like, default=None
        The data it was fitted to. A model of gapless remembers them; other models need them, and
        are fitted to five folds of them.
    sample_weight : array-like of shape (n,), default=None
        The weights it was fitted with.
    method : {"auto", "sigmoid", "isotonic", "none"}, default="auto"
        The map from scores to probabilities; see `RecalibratedClassifier`.

    Returns
    -------
    RecalibratedClassifier
        A fitted classifier around the model.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import gapless
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = gapless.LinearSVC(C=0.1).fit(X / X.max(axis=0), y)
    >>> better = gapless.metrics.recalibrate(model)
    >>> better.method_, better.predict_proba(X[:2] / X.max(axis=0)).shape
    ('isotonic', (2, 2))
    """
    check_is_fitted(model)
    found = RecalibratedClassifier(model, method=method)
    found._validate_params()
    take_over(found, _learned(model, (X, y, sample_weight), method))
    return found


# ---- which map -----------------------------------------------------------------------------------


def _fit_maps(method: str, held: HeldOut, rows: Array) -> list[Any]:
    K = held.scores.shape[1]
    classes = [1] if K == 1 else range(K)
    return [
        MAPS[method].fit(
            held.scores[rows, j], (held.true[rows] == k).astype(float), held.weights[rows]
        )
        for j, k in enumerate(classes)
    ]


def _log_loss(p: Array, held: HeldOut, rows: Array) -> float:
    own = p[np.arange(len(p)), held.true[rows]]
    return float(held.weights[rows] @ -np.log(np.maximum(own, np.finfo(float).eps)))


def _loss_by_folds(method: str, held: HeldOut) -> float:
    """The mean log loss of held-out rows, by maps that were fitted to the others."""
    total = 0.0
    for k in range(FOLDS):
        train, test = np.flatnonzero(held.fold != k), np.flatnonzero(held.fold == k)
        if method == NONE and held.plain is not None:
            p = held.plain[test]
        else:
            p = mapped(_fit_maps(method, held, train), held.scores[test])
        total += _log_loss(p, held, test)
    return total / float(held.weights.sum())


def _learned(model: Any, data: tuple[Any, Any, Any], method: str) -> dict[str, Any]:
    """What a fit has learned: the model, the map and how they were found."""
    learned = taken_from(model)
    has_probabilities = hasattr(model, "predict_proba")
    if method == NONE and not has_probabilities:
        raise ValueError(
            f'method="none" leaves probabilities as they are, and {type(model).__name__} has none; '
            'use "auto".'
        )
    if len(model.classes_) == 1 and has_probabilities:
        of_one = {"method_": NONE, "log_losses_": {}, "held_out_": "none: there is only one class"}
        return learned | of_one | {"_maps": []}
    held = held_out(model, *data)
    usable = [NONE] * has_probabilities + [SIGMOID, ISOTONIC]
    losses = {name: _loss_by_folds(name, held) for name in usable}
    chosen = min(usable, key=losses.__getitem__) if method == AUTO else method
    return learned | {
        "method_": chosen,
        "log_losses_": losses,
        "held_out_": held.method,
        "_maps": [] if chosen == NONE else _fit_maps(chosen, held, np.arange(len(held.true))),
    }
