"""The Gaussian kernel, also called the radial basis function (RBF)."""

from dataclasses import InitVar, dataclass

import numpy as np
import scipy.special

from .._ground import core
from ._base import Slopes
from ._compiled import _Compiled
from ._distances import distances
from ._frequencies import orthogonal_normals
from ._gamma import check_gamma, of_squares, resolve_gamma, set_width


@dataclass(frozen=True)
class Gaussian(_Compiled):
    """k(x, z) = exp(−γ‖x − z‖²), of width σ with γ = 1/(2σ²).

    Parameters
    ----------
    gamma : float ≥ 0, "scale", "auto" or None, default="scale"
        γ. "scale" is 1/(d · variance of the entries of X), "auto" or None is 1/d.
    sigma : float, optional
        σ > 0, the width, in place of γ = 1/(2σ²).
    """

    gamma: float | str | None = "scale"
    sigma: InitVar[float | None] = None
    aliases = ("rbf",)
    positive_parameters = ("gamma",)

    def __post_init__(self, sigma):
        check_gamma(self.gamma)
        set_width(self, sigma, of_squares)

    def narrowed(self, factor):
        return self.replace(gamma=self.gamma * factor)

    def resolve(self, X, weights=None):
        return resolve_gamma(self, X, weights)

    def form(self):
        return core.KernelForm(
            core.Measure.squared_distance, core.Curve.exponential, scale=-self.gamma
        )

    def log_gram(self, X, Z):
        kernel = self.resolve(Z)
        return -kernel.gamma * distances(X, Z, "sqeuclidean")

    def frequencies(self, rng, d, count):
        return np.sqrt(2 * self.gamma) * orthogonal_normals(rng, d, count)

    def slopes(self):
        return Slopes(None, self.gamma * self)

    def input_distances(self, squares, own, other):
        with np.errstate(invalid="ignore", divide="ignore"):
            return -np.log1p(-0.5 * squares) / self.gamma

    def gram_gradients(self, X):
        K = self.gram(X)
        return [scipy.special.xlogy(K, K)]  # −γ‖x − z‖² k, and log k = −γ‖x − z‖²
