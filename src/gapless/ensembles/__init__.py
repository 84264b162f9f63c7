"""Ensembles: bagging of any learner, forests of random trees, boosting."""

from typing import TYPE_CHECKING

from .._first_use import on_first_use

if TYPE_CHECKING:
    from .adaboost import AdaBoostClassifier
    from .adaboost_regressor import AdaBoostRegressor
    from .bagging import BaggingClassifier, BaggingRegressor
    from .extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
    from .gradient_boosting import GradientBoostingClassifier
    from .gradient_boosting_regressor import GradientBoostingRegressor
    from .hist_gradient_boosting import HistGradientBoostingClassifier
    from .hist_gradient_boosting_regressor import HistGradientBoostingRegressor
    from .random_forest import RandomForestClassifier, RandomForestRegressor

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
]

# Each name, and the file it lives in.
_HOMES = {
    "AdaBoostClassifier": "adaboost",
    "AdaBoostRegressor": "adaboost_regressor",
    "BaggingClassifier": "bagging",
    "BaggingRegressor": "bagging",
    "ExtraTreesClassifier": "extra_trees",
    "ExtraTreesRegressor": "extra_trees",
    "GradientBoostingClassifier": "gradient_boosting",
    "GradientBoostingRegressor": "gradient_boosting_regressor",
    "HistGradientBoostingClassifier": "hist_gradient_boosting",
    "HistGradientBoostingRegressor": "hist_gradient_boosting_regressor",
    "RandomForestClassifier": "random_forest",
    "RandomForestRegressor": "random_forest",
}
__getattr__, __dir__ = on_first_use(__name__, _HOMES)
