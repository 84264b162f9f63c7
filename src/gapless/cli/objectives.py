"""Objectives in words: what a fitted model minimises, as a formula with its numbers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from .._ground.about import Formula

# Numbers with more digits than anybody reads, as in the words of a kernel.
LONG = re.compile(r"\d+\.\d{5,}(?:e[-+]?\d+)?")


def objective_of(model: Any) -> str | None:
    """What a fitted model minimises, as a formula and the numbers in it.

    Parameters
    ----------
    model : estimator
        A fitted model; those of gapless say it in their method `_formula`.

    Returns
    -------
    str or None
        None for models that minimise nothing, such as nearest neighbours, and for others' models.
    """
    formula = model._formula() if hasattr(model, "_formula") else None
    return None if formula is None else _in_words(formula)


def _in_words(formula: Formula) -> str:
    known = [
        f"{symbol} = {_number(value)}"
        for symbol, value in formula.numbers.items()
        if value is not None
    ]
    return formula.text + (f"   with {', '.join(known)}" if known else "")


def _number(value: Any) -> str:
    if isinstance(value, float | int | np.number):
        return f"{value:.4g}"
    return LONG.sub(lambda found: f"{float(found[0]):.4g}", str(value))
