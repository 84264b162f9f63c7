"""Ridge penalty ½λ‖w‖², and no penalty at all."""

from dataclasses import dataclass

from .._ground.parameters import check_nonnegative, check_weights
from ._base import Array, Coordinates, Separable, per_feature


@dataclass(frozen=True, eq=False)
class L2(Separable):
    """Half the squared Euclidean norm (Hoerl and Kennard 1970).

    R(w) = ½λ Σⱼ ωⱼwⱼ²;   R*(v) = Σⱼ vⱼ²/(2λωⱼ).
    """

    strength: float = 1.0
    weights: Array | None = None

    def __post_init__(self):
        check_nonnegative("strength", self.strength)
        check_weights("weights", self.weights)

    def coordinates(self, d):
        return Coordinates.make(d, l2=self.strength * per_feature("weights", self.weights, d))


@dataclass(frozen=True, eq=False)
class NoPenalty(Separable):
    """R(w) = 0: every feature is free."""

    name = "none"

    def scaled(self, factor):
        return self

    def coordinates(self, d):
        return Coordinates.make(d)
