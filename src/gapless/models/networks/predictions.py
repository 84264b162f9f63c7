"""From the outputs of a network to predictions, and how they are scored while it is trained."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from ...losses import Logistic, Loss, Softmax

Array = np.ndarray


def decided(z: Array, classes: Array, is_multilabel: bool = False) -> Array:
    """The most probable class of each row, or all labels that are more probable than not."""
    if is_multilabel:
        return (z > 0).astype(int)
    best = z.argmax(axis=1) if z.shape[1] > 1 else (z[:, 0] > 0).astype(int)
    return classes[np.minimum(best, len(classes) - 1)]


def class_probabilities(z: Array, classes: int, is_multilabel: bool = False) -> Array:
    """Probabilities (n, classes) of the outputs."""
    if is_multilabel:
        return Logistic().inverse_link(z)
    if z.shape[1] > 1:
        return Softmax().inverse_link(z)
    p = Logistic().inverse_link(z[:, 0])
    return np.stack([1 - p, p], axis=1) if classes == 2 else np.ones((len(z), 1), z.dtype)


def accuracy(y: Array, z: Array, weights: Array) -> float:
    """The share of rows whose classes are predicted; y as the loss takes it."""
    if y.ndim == 1:
        is_right = z.argmax(axis=1) == y
    else:
        is_right = np.all((z > 0) == (y > 0), axis=1)
    return float(weights @ is_right) / float(weights.sum())


def explained(loss: Loss) -> Callable[[Array, Array, Array], float]:
    """R² of predictions with this loss."""

    def r2(y: Array, z: Array, weights: Array) -> float:
        if not np.any(weights > 0):
            return math.nan
        # scikit-learn's r2_score takes longer to check a few rows than to train on them.
        with np.errstate(all="ignore"):
            error = weights @ (y - loss.inverse_link(z)) ** 2
            spread = weights @ (y - np.average(y, axis=0, weights=weights)) ** 2
            return float(np.mean(np.where(spread > 0, 1 - error / spread, error == 0)))

    return r2


class OutputsRead(BaseEstimator):
    """A network as scorers see it: its outputs as classes with probabilities, or as numbers.

    Parameters
    ----------
    loss : Loss
        The loss of the network.
    classes : ndarray or None
        The classes of the outputs; None for numbers.
    is_multilabel : bool
        Whether each output is a label of its own.
    z : ndarray of shape (n, outputs), optional
        The outputs for the rows 0, 1, …, which are requested by X = [[i]].
    """

    def __init__(self, loss: Loss, classes: Array | None, is_multilabel: bool, z: Any = None):
        self.loss, self.classes, self.is_multilabel, self.z = loss, classes, is_multilabel, z

    @property
    def classes_(self) -> Array | None:
        """The classes."""
        return self.classes

    def _standing_in(self, z: Array) -> OutputsRead:
        return OutputsRead(self.loss, self.classes, self.is_multilabel, z)

    def predict(self, X: Array) -> Array:
        """Classes or numbers."""
        if self.classes is None:
            return self.loss.inverse_link(self.decision_function(X))
        return decided(self.z[X[:, 0]], self.classes, self.is_multilabel)

    def predict_proba(self, X: Array) -> Array:
        """Probabilities of the classes."""
        count = 0 if self.classes is None else len(self.classes)
        return class_probabilities(self.z[X[:, 0]], count, self.is_multilabel)

    def decision_function(self, X: Array) -> Array:
        """The outputs themselves, a vector if there is one for each row."""
        z = self.z[X[:, 0]]
        return z[:, 0] if z.shape[1] == 1 else z

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor" if self.classes is None else "classifier"
        return tags
