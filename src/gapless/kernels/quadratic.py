"""The quadratic kernel, whose features can be written down."""

from dataclasses import dataclass

from .._ground import core
from .._ground.parameters import check_nonnegative
from ._compiled import _Compiled
from ._monomials import monomials
from .polynomial import Polynomial


@dataclass(frozen=True)
class Quadratic(_Compiled):
    """k(x, z) = (⟨x, z⟩ + c)².

    Its features are all xⱼ², √2·xⱼxₖ for j < k and, if c > 0, √(2c)·xⱼ and c: (d+1)(d+2)/2 of them,
    so that a linear machine on `features` is the same model in other coordinates.

    Parameters
    ----------
    coef0 : float ≥ 0, default=1.0
        c.
    """

    is_limited = True
    coef0: float = 1.0

    def __post_init__(self):
        check_nonnegative("coef0", self.coef0)

    def form(self):
        return core.KernelForm(core.Measure.product, core.Curve.power, shift=self.coef0, degree=2)

    def features(self, X):
        return monomials(X, 2, 1.0, self.coef0)

    def slopes(self):
        return self._as_polynomial.slopes()

    def input_distances(self, squares, own, other):
        return self._as_polynomial.input_distances(squares, own, other)

    @property
    def _as_polynomial(self):
        return Polynomial(2, 1.0, self.coef0)
