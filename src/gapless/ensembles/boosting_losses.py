"""The losses of boosting: by the names of scikit-learn, by those of gapless, or as instances."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn._loss import loss as peers

from .. import losses
from ..losses import Loss
from ..null_model import minimise_bias, minimise_biases

Array = np.ndarray

# scikit-learn's names; those of gapless are known to `losses.by_name`.
REGRESSION = {
    "squared_error": losses.Squared(),
    "absolute_error": losses.EpsilonInsensitive(0.0),
}
LOG_LOSS = "log_loss"
# Its instances, by their classes.
PEERS = {
    peers.HalfSquaredError: losses.Squared(),
    peers.AbsoluteError: losses.EpsilonInsensitive(0.0),
    peers.HalfPoissonLoss: losses.Poisson(),
    peers.HalfGammaLoss: losses.Gamma(),
    peers.HalfBinomialLoss: losses.Logistic(),
    peers.ExponentialLoss: losses.Exponential(),
    peers.HalfMultinomialLoss: losses.Softmax(),
}


def ours(loss: Any) -> Any:
    """The loss of gapless that is the same as one of scikit-learn's; all else as it is."""
    if not isinstance(loss, peers.BaseLoss):
        return loss
    if isinstance(loss, peers.PinballLoss):
        return losses.Quantile(loss.closs.quantile)
    if type(loss) not in PEERS:
        raise ValueError(
            f"the loss {type(loss).__name__} of scikit-learn has no counterpart; pass one of "
            "gapless.losses."
        )
    return PEERS[type(loss)]


def theirs(loss: Loss, scores: int) -> peers.BaseLoss:
    """The same the other way."""
    if isinstance(loss, losses.Quantile):
        return peers.PinballLoss(quantile=loss.level)
    if isinstance(loss, losses.Huber):
        return peers.HuberLoss(delta=loss.delta)
    for peer, own in PEERS.items():
        if loss == own:
            return peer(n_classes=scores) if own.task == "multiclass" else peer()
    raise AttributeError(f"scikit-learn has no loss that is the same as {loss!r}; read loss_.")


def regression_loss(loss: Any, quantile: float | None) -> Loss:
    """The loss of a regression; `quantile` is the level of loss="quantile"."""
    loss = ours(loss)
    if isinstance(loss, str) and loss in REGRESSION:
        return REGRESSION[loss]
    found = losses.by_name(loss)
    if found.task != "regression":
        raise ValueError(
            f"loss={loss!r} is for classes; use a classifier, or a loss of numbers such as "
            "squared_error."
        )
    if isinstance(loss, str) and loss == "quantile":
        if quantile is None:
            raise ValueError('loss="quantile" needs the parameter quantile, such as 0.9; set it.')
        return losses.Quantile(quantile)
    return found


def classification_loss(loss: Any, classes: int) -> Loss:
    """The loss of a classification among so many classes."""
    loss = ours(loss)
    if isinstance(loss, str) and loss == LOG_LOSS:
        return losses.Logistic() if classes <= 2 else losses.Softmax()
    found = losses.by_name(loss)
    if found.task == "regression":
        raise ValueError(
            f"loss={loss!r} is for numbers; use a regressor, or a loss of classes such as log_loss."
        )
    if found.task == "binary" and classes > 2:
        raise ValueError(
            f"loss={loss!r} is only suitable for a binary classification, and y has {classes} "
            'classes; use "log_loss", or a loss of several classes.'
        )
    return found


def metric_of(loss: Loss) -> str:
    """What the mean loss of unseen rows is called as a score, the larger the better."""
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


def targets_of(loss: Loss, y: Array) -> Array:
    """Targets as the loss takes them: numbers, −1 and +1, or positions of classes."""
    if loss.task == "regression":
        return np.asarray(y, dtype=np.float64)
    return 2.0 * y - 1.0 if loss.task == "binary" else y.astype(np.int64)


def best_start(loss: Loss, y: Array, weights: Array, scores: int) -> Array:
    """The best constant scores, (scores,)."""
    if loss.task != "regression":
        # Rows of a class are alike as long as nothing is known of them.
        y, place = np.unique(y, return_inverse=True)
        weights = np.bincount(place, weights)
    if loss.task == "multiclass":
        return minimise_biases(loss, y, np.zeros((len(y), scores)), weights)
    return np.array([minimise_bias(loss, y, np.zeros(len(y)), weights)])
