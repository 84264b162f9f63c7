"""Gamma loss: positive amounts whose mean is exp(z) and whose spread grows with it."""

from dataclasses import dataclass

import numpy as np

from ._base import Loss, p_log_p


@dataclass(frozen=True)
class Gamma(Loss):
    """Half the gamma deviance of an amount y > 0 with mean exp(z).

    ℓ(y, z) = z + y exp(−z) − 1 − log y;   ℓ*(y, u) = p log p + u(1 + log y) with p = 1 − u ≥ 0.
    """

    task = "regression"
    targets = "positive"
    is_self_concordant = True

    def value(self, y, z):
        return self._ratio(y, z) + z - (1 + np.log(y))

    def gradient(self, y, z):
        return 1 - self._ratio(y, z)

    def curvature(self, y, z):
        return self._ratio(y, z)

    def derivatives(self, y, z):
        ratio = self._ratio(y, z)
        return ratio + z - (1 + np.log(y)), 1 - ratio, ratio

    def conjugate(self, y, u):
        p = 1 - u
        inside = p >= -4 * np.finfo(p.dtype).eps
        return np.where(inside, p_log_p(np.maximum(p, 0)) + u * (1 + np.log(y)), np.inf)

    def dual_domain(self, y):
        return np.array(-np.inf), np.array(1.0)

    def inverse_link(self, z):
        with np.errstate(over="ignore"):
            return np.exp(z)

    def _ratio(self, y, z):
        """The target over the predicted mean."""
        with np.errstate(over="ignore"):
            return y * np.exp(-z)
