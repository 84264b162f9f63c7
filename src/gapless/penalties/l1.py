"""Lasso penalty λ‖w‖₁."""

from dataclasses import dataclass

from .._ground.parameters import check_nonnegative, check_weights
from ._base import Array, Coordinates, Separable, per_feature


@dataclass(frozen=True, eq=False)
class L1(Separable):
    """The sum of absolute values, which makes coefficients exactly 0 (Tibshirani 1996).

    R(w) = λ Σⱼ ωⱼ|wⱼ|;   R*(v) = 0 where |vⱼ| ≤ λωⱼ for all j, else ∞.
    """

    strength: float = 1.0
    weights: Array | None = None

    def __post_init__(self):
        check_nonnegative("strength", self.strength)
        check_weights("weights", self.weights)

    def coordinates(self, d):
        return Coordinates.make(d, l1=self.strength * per_feature("weights", self.weights, d))
