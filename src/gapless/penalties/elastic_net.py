"""Elastic net: a mixture of the lasso and the ridge penalty."""

from dataclasses import dataclass

from .._ground.parameters import check_fraction, check_nonnegative, check_weights
from ._base import Array, Coordinates, Separable, per_feature


@dataclass(frozen=True, eq=False)
class ElasticNet(Separable):
    """A share ρ = `l1_ratio` of the lasso penalty, and 1−ρ of the ridge (Zou and Hastie 2005).

    R(w) = λ Σⱼ ωⱼ(ρ|wⱼ| + ½(1−ρ)wⱼ²);   R*(v) = Σⱼ max(0, |vⱼ| − λρωⱼ)² / (2λ(1−ρ)ωⱼ).
    """

    strength: float = 1.0
    l1_ratio: float = 0.5
    weights: Array | None = None

    def __post_init__(self):
        check_nonnegative("strength", self.strength)
        check_fraction("l1_ratio", self.l1_ratio)
        check_weights("weights", self.weights)

    def coordinates(self, d):
        strength = self.strength * per_feature("weights", self.weights, d)
        return Coordinates.make(d, l1=self.l1_ratio * strength, l2=(1 - self.l1_ratio) * strength)
