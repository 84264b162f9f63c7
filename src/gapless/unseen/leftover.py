"""What a model has left unexplained: whether its errors can be predicted from its features.

Each learner is a kernel: squares and products; a Gaussian, wide and narrow; and steps, to which
boosted small trees tend (a sum over features of min(u, v), u being ranks, and its square for pairs
of features). Errors of rows are predicted by leave-one-out in closed form; half of the rows choose
the strength for the other half.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._ground.lapack import call_lapack, eigh
from .._ground.threads import single_blas
from .leave_one_out._base import members
from .paired import weighted_median

Array = np.ndarray

# Strengths that are tried, as parts of the mean of the diagonal of the kernel matrix times n.
STRENGTHS = 10.0 ** np.arange(-4.0, 1.5, 0.5)
# Features beyond so many standard deviations are drawn in, so that one row does not span the rest.
FAR = 4.0
# A squared error counts for no more than so many typical ones.
LARGEST = 25.0


def corrections(
    X: Array, errors: Array, weights: Array, labels: Array
) -> Iterator[tuple[str, Array]]:
    """Predicted errors (n, K) of each row by models of the errors of rows of other labels."""
    X = standard(X, weights)
    half = np.random.default_rng(0).permutation(int(labels.max()) + 1)[labels] % 2 == 0
    for name, K in _kernels(X):
        yield name, _held_out(K, errors, weights, labels, half)


def standard(X: Array, weights: Array) -> Array:
    """Columns with mean 0 and variance 1; those that do not vary, and NaN, are 0."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        X = np.where(np.isfinite(X), X, np.nan)
        w = weights[:, None] * np.isfinite(X)
        total = np.maximum(w.sum(axis=0), 1e-300)
        mean = np.nansum(w * X, axis=0) / total
        scale = np.sqrt(np.nansum(w * (X - mean) ** 2, axis=0) / total)
        X = (X - mean) / np.where(scale > 1e-12 * (np.abs(mean) + scale), scale, np.inf)
    return np.clip(np.nan_to_num(X, posinf=0.0, neginf=0.0), -FAR, FAR)


def _kernels(X: Array) -> Iterator[tuple[str, Array]]:
    d = max(X.shape[1], 1)
    with single_blas():
        product = X @ X.T / d
    square = np.diag(product)
    distance = np.maximum(square[:, None] + square - 2 * product, 0.0)
    yield "squares and products of its features", (1 + product) ** 2
    yield "a Gaussian kernel", np.exp(-0.5 * distance)
    yield "a Gaussian kernel", np.exp(-4.0 * distance)
    steps = np.zeros_like(product)
    for column in X.T:
        u = np.unique(column, return_inverse=True)[1]
        u = (u + 0.5) / max(u.max(initial=0) + 1, 1)
        steps += np.minimum.outer(u, u)
    steps /= d
    yield "small boosted trees", steps + steps**2


def _held_out(K: Array, errors: Array, weights: Array, labels: Array, half: Array) -> Array:
    """Errors predicted by kernel ridge regression without the rows of their labels, (n, K)."""
    n = len(K)
    root = np.sqrt(weights / weights.mean())
    with single_blas():
        values, vectors = call_lapack(eigh, (root[:, None] * (K + 1.0) * root))
        values = np.maximum(values, 0.0)
        turned = vectors.T @ (root[:, None] * errors)
    found = []
    groups = members(labels) if labels.max() + 1 < n else None
    for strength in STRENGTHS * values.sum():
        with single_blas():
            inverse = 1 / (values + strength)
            c = vectors @ (inverse[:, None] * turned)
            if groups is None:
                pull = c / ((vectors**2) @ inverse)[:, None]
            else:
                pull = np.empty_like(c)
                for rows in groups:
                    V = vectors[rows]
                    pull[rows] = np.linalg.solve((V * inverse) @ V.T, c[rows])
        found.append(errors - pull / root[:, None])
    off = [np.sum((errors - each) ** 2, axis=1) for each in found]
    # Few rows with huge errors must not choose for all.
    off = [np.minimum(each, LARGEST * weighted_median(each, weights)) for each in off]
    out = np.empty_like(errors)
    for part in (half, ~half):
        if not part.any() or not (~part).any():
            return np.zeros_like(errors)
        best = int(np.argmin([np.average(each[~part], weights=weights[~part]) for each in off]))
        out[part] = found[best][part]
    return out
