"""Estimators, a folder for each family. Their names are also those of `gapless` itself."""

from typing import TYPE_CHECKING

from .._ground.first_use import on_first_use

if TYPE_CHECKING:
    from . import (
        adaboost,
        bagging,
        bayes,
        boosting,
        clustering,
        forests,
        kernel_machines,
        linear,
        neighbors,
        networks,
        risk,
        stochastic,
        svm,
        text,
        trees,
    )

__getattr__, __dir__, __all__ = on_first_use(__name__)
