"""AdaBoost: learners fitted one after another, each to what those before it get wrong.

`adaboost` has both estimators, `weight_boosting` what they share; `weak_learners` finds the best of
all stumps or fits any learner, `margins` keeps the votes and bounds their loss.
"""

from typing import TYPE_CHECKING

from ..._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .adaboost import AdaBoostClassifier, AdaBoostRegressor

__getattr__, __dir__, __all__ = on_first_use(__name__)
