"""Kernel machines other than support vectors.

`logistic` is a linear model on features of the kernel. `ridge`, `gaussian_process` (the same with
predictive variances and a fit of the kernel) and `local` (weighted means and lines around each
point) have closed forms, and share `_base`: `squares` solves the equations of the rows, `spectrum`
for many strengths, `search` chooses among them, `held_out` leaves rows out. Import all above them.
"""

from .gaussian_process import GaussianProcessRegressor
from .local import KernelRegression
from .logistic import KernelLogisticRegression
from .ridge import KernelRidge

__all__ = [
    "GaussianProcessRegressor",
    "KernelLogisticRegression",
    "KernelRegression",
    "KernelRidge",
]
