"""The features of polynomial kernels: monomials with the roots of multinomial coefficients."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp

from ._rows import as_rows

MOST_FEATURES = 1_000_000


def check_degree(degree: Any) -> None:
    """An integer ≥ 0: other powers of an inner product are not kernels."""
    if not isinstance(degree, Real) or isinstance(degree, bool) or degree < 0 or degree % 1:
        raise ValueError(f"degree must be a whole number ≥ 0, got {degree!r}.")


def monomials(X: Any, degree: int, gamma: float, coef0: float) -> np.ndarray:
    """φ(x) with ⟨φ(x), φ(z)⟩ = (γ⟨x, z⟩ + c)^degree, one column per monomial.

    (Σⱼ γxⱼzⱼ + c)^p = Σ over the ways to choose p factors, unordered and with repetition, among the
    d products and c, of the multinomial coefficient times their product.
    """
    X = as_rows(X)
    X = np.sqrt(gamma) * (X.toarray() if sp.issparse(X) else X)
    n, d = X.shape
    if coef0 < 0:
        raise ValueError(f"a polynomial kernel with coef0={coef0!r} < 0 has no real features.")
    if coef0 > 0:
        X = np.hstack([X, np.full((n, 1), math.sqrt(coef0), X.dtype)])
    count = math.comb(X.shape[1] + degree - 1, degree) if X.shape[1] else int(degree == 0)
    if count > MOST_FEATURES:
        raise ValueError(
            f"{d} columns have {count:,} monomials of degree {degree}; use the kernel itself."
        )
    out = np.empty((n, count), X.dtype)
    factors = itertools.combinations_with_replacement(range(X.shape[1]), degree)
    for j, chosen in enumerate(factors):
        repeats = math.prod(math.factorial(k) for k in Counter(chosen).values())
        root = math.sqrt(math.factorial(degree) / repeats)
        out[:, j] = root * np.prod(X[:, list(chosen)], axis=1)
    return out
