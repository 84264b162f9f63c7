"""Gamma loss: positive amounts with mean exp(z) and a spread that grows with it."""

from dataclasses import dataclass

import numpy as np

from ._base import Loss, entropy_excess, exponential_excess


@dataclass(frozen=True)
class Gamma(Loss):
    """Half the gamma deviance of an amount y > 0 with mean exp(z).

    ℓ(y, z) = z + y exp(−z) − 1 − log y;   ℓ*(y, u) = p log p + u(1 + log y) with p = 1 − u ≥ 0.
    """

    task = "regression"
    dispersion = float("nan")
    targets = "positive"
    is_self_concordant = True

    def value(self, y, z):
        return exponential_excess(np.log(y) - z)

    def gradient(self, y, z):
        return 1 - self._ratio(y, z)

    def curvature(self, y, z):
        return self._ratio(y, z)

    def derivatives(self, y, z):
        ratio = self._ratio(y, z)
        return self.value(y, z), 1 - ratio, ratio

    def conjugate(self, y, u):
        inside = 1 - u >= -4 * np.finfo(u.dtype).eps
        return np.where(inside, entropy_excess(np.maximum(-u, -1)) + u * np.log(y), np.inf)

    def dual_domain(self, y):
        return np.array(-np.inf), np.array(1.0)

    def inverse_link(self, z):
        with np.errstate(over="ignore"):
            return np.exp(z)

    def without_offset(self, y, offset):
        return y * np.exp(-offset), np.ones_like(y)

    def _ratio(self, y, z):
        """The target over the predicted mean."""
        with np.errstate(over="ignore"):
            return y * np.exp(-z)
