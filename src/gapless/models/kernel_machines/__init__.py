"""Kernel machines other than support vectors.

`logistic` is a linear model on features of the kernel, and `ridge_on_features` least squares on
them; `feature_maps` makes such features for pipelines. `ridge`, `gaussian_process` (the same with
predictive variances, and a kernel fitted by `marginal_likelihood`) and `local` (weighted means and
lines around each point, by `smoothing`) have closed forms, and share `_base`: `least_squares`
merges equal rows and solves their equations, `tuning` chooses strength and scale, and
`leave_one_out` leaves rows out.
"""

from typing import TYPE_CHECKING

from ..._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .feature_maps import Nystroem, RBFSampler
    from .gaussian_process import GaussianProcessRegressor
    from .local import KernelRegression
    from .logistic import KernelLogisticRegression
    from .ridge import KernelRidge
    from .ridge_on_features import RidgeOnFeatures

__getattr__, __dir__, __all__ = on_first_use(__name__)
