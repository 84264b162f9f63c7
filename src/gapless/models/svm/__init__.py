"""Support vector machines: each defines its objective, and `_base` does the rest.

`objectives` are the objectives of the machines, with their duals; `multiclass` turns several
classes into problems of two, `training_rows` reads and merges rows, `machine` (with `free_set` and
`factored`) solves and certifies all problems of a fit, on the kernel, on features of it
(`on_features`) or with one hinge for all classes (`all_in_one`, `class_descent`); `support_vectors`
is what a model stores, and scores rows. `held_out` (with `leaving_out`), `probability` and `tuning`
(with `tuning_scores`) use the fit. Estimators: `svc`, `svr`, `nu`, `one_class`.
"""

from typing import TYPE_CHECKING

from ..._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .nu import NuSVC, NuSVR
    from .one_class import OneClassSVM
    from .svc import SVC
    from .svr import SVR

__getattr__, __dir__, __all__ = on_first_use(__name__)
