"""Baselines: predictions that ignore all features; every other model must beat them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, clone
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    _num_features,
    _num_samples,
    check_consistent_length,
    check_is_fitted,
    column_or_1d,
)

from .._ground.about import Formula
from .._ground.stored import Declaration, Labels, Maybe, Number, Numbers, Value, Whole
from ..certificates import Certificate

Array = np.ndarray


# The same sum in another order differs by at most this share of it.
ROUNDING = 1e-12


class _Baseline(BaseEstimator):
    """What both share: rows are counted, and nothing in them is read."""

    # The loss that the best constant minimises.
    _loss_name: ClassVar[str]

    def _loss(self, y: Array, weights: Array) -> float:
        """The loss of the fitted constant."""
        raise NotImplementedError

    def _certified(self, X, y, sample_weight=None) -> Certificate:
        """The certificate, recomputed: the loss of this constant against that of the best."""
        check_is_fitted(self)
        best = clone(self).fit(X, y, sample_weight)
        loss, least = self._loss(*best._read(X, y, sample_weight)), best.certificate_.primal
        if loss - least <= ROUNDING * abs(least):
            return best.certificate_
        return replace(
            best.certificate_,
            kind="stopped",
            verdict=f"stopped: another constant has a smaller {self._loss_name}; fit again.",
            primal=loss,
            gap=loss - least,
            relative_gap=(loss - least) / abs(least) if least else np.inf,
        )

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[Array, Array]:
        """Targets and weights of the rows with weight."""
        if y is None:
            raise ValueError(
                f"requires y to be passed, but the target y is None; {type(self).__name__} learns "
                "from nothing else."
            )
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        if not len(y):
            raise ValueError("found 0 rows; pass at least one.")
        weights = _check_sample_weight(sample_weight, y, dtype=float, ensure_non_negative=True)
        self.n_features_in_ = _features(X)
        return y[weights > 0], weights[weights > 0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.no_validation = True
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.sparse = True
        return tags


def _features(X: Any) -> int | None:
    """The number of columns; None for objects without any."""
    try:
        return int(_num_features(X))
    except (TypeError, ValueError):
        return None


def _exact(what: str, loss: float) -> Certificate:
    return Certificate(
        kind="exact",
        verdict=f"exact: no other constant has a smaller {what}.",
        primal=loss,
        dual=loss,
        gap=0.0,
        relative_gap=0.0,
        tolerance=0.0,
        scale=loss,
    )


class MajorityClassifier(ClassifierMixin, _Baseline):
    """The most frequent class for every row, with the shares of the classes as probabilities.

    The shares minimise the log loss −Σᵢ sᵢ log p(yᵢ) among all constants, and the most frequent
    class the number of errors.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, in order.
    class_prior_ : ndarray of shape (n_classes,)
        Their shares of the weight.
    certificate_ : Certificate
        Proof that no other constant is better.
    n_features_in_ : int or None
        The number of features, which are not used.

    Examples
    --------
    >>> from gapless.choosing import MajorityClassifier
    >>> model = MajorityClassifier().fit([[1], [2], [3]], ["no", "yes", "yes"])
    >>> model.predict([[4]]).tolist(), model.predict_proba([[4]]).round(2).tolist()
    (['yes'], [[0.33, 0.67]])
    """

    _loss_name = "log loss"
    _stored: ClassVar[Declaration] = {
        "classes_": Labels(),
        "class_prior_": Numbers("classes", low=0.0),
        "certificate_": Maybe(Value(Certificate)),
        "n_features_in_": Whole(size="features"),
    }

    def fit(self, X, y, sample_weight=None):
        """Count the classes.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows, of which only the number matters.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0.

        Returns
        -------
        self : object
        """
        check_classification_targets(y)
        y, weights = self._read(X, y, sample_weight)
        self.classes_, place = np.unique(y, return_inverse=True)
        counts = np.bincount(place, weights)
        self.class_prior_ = counts / counts.sum()
        self.certificate_ = _exact(self._loss_name, self._loss(y, weights))
        return self

    def _loss(self, y: Array, weights: Array) -> float:
        place = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        shares = np.where(self.classes_[place] == y, self.class_prior_[place], 0.0)
        with np.errstate(divide="ignore"):
            return -float(weights @ np.log(shares))

    def predict(self, X):
        """The most frequent class.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return np.full(_num_samples(X), self.classes_[np.argmax(self.class_prior_)])

    def predict_proba(self, X):
        """The shares of the classes.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        p : ndarray of shape (n_samples, n_classes)
        """
        check_is_fitted(self)
        return np.tile(self.class_prior_, (_num_samples(X), 1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True
        return tags

    def _formula(self) -> Formula:
        return Formula("−Σᵢ log p(yᵢ)")


class MeanRegressor(RegressorMixin, _Baseline):
    """The mean of the target for every row.

    It minimises ½ Σᵢ sᵢ (yᵢ − b)² among all constants b.

    Attributes
    ----------
    mean_ : float
        The mean.
    certificate_ : Certificate
        Proof that no other constant is better.
    n_features_in_ : int or None
        The number of features, which are not used.

    Examples
    --------
    >>> from gapless.choosing import MeanRegressor
    >>> MeanRegressor().fit([[1], [2]], [3.0, 5.0]).predict([[4]]).tolist()
    [4.0]
    """

    _loss_name = "squared error"
    _stored: ClassVar[Declaration] = {
        "mean_": Number() | Numbers(None),
        "certificate_": Maybe(Value(Certificate)),
        "n_features_in_": Whole(size="features"),
    }

    def fit(self, X, y, sample_weight=None):
        """Take the mean.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows, of which only the number matters.
        y : array-like of shape (n_samples,)
            Target values.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights ≥ 0.

        Returns
        -------
        self : object
        """
        y, weights = self._read(X, y, sample_weight)
        y = y.astype(float)
        assert_all_finite(y, input_name="y")
        self.mean_ = float(np.average(y, weights=weights))
        self.certificate_ = _exact(self._loss_name, self._loss(y, weights))
        return self

    def _loss(self, y: Array, weights: Array) -> float:
        return 0.5 * float(weights @ (y.astype(float) - self.mean_) ** 2)

    def predict(self, X):
        """The mean.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return np.full(_num_samples(X), self.mean_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags

    def _formula(self) -> Formula:
        return Formula("½ Σᵢ (yᵢ − b)²")
