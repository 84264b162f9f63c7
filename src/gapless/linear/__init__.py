"""Linear models as scikit-learn classes: each says what is minimised, and `_base` does the rest.

Imports everything above: validation, problem, solvers, certificates. One file for each kind of
model: `least_squares`, `ridge`, `lasso`, `multi_task`, `support_vectors`, `logistic`, and `risk`
for any loss with any penalty; `problems` from data to what is minimised; `kernel` lets features of
a kernel stand in for X. Strengths are chosen by `selection`, by `fold_search`, and by the files
with "cv" in their name; `strengths`, `follow`, `walk` and `held_out` are their steps, and a `trail`
is what they find.
"""

from typing import TYPE_CHECKING

from .._first_use import on_first_use

if TYPE_CHECKING:
    from .lasso import ElasticNet, Lasso
    from .lasso_cv import ElasticNetCV, LassoCV
    from .least_squares import LinearRegression
    from .logistic import LogisticRegression
    from .logistic_cv import LogisticRegressionCV
    from .multi_task import MultiTaskLasso, MultiTaskLassoCV
    from .path_functions import enet_path, lasso_path
    from .ridge import Ridge, RidgeClassifier
    from .ridge_cv import RidgeClassifierCV, RidgeCV
    from .risk import RiskClassifier, RiskRegressor
    from .support_vectors import LinearSVC, LinearSVR

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

# Each name, and the file it lives in.
_HOMES = {
    "ElasticNet": "lasso",
    "ElasticNetCV": "lasso_cv",
    "Lasso": "lasso",
    "LassoCV": "lasso_cv",
    "LinearRegression": "least_squares",
    "LinearSVC": "support_vectors",
    "LinearSVR": "support_vectors",
    "LogisticRegression": "logistic",
    "LogisticRegressionCV": "logistic_cv",
    "MultiTaskLasso": "multi_task",
    "MultiTaskLassoCV": "multi_task",
    "Ridge": "ridge",
    "RidgeCV": "ridge_cv",
    "RidgeClassifier": "ridge",
    "RidgeClassifierCV": "ridge_cv",
    "RiskClassifier": "risk",
    "RiskRegressor": "risk",
    "enet_path": "path_functions",
    "lasso_path": "path_functions",
}
__getattr__, __dir__ = on_first_use(__name__, _HOMES)
