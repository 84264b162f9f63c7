"""Support vector machines: each says what is minimised, and `_base` does the rest.

`forms` are the objectives with their duals, `multiclass` how several classes become problems of
two, `reading` and `rows` read and merge rows, `machine` (with `free_set`) solves and certifies all
problems of a fit; `held_out` (with `refits`), `probability` and `tuning` (with `trials`) use what
the fit has left. Estimators: `svc`, `svr`, `nu`, `one_class`.
"""

from typing import TYPE_CHECKING

from ..._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .nu import NuSVC, NuSVR
    from .one_class import OneClassSVM
    from .svc import SVC
    from .svr import SVR

__getattr__, __dir__, __all__ = on_first_use(__name__)
