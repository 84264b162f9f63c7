"""Sets of classes and intervals around predictions, as methods of the estimators that have them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .conformal import Calibration, Intervals, check_coverage

Array = np.ndarray


class HeldOutSets:
    """Sets of classes, by models that have not seen some rows."""

    _scores: Callable[[Any], Array]
    _calibration_rows: Callable[[Any], Any]
    _calibrated: Callable[[str], Calibration]

    def predict_set(self, X, coverage=0.9):
        """Predict sets of classes, such that most rows have their own class in their set.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to classify.
        coverage : float, default=0.9
            The share of new rows whose class is to be in their set. See `gapless.prediction_sets`
            for what is promised. Forests and bagging judge it out of bag; for others the first call
            fits ten times again.

        Returns
        -------
        sets : ndarray of bool, shape (n_samples, n_classes)
            Which classes, in the order of `classes_`, are in the set of each row; the predicted
            class always is.
        """
        check_coverage(coverage)
        calibration = self._calibrated(
            "gapless.prediction_sets(model, X_train, y_train, X, coverage=..., sample_weight=...)"
        )
        return self._sets(calibration, X, coverage)

    def _sets(self, calibration: Calibration, X: Any, coverage: float) -> Array:
        sets = calibration.sets(self._calibration_rows(X), coverage, self._conformity)
        sets[np.arange(len(sets)), np.argmax(self._conformity(self._scores(X)), axis=1)] = True
        return sets

    def _conformity(self, scores: Array) -> Array:
        """How well each class fits rows of these scores (n, K): by its share, which they are."""
        return scores


class HeldOutIntervals:
    """Intervals around the predictions of a regressor, by models that have not seen some rows."""

    predict: Callable[..., Any]
    _calibration_rows: Callable[[Any], Any]
    _calibrated: Callable[[str], Calibration]

    def _with_intervals(self, X: Any, coverage: float) -> Intervals:
        check_coverage(coverage)
        calibration = self._calibrated(
            "gapless.intervals(model, X_train, y_train, X, coverage=..., sample_weight=...)"
        )
        return self._intervals(calibration, X, coverage)

    def _intervals(self, calibration: Calibration, X: Any, coverage: float) -> Intervals:
        prediction = self.predict(X)
        ends = calibration.intervals(self._calibration_rows(X), coverage, self._respond)
        lower, upper = (end.reshape(prediction.shape) for end in ends)
        return Intervals(prediction, lower, upper)

    def _respond(self, scores: Array) -> Array:
        """The predictions that scores stand for: themselves."""
        return scores
