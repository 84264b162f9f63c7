"""The sigmoid kernel, named after neural networks; not positive semi-definite in general."""

from dataclasses import dataclass

from .._ground import core
from .._ground.parameters import check_finite
from ._compiled import _Compiled
from ._gamma import check_gamma, resolve_gamma


@dataclass(frozen=True)
class Sigmoid(_Compiled):
    """k(x, z) = tanh(γ⟨x, z⟩ + c).

    Its Gram matrices can have negative eigenvalues (see `mercer_check`); machines that need a
    positive semi-definite kernel then find no proven optimum.

    Parameters
    ----------
    gamma : float ≥ 0, "scale", "auto" or None, default="scale"
        γ. "scale" is 1/(d · variance of the entries of X), "auto" or None is 1/d.
    coef0 : float, default=0.0
        c.
    """

    gamma: float | str | None = "scale"
    coef0: float = 0.0
    is_mercer = False
    # Without a shift it is odd in x, whatever the penalty.
    is_limited = True

    def __post_init__(self):
        check_gamma(self.gamma)
        check_finite("coef0", self.coef0)

    def resolve(self, X, weights=None):
        return resolve_gamma(self, X, weights)

    def form(self):
        return core.KernelForm(
            core.Measure.product, core.Curve.tanh, scale=self.gamma, shift=self.coef0
        )
