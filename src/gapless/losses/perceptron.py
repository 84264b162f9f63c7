"""Perceptron loss: what the perceptron's updates descend."""

from dataclasses import dataclass

import numpy as np

from ._base import DualBox, Loss


@dataclass(frozen=True)
class Perceptron(Loss):
    """The distance by which a score is on the wrong side of 0 (Rosenblatt 1958).

    ℓ(y, z) = max(0, −yz);   ℓ*(y, u) = 0 on −1 ≤ uy ≤ 0. It is 0 where all scores are 0, so w = 0
    is a minimiser, and with a penalty the only one.
    """

    task = "binary"
    caution = (
        "the perceptron loss is 0 at w = 0, and no coefficients have a smaller objective, so this "
        'fit learns nothing; use the hinge loss, "hinge", which asks for a margin.'
    )

    def value(self, y, z):
        return np.maximum(-y * z, 0)

    def gradient(self, y, z):
        return np.where(y * z < 0, -y, 0)

    def dual_box(self, y):
        return DualBox(linear=np.zeros_like(y), lower=np.minimum(-y, 0), upper=np.maximum(-y, 0))
