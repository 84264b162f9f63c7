"""Poisson loss: counts whose mean is exp(z)."""

from dataclasses import dataclass

import numpy as np

from ._base import Loss, entropy_excess, exponential_excess, p_log_p


@dataclass(frozen=True)
class Poisson(Loss):
    """Half the Poisson deviance of a count y ≥ 0 with mean exp(z).

    ℓ(y, z) = exp(z) − yz + y log y − y;   ℓ*(y, u) = p log p − p − y log y + y with p = u + y ≥ 0.
    """

    task = "regression"
    dispersion = 1.0
    targets = "nonnegative"
    is_self_concordant = True

    def value(self, y, z):
        scale = np.where(y > 0, y, 1)
        return np.where(y > 0, scale * exponential_excess(z - np.log(scale)), self.inverse_link(z))

    def gradient(self, y, z):
        return self.inverse_link(z) - y

    def curvature(self, y, z):
        return self.inverse_link(z)

    def derivatives(self, y, z):
        mean = self.inverse_link(z)
        return self.value(y, z), mean - y, mean

    def conjugate(self, y, u):
        p = u + y
        slack = 4 * np.finfo(p.dtype).eps * np.abs(y)
        scale = np.where(y > 0, y, 1)
        of_counts = y * entropy_excess(np.maximum(u / scale, -1)) + u * np.log(scale)
        value = np.where(y > 0, of_counts, p_log_p(np.maximum(p, 0)) - p)
        return np.where(p >= -slack, value, np.inf)

    def dual_domain(self, y):
        return -y, np.array(np.inf)

    def inverse_link(self, z):
        with np.errstate(over="ignore"):
            return np.exp(z)

    def without_offset(self, y, offset):
        # A count in a time e with rate μ: as the rate y/e, observed e times.
        return y * np.exp(-offset), np.exp(offset)
