"""Support vector machines: each says what is minimised, and `_base` does the rest.

`objectives` are what machines minimise, with their duals; `multiclass` makes problems of two
classes of several, `training_rows` reads and merges rows, `machine` (with `free_set`) solves and
certifies all problems of a fit, on the kernel, on features of it (`on_features`) or with one hinge
for all classes (`all_in_one`, `class_descent`); `support_vectors` is what a model keeps of that,
and scores rows. `held_out` (with `leaving_out`), `probability` and `tuning` (with `tuning_scores`)
use what the fit has left. Estimators: `svc`, `svr`, `nu`, `one_class`.
"""

from typing import TYPE_CHECKING

from ..._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .nu import NuSVC, NuSVR
    from .one_class import OneClassSVM
    from .svc import SVC
    from .svr import SVR

__getattr__, __dir__, __all__ = on_first_use(__name__)
