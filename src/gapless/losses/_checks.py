"""The checks that losses make when they are built."""

import math
from numbers import Real


def check_positive(name: str, value: float) -> None:
    """A scale is a finite number > 0."""
    if not isinstance(value, Real) or not math.isfinite(value) or value <= 0:
        raise ValueError(f"{name} must be a finite number > 0, got {value!r}.")


def check_nonnegative(name: str, value: float) -> None:
    """A width is a finite number ≥ 0."""
    if not isinstance(value, Real) or not math.isfinite(value) or value < 0:
        raise ValueError(f"{name} must be a finite number ≥ 0, got {value!r}.")
