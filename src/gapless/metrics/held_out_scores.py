"""Scores of rows by models that had not seen them: from the fit itself, or from folds.

A model of gapless predicts its own rows without them, by leave-one-out, out of bag or by folds, as
its `generalization_` does. Others are fitted again to folds of the distinct rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import logit
from sklearn.base import clone
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import column_or_1d

from .._ground.validation import read_weights
from .._ground.weighted_fits import weight_argument, weight_options
from ..unseen import FOLDS, Judge, NotAvailable, Population, Remembering, Trial, dealt, with_shares

Array = np.ndarray

# Probabilities nearer to 0 or 1 than this say no more than that.
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
        z = with_shares(fitted, z)
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
    ask = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
    answers = None
    for k in np.unique(fold):
        train, test = rows[fold != k], rows[fold == k]
        if len(np.unique(y[train])) < len(model.classes_):
            continue  # The only row of a class: whoever has not seen it knows of no such class.
        other = _fit_again(model, X, y, train, weights[fold != k])
        found = getattr(other, ask)(_safe_indexing(X, test))
        answers = np.full((len(rows), *found.shape[1:]), np.nan) if answers is None else answers
        answers[fold == k] = found
    if answers is None:
        raise ValueError(TOO_FEW)
    known = _Known(model.classes_, ask, answers)
    there = np.flatnonzero(np.isfinite(answers.reshape(len(rows), -1)).all(axis=1))
    return HeldOut.of(known, there, y[rows[there]], weights[there], f"{FOLDS}-fold")


def _fit_again(model: Any, X: Any, y: Array, rows: Array, weights: Array) -> Any:
    """A copy of the model, of some distinct rows: with weights, or with repeats in their place."""
    other = clone(model)
    if np.all(weights == 1):
        return other.fit(_safe_indexing(X, rows), y[rows])
    # Repeats reach all steps of a pipeline, its weights the last alone.
    is_told = weight_argument(model) == "sample_weight"
    if not is_told and np.all(weights == np.floor(weights)):
        repeated = np.repeat(rows, weights.astype(int))
        return other.fit(_safe_indexing(X, repeated), y[repeated])
    return other.fit(_safe_indexing(X, rows), y[rows], **weight_options(model, weights))


class _Known:
    """Stands in for a model whose answers to all rows are known."""

    def __init__(self, classes: Array, method: str, answers: Array):
        self.classes_ = classes
        setattr(self, method, lambda rows: answers[rows])
