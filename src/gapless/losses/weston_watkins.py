"""Weston and Watkins' hinge: one support vector machine for several classes."""

from dataclasses import dataclass

import numpy as np

from ._base import DualBox, Loss
from ._classes import ahead, least_slopes


@dataclass(frozen=True)
class WestonWatkins(Loss):
    """Zero if the true class leads by the margin, else the violations of all its rivals.

    ℓ(y, z) = Σₖ max(0, Δ + zₖ − z_y) over k ≠ y;
    ℓ*(y, u) = Δu_y where 0 ≤ uₖ ≤ 1 for k ≠ y and Σₖuₖ = 0.

    References
    ----------
    Weston and Watkins (1999), Support vector machines for multi-class pattern recognition.
    """

    margin: float = 1.0
    task = "multiclass"

    def value(self, y, z):
        return np.einsum("nk->n", ahead(y, z, self.margin))

    def gradient(self, y, z):
        u = (ahead(y, z, self.margin) > 0).astype(z.dtype)
        u[np.arange(len(y)), y] = -np.einsum("nk->n", u)
        return u

    def class_box(self, y, K):
        label = least_slopes(y, K, 1.0 - K)
        is_label = label < 0
        return DualBox(linear=self.margin * is_label, lower=label, upper=1.0 - is_label)

    def dual_domain(self, y):
        return np.array(-np.inf), np.array(1.0)  # 1 − K for the own class, but y does not reveal K
