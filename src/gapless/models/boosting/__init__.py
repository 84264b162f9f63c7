"""Gradient boosting of trees on binned columns.

`boosting` is what both kinds share; `gradient_boosting` uses gradients alone, as Friedman did,
`hist_gradient_boosting` curvatures too. `data` reads and bins rows, `losses` finds the loss and the
first scores, `rounds` grows the trees of a round in the core, `run` adds rounds until they end.
`predictions` reads scores, AdaBoost's too; `refits` boosts again for unseen rows and chooses the
number of rounds; `as_sklearn` is what tools for scikit-learn's models look for.
"""

from typing import TYPE_CHECKING

from ..._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor
    from .hist_gradient_boosting import (
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
    )
    from .losses import metric_of
    from .predictions import BoostedClassifier, BoostedRegressor
    from .run import BoostingTrace

__getattr__, __dir__, __all__ = on_first_use(__name__)
