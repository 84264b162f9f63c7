"""Huber loss: least squares in which no error pulls harder than `delta`."""

from dataclasses import dataclass

import numpy as np

from .._ground.parameters import check_positive
from ._base import DualBox, Loss

# The quadratic part shrinks by this factor on the way from the size of the residuals to δ.
STEP = 10.0


@dataclass(frozen=True)
class Huber(Loss):
    """Quadratic near the target, linear beyond `delta` (Huber 1964).

    ℓ(y, z) = ½r² where |r| ≤ δ, else δ(|r| − ½δ), with r = z − y;   ℓ*(y, u) = uy + ½u² on |u| ≤ δ.
    """

    delta: float = 1.0
    task = "regression"

    def __post_init__(self):
        check_positive("delta", self.delta)

    def value(self, y, z):
        r = z - y
        c = np.clip(r, -self.delta, self.delta)
        return c * (r - 0.5 * c)

    def gradient(self, y, z):
        return np.clip(z - y, -self.delta, self.delta)

    def curvature(self, y, z):
        return (np.abs(z - y) <= self.delta).astype(z.dtype)

    def easier(self, y, z):
        # Where most residuals are far beyond δ: a width that falls to δ from their size (Madsen and
        # Nielsen 1993). The slope of the linear part stays δ.
        typical = float(np.median(np.abs(z - y))) if np.size(y) else 0.0
        widths = []
        while self.delta * STEP < typical < np.inf:
            widths.append(typical)
            typical /= STEP
        return [(Huber(width), self.delta / width) for width in widths]

    def dual_box(self, y):
        end = np.full_like(y, self.delta)
        return DualBox(linear=y, lower=-end, upper=end, quadratic=1.0)

    def without_offset(self, y, offset):
        return y - offset, np.ones_like(y)
