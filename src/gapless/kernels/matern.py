"""Matérn's kernels: between the Laplacian and the Gaussian in smoothness."""

import math
from dataclasses import dataclass

import numpy as np
import scipy.special

from .._ground import core
from .._ground.interrupt import check
from .._ground.parameters import check_positive
from ._base import Slopes
from ._compiled import _Compiled
from ._frequencies import orthogonal_normals
from ._rows import Rows, count_rows

# The values of ν whose kernels are an exponential and a short polynomial.
CURVES = {
    0.5: core.Curve.matern_1,
    1.5: core.Curve.matern_3,
    2.5: core.Curve.matern_5,
    math.inf: core.Curve.exponential,
}
# Beyond this, K_ν overflows for distances that matter.
LARGEST_NU = 50
# Bessel functions computed between two checks of Ctrl-C and the clock: about 20 ms.
ENTRIES = 1 << 16


@dataclass(frozen=True)
class Matern(_Compiled):
    """k(x, z) = 2^(1−ν)/Γ(ν) · rᵛ K_ν(r) with r = √(2ν)‖x − z‖/ℓ (K_ν a Bessel function).

    ν = ½ is exp(−‖x − z‖/ℓ), ν = ∞ the Gaussian exp(−‖x − z‖²/(2ℓ²)). A function drawn from the
    Gaussian process of this kernel has as many derivatives as there are whole numbers below ν.

    Parameters
    ----------
    length_scale : float > 0, default=1.0
        ℓ, the distance over which functions change.
    nu : float from 0 to 50, or inf, default=1.5
        ν. The values ½, 3/2, 5/2 and ∞ are fast; others take a Bessel function.

    References
    ----------
    Rasmussen and Williams (2006), Gaussian Processes for Machine Learning, section 4.2.
    """

    length_scale: float = 1.0
    nu: float = 1.5
    positive_parameters = ("length_scale",)

    def __post_init__(self):
        check_positive("length_scale", self.length_scale)
        if self.nu != math.inf:
            check_positive("nu", self.nu)
            if self.nu > LARGEST_NU:
                raise ValueError(
                    f"nu must be at most {LARGEST_NU} or inf, got {self.nu!r}; above that the "
                    "kernel is practically nu=inf, the Gaussian, and its Bessel function "
                    "overflows."
                )

    def narrowed(self, factor):
        return self.replace(length_scale=self.length_scale / factor**0.5)

    def form(self):
        scale = -0.5 if self.nu == math.inf else 2 * self.nu
        return core.KernelForm(
            core.Measure.squared_distance, CURVES[self.nu], scale=scale / self.length_scale**2
        )

    def rows(self, X, dtype=None):
        return super().rows(X, dtype) if self.nu in CURVES else Rows(self, X, dtype)

    def gram(self, X, Z=None):
        if self.nu in CURVES:
            return super().gram(X, Z)
        r = self._radius(X, Z)
        return bessel_term(self.nu, self.nu, r, at_zero=1.0).astype(r.dtype, copy=False)

    def diagonal(self, X):
        return np.ones(count_rows(X))

    def frequencies(self, rng, d, count):
        radii = rng.spawn(1)[0]
        normals = orthogonal_normals(rng, d, count) / self.length_scale
        if self.nu == math.inf:
            return normals
        # A multivariate t of 2ν degrees of freedom (Rasmussen and Williams 2006, 4.15).
        return normals / np.sqrt(radii.chisquare(2 * self.nu, size=count) / (2 * self.nu))

    def gram_gradients(self, X):
        if self.nu == math.inf:
            K = self.gram(X)
            return [-2 * scipy.special.xlogy(K, K)]
        # dk/dr = −2^(1−ν)/Γ(ν) · rᵛ K_(ν−1)(r), and r falls as 1/ℓ.
        r = self._radius(X)
        return [r * bessel_term(self.nu, self.nu - 1, r, at_zero=0.0)]

    def slopes(self):
        if self.nu == math.inf:
            return Slopes(None, 0.5 / self.length_scale**2 * self)
        if self.nu <= 1:
            return None
        # d(rᵛ K_ν(r))/dr = −rᵛ K_(ν−1)(r): the kernel of ν − 1 for the same r.
        lower, scale = self.nu - 1, self.length_scale
        rougher = Matern(scale * math.sqrt(lower / self.nu), lower)
        return Slopes(None, self.nu / (2 * lower * scale**2) * rougher)

    def _radius(self, X, Z=None):
        squares = _SquaredDistance(2 * self.nu / self.length_scale**2).gram(X, Z)
        return np.sqrt(squares, out=squares)


@dataclass(frozen=True)
class _SquaredDistance(_Compiled):
    """factor · ‖x − z‖²: not a kernel, but computed as one."""

    factor: float
    is_mercer = False

    def form(self):
        return core.KernelForm(
            core.Measure.squared_distance, core.Curve.identity, scale=self.factor
        )


def bessel_term(nu, order, r, at_zero):
    """2^(1−ν)/Γ(ν) · rᵛ K_order(r) for r (n × m), float64, and its limit where r is near 0."""
    out = np.empty(r.shape)
    log_scale = (1 - nu) * math.log(2) - math.lgamma(nu)
    step = max(ENTRIES // max(r.shape[1], 1), 1)
    for begin in range(0, len(r), step):
        check()
        some = r[begin : begin + step].astype(np.float64)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            value = np.exp(log_scale + nu * np.log(some) - some) * scipy.special.kve(order, some)
        out[begin : begin + step] = np.where(np.isfinite(value), value, at_zero)
    return out
