"""Trees with less and with more freedom, as changes of their parameters: for verdicts.

Forests, boosting and bagging ask for the same of the trees that they are made of.
"""

from __future__ import annotations

from math import ceil
from numbers import Integral
from typing import Any

from ...unseen import ChangeDial, Changes

# Leaves grow by this factor with each step; none is larger than this part of the rows.
LARGER, LARGEST_PART = 3, 0.25


def larger_leaves(parameters: Changes, rows: float) -> ChangeDial:
    """Leaves of at least 3, 9, … times as many rows."""

    def turned(step: int) -> Changes | None:
        size = LARGER**step * _count(parameters.get("min_samples_leaf", 1), rows)
        return {"min_samples_leaf": size} if size <= LARGEST_PART * rows else None

    return turned if "min_samples_leaf" in parameters else _nothing


def lower(depth: int) -> ChangeDial:
    """Half of the depth, a quarter, …"""

    def turned(step: int) -> Changes | None:
        lowered = depth // 2**step
        return {"max_depth": lowered} if lowered >= 1 else None

    return turned


def fewer_limits(parameters: Changes, rows: float, price: float = 0.0) -> ChangeDial:
    """All limits of growing farther out: twice the depth, a third of the leaves, …"""

    def turned(step: int) -> Changes | None:
        changes: Changes = {}
        if parameters.get("max_depth") is not None:
            changes["max_depth"] = int(parameters["max_depth"]) * 2**step
        if parameters.get("max_leaf_nodes") is not None:
            changes["max_leaf_nodes"] = int(parameters["max_leaf_nodes"]) * LARGER**step
        for name, least in (("min_samples_leaf", 1), ("min_samples_split", 2)):
            size = _count(parameters.get(name, least), rows)
            if size > least:
                changes[name] = max(size // LARGER**step, least)
        if parameters.get("min_impurity_decrease"):
            changes["min_impurity_decrease"] = parameters["min_impurity_decrease"] / 10.0**step
        if price > 0:
            changes["ccp_alpha"] = price / 10.0**step
        if parameters.get("prune") is not None:
            changes["prune"] = None
        return changes or None

    return turned


def _nothing(step: int) -> Changes | None:
    return None


def _count(size: Any, rows: float) -> int:
    """A number of rows, also where it is given as a part of them."""
    return int(size) if isinstance(size, Integral) else max(ceil(size * rows), 1)
