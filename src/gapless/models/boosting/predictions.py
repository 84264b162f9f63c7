"""The meaning of boosted scores: numbers with intervals, or classes with probabilities and sets.

An estimator has `_raw_predict` for the scores of rows, (n, K), and `_staged_raw` for those after
each round; gradient boosting reads them by its loss, AdaBoost as shares of votes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if

from ..._ground.docstrings import described
from ...unseen import (
    Calibration,
    Intervals,
    intervals_of,
    leads,
    predict_set,
    predict_with_intervals,
    sets_of,
)
from ..trees import ROWS

Array = np.ndarray


class BoostedRegressor(RegressorMixin):
    """Numbers from one score, at the end or after each round."""

    @described(ROWS)
    def predict(self, X, *, interval=None):
        """Predict targets, with prediction intervals on request.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predicted values. With `interval`, a tuple `(prediction, lower, upper)` of such arrays.
        """
        if interval is not None:
            return predict_with_intervals(self, X, interval)
        return self._respond(self._raw_predict(X))[:, 0]

    @described(ROWS)
    def staged_predict(self, X) -> Iterator[Array]:
        """Predict targets after each round.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            Predicted values.
        """
        for z in self._staged_raw(X):
            yield self._respond(z)[:, 0]

    def _intervals(self, calibration: Calibration, X: Any, coverage: float) -> Intervals:
        return intervals_of(self, calibration, X, coverage, self._respond)


def _has_probabilities(model) -> bool:
    """Whether the loss gives class probabilities; before a fit, judged by its name."""
    loss = getattr(model, "loss_", None)
    if loss is None or loss.has_probabilities:
        return True
    raise AttributeError(
        f"loss={loss.name!r} has no probabilities; use decision_function, or loss='log_loss'."
    )


class BoostedClassifier(ClassifierMixin):
    """Classes from one score, or from one for each class, at the end or after each round."""

    predict_set = predict_set

    @described(ROWS)
    def predict(self, X):
        """Predict classes.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The class with the highest score.
        """
        return self._classes(self._raw_predict(X))

    @described(ROWS)
    def staged_predict(self, X) -> Iterator[Array]:
        """Predict classes after each round.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            The class with the highest score.
        """
        for z in self._staged_raw(X):
            yield self._classes(z)

    @available_if(_has_probabilities)
    @described(ROWS)
    def predict_proba(self, X):
        """Probabilities of the classes.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        return self._probabilities(self._raw_predict(X))

    @available_if(_has_probabilities)
    @described(ROWS)
    def predict_log_proba(self, X):
        """Logarithms of the probabilities of the classes.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        return self._log_probabilities(self._raw_predict(X))

    @available_if(_has_probabilities)
    @described(ROWS)
    def staged_predict_proba(self, X) -> Iterator[Array]:
        """Probabilities of the classes after each round.

        Yields
        ------
        p : ndarray of shape (n_samples, n_classes)
            In the order of `classes_`.
        """
        for z in self._staged_raw(X):
            yield self._probabilities(z)

    @described(ROWS)
    def decision_function(self, X):
        """Scores: of the second class, or of each of several.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            In gradient boosting with loss="log_loss", log-odds, or logarithms of probabilities up
            to a constant. In AdaBoost with two classes, twice the difference of the shares of the
            votes for the second and the first class; with K > 2 classes, 1 for a class with all
            votes and −1/(K − 1) for one with none.
        """
        return self._decisions(self._raw_predict(X))

    @described(ROWS)
    def staged_decision_function(self, X) -> Iterator[Array]:
        """Scores after each round.

        Yields
        ------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            As `decision_function` gives them.
        """
        for z in self._staged_raw(X):
            yield self._decisions(z)

    def _classes(self, z: Array) -> Array:
        chosen = np.argmax(z, axis=1) if z.shape[1] > 1 else (z[:, 0] > 0).astype(int)
        return self.classes_[chosen]

    def _probabilities(self, z: Array) -> Array:
        if len(self.classes_) == 1:
            return np.ones((len(z), 1))
        if z.shape[1] > 1:
            return self.loss_.inverse_link(z)
        p = self.loss_.inverse_link(z[:, 0])
        return np.stack([1 - p, p], axis=1)

    def _log_probabilities(self, z: Array) -> Array:
        if len(self.classes_) == 1:
            return np.zeros((len(z), 1))
        return self.loss_.log_probabilities(z if z.shape[1] > 1 else z[:, 0])

    def _decisions(self, z: Array) -> Array:
        return z if z.shape[1] > 1 else z[:, 0]

    def _scores(self, X) -> Array:
        return self._raw_predict(X)

    def _conformity(self, scores: Array) -> Array:
        """How well each class fits rows with scores (n, K): by probability, or by its lead."""
        if self.loss_.has_probabilities or len(self.classes_) == 1:
            return self._probabilities(scores)
        return leads(scores)

    def _sets(self, calibration: Calibration, X: Any, coverage: float) -> Array:
        return sets_of(self, calibration, X, coverage, self._conformity)
