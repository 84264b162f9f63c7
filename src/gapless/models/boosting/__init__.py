"""Gradient boosting of trees, on exact splits and on histograms."""

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
