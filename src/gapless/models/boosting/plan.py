"""How the trees of boosting are grown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._ground import core as _core
from ...losses import Loss

Array = np.ndarray

# Deeper than any tree.
UNLIMITED = 1 << 30
# Curvature that a leaf needs, for one row: below it the values of leaves have no digits left.
LEAST_CURVATURE = 1e-3


@dataclass(frozen=True)
class GrowthPlan:
    """How the trees of all rounds are grown.

    `second_order` grows by gradient and curvature, else by gradient alone; `leaves` says how the
    values of leaves are found: "model" (by the core, from what the tree was grown on), "newton"
    (one step with the curvature) or "search" (the best constant). `groups` are columns that may
    meet on one path, one row of 0 and 1 for each group; `price` is what a leaf must be worth.
    """

    learning_rate: float = 0.1
    max_leaves: int | None = 31
    max_depth: int | None = None
    min_leaf_rows: int = 20
    min_split_rows: int = 2
    max_columns: int | None = None
    min_leaf_weight: float = 0.0
    min_gain: float = 0.0
    l2: float = 0.0
    second_order: bool = True
    leaves: str = "model"
    groups: Array | None = None
    price: float = 0.0

    def limits(self, rows: Array, weights: Array, d: int) -> Any:
        """The limits for the core, for rows that count so much."""
        counted = float(np.ceil(rows).sum())
        most = max(min(int((rows > 0).sum()), int(counted) // max(self.min_leaf_rows, 1)), 1)
        depth = UNLIMITED if self.max_depth is None else self.max_depth
        leaves = most if self.max_leaves is None else min(self.max_leaves, most)
        if depth < 31:
            leaves = min(leaves, 1 << depth)
        scale = float(weights.sum()) / counted
        least = LEAST_CURVATURE * scale if self.second_order else self.min_leaf_weight
        return leaves, _core.GrowthLimits(
            max_leaves=leaves,
            max_depth=depth,
            min_leaf_rows=self.min_leaf_rows,
            min_split_rows=self.min_split_rows,
            max_columns=d if self.max_columns is None else self.max_columns,
            min_leaf_curvature=least,
            min_gain=self.min_gain,
            l2=self.l2,
        )


def is_second_order(loss: Loss) -> bool:
    """Whether the curvature of a loss tells how far to go: it does not where slopes stay the same.

    Huber's loss has none for large errors, which would then never be corrected.
    """
    if not loss.has_curvature:
        return False
    if not loss.has_dual_box:
        return True
    box = loss.dual_box(np.ones(1))
    ends = np.concatenate([box.lower, box.upper])
    return not np.any(np.isfinite(ends) & (ends != 0))
