"""Sets of classes and intervals around predictions, for the estimators that have them.

A classifier assigns `predict_set` and `sets_of` to its methods `predict_set` and `_sets`, a
regressor `intervals_of` to `_intervals`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .conformal import Calibration, Intervals, check_coverage

Array = np.ndarray
# Turns scores into predictions, row by row.
Respond = Callable[[Array], Array]


def as_they_are(scores: Array) -> Array:
    """Scores that already are shares of classes, or predictions."""
    return scores


def predict_set(self, X, coverage=0.9):
    """Predict sets of classes that contain the true class of most rows.

    Parameters
    ----------
    X : {array-like, sparse matrix, data frame}
        Rows to classify, as `predict` takes them.
    coverage : float, default=0.9
        The share of new rows whose set should contain their class. See `gapless.prediction_sets`
        for the guarantee. Forests and bagging calibrate out of bag, and some models by a formula;
        for others the first call refits ten times.

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
    """The sets of classes of rows, calibrated by models that have not seen some rows.

    `conformity` says how well each class fits rows of scores (n, K); by default the scores.
    """
    if isinstance(model.classes_, list) or calibration.targets.ndim == 2:
        raise ValueError(
            "prediction sets are not available for several labels per row; fit one "
            f"{type(model).__name__} for each label."
        )
    sets = calibration.sets(model._calibration_rows(X), coverage, conformity)
    return sets | (model.predict(X)[:, None] == model.classes_)


def predict_with_intervals(model: Any, X: Any, coverage: float) -> Intervals:
    """A regressor's predictions, with intervals by models that have not seen some rows."""
    check_coverage(coverage)
    calibration = model._calibrated(
        "gapless.intervals(model, X_train, y_train, X, coverage=..., sample_weight=...)"
    )
    return model._intervals(calibration, X, coverage)


def intervals_of(
    model: Any, calibration: Calibration, X: Any, coverage: float, respond: Respond = as_they_are
) -> Intervals:
    """The intervals around the predictions of rows; `respond` turns scores into predictions."""
    prediction = model.predict(X)
    ends = calibration.intervals(model._calibration_rows(X), coverage, respond)
    lower, upper = (end.reshape(prediction.shape).astype(prediction.dtype) for end in ends)
    return Intervals(prediction, lower, upper)
