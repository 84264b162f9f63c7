"""Modified Huber loss: a squared hinge in which no error pulls harder than 4."""

from dataclasses import dataclass

import numpy as np

from ._base import DualBox, Loss


@dataclass(frozen=True)
class ModifiedHuber(Loss):
    """Zero beyond the margin, quadratic before it, linear from yz = −1 on (Zhang 2004).

    ℓ(y, z) = max(0, 1 − yz)² where yz ≥ −1, else −4yz;   ℓ*(y, u) = uy + ¼u² on −4 ≤ uy ≤ 0. Its
    scores within ±1 estimate probabilities: p = ½(1 + z).
    """

    task = "binary"

    def value(self, y, z):
        short = 1 - y * z
        pull = np.clip(short, 0, 2)
        return pull * (2 * short - pull)

    def gradient(self, y, z):
        return -2 * y * np.clip(1 - y * z, 0, 2)

    def curvature(self, y, z):
        return 2 * (np.abs(z) < 1).astype(z.dtype)

    def dual_box(self, y):
        return DualBox(
            linear=y, lower=np.minimum(-4 * y, 0), upper=np.maximum(-4 * y, 0), quadratic=0.5
        )

    def inverse_link(self, z):
        return 0.5 * (1 + np.clip(z, -1, 1))
