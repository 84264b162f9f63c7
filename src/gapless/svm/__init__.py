"""Support vector machines: each says what is minimised, and `_base` does the rest.

`forms` are the objectives with their duals, `multiclass` how several classes become problems of
two, `reading` and `rows` read and merge rows, `machine` (with `free_set`) solves and certifies all
problems of a fit; `held_out` (with `refits`), `probability` and `tuning` (with `trials`) use what
the fit has left. Estimators: `svc`, `svr`, `nu`, `one_class`.
"""

from .nu import NuSVC, NuSVR
from .one_class import OneClassSVM
from .svc import SVC
from .svr import SVR

__all__ = ["SVC", "SVR", "NuSVC", "NuSVR", "OneClassSVM"]
