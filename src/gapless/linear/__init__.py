"""Linear models as scikit-learn classes: each says what is minimised, and `_base` does the rest.

Imports everything above: validation, problem, solvers, certificates. Files: `regression`,
`classification`, and `risk` for any loss with any penalty.
"""

from .classification import LinearSVC, LogisticRegression, RidgeClassifier
from .regression import ElasticNet, Lasso, LinearRegression, LinearSVR, MultiTaskLasso, Ridge
from .risk import RiskClassifier, RiskRegressor

__all__ = [
    "ElasticNet",
    "Lasso",
    "LinearRegression",
    "LinearSVC",
    "LinearSVR",
    "LogisticRegression",
    "MultiTaskLasso",
    "Ridge",
    "RidgeClassifier",
    "RiskClassifier",
    "RiskRegressor",
]
