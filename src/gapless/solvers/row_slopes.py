"""The slopes of losses as compiled steps by single rows take them, for solvers and SGD models."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..losses import Loss

Array = np.ndarray

# A steeper slope would only cause overflow; the core has the same limit.
STEEPEST = 1e12


@dataclass(frozen=True, eq=False)
class RowSlopes:
    """The slopes of a loss, as the core computes them row by row; see row_steps.hpp."""

    boxes: tuple[Array, Array, Array]
    shape: tuple[float, float, float]

    @classmethod
    def of(cls, loss: Loss, targets: Array) -> RowSlopes | None:
        """For targets (n, outputs); None if the core does not know the loss."""
        if loss.sigmoid_height:
            return cls((targets, targets, targets), (0.0, 0.0, loss.sigmoid_height))
        if not loss.has_dual_box:
            return None
        box = loss.dual_box(targets.ravel())

        def shaped(end: Array) -> Array:
            return np.ascontiguousarray(end, dtype=float).reshape(targets.shape)

        ends = shaped(box.linear), shaped(box.lower), shaped(box.upper)
        return cls(ends, (float(box.absolute), float(box.quadratic), 0.0))

    def at(self, rows: Array, z: Array, upper_at_ties: bool) -> Array:
        """The slopes of some rows with scores z (rows, outputs), as the core has them."""
        absolute, quadratic, height = self.shape
        y, lower, upper = (end[rows] for end in self.boxes)
        if height:
            e = np.exp(-np.abs(z))
            return -height * y * np.where(y * z > 0, e, 1.0) / (1 + e)
        r = z - y
        rest = r - np.clip(r, -absolute, absolute)
        if quadratic:
            return np.clip(np.clip(rest / quadratic, lower, upper), -STEEPEST, STEEPEST)
        is_upper = upper_at_ties | (np.abs(upper) >= np.abs(lower))
        tied = np.where((lower < 0) & (upper > 0), 0.0, np.where(is_upper, upper, lower))
        return np.where(rest > 0, upper, np.where(rest < 0, lower, tied))
