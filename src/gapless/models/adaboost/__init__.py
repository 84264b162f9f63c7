"""AdaBoost: rounds of weak learners on weighted rows, their margins and bounds."""

from typing import TYPE_CHECKING

from ..._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .adaboost import AdaBoostClassifier, AdaBoostRegressor

__getattr__, __dir__, __all__ = on_first_use(__name__)
