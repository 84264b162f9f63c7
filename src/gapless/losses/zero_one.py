"""Zero-one loss: whether a row is misclassified. For evaluation alone."""

from dataclasses import dataclass

from ._base import Loss


@dataclass(frozen=True)
class ZeroOne(Loss):
    """1 for a score on the wrong side of 0, or at 0 itself, else 0.

    ℓ(y, z) = 1 if yz ≤ 0, else 0: flat except for a jump, so there is no slope to follow.
    """

    task = "binary"
    is_convex = False
    refusal = (
        "the zero-one loss can only be evaluated: it is flat except for a jump, and to minimise it "
        "is NP-hard; use a convex bound of it, such as hinge or Logistic(base2=True)"
    )

    def value(self, y, z):
        return (y * z <= 0).astype(z.dtype)
