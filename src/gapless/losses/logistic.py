"""Logistic loss: logistic regression with two classes."""

import math
from dataclasses import dataclass

import numpy as np

from .._ground import core
from ._base import Loss, by_core, is_within, p_log_p


@dataclass(frozen=True)
class Logistic(Loss):
    """Minus log-likelihood of a label with log-odds z; in bits (`base2`), a bound on the 0-1 loss.

    ℓ(y, z) = c·log(1 + exp(−yz)), c = 1 or, with `base2`, 1/log 2;
    ℓ*(y, u) = c·(p log p + (1−p) log(1−p)) with p = −uy/c in [0, 1].
    """

    base2: bool = False
    task = "binary"
    is_self_concordant = True

    def value(self, y, z):
        return self._c * (np.log1p(np.exp(-np.abs(z))) - np.minimum(y * z, 0))

    def gradient(self, y, z):
        return -self._c * y * self.inverse_link(-y * z)

    def curvature(self, y, z):
        e = np.exp(-np.abs(z))
        return self._c * e / (1 + e) ** 2

    def derivatives(self, y, z):
        parts = by_core(core.logistic_derivatives, 3, y, z)
        return tuple(self._c * part for part in parts) if self.base2 else parts

    def conjugate(self, y, u):
        p = -u * y / self._c
        inside = is_within(p, np.zeros_like(p), np.ones_like(p))
        return np.where(inside, self._c * (p_log_p(p) + p_log_p(1 - p)), np.inf)

    def dual_domain(self, y):
        return np.minimum(-self._c * y, 0), np.maximum(-self._c * y, 0)

    def equal_scores(self, totals):
        return np.log(totals[1]) - np.log(totals[0])

    def inverse_link(self, z):
        e = np.exp(-np.abs(z))  # at most 1: nothing overflows
        return np.maximum(e, z >= 0) / (1 + e)  # 1 or e, by the sign of z and without a branch

    def log_probabilities(self, z):
        both = np.stack([-z, z], axis=1)
        return np.minimum(both, 0) - np.log1p(np.exp(-np.abs(both)))

    @property
    def smooth_loss(self):
        """The core's, which does not count in bits."""
        return None if self.base2 else core.SmoothLoss.logistic

    @property
    def dispersion(self):
        """c: in bits the loss is that many times minus the log-likelihood."""
        return self._c

    @property
    def sigmoid_height(self):
        """c."""
        return self._c

    @property
    def _c(self):
        return 1 / math.log(2) if self.base2 else 1.0
