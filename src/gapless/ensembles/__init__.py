"""Ensembles: bagging of any learner, forests of random trees, boosting."""

from .adaboost import AdaBoostClassifier
from .adaboost_regressor import AdaBoostRegressor
from .bagging import BaggingClassifier, BaggingRegressor
from .gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor
from .extra_trees import ExtraTreesClassifier, ExtraTreesRegressor
from .hist_gradient_boosting import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from .random_forest import RandomForestClassifier, RandomForestRegressor

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
]
