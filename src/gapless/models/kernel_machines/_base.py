"""What kernel ridge, Gaussian processes and local regression share as regressors."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ..._ground.design import Design
from ..._ground.parts import OfParts
from ..._ground.progress import CallbackSupport
from ..._ground.stored import INPUT, Declaration
from ..._ground.validation import Training, read_regression, read_rows
from ...certificates import Certificate
from ...kernels import KERNEL_INSTANCE, OF_STRINGS
from ...unseen import (
    JUDGED,
    Fitted,
    Refittable,
    Remembering,
    intervals_of,
    predict_with_intervals,
    take_over,
)

Array = np.ndarray


# What `fit` takes, for `described`.
TRAINING = """
X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
    Training data.
y : array-like of shape (n_samples,) or (n_samples, n_targets)
    Target values.
sample_weight : array-like of shape (n_samples,)
    Weights ≥ 0. Weight 2 means the row twice, weight 0 means the row is not there.
"""


class KernelRegressor(OfParts, RegressorMixin, Remembering, CallbackSupport, BaseEstimator):
    """Base class of regressors that predict from their training rows.

    A subclass has `fit`, `_predict` for validated rows, `_refittable` for held-out predictions and
    `_certify` for the data of the fit; `_stored` lists what a fit leaves.
    """

    _guide = "kernel_regression"

    _part_kinds = KERNEL_INSTANCE

    _stored: ClassVar[Declaration] = {**JUDGED, **INPUT}

    def _read(self, X, y, sample_weight=None, *, reset: bool = True) -> Training:
        """X, y and weights, validated; with reset=False the features must be those of the fit."""
        self._check_texts(X)
        return read_regression(self, X, y, sample_weight, multi_output=True, reset=reset)

    def _check_texts(self, X: Any) -> None:
        """Raise an error that names the machines that take texts, if the kernel compares them."""
        kernel = getattr(self, "kernel", None)
        if getattr(kernel, "name", kernel) not in OF_STRINGS or np.ndim(X) != 1:
            return
        raise ValueError(
            f"{type(self).__name__} needs rows of numbers, and got texts; use SVR or SVC with "
            'this kernel, or KernelRidge(kernel="precomputed") with kernel.gram(texts).'
        )

    def _predict(self, X: Any) -> Array:
        """Predictions (n, K) of validated rows."""
        raise NotImplementedError

    def _certify(self, data: Training) -> Certificate:
        """The certificate of the stored model on the data of its fit."""
        raise NotImplementedError

    @property
    def _is_flat(self) -> bool:
        """Whether y had one dimension."""
        raise NotImplementedError

    def _keep(self, learned: dict[str, Any], data: Training) -> None:
        """Replace what an earlier fit has left by what this one has learned, all at once."""
        learned["n_features_in_"] = data.X.shape[1]
        if data.feature_names is not None:
            learned["feature_names_in_"] = data.feature_names
        learned["_training"], learned["_calibration"] = (data,), None
        take_over(self, learned)

    # ---- predicting ------------------------------------------------------------------------------

    def predict(self, X, *, interval=None):
        """Predict targets, with intervals if requested.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to predict.
        interval : float, default=None
            The share of new rows, such as 0.9, whose target is to be inside its interval. See
            `gapless.intervals` for what is promised.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predicted values. With `interval`, a tuple `(prediction, lower, upper)` of such arrays.
        """
        if interval is None:
            return self._scores(X)
        return predict_with_intervals(self, X, interval)

    def _scores(self, X) -> Array:
        """Predictions of the caller's rows, (n,) or (n, K), in the precision of X."""
        check_is_fitted(self)
        X = read_rows(self, X)
        z = self._predict(X).astype(X.dtype, copy=False)
        return z[:, 0] if self._is_flat else z

    _intervals = intervals_of

    def _calibration_rows(self, X) -> Design:
        """New rows as the fit sees its own."""
        return Design(read_rows(self, X))

    # ---- both gaps -------------------------------------------------------------------------------

    def _shaped(self, z: Array) -> Array:
        return z[:, 0] if self._is_flat else z

    def _certified(self, X, y, sample_weight=None) -> Certificate:
        """The certificate, recomputed from the data of the fit."""
        return self._certify(self._reread(X, y, sample_weight))

    def _fitted(self, data: Training) -> Refittable | Fitted:
        """The fit, or an error if its data has changed."""
        self._check_objective(self._objective(data))
        return self._refittable(data)

    def _objective(self, data: Training) -> float:
        """The objective of the stored model on the data."""
        return self._certify(data).primal

    def _refittable(self, data: Training) -> Refittable | Fitted:
        """The fit, as far as held-out predictions need it."""
        raise NotImplementedError

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        return tags
