"""Ridge penalty ½λ‖w‖², and no penalty at all."""

from dataclasses import dataclass

from ._base import Array, Coordinates, Separable
from ._checks import check_strength, check_feature_weights


@dataclass(frozen=True, eq=False)
class L2(Separable):
    """Half the squared Euclidean norm.

    R(w) = ½λ Σⱼ ωⱼwⱼ²;   R*(v) = Σⱼ vⱼ²/(2λωⱼ).
    """

    strength: float = 1.0
    weights: Array | None = None

    def __post_init__(self):
        check_strength(self.strength)
        check_feature_weights(self.weights)

    def coordinates(self, d):
        return Coordinates.make(d, l2=self.strength * (1.0 if self.weights is None else self.weights))


@dataclass(frozen=True, eq=False)
class NoPenalty(Separable):
    """R(w) = 0: every feature is free."""

    def coordinates(self, d):
        return Coordinates.make(d)
