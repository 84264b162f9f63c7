"""Poisson loss: counts whose mean is exp(z)."""

from dataclasses import dataclass

import numpy as np

from ._base import Loss, p_log_p


@dataclass(frozen=True)
class Poisson(Loss):
    """Half the Poisson deviance of a count y ≥ 0 with mean exp(z).

    ℓ(y, z) = exp(z) − yz + y log y − y;   ℓ*(y, u) = p log p − p − y log y + y with p = u + y ≥ 0.
    """

    task = "regression"
    targets = "nonnegative"
    is_self_concordant = True

    def value(self, y, z):
        return self.inverse_link(z) - y * z + (p_log_p(y) - y)

    def gradient(self, y, z):
        return self.inverse_link(z) - y

    def curvature(self, y, z):
        return self.inverse_link(z)

    def derivatives(self, y, z):
        mean = self.inverse_link(z)
        return mean - y * z + (p_log_p(y) - y), mean - y, mean

    def conjugate(self, y, u):
        p = u + y
        slack = 4 * np.finfo(p.dtype).eps * np.abs(y)
        value = p_log_p(np.maximum(p, 0)) - p - p_log_p(y) + y
        return np.where(p >= -slack, value, np.inf)

    def dual_domain(self, y):
        return -y, np.array(np.inf)

    def inverse_link(self, z):
        with np.errstate(over="ignore"):
            return np.exp(z)
