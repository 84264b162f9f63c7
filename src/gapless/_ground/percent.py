"""Shares in percent, as all parts write them: only all reads 100 %, and only nothing 0 %.

A model that is wrong in one of 10,000 rows is not "100.0 % right".
"""

from __future__ import annotations

import math

# With more decimals than these, give a bound: "below 0.0001 %".
MOST_DECIMALS = 4
# The rounding error of sums of weights.
ROUNDING = 1e-12


def percent(share: float, decimals: int | None = None) -> str:
    """A share in percent, with more than `decimals` if it is nearly all or nothing.

    With None, to a tenth near 0 and 1, else to the whole.
    """
    if decimals is None:
        decimals = 1 if 0 < share < 0.1 or 0.9 < share < 1 else 0
    enough = enough_decimals(share, least=decimals)
    if enough <= max(decimals, MOST_DECIMALS):
        return f"{100 * share:.{enough}f} %"
    least = 10.0**-MOST_DECIMALS
    end = 100.0 if share > 0.5 else 0.0
    side, bound = ("above", end - least) if 100 * share < end else ("below", end + least)
    return f"{side} {bound:.{MOST_DECIMALS}f} %"


def enough_decimals(*shares: float, least: int = 0) -> int:
    """The number of decimals, at least `least`, that separate some shares from 0 % and 100 %."""
    distances = [abs(distance) for share in shares for distance in (share, 1 - share)]
    nearest = min((d for d in distances if d > ROUNDING and math.isfinite(d)), default=1.0)
    # Rounding to k decimals moves a percentage by half a unit of the last of them, or slightly more
    # by rounding error: 99.5 may become 100.
    return max(least, math.floor(-math.log10(200 * nearest) + 1e-9) + 1)
