"""The first gap: how far a fit is at most from the best one, proved from the data, said in words.

`certificate` joins the evidence, `optimality` recomputes objective, lower bound and conditions row
by row, `recession` finds objectives that have no minimiser. Knows problems, never a solver.
"""

from typing import TYPE_CHECKING

from .._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .certificate import (
        CURE,
        LARGEST_SHARE,
        MEASURED,
        NO_MINIMISER,
        Certificate,
        certify,
        certify_all,
        certify_model,
        judged,
    )
    from .optimality import Conditions, Violation

__getattr__, __dir__, __all__ = on_first_use(__name__)
