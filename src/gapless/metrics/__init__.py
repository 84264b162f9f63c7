"""Metrics: what a model scores on some rows, each number with a confidence interval.

Called by people and by the report, on plain arrays. Every function returns a `Score`, a curve or a
matrix: plain data, with `plot()` where a picture helps. The names of arguments, and the values, are
scikit-learn's.
"""

from typing import TYPE_CHECKING

from .._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .classification import accuracy, error_rate, f1, mean_cost, precision, recall
    from .clusters import Silhouettes, adjusted_rand, silhouette, silhouettes
    from .comparison import METRICS, Comparison, compare
    from .confusion import ConfusionMatrix, confusion_matrix
    from .curves import (
        PrecisionRecallCurve,
        RocCurve,
        average_precision,
        precision_recall_curve,
        roc_auc,
        roc_curve,
    )
    from .estimates import Ratio, Smooth
    from .intervals import Rows, Score, decimals, written
    from .probabilities import (
        ReliabilityCurve,
        brier,
        cross_entropy,
        entropy,
        kl_divergence,
        log_loss,
        reliability_curve,
    )
    from .recalibration import RecalibratedClassifier, recalibrate
    from .regression import mae, mse, r2, rmse

__getattr__, __dir__, __all__ = on_first_use(__name__)
