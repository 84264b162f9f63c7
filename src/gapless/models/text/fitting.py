"""Classifiers of any library on the rows of texts: how they are fitted, and what they answer.

Answers are scores with a column for each class, in one form for all: logarithms of probabilities
where the classifier has them, else decision values, else votes.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.metaestimators import available_if

from ..._ground.weighted_fits import weight_argument
from ...unseen import leads

Array = np.ndarray

# What stands for the logarithm of 0: the exponential of anything less is 0.
LOWEST = float(np.log(np.finfo(float).tiny))


def fit(classifier: Any, X: Any, y: Array, weights: Array) -> None:
    """Fit a classifier to rows with weights; one of weight 0 is no row."""
    if not np.all(weights > 0):
        X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
    if np.all(weights == 1):
        classifier.fit(X, y)
        return
    name = weight_argument(classifier)
    if not name:
        raise ValueError(
            f"{type(classifier).__name__} does not accept sample_weight; repeat texts instead, or "
            'choose another classifier, such as "bayes".'
        )
    classifier.fit(X, y, **{name: weights})


def answers(classifier: Any, X: Any, classes: Array) -> Array:
    """Scores of rows for all `classes`, (n, K); a classifier that lacks one gives it the least."""
    z = _of_known(classifier, X)
    known = np.searchsorted(classes, classifier.classes_)
    if len(known) == len(classes):
        return z
    spread = np.full((z.shape[0], len(classes)), min(LOWEST, float(z.min(initial=0.0)) - 1))
    spread[:, known] = z
    return spread


def _of_known(classifier: Any, X: Any) -> Array:
    if hasattr(classifier, "predict_proba"):
        return np.maximum(_log_probabilities(classifier, X), LOWEST)
    if hasattr(classifier, "decision_function"):
        z = np.asarray(classifier.decision_function(X))
        return np.column_stack([-z, z]) if z.ndim == 1 else z
    return (np.asarray(classifier.predict(X))[:, None] == classifier.classes_).astype(float)


def _log_probabilities(classifier: Any, X: Any) -> Array:
    with np.errstate(divide="ignore"):
        if hasattr(classifier, "predict_log_proba"):
            return np.asarray(classifier.predict_log_proba(X))
        return np.log(classifier.predict_proba(X))


def strength_of(classifier: Any) -> str | None:
    """The parameter by which a classifier is held back: an error's weight C, or alpha."""
    for name, value in classifier.get_params().items():
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if name.rpartition("__")[2] in ("C", "alpha") and is_number and 0 < float(value) < np.inf:
            return name
    return None


def strengthened(classifier: Any, factor: float) -> Any:
    """The classifier, to be fitted anew, held back so many times as much; None if by nothing."""
    name = strength_of(classifier)
    if name is None:
        return None
    value = classifier.get_params()[name]
    value = value / factor if name.rpartition("__")[2] == "C" else value * factor
    return clone(classifier).set_params(**{name: value})


@dataclass(frozen=True, eq=False)
class Answered:
    """A classifier that has answered: its answers z for rows 0, 1, …, asked for by X = [[i]]."""

    z: Array
    classes_: Array
    has_probabilities: bool

    def predict(self, X: Array) -> Array:
        """The class of the largest score."""
        return self.classes_[np.argmax(self.z[X[:, 0]], axis=1)]

    @available_if(lambda self: self.has_probabilities)
    def predict_proba(self, X: Array) -> Array:
        """Probabilities, which sum to 1."""
        p = np.exp(self.z[X[:, 0]])
        return p / p.sum(axis=1, keepdims=True)

    @available_if(lambda self: self.has_probabilities)
    def predict_log_proba(self, X: Array) -> Array:
        """Their logarithms."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def decision_function(self, X: Array) -> Array:
        """The scores; of two classes, half of what the second is above the first."""
        z = self.z[X[:, 0]]
        return (z[:, 1] - z[:, 0]) / 2 if z.shape[1] == 2 else z


def conformity(z: Array, has_probabilities: bool) -> Array:
    """How well each class fits rows of these answers: by probability, or by its lead in score."""
    if has_probabilities:
        return np.exp(np.minimum(z, 0.0))
    return z if z.shape[1] < 2 else leads(z)
