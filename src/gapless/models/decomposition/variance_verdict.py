"""The certificate of components in words: the variance that they keep, and that others could."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..._ground.percent import percent
from ...certificates import Certificate, Conditions, Violation, judged

Array = np.ndarray

VARIANCE, SQUARES = "variance", "sum of squares"


def judged_variance(
    missed: float,
    trace: float,
    bound: float,
    *,
    count: int,
    tol: float,
    rounding: float,
    residuals: Array,
    method: str,
    is_exact: bool,
    is_proved: bool,
    cure: str,
    is_constant: bool = False,
    of: str = VARIANCE,
) -> Certificate:
    """The certificate of `count` directions that miss `missed` of the variance `trace`.

    `bound` is the most that so many directions can keep. Where it is not known well (`is_proved` is
    False), a gap within the tolerance is still a proof, but a larger one shows nothing. `residuals`
    are the eigen-residuals of the directions. `is_constant` is for rows that are equal up to
    rounding.
    """
    found = judged(
        missed,
        max(trace - bound, 0.0),
        scale=trace,
        tol=tol,
        rounding=rounding,
        exact=is_exact,
        is_constant=is_constant,
        kkt=Conditions(stationarity=Violation.largest(residuals)),
        method=method,
        cure=cure,
    )
    if not found.is_finite:
        return found
    if is_constant and found.kind in ("exact", "optimal"):
        return replace(found, verdict=f"{found.kind}: the rows are equal, and nothing varies.")
    share = max(1 - missed / trace, 0.0) if trace > 0 else 1.0
    most = min(share + found.relative_gap, 1.0)
    words = f"{count} components keep {_percent(share)} of the {of}"
    if count == 1:
        words = f"1 component keeps {_percent(share)} of the {of}"
    if found.kind in ("exact", "optimal"):
        verdict = f"{found.kind}: {words}, at most {_at_most(found.relative_gap)} below the best."
        return replace(found, verdict=verdict)
    if not is_proved:
        verdict = f"bound: {words}, and no others keep more than {_percent(most)}; {cure}."
        return replace(found, kind="bound", verdict=verdict)
    verdict = f"stopped: {words}, and others could keep {_percent(most)}; {cure}."
    return replace(found, verdict=verdict)


def _percent(share: float) -> str:
    """A share in percent: two digits after the point, or as many as it takes to show it."""
    if 0 < share < 1e-4:
        return f"{100 * share:.1e} %"
    return percent(share, 2)


def _at_most(share: float) -> str:
    """A bound in percent, rounded up: to a hundredth, or where that says too little to 0.0001."""
    if not math.isfinite(share):
        return _percent(share)
    unit = 1e-4 if share > 1e-4 else 1e-6
    return percent(max(math.ceil(share / unit - 1e-9), 1) * unit, 2)
