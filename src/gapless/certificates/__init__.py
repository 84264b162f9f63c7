"""The optimality gap: a bound on how far a fit is from the best one, proved from the data.

`certificate` combines the evidence and puts it in words, `optimality` recomputes objective, lower
bound and conditions row by row, `recession` finds objectives without a minimiser. Knows problems,
never a solver.
"""

from typing import TYPE_CHECKING

from .._ground.first_use import on_first_use

if TYPE_CHECKING:
    from .certificate import (
        CURE,
        LARGEST_SHARE,
        MEASURED,
        Certificate,
        certify,
        certify_all,
        certify_model,
        judged,
        known_offset,
    )
    from .optimality import Conditions, Violation
    from .recession import why_endless

__getattr__, __dir__, __all__ = on_first_use(__name__)
