"""Checks of the parameters of losses, penalties and kernels when they are built."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np


def check_positive(name: str, value: float) -> None:
    """A finite number > 0."""
    if not isinstance(value, Real) or not math.isfinite(value) or value <= 0:
        raise ValueError(f"{name} must be a finite number > 0, got {value!r}.")


def check_nonnegative(name: str, value: float) -> None:
    """A finite number ≥ 0."""
    if not isinstance(value, Real) or not math.isfinite(value) or value < 0:
        raise ValueError(f"{name} must be a finite number ≥ 0, got {value!r}.")


def check_finite(name: str, value: float) -> None:
    """A finite number."""
    if not isinstance(value, Real) or not math.isfinite(value):
        raise ValueError(f"{name} must be a finite number, got {value!r}.")


def check_fraction(name: str, value: float) -> None:
    """A number from 0 to 1."""
    if not isinstance(value, Real) or not 0 <= value <= 1:
        raise ValueError(f"{name} must be a number from 0 to 1, got {value!r}.")


def check_weights(name: str, values: Any) -> None:
    """None, or a vector of finite numbers ≥ 0."""
    if values is None:
        return
    weights = np.asarray(values)
    if weights.ndim != 1 or weights.dtype.kind not in "fiub":
        raise ValueError(f"{name} must be a vector of numbers, got {values!r}.")
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong):
        raise ValueError(
            f"{name} must be finite numbers ≥ 0, got {weights[wrong[0]]!r} at position {wrong[0]}."
        )
