"""The norms λ‖w‖_p from the lasso, p = 1, to the largest coefficient, p = ∞."""

from dataclasses import dataclass
from numbers import Real

from ._norm import Norm
from .l1 import L1
from .l2_norm import L2Norm


@dataclass(frozen=True, eq=False)
class PNorm(Norm):
    """The p-norm of all coefficients, 1 ≤ p ≤ ∞, not raised to the power p.

    R(w) = λ(Σⱼ|wⱼ|^p)^(1/p), for p = ∞ λ·maxⱼ|wⱼ|;   R*(v) = 0 where ‖v‖_q ≤ λ, else ∞, with
    1/p + 1/q = 1. Only p = 1 makes single coefficients 0; p = ∞ makes many equally large.
    """

    strength: float = 1.0
    p: float = 1.5

    def __post_init__(self):
        super().__post_init__()
        if not isinstance(self.p, Real) or not self.p >= 1:
            raise ValueError(
                f"p must be a number ≥ 1, or inf, got {self.p!r}; for p < 1 use Bridge or L0, "
                "which are not convex."
            )

    def order(self):
        return float(self.p)

    def simplest(self, d, outputs):
        if outputs is not None or self.p not in (1, 2):
            return self
        return L1(self.strength) if self.p == 1 else L2Norm(self.strength)
