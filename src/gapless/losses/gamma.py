"""Gamma loss: positive amounts with mean exp(z) and a spread that grows with it."""

from dataclasses import dataclass

import numpy as np

from .._ground import core
from ._base import Loss, by_core, log_mean


@dataclass(frozen=True)
class Gamma(Loss):
    """Half the gamma deviance of an amount y > 0 with mean exp(z).

    ℓ(y, z) = z + y exp(−z) − 1 − log y;   ℓ*(y, u) = p log p + u(1 + log y) with p = 1 − u ≥ 0.
    """

    task = "regression"
    dispersion = float("nan")
    targets = "positive"
    is_self_concordant = True

    @property
    def smooth_loss(self):
        """What the core calls it."""
        return core.SmoothLoss.gamma

    def value(self, y, z):
        return self.derivatives(y, z)[0]

    def gradient(self, y, z):
        return self.derivatives(y, z)[1]

    def curvature(self, y, z):
        return self.derivatives(y, z)[2]

    def derivatives(self, y, z):
        return by_core(core.gamma_derivatives, 3, y, z)

    def conjugate(self, y, u):
        return by_core(core.gamma_conjugate, 1, y, u)[0]

    def dual_domain(self, y):
        return np.array(-np.inf), np.array(1.0)

    def inverse_link(self, z):
        with np.errstate(over="ignore"):
            return np.exp(z)

    def smallest(self, y):
        return np.zeros(np.shape(y))

    def best_constant(self, y, weights):
        return log_mean(y, weights)

    def without_offset(self, y, offset):
        return y * np.exp(-offset), np.ones_like(y)
