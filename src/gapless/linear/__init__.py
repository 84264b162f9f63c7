"""Linear models as scikit-learn classes: each says what is minimised, and `_base` does the rest.

Imports everything above: validation, problem, solvers, certificates. Files: `regression`,
`classification`, `risk` for any loss with any penalty; `problems` from data to what is minimised;
`kernel` lets features of a kernel stand in for X; `selection`, `folds` and the files with
"cv" in their name choose strengths.
"""

from .classification import LinearSVC, LogisticRegression, RidgeClassifier
from .lasso_cv import ElasticNetCV, LassoCV, MultiTaskLassoCV
from .logistic_cv import LogisticRegressionCV
from .path_functions import enet_path, lasso_path
from .regression import ElasticNet, Lasso, LinearRegression, LinearSVR, MultiTaskLasso, Ridge
from .ridge_cv import RidgeClassifierCV, RidgeCV
from .risk import RiskClassifier, RiskRegressor

__all__ = [
    "ElasticNet",
    "ElasticNetCV",
    "Lasso",
    "LassoCV",
    "LinearRegression",
    "LinearSVC",
    "LinearSVR",
    "LogisticRegression",
    "LogisticRegressionCV",
    "MultiTaskLasso",
    "MultiTaskLassoCV",
    "Ridge",
    "RidgeCV",
    "RidgeClassifier",
    "RidgeClassifierCV",
    "RiskClassifier",
    "RiskRegressor",
    "enet_path",
    "lasso_path",
]
