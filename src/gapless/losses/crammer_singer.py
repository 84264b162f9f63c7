"""Crammer and Singer's hinge: one support vector machine for several classes."""

from dataclasses import dataclass

import numpy as np

from ._base import DualBox, Loss
from ._classes import ahead, least_slopes


@dataclass(frozen=True)
class CrammerSinger(Loss):
    """Zero if the true class leads by the margin, else the violation by its best rival.

    ℓ(y, z) = max(0, maxₖ Δ + zₖ − z_y) over k ≠ y;
    ℓ*(y, u) = Δu_y where uₖ ≥ 0 for k ≠ y, −1 ≤ u_y ≤ 0 and Σₖuₖ = 0.

    References
    ----------
    Crammer and Singer (2001), On the algorithmic implementation of multiclass kernel-based vector
    machines.
    """

    margin: float = 1.0
    task = "multiclass"

    def value(self, y, z):
        return ahead(y, z, self.margin).max(axis=1)

    def gradient(self, y, z):
        rows, short = np.arange(len(y)), ahead(y, z, self.margin)
        rival = np.where(short.max(axis=1) > 0, short.argmax(axis=1), y)
        u = np.zeros_like(short)
        u[rows, rival] = 1
        u[rows, y] -= 1
        return u

    def class_box(self, y, K):
        label = least_slopes(y, K, -1.0)
        return DualBox(linear=-self.margin * label, lower=label, upper=1 + label)

    def dual_domain(self, y):
        return np.array(-1.0), np.array(1.0)
