"""Metrics: what a model scores on some rows, each number with a confidence interval.

Called by people and by the report, on plain arrays. Every function returns a `Score`, a curve or a
matrix: plain data, with `plot()` where a picture helps. The names of arguments, and the values, are
scikit-learn's.
"""

from typing import TYPE_CHECKING

from .._first_use import on_first_use

if TYPE_CHECKING:
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

# Each name, and the file it lives in.
_HOMES = {
    "Comparison": "comparison",
    "ConfusionMatrix": "confusion",
    "PrecisionRecallCurve": "curves",
    "RecalibratedClassifier": "recalibration",
    "ReliabilityCurve": "calibration",
    "RocCurve": "curves",
    "Score": "result",
    "accuracy": "classification",
    "average_precision": "curves",
    "brier": "probabilities",
    "compare": "comparison",
    "confusion_matrix": "confusion",
    "cross_entropy": "probabilities",
    "entropy": "probabilities",
    "error_rate": "classification",
    "f1": "classification",
    "kl_divergence": "probabilities",
    "log_loss": "probabilities",
    "mae": "regression",
    "mean_cost": "costs",
    "mse": "regression",
    "precision": "classification",
    "precision_recall_curve": "curves",
    "r2": "regression",
    "recalibrate": "recalibration",
    "recall": "classification",
    "reliability_curve": "calibration",
    "rmse": "regression",
    "roc_auc": "curves",
    "roc_curve": "curves",
}
__getattr__, __dir__ = on_first_use(__name__, _HOMES)
