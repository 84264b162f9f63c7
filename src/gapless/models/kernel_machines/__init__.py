"""Kernel machines other than support vectors.

`logistic` is a linear model on features of the kernel, tuned by `logistic_tuning`; `nystroem`
and `random_features` make such features, for pipelines. `ridge`, `gaussian_process` (the same with
predictive variances and a fit of the kernel) and `local` (weighted means and lines around each
point) have closed forms, and share `_base`: `squares` solves the equations of the rows, `spectrum`
for many strengths, `search` chooses among them, `held_out` leaves rows out. Import all above them.
"""

from typing import TYPE_CHECKING

from ..._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .gaussian_process import GaussianProcessRegressor
    from .local import KernelRegression
    from .logistic import KernelLogisticRegression
    from .nystroem import Nystroem
    from .on_features import RidgeOnFeatures
    from .random_features import RBFSampler
    from .ridge import KernelRidge

__getattr__, __dir__, __all__ = on_first_use(__name__)
