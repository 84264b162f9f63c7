"""Sets of classes and intervals around predictions, for the estimators that have them.

A classifier names `predict_set` and `sets_of` as its methods `predict_set` and `_sets`, a regressor
`intervals_of` as `_intervals`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .conformal import Calibration, Intervals, check_coverage

Array = np.ndarray
# What scores stand for, row by row.
Respond = Callable[[Array], Array]


def as_they_are(scores: Array) -> Array:
    """Scores that are shares of classes, or predictions, themselves."""
    return scores


def predict_set(self, X, coverage=0.9):
    """Predict sets of classes, such that most rows have their own class in their set.

    Parameters
    ----------
    X : {array-like, sparse matrix, data frame}
        Rows to classify, as `predict` takes them.
    coverage : float, default=0.9
        The share of new rows whose class is to be in their set. See `gapless.prediction_sets`
        for what is promised. Forests and bagging judge it out of bag, and some models by a
        formula; for others the first call fits ten times again.

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


def sets_of(
    model: Any, calibration: Calibration, X: Any, coverage: float, conformity: Respond = as_they_are
) -> Array:
    """The sets of classes of rows, by models that have not seen some rows.

    `conformity` says how well each class fits rows of scores (n, K): by its share, which they are.
    """
    if isinstance(model.classes_, list) or calibration.targets.ndim == 2:
        raise ValueError(
            "prediction sets are not available for several labels per row; fit one "
            f"{type(model).__name__} for each label."
        )
    sets = calibration.sets(model._calibration_rows(X), coverage, conformity)
    return sets | (model.predict(X)[:, None] == model.classes_)


def predict_with_intervals(model: Any, X: Any, coverage: float) -> Intervals:
    """What a regressor predicts, with intervals by models that have not seen some rows."""
    check_coverage(coverage)
    calibration = model._calibrated(
        "gapless.intervals(model, X_train, y_train, X, coverage=..., sample_weight=...)"
    )
    return model._intervals(calibration, X, coverage)


def intervals_of(
    model: Any, calibration: Calibration, X: Any, coverage: float, respond: Respond = as_they_are
) -> Intervals:
    """The intervals around the predictions of rows; `respond` says what scores predict."""
    prediction = model.predict(X)
    ends = calibration.intervals(model._calibration_rows(X), coverage, respond)
    lower, upper = (end.reshape(prediction.shape).astype(prediction.dtype) for end in ends)
    return Intervals(prediction, lower, upper)
