"""Metrics: what a model scores on some rows, each number with a confidence interval.

Called by people and by the report, on plain arrays. Every function returns a `Score`, a curve or a
matrix: plain data, with `plot()` where a picture helps. The names of arguments, and the values, are
scikit-learn's.
"""

from .calibration import ReliabilityCurve, reliability_curve
from .classification import accuracy, error_rate, f1, precision, recall
from .comparison import Comparison, compare
from .confusion import ConfusionMatrix, confusion_matrix
from .costs import mean_cost
from .curves import (
    PrecisionRecallCurve,
    RocCurve,
    average_precision,
    precision_recall_curve,
    roc_auc,
    roc_curve,
)
from .probabilities import brier, cross_entropy, entropy, kl_divergence, log_loss
from .recalibration import RecalibratedClassifier, recalibrate
from .regression import mae, mse, r2, rmse
from .result import Score

__all__ = [
    "Comparison",
    "ConfusionMatrix",
    "PrecisionRecallCurve",
    "RecalibratedClassifier",
    "ReliabilityCurve",
    "RocCurve",
    "Score",
    "accuracy",
    "average_precision",
    "brier",
    "compare",
    "confusion_matrix",
    "cross_entropy",
    "entropy",
    "error_rate",
    "f1",
    "kl_divergence",
    "log_loss",
    "mae",
    "mean_cost",
    "mse",
    "precision",
    "precision_recall_curve",
    "r2",
    "recalibrate",
    "recall",
    "reliability_curve",
    "rmse",
    "roc_auc",
    "roc_curve",
]
