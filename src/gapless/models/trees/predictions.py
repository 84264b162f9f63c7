"""What the leaves say of rows, as classes or numbers, with sets and intervals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...unseen import Calibration, Intervals, check_coverage

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


class TreeClassifierMixin(HeldOutSets):
    """Classes, probabilities and sets of classes from what the leaves say."""

    classes_: Any
    n_outputs_: int

    def predict(self, X, check_input=True):
        """Predict classes.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to classify.
        check_input : bool, default=True
            Has no effect; it is here for callers of scikit-learn.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The class with the largest share in the leaf.
        """
        shares = self._by_output(self._scores(X))
        if self.n_outputs_ == 1:
            return self.classes_.take(np.argmax(shares[0], axis=1), axis=0)
        chosen = [c.take(np.argmax(p, axis=1)) for c, p in zip(self.classes_, shares)]
        return np.stack(chosen, axis=1).astype(self.classes_[0].dtype)

    def predict_proba(self, X, check_input=True):
        """Shares of the classes in the leaf of each row.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.
        check_input : bool, default=True
            Has no effect; it is here for callers of scikit-learn.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes), or a list of them for several outputs
            In the order of `classes_`.
        """
        shares = self._by_output(self._scores(X))
        return shares[0] if self.n_outputs_ == 1 else shares

    def predict_log_proba(self, X):
        """Logarithms of `predict_proba`.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes), or a list of them for several outputs
            In the order of `classes_`; −∞ for classes that the leaf has none of.
        """
        shares = self.predict_proba(X)
        with np.errstate(divide="ignore"):
            return [np.log(p) for p in shares] if isinstance(shares, list) else np.log(shares)

    def _by_output(self, scores: Array) -> list[Array]:
        """Scores (n, ΣK) as one array for each output."""
        classes = self.classes_ if self.n_outputs_ > 1 else [self.classes_]
        return np.split(scores, np.cumsum([len(c) for c in classes])[:-1], axis=1)


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


class TreeRegressorMixin(HeldOutIntervals):
    """Numbers and intervals from what the leaves say."""

    n_outputs_: int
    _scores: Callable[[Any], Array]

    def predict(self, X, check_input=True, *, interval=None):
        """Predict targets, with intervals where they are asked for.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to predict.
        check_input : bool, default=True
            Has no effect; it is here for callers of scikit-learn.
        interval : float, default=None
            The share of new rows, such as 0.9, whose target is to be inside its interval. See
            `gapless.intervals` for what is promised. Forests judge it out of bag; for others the
            first call fits ten times again.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The value of the leaf: mean or, for absolute errors, median of its training rows. With
            `interval`, a tuple `(prediction, lower, upper)` of such arrays.
        """
        if interval is None:
            scores = self._scores(X)
            return scores[:, 0] if self.n_outputs_ == 1 else scores
        return self._with_intervals(X, interval)
