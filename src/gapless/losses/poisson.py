"""Poisson loss: counts whose mean is exp(z)."""

from dataclasses import dataclass

import numpy as np

from .._ground import core
from ._base import Loss, by_core, log_mean


@dataclass(frozen=True)
class Poisson(Loss):
    """Half the Poisson deviance of a count y ≥ 0 with mean exp(z).

    ℓ(y, z) = exp(z) − yz + y log y − y;   ℓ*(y, u) = p log p − p − y log y + y with p = u + y ≥ 0.
    """

    task = "regression"
    dispersion = 1.0
    targets = "nonnegative"
    is_self_concordant = True

    @property
    def smooth_loss(self):
        """What the core calls it."""
        return core.SmoothLoss.poisson

    def value(self, y, z):
        return self.derivatives(y, z)[0]

    def gradient(self, y, z):
        return self.derivatives(y, z)[1]

    def curvature(self, y, z):
        return self.inverse_link(z)

    def derivatives(self, y, z):
        return by_core(core.poisson_derivatives, 3, y, z)

    def conjugate(self, y, u):
        return by_core(core.poisson_conjugate, 1, y, u)[0]

    def dual_domain(self, y):
        return -y, np.array(np.inf)

    def inverse_link(self, z):
        with np.errstate(over="ignore"):
            return np.exp(z)

    def smallest(self, y):
        return np.zeros(np.shape(y))

    def best_constant(self, y, weights):
        return log_mean(y, weights)

    def without_offset(self, y, offset):
        # A count in a time e with rate μ: as the rate y/e, observed e times.
        return y * np.exp(-offset), np.exp(offset)
