"""Absolute loss: the median, and least absolute deviations."""

from dataclasses import dataclass

import numpy as np

from ._base import DualBox, Loss


@dataclass(frozen=True)
class Absolute(Loss):
    """The distance to the target, twice the quantile loss at level ½.

    ℓ(y, z) = |z − y|;   ℓ*(y, u) = uy on −1 ≤ u ≤ 1.
    """

    task = "regression"

    def value(self, y, z):
        return np.abs(z - y)

    def gradient(self, y, z):
        return np.sign(z - y)

    def dual_box(self, y):
        end = np.ones_like(y)
        return DualBox(linear=y, lower=-end, upper=end)

    def without_offset(self, y, offset):
        return y - offset, np.ones_like(y)
