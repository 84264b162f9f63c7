"""Squared ε-insensitive loss: a smooth support vector regression."""

from dataclasses import dataclass

import numpy as np

from .._ground.parameters import check_nonnegative
from ._base import DualBox, Loss


@dataclass(frozen=True)
class SquaredEpsilonInsensitive(Loss):
    """Zero within `epsilon` of the target, quadratic outside.

    ℓ(y, z) = max(0, |z − y| − ε)²;   ℓ*(y, u) = uy + ε|u| + ¼u².
    """

    epsilon: float = 0.1
    task = "regression"

    def __post_init__(self):
        check_nonnegative("epsilon", self.epsilon)

    def value(self, y, z):
        return np.maximum(np.abs(z - y) - self.epsilon, 0) ** 2

    def gradient(self, y, z):
        r = z - y
        return 2 * (r - np.clip(r, -self.epsilon, self.epsilon))

    def curvature(self, y, z):
        return 2 * (np.abs(z - y) > self.epsilon).astype(z.dtype)

    def dual_box(self, y):
        unbounded = np.full_like(y, np.inf)
        return DualBox(y, -unbounded, unbounded, absolute=self.epsilon, quadratic=0.5)

    def without_offset(self, y, offset):
        return y - offset, np.ones_like(y)
