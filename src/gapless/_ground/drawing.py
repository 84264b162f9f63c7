"""How results draw themselves: by `gapless.plots`, which is loaded when the first one is drawn."""

from __future__ import annotations

import importlib
from types import ModuleType

# What every plot takes, for its docstring.
AXES = """
axes : matplotlib Axes
    Where to draw; a new figure if None.
"""
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def pictures() -> ModuleType:
    """`gapless.plots`: matplotlib takes as long to import as all the rest, and few need it.

    The only way from a result up to its picture. Results hand over plain data.
    """
    return importlib.import_module("gapless.plots")


def numbered(letter: str, k: int) -> str:
    """A letter with a number below it, as in formulas: w₁."""
    return f"{letter}{k}".translate(SUBSCRIPTS)
