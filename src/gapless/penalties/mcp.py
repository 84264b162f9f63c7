"""Minimax concave penalty: as sparse as the lasso, without its bias in large coefficients."""

from dataclasses import dataclass

from .._ground.parameters import check_positive
from ._base import Array
from ._folded import FoldedConcave


@dataclass(frozen=True, eq=False)
class MCP(FoldedConcave):
    """The minimax concave penalty (Zhang 2010): its slope falls linearly from λ to 0. Not convex.

    R(w) = λ Σⱼ ωⱼ·ρ(|wⱼ|),  ρ(t) = t − t²/(2τ) for t ≤ τ, else ½τ,  with τ = `width`: larger
    coefficients are not shrunk. In Zhang's form, λ₀|w| − w²/(2γ) for the mean loss of n rows, the
    strength λ is nλ₀ and the width τ is γλ₀; `of_mean` converts.
    """

    strength: float = 1.0
    width: float = 3.0
    weights: Array | None = None
    name = "mcp"

    def __post_init__(self):
        super().__post_init__()
        check_positive("width", self.width)

    @classmethod
    def of_mean(cls, alpha: float, gamma: float = 3.0, rows: float = 1.0, weights=None):
        """The penalty `rows` times α|w| − w²/(2γ), flat from γα on: of a mean of that many rows."""
        return cls(rows * alpha, gamma * alpha, weights)

    def knots(self):
        return 0.0, self.width
