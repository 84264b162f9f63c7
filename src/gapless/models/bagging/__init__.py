"""Bagging of any learner; what all ensembles of independent members share stands in `_base`."""

from typing import TYPE_CHECKING

from ..._ground.first_use import on_first_use

if TYPE_CHECKING:
    from ._base import Ensemble, fingerprint
    from .bagging import BaggingClassifier, BaggingRegressor
    from .out_of_bag import EnsembleData, EnsembleFit, warn_if_unpredicted

__getattr__, __dir__, __all__ = on_first_use(__name__)
