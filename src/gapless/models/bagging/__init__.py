"""Bagging of any learner, and what all ensembles of independent members share.

`bagging` has both estimators, `members` how one member is fitted to its draw and predicts;
`ensemble` is the base of bagging, forests and AdaBoost, `out_of_bag` its rows predicted by the
members that have not drawn them.
"""

from typing import TYPE_CHECKING

from ..._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .bagging import BaggingClassifier, BaggingRegressor
    from .ensemble import Ensemble, fingerprint
    from .out_of_bag import EnsembleData, EnsembleFit, warn_if_unpredicted

__getattr__, __dir__, __all__ = on_first_use(__name__)
