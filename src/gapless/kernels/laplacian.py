"""The Laplacian kernel: like the Gaussian one, of sums of absolute differences."""

from dataclasses import InitVar, dataclass

import scipy.special

from .._ground import core
from ._compiled import _Compiled
from ._distances import distances
from ._gamma import check_gamma, resolve_gamma, set_width


def _of_distances(sigma):
    """γ = 1/σ."""
    return 1 / sigma


@dataclass(frozen=True)
class Laplacian(_Compiled):
    """k(x, z) = exp(−γ Σⱼ|xⱼ − zⱼ|), less smooth than a Gaussian and slower to compute.

    Parameters
    ----------
    gamma : float ≥ 0, "scale", "auto" or None, default="auto"
        γ. "scale" is 1/(d · variance of the entries of X), "auto" or None is 1/d.
    sigma : float, optional
        σ > 0, the width, in place of γ = 1/σ.
    """

    gamma: float | str | None = "auto"
    sigma: InitVar[float | None] = None
    positive_parameters = ("gamma",)

    def __post_init__(self, sigma):
        check_gamma(self.gamma)
        set_width(self, sigma, _of_distances)

    def narrowed(self, factor):
        return self.replace(gamma=self.gamma * factor**0.5)

    def resolve(self, X, weights=None):
        return resolve_gamma(self, X, weights)

    def form(self):
        return core.KernelForm(
            core.Measure.absolute_distance, core.Curve.exponential, scale=-self.gamma
        )

    def log_gram(self, X, Z):
        kernel = self.resolve(Z)
        return -kernel.gamma * distances(X, Z, "cityblock")

    def frequencies(self, rng, d, count):
        return self.gamma * rng.standard_cauchy((count, d)).T

    def gram_gradients(self, X):
        K = self.gram(X)
        return [scipy.special.xlogy(K, K)]  # log k = −γ‖x − z‖₁
