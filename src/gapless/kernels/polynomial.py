"""Polynomial kernels: all monomials of degree d, or up to d."""

from dataclasses import dataclass

import numpy as np

from .._ground import core
from .._ground.parameters import check_finite
from ._base import Slopes
from ._compiled import _Compiled
from ._gamma import check_gamma, resolve_gamma
from ._monomials import check_degree, monomials


@dataclass(frozen=True)
class Polynomial(_Compiled):
    """k(x, z) = (γ⟨x, z⟩ + c)^degree.

    With c = 0 its features are the monomials of exactly that degree, with c > 0 all up to it.

    Parameters
    ----------
    degree : int ≥ 0, default=3
        The degree.
    gamma : float ≥ 0, "scale", "auto" or None, default=1.0
        γ. "scale" is 1/(d · variance of the entries of X), "auto" or None is 1/d.
    coef0 : float ≥ 0, default=1.0
        c. A negative one is accepted, as in scikit-learn, but the kernel is then not positive
        semi-definite.
    """

    is_limited = True
    degree: int = 3
    gamma: float | str | None = 1.0
    coef0: float = 1.0
    aliases = ("poly",)

    def __post_init__(self):
        check_degree(self.degree)
        check_gamma(self.gamma)
        check_finite("coef0", self.coef0)

    def resolve(self, X, weights=None):
        return resolve_gamma(self, X, weights)

    @property
    def is_mercer(self):
        """Whether coef0 ≥ 0."""
        return self.coef0 >= 0

    def form(self):
        return core.KernelForm(
            core.Measure.product,
            core.Curve.power,
            scale=self.gamma,
            shift=self.coef0,
            degree=int(self.degree),
        )

    def features(self, X):
        kernel = self.resolve(X)
        return monomials(X, int(self.degree), kernel.gamma, self.coef0)

    def slopes(self):
        if not self.degree:
            return Slopes(None, None)
        return Slopes(self.degree * self.gamma * self.replace(degree=self.degree - 1), None)

    def input_distances(self, squares, own, other):
        if not self.degree or not self.gamma:
            return None
        inner = 0.5 * (own + other - squares)
        inner, own, other = (self._product(value) for value in (inner, own, other))
        return np.maximum(own + other - 2 * inner, 0.0)

    def _product(self, values):
        """⟨x, z⟩ from k(x, z): the root that is not negative, where there are two."""
        size = np.abs(values) ** (1 / self.degree)
        root = np.copysign(size, values) if self.degree % 2 else np.where(values < 0, np.nan, size)
        return (root - self.coef0) / self.gamma
