"""Held-out predictions from one fit: each row by the model that never saw it.

`leave_out` chooses: `features` (a step in the coefficients), `rows` (the same in the rows), `joint`
(coupled outputs), `spectrum` (least squares by singular values, for all digits), `span` (support
vectors). `ridge_path` does it for many strengths at once, `forward` by refits that see only the
past; `shares` corrects the scores of classes. Called by `held_out`, `conformal` and the paths;
knows problems, never an estimator.
"""

from ._base import HeldOut, NotAvailable
from .formulas import leave_out
from .forward import forward
from .ridge_path import RidgeHeldOut, ridge_path_leave_out
from .shares import keep_shares

__all__ = [
    "HeldOut",
    "NotAvailable",
    "RidgeHeldOut",
    "forward",
    "keep_shares",
    "leave_out",
    "ridge_path_leave_out",
]
