"""Score: a number measured on some rows, and between which bounds the true one lies."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

# Numbers beyond these are written with an exponent.
MOST_DECIMALS, LARGEST_PLAIN = 6, 1e7


@dataclass(frozen=True)
class Score:
    """A score with its confidence interval. Prints as a sentence; float() gives its value.

    Attributes
    ----------
    name : str
        What was measured.
    value : float
        The number, from these rows.
    low, high : float
        Ends of the interval: of many samples of rows from the same source, a share `level` has an
        interval with the true number in it.
    level : float
        That share, such as 0.95.
    method : str
        How the interval was found, in words.
    n : float
        How many rows the number rests on; with weights that are no counts, the effective number.
    """

    name: str
    value: float
    low: float
    high: float
    level: float
    method: str
    n: float

    def __float__(self) -> float:
        return self.value

    def __format__(self, spec: str) -> str:
        """The value in the given format; the sentence without one."""
        return format(self.value, spec) if spec else str(self)

    def __str__(self) -> str:
        digits = decimals(self.low, self.high, self.value)
        value, low, high = (written(x, digits) for x in (self.value, self.low, self.high))
        return (
            f"{self.name} {value} ({low} to {high} at {100 * self.level:g} %, {self.method}, "
            f"n = {count(self.n)})"
        )

    def __repr__(self) -> str:
        return f"<Score {self.name} {self.value:.4g} ({self.low:.4g} to {self.high:.4g})>"

    def to_dict(self) -> dict[str, Any]:
        """The same data as plain numbers and strings."""
        return asdict(self)


def decimals(low: float, high: float, value: float) -> int:
    """Decimals that show two digits of the width of an interval."""
    size = high - low
    if not (math.isfinite(size) and size > 0):
        size = abs(value)
    if not (math.isfinite(size) and size > 0):
        return 3
    return max(1 - math.floor(math.log10(size)), 0)


def written(x: float, digits: int) -> str:
    """A number with so many decimals; with three digits if it is huge, or they would be many."""
    is_plain = digits <= MOST_DECIMALS and abs(x) < LARGEST_PLAIN
    return f"{x:.{digits}f}" if is_plain else f"{x:.3g}"


def count(n: float) -> str:
    """A number of rows in words; with one decimal if it is an effective one."""
    return f"{n:.0f}" if n == math.floor(n) else f"{n:.1f}"
