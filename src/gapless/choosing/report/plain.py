"""Numbers of a report as JSON can hold them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

# A number that may be unknown. JSON has no NaN and no infinity, so that None stands for both.
Number: TypeAlias = float | None
Value: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True, slots=True)
class Measured:
    """A number with its interval, as `metrics.Score`.

    Attributes
    ----------
    name : str
        What was measured.
    value, low, high : float or None
        The number, and the ends of its interval.
    level : float
        How sure the interval is, such as 0.95.
    method : str
        How the interval was found.
    n : float
        How many rows the number rests on.
    """

    name: str
    value: Number
    low: Number
    high: Number
    level: float
    method: str
    n: float


def number(value: Any) -> Number:
    """A float, or None where it is unknown or infinite."""
    if value is None:
        return None
    plain = float(value)
    return plain if math.isfinite(plain) else None


def numbers(values: Any) -> tuple[Number, ...]:
    """Each as `number` has it."""
    return tuple(number(value) for value in values)


def plain_value(value: Any) -> Value:
    """A value of a setting: a number, a text, a truth value, or what it is called."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return number(value)
    return value if isinstance(value, str | int | bool) or value is None else str(value)


def measured(score: Any) -> Measured:
    """A score of `gapless.metrics` as plain data."""
    return Measured(
        name=str(score.name),
        value=number(score.value),
        low=number(score.low),
        high=number(score.high),
        level=float(score.level),
        method=str(score.method),
        n=float(score.n),
    )
