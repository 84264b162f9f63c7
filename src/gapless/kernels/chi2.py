"""Chi-squared kernels, for histograms: rows of counts or shares."""

from dataclasses import InitVar, dataclass

import numpy as np
import scipy.sparse as sp

from .._ground import core
from ._compiled import _Compiled
from ._gamma import check_gamma, of_squares, resolve_gamma, set_width


@dataclass(frozen=True)
class Chi2(_Compiled):
    """k(x, z) = exp(−γ Σⱼ (xⱼ − zⱼ)²/(xⱼ + zⱼ)) for rows of numbers ≥ 0.

    Parameters
    ----------
    gamma : float ≥ 0, "scale", "auto" or None, default=1.0
        γ. "scale" is 1/(d · variance of the entries of X), "auto" is 1/d, None is 1.
    sigma : float, optional
        σ > 0, the width, in place of γ = 1/(2σ²): the sum is a squared distance.
    """

    gamma: float | str | None = 1.0
    sigma: InitVar[float | None] = None

    def __post_init__(self, sigma):
        check_gamma(self.gamma)
        set_width(self, sigma, of_squares)

    def narrowed(self, factor):
        return self.replace(gamma=self.gamma * factor)

    def resolve(self, X, weights=None):
        return resolve_gamma(self, X, weights, of_none=1.0)

    def prepare(self, X):
        return check_histograms(X)

    def form(self):
        return core.KernelForm(core.Measure.chi_square, core.Curve.exponential, scale=-self.gamma)


@dataclass(frozen=True)
class AdditiveChi2(_Compiled):
    """k(x, z) = −Σⱼ (xⱼ − zⱼ)²/(xⱼ + zⱼ) for rows of numbers ≥ 0.

    Positive semi-definite only among coefficients that sum to 0, as those of an SVM with a bias do.
    """

    name = "additive_chi2"
    is_mercer = False

    def prepare(self, X):
        return check_histograms(X)

    def form(self):
        return core.KernelForm(core.Measure.chi_square, core.Curve.identity, scale=-1.0)


def check_histograms(X):
    """X itself, or an error that names its first negative entry."""
    wrong = np.argwhere((X.toarray() if sp.issparse(X) else X) < 0)
    if len(wrong):
        row, column = wrong[0]
        raise ValueError(
            f"X contains negative values, the first in row {row}, column {column}; a chi-squared "
            "kernel compares histograms; shift or bin the features, or use another kernel."
        )
    return X
