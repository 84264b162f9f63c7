"""Smoothly clipped absolute deviation: the lasso near 0, constant for large coefficients."""

from dataclasses import dataclass

from .._ground.parameters import check_positive
from ._base import Array
from ._folded import FoldedConcave


@dataclass(frozen=True, eq=False)
class SCAD(FoldedConcave):
    """Smoothly clipped absolute deviation (Fan and Li 2001). Not convex.

    R(w) = λ Σⱼ ωⱼ·ρ(|wⱼ|);  ρ′(t) is 1 up to t = κ = `knee`, falls linearly to 0 at t = τ = `width`
    and stays 0: larger coefficients are not shrunk. In the form of Fan and Li, for the mean loss of
    n rows, the strength λ is nλ₀, the knee λ₀ and the width aλ₀ with a = 3.7; `of_mean` converts.
    """

    strength: float = 1.0
    knee: float = 1.0
    width: float = 3.7
    weights: Array | None = None
    name = "scad"

    def __post_init__(self):
        super().__post_init__()
        check_positive("knee", self.knee)
        check_positive("width", self.width)
        if not self.knee < self.width:
            raise ValueError(f"knee must be below width, got {self.knee!r} and {self.width!r}.")

    @classmethod
    def of_mean(cls, alpha: float, a: float = 3.7, rows: float = 1.0, weights=None):
        """`rows` times the penalty with slope α up to α and 0 from aα on: of a mean of so many."""
        return cls(rows * alpha, alpha, a * alpha, weights)

    def knots(self):
        return self.knee, self.width
