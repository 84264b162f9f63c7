"""Ensembles: bagging of any learner, forests of random trees, boosting."""

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
