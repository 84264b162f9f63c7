"""The number of coefficients that are not 0, as a price, a limit, or both."""

from dataclasses import dataclass
from numbers import Integral

import numpy as np

from ._base import Array, Powers, per_feature
from ._concave import Concave


@dataclass(frozen=True, eq=False)
class L0(Concave):
    """A price for every coefficient that is not 0: the best subset of the features. Not convex.

    R(w) = λ Σⱼ ωⱼ·1(wⱼ ≠ 0), and ∞ if more than `most` penalised coefficients are not 0. ∂R is 0
    where wⱼ ≠ 0 and the whole line at 0: every least-squares fit on a subset is stationary. With
    few features the best subset is found and proved by branch and bound.
    """

    strength: float = 1.0
    most: int | None = None
    weights: Array | None = None

    def __post_init__(self):
        super().__post_init__()
        is_count = isinstance(self.most, Integral) and not isinstance(self.most, bool)
        if self.most is not None and not (is_count and self.most >= 0):
            raise ValueError(f"most must be a whole number ≥ 0 or None, got {self.most!r}.")

    def concave(self, d):
        return Powers(self.strengths(d), 0.0) if self.most is None else None

    def subset(self, d):
        return self.strengths(d), d if self.most is None else min(int(self.most), d)

    def free(self, d):
        return super().free(d) if self.most is None else ~self._counts(d)

    def convex(self, curvature):
        return super().convex(curvature) if self.strength else None

    def value(self, w):
        count = np.count_nonzero(w[self._counts(len(w))])
        return np.inf if self.most is not None and count > self.most else super().value(w)

    def prox(self, w, step):
        kept = super().prox(w, step)
        if self.most is None:
            return kept
        # A coefficient gains ½w² − step·λω by being there; the largest gains stay.
        a, unit = np.abs(w), float(np.max(np.abs(w), initial=0.0)) or 1.0
        root = np.minimum(np.sqrt(2 * step * self._like(w)), a)
        gain = np.where(kept != 0, (a - root) / unit * ((a + root) / unit), 0.0)
        gain[~self._counts(len(w))] = 0.0
        is_dropped = np.zeros(w.size, dtype=bool)
        is_dropped[np.argsort(-gain, axis=None, kind="stable")[self.most :]] = True
        return np.where(is_dropped.reshape(w.shape) & (gain > 0), 0.0, kept)

    def subdifferential_distance(self, w, g):
        return np.where(self._is_held(w), 0.0, np.abs(g))

    def tangent_slopes(self, w):
        return np.where(self._is_held(w), np.inf, 0.0)

    def cost(self, t, strength):
        return Powers(strength, 0.0).cost(t)

    def slope(self, t, strength):
        return np.where((t == 0) & (strength > 0), np.inf, 0.0 * t)

    def shrunk(self, a, strength):
        return np.where(a > np.sqrt(2 * strength), a, 0.0)

    def entry_slopes(self, strength, curvature):
        return np.sqrt(2 * strength * np.where(curvature > 0, curvature, 1.0))

    def _counts(self, d: int) -> Array:
        """Which coefficients count towards `most`: all with a weight > 0."""
        return np.full(d, per_feature("weights", self.weights, d), dtype=float) > 0

    def _is_held(self, w: Array) -> Array:
        """Which coefficients are 0 at a price, or because of the limit."""
        priced = ~self.free(len(w))
        return (w == 0) & (priced if w.ndim == 1 else priced[:, None])
