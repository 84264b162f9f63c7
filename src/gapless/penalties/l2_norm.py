"""The Euclidean norm λ‖w‖₂, not squared: all coefficients are 0, or none."""

from dataclasses import dataclass

from ._norm import Norm


@dataclass(frozen=True, eq=False)
class L2Norm(Norm):
    """The Euclidean norm of all coefficients, not squared: the group lasso with one group.

    R(w) = λ‖w‖₂;   R*(v) = 0 where ‖v‖₂ ≤ λ, else ∞. A strong penalty gives w = 0, a weaker one the
    solution of a ridge regression of strength λ/‖w‖₂.
    """

    strength: float = 1.0

    def order(self):
        return 2.0
