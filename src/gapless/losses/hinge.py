"""Hinge loss: the support vector machine's."""

from dataclasses import dataclass

import numpy as np

from ._base import DualBox, Loss


@dataclass(frozen=True)
class Hinge(Loss):
    """Zero beyond the margin, linear before it.

    ℓ(y, z) = max(0, 1 − yz);   ℓ*(y, u) = uy on −1 ≤ uy ≤ 0.
    """

    task = "binary"

    def value(self, y, z):
        return np.maximum(1 - y * z, 0)

    def gradient(self, y, z):
        return np.where(y * z < 1, -y, 0)

    def dual_box(self, y):
        return DualBox(linear=y, lower=np.minimum(-y, 0), upper=np.maximum(-y, 0))
