"""ε-insensitive loss: support vector regression."""

from dataclasses import dataclass

import numpy as np

from .._ground.parameters import check_nonnegative
from ._base import DualBox, Loss


@dataclass(frozen=True)
class EpsilonInsensitive(Loss):
    """Zero within `epsilon` of the target, linear outside; the absolute error at ε = 0.

    ℓ(y, z) = max(0, |z − y| − ε);   ℓ*(y, u) = uy + ε|u| on |u| ≤ 1.
    """

    epsilon: float = 0.1
    task = "regression"

    def __post_init__(self):
        check_nonnegative("epsilon", self.epsilon)

    def value(self, y, z):
        return np.maximum(np.abs(z - y) - self.epsilon, 0)

    def gradient(self, y, z):
        r = z - y
        return np.sign(r) * (np.abs(r) > self.epsilon)

    def dual_box(self, y):
        end = np.ones_like(y)
        return DualBox(linear=y, lower=-end, upper=end, absolute=self.epsilon)

    def without_offset(self, y, offset):
        return y - offset, np.ones_like(y)
