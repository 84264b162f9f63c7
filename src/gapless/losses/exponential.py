"""Exponential loss: AdaBoost's."""

from dataclasses import dataclass

import numpy as np

from ._base import Loss, p_log_p


@dataclass(frozen=True)
class Exponential(Loss):
    """An upper bound on the 0-1 loss whose greedy minimisation by trees is AdaBoost.

    ℓ(y, z) = exp(−yz);   ℓ*(y, u) = p log p − p with p = −uy ≥ 0. The score is half the log-odds
    (Friedman, Hastie and Tibshirani 2000).
    """

    task = "binary"
    is_self_concordant = True

    def value(self, y, z):
        with np.errstate(over="ignore"):
            return np.exp(-y * z)

    def gradient(self, y, z):
        return -y * self.value(y, z)

    def curvature(self, y, z):
        return self.value(y, z)

    def derivatives(self, y, z):
        value = self.value(y, z)
        return value, -y * value, value

    def conjugate(self, y, u):
        p = -u * y
        inside = p >= 0
        return np.where(inside, p_log_p(np.maximum(p, 0)) - p, np.inf)

    def dual_domain(self, y):
        return np.where(y > 0, -np.inf, 0.0), np.where(y > 0, 0.0, np.inf)

    def inverse_link(self, z):
        e = np.exp(-2 * np.abs(z))  # at most 1: nothing overflows
        return np.maximum(e, z >= 0) / (1 + e)

    def log_probabilities(self, z):
        both = np.stack([-2 * z, 2 * z], axis=1)
        return np.minimum(both, 0) - np.log1p(np.exp(-np.abs(both)))
