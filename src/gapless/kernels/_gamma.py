"""gamma, the scale of a kernel: a number, or a rule that gives one from the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._ground.design import Design
from .._ground.parameters import check_nonnegative, check_positive
from ._base import Kernel
from ._rows import as_rows

RULES = ("scale", "auto")


def check_gamma(gamma: Any) -> None:
    """A finite number ≥ 0, "scale", "auto" or None."""
    if gamma is None or (isinstance(gamma, str) and gamma in RULES):
        return
    if isinstance(gamma, str):
        raise ValueError(f'gamma must be "scale", "auto" or a number ≥ 0, got {gamma!r}.')
    check_nonnegative("gamma", gamma)


def set_width(kernel: Kernel, sigma: float | None, gamma_of: Callable[[float], float]) -> None:
    """Turn the width σ, if it is given instead of γ, into γ; both at once are an error."""
    if sigma is None:
        return
    given, usual = (getattr(one, "gamma") for one in (kernel, type(kernel)))  # noqa: B009
    if given != usual:
        raise ValueError(
            f"sigma={sigma!r} and gamma={given!r} both set the width of the kernel; give one of "
            "them."
        )
    check_positive("sigma", sigma)
    object.__setattr__(kernel, "gamma", gamma_of(float(sigma)))


def of_squares(sigma: float) -> float:
    """γ = 1/(2σ²), of kernels of squared distances."""
    return 0.5 / sigma**2


def resolve_gamma(kernel: Kernel, X: Any, weights: Any = None, of_none: float | None = None) -> Any:
    """The kernel with gamma a number: 1/(d · variance of the entries of X) for "scale", else 1/d.

    Rows count with their weights. gamma=None means `of_none` if there is one, else "auto".
    """
    gamma = getattr(kernel, "gamma")  # noqa: B009 - not all kernels have it; the callers' do
    if not (gamma is None or isinstance(gamma, str)):
        return kernel
    if gamma is None and of_none is not None:
        return kernel.replace(gamma=of_none)
    X = as_rows(X)
    d = max(X.shape[1], 1)
    spread = d * (_variance(X, weights) if gamma == "scale" else 1.0)
    # If all entries are (nearly) equal, any number will do.
    return kernel.replace(gamma=1.0 / spread if spread > np.finfo(float).tiny else 1.0)


def _variance(X: Any, weights: Any) -> float:
    """The variance of all entries of X, each with the weight of its row."""
    weights = np.ones(X.shape[0]) if weights is None else np.asarray(weights, dtype=np.float64)
    total = weights.sum() * X.shape[1]
    if not total > 0:
        return 0.0
    mean = Design(X).transposed_times(weights).sum() / total
    centered = Design(X, np.full(X.shape[1], mean))
    return float(centered.column_square_sums(weights).sum() / total)
