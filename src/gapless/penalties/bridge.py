"""Bridge penalty Σ|w|^p with 0 < p < 1, between the lasso and the number of coefficients."""

from dataclasses import dataclass
from numbers import Real

import numpy as np

from ._base import Array, Powers
from ._concave import Concave


@dataclass(frozen=True, eq=False)
class Bridge(Concave):
    """The sum of powers of absolute values (Frank and Friedman 1993). Not convex.

    R(w) = λ Σⱼ ωⱼ|wⱼ|^p with 0 < p < 1. Its slope at 0 is infinite: w = 0 is always a local
    minimum, and ∂R there is the whole line.
    """

    strength: float = 1.0
    power: float = 0.5
    weights: Array | None = None

    def __post_init__(self):
        super().__post_init__()
        if not isinstance(self.power, Real) or not 0 < self.power < 1:
            raise ValueError(
                f"power must be a number between 0 and 1, got {self.power!r}; use L1 for 1, "
                "and L0 for 0."
            )

    def concave(self, d):
        return Powers(self.strengths(d), float(self.power))

    def cost(self, t, strength):
        return Powers(strength, self.power).cost(t)

    def slope(self, t, strength):
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = strength * self.power * t ** (self.power - 1)
        return np.where(strength == 0, 0.0, slope)

    def shrunk(self, a, strength):
        p = self.power
        smallest = self._jump(strength, 1.0)
        threshold = smallest + np.where(smallest > 0, self.slope(smallest, strength), 0.0)
        # t + λp·t^(p−1) = a: convex in t, and t = a is above the solution, so Newton's method
        # decreases to it.
        t = np.where(a > threshold, a, 1.0)
        strength = np.where(a > threshold, strength, 0.0)
        for _ in range(100):
            slope = strength * p * t ** (p - 1)
            step = (t + slope - a) / (1 + (p - 1) * (slope / t))
            new = np.where(a > threshold, t - step, 1.0)
            if np.all(np.abs(new - t) <= 1e-16 * t):
                break
            t = new
        return np.where(a > threshold, t, 0.0)

    def entry_slopes(self, strength, curvature):
        c = np.where(curvature > 0, curvature, 1.0)
        smallest = self._jump(strength, c)
        return np.where(smallest > 0, c * smallest + self.slope(smallest, strength), 0.0)

    def _jump(self, strength: Array, curvature: Array | float) -> Array:
        """The smallest t > 0 that minimises ½c(t − a)² + λt^p for some a: from 0 it jumps there."""
        return (2 * (1 - self.power) * strength / curvature) ** (1 / (2 - self.power))
