"""What an estimator says about itself: three members of its class, from which lists are built.

_formula()   what the fitted model minimises, as a `Formula`, for `gapless show`; None, with the
             reason in the docstring, if no formula describes it. That of a linear
             model has the scale of `certificate_.primal`: losses are summed over the rows, not
             averaged, and n is the sum of their weights.
_examples    the data on which the demo shows the model, with its parameters there; () for none.
_guide       the page of the guide that describes it: "trees" is docs/guide/trees.md.

Its docstring describes every parameter and attribute; `docstrings.py` completes it with those that
several classes share. `tests/test_registration.py` checks all public estimators and reports what is
missing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Formula:
    """What a fit minimises, and the numbers in it by their symbols; None values are left out.

    Formula("½ Σᵢ (yᵢ − xᵢᵀw)² + ½α‖w‖²", {"α": 0.1})
    """

    text: str
    numbers: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        known = [
            f"{symbol} = {_short_number(value)}"
            for symbol, value in self.numbers.items()
            if value is not None
        ]
        return self.text + (f"   with {', '.join(known)}" if known else "")


# Numbers with more digits than anyone reads, as in the description of a kernel.
LONG = re.compile(r"\d+\.\d{5,}(?:e[-+]?\d+)?")


def _short_number(value: Any) -> str:
    if isinstance(value, float | int | np.number):
        return f"{value:.4g}"
    return LONG.sub(lambda found: f"{float(found[0]):.4g}", str(value))


@dataclass(frozen=True)
class Example:
    """The data on which the demo shows an estimator, by name, and its parameters there."""

    data: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


# What the demo shows of one estimator.
Examples = tuple[Example, ...]


def chosen(model: Any, name: str) -> Any:
    """A parameter as the fit chose it, else as given; the first of several."""
    found = getattr(model, f"{name}_", None)
    found = getattr(model, name, None) if found is None else found
    return np.ravel(found).tolist()[0] if isinstance(found, np.ndarray) and found.size else found


def bias_term(model: Any, sign: str = "+") -> str:
    """The bias in a formula: " + b", or nothing for a model without one."""
    return f" {sign} b" if getattr(model, "fit_intercept", True) else ""
