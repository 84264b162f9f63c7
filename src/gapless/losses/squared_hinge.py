"""Squared hinge loss: a smooth support vector machine."""

from dataclasses import dataclass

import numpy as np

from ._base import DualBox, Loss


@dataclass(frozen=True)
class SquaredHinge(Loss):
    """Zero beyond the margin, quadratic before it.

    ℓ(y, z) = max(0, 1 − yz)²;   ℓ*(y, u) = uy + ¼u² on uy ≤ 0.
    """

    task = "binary"

    def value(self, y, z):
        return np.maximum(1 - y * z, 0) ** 2

    def gradient(self, y, z):
        return -2 * y * np.maximum(1 - y * z, 0)

    def curvature(self, y, z):
        return 2 * (y * z < 1).astype(z.dtype)

    def dual_box(self, y):
        unbounded = np.full_like(y, np.inf)
        lower = np.where(y > 0, -unbounded, 0)
        return DualBox(linear=y, lower=lower, upper=np.where(y > 0, 0, unbounded), quadratic=0.5)
