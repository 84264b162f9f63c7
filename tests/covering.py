"""Some of many combinations, such that any two values which meet anywhere meet in one of them.

Most mistakes that depend on parameters depend on one or two of them (Kuhn, Wallace and Gallo 2004,
Software fault interactions and implications for software testing).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any


def covering(values: Mapping[Any, Iterable[tuple[str, Any]]], *, together: int = 2) -> list[Any]:
    """Cases in which all pairs of values occur; `values` has those of each case by their names.

    `together=1` asks for all single values only.
    """
    pairs = {case: set(combinations(each, together)) for case, each in values.items()}
    chosen = []
    while pairs:
        best = max(pairs, key=lambda case: len(pairs[case]))
        chosen.append(best)
        met = pairs[best]
        pairs = {case: rest for case, missing in pairs.items() if (rest := missing - met)}
    return chosen
