"""Bounds on the coefficients, signs included, on top of another penalty."""

from dataclasses import dataclass, replace

import numpy as np

from ._base import Array, Coordinates, Separable, per_feature
from .l2 import NoPenalty


@dataclass(frozen=True, eq=False)
class Box(Separable):
    """Bounds on all coefficients, or on each: `Box(lower=0)` keeps them non-negative.

    R(w) = R₀(w) where lowerⱼ ≤ wⱼ ≤ upperⱼ for all j, else ∞, with R₀ the given separable `penalty`
    or 0;   R*(v) is the supremum of ⟨v, w⟩ − R₀(w) within the bounds.
    """

    lower: float | Array = -np.inf
    upper: float | Array = np.inf
    penalty: Separable | None = None

    def __post_init__(self):
        if not isinstance(self.penalty, Separable | None) or isinstance(self.penalty, Box):
            raise TypeError(
                f"penalty={self.penalty!r} cannot be bounded; use None, L1, L2 or ElasticNet, "
                "and give all bounds to one Box."
            )
        lower, upper = (np.asarray(bound, dtype=float) for bound in (self.lower, self.upper))
        if max(lower.ndim, upper.ndim) > 1 or not np.all(lower <= upper):
            raise ValueError(
                "lower and upper must be numbers, or vectors with one entry per feature, "
                f"and lower ≤ upper everywhere; got {self.lower!r} and {self.upper!r}."
            )
        if np.any(np.isposinf(lower)) or np.any(np.isneginf(upper)):
            raise ValueError("lower must be below ∞ and upper above −∞, so that some w is allowed.")

    def scaled(self, factor):
        inner = self.penalty and self.penalty.scaled(factor)
        if inner is self.penalty:
            return self
        return inner and replace(self, penalty=inner)

    def coordinates(self, d):
        inner = (self.penalty or NoPenalty()).coordinates(d)
        bounds = per_feature("lower", self.lower, d), per_feature("upper", self.upper, d)
        return Coordinates.make(d, inner.l1, inner.l2, *bounds)
