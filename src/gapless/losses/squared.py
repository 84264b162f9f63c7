"""Squared loss: least squares, ridge, lasso."""

from dataclasses import dataclass

import numpy as np

from ._base import DualBox, Loss


@dataclass(frozen=True)
class Squared(Loss):
    """Half the squared error.

    ℓ(y, z) = ½(z − y)²;   ℓ*(y, u) = uy + ½u².
    """

    task = "regression"
    dispersion = float("nan")

    def value(self, y, z):
        return 0.5 * (z - y) ** 2

    def gradient(self, y, z):
        return z - y

    def curvature(self, y, z):
        return np.ones_like(z)

    def conjugate(self, y, u):
        return u * y + 0.5 * u**2

    def dual_domain(self, y):
        return np.array(-np.inf), np.array(np.inf)

    def dual_box(self, y):
        unbounded = np.full_like(y, np.inf)
        return DualBox(linear=y, lower=-unbounded, upper=unbounded, quadratic=1.0)

    def without_offset(self, y, offset):
        return y - offset, np.ones_like(y)
