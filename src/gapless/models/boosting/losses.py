"""The losses of boosting, by name or as instances, and the initial scores of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from ... import losses
from ...losses import Loss
from ...problem import minimise_bias, minimise_biases

Array = np.ndarray

# scikit-learn's names; those of gapless are known to `losses.by_name`.
REGRESSION = {
    "squared_error": losses.Squared(),
    "absolute_error": losses.Absolute(),
}
LOG_LOSS = "log_loss"
EPS = np.finfo(float).eps
# Where scikit-learn keeps its losses; and those, by the names of their classes.
PEERS_HOME = "sklearn._loss."
PEERS: dict[str, Callable[[Any], Loss]] = {
    "HalfSquaredError": lambda peer: losses.Squared(),
    "AbsoluteError": lambda peer: losses.Absolute(),
    "PinballLoss": lambda peer: losses.Quantile(peer.closs.quantile),
    "HuberLoss": lambda peer: losses.Huber(peer.closs.delta),
    "HalfPoissonLoss": lambda peer: losses.Poisson(),
    "HalfTweedieLoss": lambda peer: losses.Tweedie(peer.closs.power),
    "HalfGammaLoss": lambda peer: losses.Gamma(),
    "HalfBinomialLoss": lambda peer: losses.Logistic(),
    "ExponentialLoss": lambda peer: losses.Exponential(),
    "HalfMultinomialLoss": lambda peer: losses.Softmax(),
}


def ours(loss: Any) -> Any:
    """The gapless loss equal to one of scikit-learn's; all else unchanged."""
    cls = type(loss)
    if not cls.__module__.startswith(PEERS_HOME):
        return loss
    if cls.__name__ not in PEERS:
        raise ValueError(
            f"the loss {cls.__name__} of scikit-learn has no counterpart here; pass a loss from "
            "gapless.losses."
        )
    return PEERS[cls.__name__](loss)


def regression_loss(loss: Any, quantile: float | None) -> Loss:
    """The loss of a regression; `quantile` is the level of loss="quantile"."""
    loss = ours(loss)
    if isinstance(loss, str) and loss in REGRESSION:
        return REGRESSION[loss]
    found = losses.by_name(loss)
    if found.task != "regression":
        raise ValueError(
            f"loss={loss!r} is for classification; use a classifier, or a regression loss such as "
            "squared_error."
        )
    if isinstance(loss, str) and loss == "quantile":
        if quantile is None:
            raise ValueError('loss="quantile" needs the parameter quantile, such as 0.9; set it.')
        return losses.Quantile(quantile)
    return found


def classification_loss(loss: Any, classes: int) -> Loss:
    """The loss of a classification with `classes` classes."""
    loss = ours(loss)
    if isinstance(loss, str) and loss == LOG_LOSS:
        return losses.Logistic() if classes <= 2 else losses.Softmax()
    found = losses.by_name(loss)
    reason = found.refusal or found.caution
    if reason is not None:
        raise ValueError(f"loss={loss!r} cannot be boosted: {reason.rstrip('.')}.")
    if found.task == "regression" and found.targets != "real":
        raise ValueError(
            f"loss={loss!r} is for positive numbers; use a regressor, or a classification loss "
            "such as log_loss."
        )
    if found.task != "multiclass" and classes > 2:
        raise ValueError(
            f"loss={loss!r} is only suitable for a binary classification, and y has {classes} "
            'classes; use "log_loss", or another multiclass loss.'
        )
    return found


def metric_of(loss: Loss) -> str:
    """The name of the mean loss on unseen rows as a score, the larger the better."""
    return "neg_log_loss" if loss in (losses.Logistic(), losses.Softmax()) else "neg_loss"


def check_targets(loss: Loss, name: Any, y: Array) -> None:
    """Refuse targets for which the loss is not defined."""
    if loss.targets == "nonnegative" and (y.min() < 0 or not y.sum() > 0):
        raise ValueError(
            f"loss={name!r} requires non-negative y and sum(y) > 0. The smallest y is "
            f"{y.min():g}; check the target, or use another loss."
        )
    if loss.targets == "positive" and not y.min() > 0:
        raise ValueError(
            f"loss={name!r} requires strictly positive y. The smallest y is {y.min():g}; check the "
            "target, or use another loss."
        )


def targets_of(loss: Loss, y: Array, has_classes: bool) -> Array:
    """Targets as the loss takes them: numbers, −1 and +1, or positions of classes.

    A regression loss is fitted to −1 and +1 if there are two classes, as in RiskClassifier.
    """
    if loss.task == "multiclass":
        return y.astype(np.int64)
    return 2.0 * y - 1.0 if has_classes else np.asarray(y, dtype=np.float64)


def best_start(loss: Loss, y: Array, weights: Array, scores: int) -> Array:
    """The best constant scores, (scores,)."""
    if loss.task != "regression":
        # Rows of a class are alike as long as nothing is known about them.
        y, place = np.unique(y, return_inverse=True)
        weights = np.bincount(place, weights)
    if loss.task == "multiclass":
        return minimise_biases(loss, y, np.zeros((len(y), scores)), weights)
    return np.array([minimise_bias(loss, y, np.zeros(len(y)), weights)])


def fitted_init(init: Any, data: Any) -> Any:
    """A fitted copy of the estimator that gives initial scores."""
    model = clone(init)
    X, y = data.F, data.outputs.as_given
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
        # A pipeline's message for parameters without the name of a step.
        if "stepname__parameter" in str(error):
            raise ValueError(message) from error
        raise


def init_scores(model: Any, X: Any, loss: Loss) -> Array:
    """A fitted estimator's predictions, as scores of the loss, (n, K)."""
    if not is_classifier(model):
        y = np.asarray(model.predict(X), dtype=np.float64)
        return (y if loss.targets == "real" else np.log(np.maximum(y, EPS))).reshape(-1, 1)
    p = np.clip(model.predict_proba(X), EPS, 1 - EPS)
    if loss.task == "multiclass":
        z = np.log(p)
        return z - z.mean(axis=1, keepdims=True)
    if loss.task == "regression":
        return (2 * p[:, 1] - 1).reshape(-1, 1)
    return (_log_odds(p[:, 1]) / _log_odds(loss.inverse_link(np.ones(1)))).reshape(-1, 1)


def _log_odds(p: Array) -> Array:
    return np.log(p / (1 - p))
