"""Quantile loss: the value below which a given share of the targets lies."""

from dataclasses import dataclass

import numpy as np

from ._base import DualBox, Loss


@dataclass(frozen=True)
class Quantile(Loss):
    """Errors below the target cost `level`, errors above it 1 − `level` (Koenker, Bassett 1978).

    ℓ(y, z) = max(q(y − z), (1 − q)(z − y));   ℓ*(y, u) = uy on −q ≤ u ≤ 1 − q.
    """

    level: float = 0.5
    task = "regression"

    def __post_init__(self):
        if not 0 <= self.level <= 1:
            raise ValueError(f"level must be a number from 0 to 1, got {self.level!r}.")

    def value(self, y, z):
        r = z - y
        return np.maximum((1 - self.level) * r, -self.level * r)

    def gradient(self, y, z):
        side = np.sign(z - y)
        return 0.5 * side + (0.5 - self.level) * np.abs(side)

    def dual_box(self, y):
        return DualBox(
            linear=y, lower=np.full_like(y, -self.level), upper=np.full_like(y, 1 - self.level)
        )

    def without_offset(self, y, offset):
        return y - offset, np.ones_like(y)
