"""The scores with which GradientBoosting… begins: a constant, 0, or another estimator's."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from ...losses import Loss
from .data import BoostingData

Array = np.ndarray

ZERO = "zero"
EPS = np.finfo(float).eps


def fitted_init(init: Any, data: BoostingData) -> Any:
    """A fitted copy of the estimator that scores begin with."""
    model = clone(init)
    X, y = data.F, data.given()
    if not data.has_weights:
        return model.fit(X, y)
    message = f"The initial estimator {type(model).__name__} does not support sample weights."
    try:
        return model.fit(X, y, sample_weight=data.weights)
    except TypeError as error:
        if "unexpected keyword argument 'sample_weight'" in str(error):
            raise ValueError(message) from error
        raise
    except ValueError as error:
        # What a pipeline says of parameters without the name of a step.
        if "stepname__parameter" in str(error):
            raise ValueError(message) from error
        raise


def init_scores(model: Any, X: Any, loss: Loss) -> Array:
    """What a fitted estimator predicts, as scores of the loss, (n, K)."""
    if loss.task == "regression":
        y = np.asarray(model.predict(X), dtype=np.float64)
        return (y if loss.targets == "real" else np.log(np.maximum(y, EPS))).reshape(-1, 1)
    p = np.clip(model.predict_proba(X), EPS, 1 - EPS)
    if loss.task == "multiclass":
        z = np.log(p)
        return z - z.mean(axis=1, keepdims=True)
    return (_log_odds(p[:, 1]) / _log_odds(loss.inverse_link(np.ones(1)))).reshape(-1, 1)


def _log_odds(p: Array) -> Array:
    return np.log(p / (1 - p))
