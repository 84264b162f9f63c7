"""The Gaussian kernel cut off after some powers of its series: polynomial kernels with features."""

import math
from dataclasses import dataclass

import numpy as np

from ._base import Kernel
from ._gamma import check_gamma, resolve_gamma
from ._monomials import MOST_FEATURES, check_degree, monomials
from ._rows import as_rows
from .linear import Linear


@dataclass(frozen=True)
class GaussianSeries(Kernel):
    """k(x, z) = exp(−γ‖x‖²) exp(−γ‖z‖²) Σₚ (2γ⟨x, z⟩)ᵖ/p!  for p = 0 … degree.

    All powers give the Gaussian kernel, exp(−γ‖x − z‖²): a sum of polynomial kernels of every
    degree, scaled. Cut off, it misses at most (2γR²)^(degree+1)/(degree+1)! for ‖x‖, ‖z‖ ≤ R, and
    its features can be written down: the monomials xᵖ up to that degree, each times
    √((2γ)ᵖ/p!) and exp(−γ‖x‖²).

    Parameters
    ----------
    degree : int ≥ 0, default=10
        The last power.
    gamma : float ≥ 0, "scale", "auto" or None, default="scale"
        γ. "scale" is 1/(d · variance of the entries of X), "auto" or None is 1/d.

    References
    ----------
    Cotter, Keshet and Srebro (2011), Explicit approximations of the Gaussian kernel,
    arXiv:1109.4603.
    """

    is_limited = True
    degree: int = 10
    gamma: float | str | None = "scale"

    def __post_init__(self):
        check_degree(self.degree)
        check_gamma(self.gamma)

    def resolve(self, X, weights=None):
        return resolve_gamma(self, X, weights)

    def gram(self, X, Z=None):
        kernel = self.resolve(X if Z is None else Z)
        products = Linear().gram(X, Z)
        products *= products.dtype.type(2 * kernel.gamma)
        scales = np.multiply.outer(kernel._scale(X), kernel._scale(X if Z is None else Z))
        return scales * self._partial_sum(products)

    def diagonal(self, X):
        kernel = self.resolve(X)
        squares = Linear().diagonal(X)
        return np.exp(-2 * kernel.gamma * squares) * self._partial_sum(2 * kernel.gamma * squares)

    def features(self, X):
        kernel = self.resolve(X)
        X = as_rows(X)
        degree = int(self.degree)
        count = math.comb(X.shape[1] + degree, degree)
        if count > MOST_FEATURES:
            raise ValueError(
                f"{X.shape[1]} columns have {count:,} monomials up to degree {degree}; use the "
                "Gaussian kernel itself."
            )
        parts = [
            monomials(X, p, 2 * kernel.gamma, 0.0) / math.sqrt(math.factorial(p))
            for p in range(degree + 1)
        ]
        return kernel._scale(X)[:, None] * np.hstack(parts)

    def _scale(self, X):
        """exp(−γ‖x‖²) of each row, in the precision of X."""
        return np.exp(-self.gamma * Linear().diagonal(X)).astype(as_rows(X).dtype)

    def _partial_sum(self, t):
        """Σₚ tᵖ/p!, by Horner's rule."""
        total = np.ones_like(t)
        for p in range(int(self.degree), 0, -1):
            total *= t / p
            total += 1
        return total
