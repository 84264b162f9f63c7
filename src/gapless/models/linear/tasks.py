"""Linear models for numbers and for classes: how data is read, and how rows are predicted."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..._ground.docstrings import described
from ..._ground.stored import Declaration, Labels, Number, Numbers, column_count, score_count
from ..._ground.validation import read_classification, read_regression
from ...losses import Loss
from ...streaming import named_columns
from ...unseen import (
    Calibration,
    Intervals,
    intervals_of,
    leads,
    predict_set,
    predict_with_intervals,
    sets_of,
)
from ._base import LinearModel
from .parameters import ROWS
from .problems import dense

Array = np.ndarray


class LinearRegressor(RegressorMixin, LinearModel):
    """Base of the linear regressors: they predict their scores."""

    _multi_output: ClassVar[bool] = True
    _flattens_one_column: ClassVar[bool] = False

    def _read(self, X, y, sample_weight, *, reset=True):
        return read_regression(
            self, X, y, sample_weight, multi_output=self._multi_output, reset=reset
        )

    def _specifics(self, data, learned, solutions, certificates):
        coef, intercept = learned["coef_"], learned["intercept_"]
        if data.y.ndim == 1 or (self._flattens_one_column and len(coef) == 1):
            coef = coef[0]
        if data.y.ndim == 1:
            intercept = intercept[0]
        return {"coef_": coef, "intercept_": intercept if self.fit_intercept else 0.0}

    @described(ROWS)
    def predict(self, X, *, interval=None):
        """Predict targets, with intervals if requested.

        Parameters
        ----------
        interval : float, default=None
            The share of new rows, such as 0.9, whose target is to be inside its interval. See
            `gapless.intervals` for what is promised; the first call may fit ten times again.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predicted values: Xw + b, or what the loss says that it predicts. With `interval`, a
            tuple `(prediction, lower, upper)` of such arrays.
        """
        if interval is None:
            return self._respond(self._scores(X))
        return predict_with_intervals(self, X, interval)

    def score(self, X, y, sample_weight=None):
        """The R² of the predictions for X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a table in parts
            The rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The targets; for a table in parts also the name of its column.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts; for a table in parts also the name of its column.

        Returns
        -------
        score : float
            1 minus the sum of squared errors over that of the mean.
        """
        return super().score(X, *named_columns(X, y, sample_weight))

    def _respond(self, scores: Array) -> Array:
        """The predictions for scores."""
        return scores

    def _intervals(self, calibration: Calibration, X: Any, coverage: float) -> Intervals:
        return intervals_of(self, calibration, X, coverage, self._respond)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._multi_output
        return tags


def _has_probabilities(model: Any) -> bool:
    return model._loss_of_probabilities() is not None


class LinearClassifier(ClassifierMixin, LinearModel):
    """Base of the linear classifiers: one row of coefficients for two classes, else one each."""

    _stored: ClassVar[Declaration] = {
        **LinearModel._stored,
        "classes_": Labels(least=2),
        "coef_": Numbers(score_count, column_count, may_be_sparse=True),
        "intercept_": Number() | Numbers(score_count),
    }
    _fewest_classes: ClassVar[int] = 2
    _parameter_constraints: ClassVar[dict] = {
        **LinearModel._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def _read(self, X, y, sample_weight, *, reset=True):
        return read_classification(
            self, X, y, sample_weight, self.class_weight, fewest=self._fewest_classes, reset=reset
        )

    def _specifics(self, data, learned, solutions, certificates):
        return {"classes_": data.classes}

    @described(ROWS)
    def decision_function(self, X):
        """Scores of the classes.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes one score, positive where `classes_[1]` is predicted.
        """
        scores = self._scores(X)
        return scores[:, 0] if scores.ndim == 2 and scores.shape[1] == 1 else scores

    def score(self, X, y, sample_weight=None):
        """The accuracy of the predictions for X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or a table in parts
            The rows.
        y : array-like of shape (n_samples,)
            The classes; for a table in parts also the name of its column.
        sample_weight : array-like of shape (n_samples,), default=None
            How much each row counts; for a table in parts also the name of its column.

        Returns
        -------
        score : float
            The share of rows whose class is right.
        """
        return super().score(X, *named_columns(X, y, sample_weight))

    @described(ROWS)
    def predict(self, X):
        """Predict classes.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The class with the largest score.
        """
        return self._classes_of(self.decision_function(X))

    def _loss_of_probabilities(self) -> Loss | None:
        """The loss whose link turns scores into probabilities; None if it has none."""
        return None

    @available_if(_has_probabilities)
    @described(ROWS)
    def predict_proba(self, X):
        """Probabilities of the classes.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
            Probabilities, in the order of `classes_`; those of one class against the rest are made
            to sum to 1.
        """
        return np.exp(self.predict_log_proba(X))

    @available_if(_has_probabilities)
    @described(ROWS)
    def predict_log_proba(self, X):
        """Logarithms of the probabilities of the classes.

        Returns
        -------
        log_p : ndarray of shape (n_samples, n_classes)
            Log-probabilities, in the order of `classes_`.
        """
        loss, scores = self._loss_of_probabilities(), LinearClassifier.decision_function(self, X)
        if scores.ndim == 1 or loss.task == "multiclass":
            return loss.log_probabilities(scores)
        each = np.stack([loss.log_probabilities(column)[:, 1] for column in scores.T], axis=1)
        each[np.isneginf(each).all(axis=1)] = 0.0  # no class has a chance: all the same
        return each - logsumexp(each, axis=1, keepdims=True)

    predict_set = predict_set

    def _sets(self, calibration: Calibration, X: Any, coverage: float) -> Array:
        return sets_of(self, calibration, X, coverage, self._conformity)

    def _conformity(self, scores: Array) -> Array:
        """How well each class fits rows with scores (n, K): by probability, or by its lead."""
        if _has_probabilities(self):
            return self._standing_in(scores).predict_proba(np.arange(len(scores))[:, None])
        return leads(scores)[:, -len(self.classes_) :]

    def _classes_of(self, scores: Array) -> Array:
        position = (scores > 0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[position]

    def sparsify(self):
        """Keep `coef_` as a sparse matrix, which is smaller when most coefficients are 0.

        Returns
        -------
        self : object
            The estimator itself.
        """
        check_is_fitted(self)
        self.coef_ = sp.csr_matrix(self.coef_)
        return self

    def densify(self):
        """Keep `coef_` as an array again.

        Returns
        -------
        self : object
            The estimator itself.
        """
        check_is_fitted(self)
        self.coef_ = dense(self.coef_)
        return self
