"""Lack of fit: whether the errors of a model can be predicted, from its features or from equal x.

*From the features.* Each learner is a kernel: squares and products; a Gaussian, wide and narrow;
and steps, the limit of boosted small trees (a sum over features of min(u, v), where u and v are
ranks, and its square for pairs of features). Errors of rows are predicted by leave-one-out in
closed form; half of the rows choose the strength for the other half.

*From rows that share their x but not their target.* A table of categories has few distinct x, and
new rows are likely to have one of them. No x can be left out there without biasing the rest: of all
combinations of three bits, those without one are against it. But a known x needs no model: the mean
of its rows will do. That mean without the row itself is the prediction with the most freedom, held
out exactly; a model that loses more on its training rows lacks fit (Fisher 1922).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._ground.lapack import call_lapack, eigh
from .._ground.threads import single_blas
from .leave_one_out._base import members
from .leave_one_out.distinct import sums_by
from .paired import weighted_median

Array = np.ndarray

# Strengths to try, as parts of the mean of the diagonal of the kernel matrix times n.
STRENGTHS = 10.0 ** np.arange(-4.0, 1.5, 0.5)
# Clip features beyond this many standard deviations, so that one row does not dominate the rest.
FAR = 4.0
# A squared error counts for at most this many typical ones.
LARGEST = 25.0
# Rows of one class and one x are not copies if, of all repeated x, at least this part by weight has
# several classes.
SEVERAL = 0.1


def corrections(
    X: Array, errors: Array, weights: Array, labels: Array
) -> Iterator[tuple[str, Array]]:
    """Errors (n, K) of each row predicted by models of the errors of rows with other labels."""
    X = standard(X, weights)
    half = np.random.default_rng(0).permutation(int(labels.max()) + 1)[labels] % 2 == 0
    for name, K in _kernels(X):
        yield name, _held_out(K, errors, weights, labels, half)


def standard(X: Array, weights: Array) -> Array:
    """Columns with mean 0 and variance 1; constant ones, and NaN, become 0."""
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
    # A few rows with huge errors must not choose for all.
    off = [np.minimum(each, LARGEST * weighted_median(each, weights)) for each in off]
    out = np.empty_like(errors)
    for part in (half, ~half):
        if not part.any() or not (~part).any():
            return np.zeros_like(errors)
        best = int(np.argmin([np.average(each[~part], weights=weights[~part]) for each in off]))
        out[part] = found[best][part]
    return out


def by_same_x(targets: Array, weights: Array, units: Array, distinct: Array | None) -> Array:
    """Means of targets (n, K) over other rows of the same x; NaN if there are none.

    Parameters
    ----------
    targets : ndarray of shape (n, K)
        Numbers, or 1 for the true class.
    weights : ndarray of shape (n,)
        Weights of the rows.
    units : ndarray of int, shape (n,)
        The x of each row: 0, 1, …, or −1 for rows without weight.
    distinct : ndarray of int, shape (n,), or None
        The row (x, y) that each is. Equal ones may be copies, and are left out together; None
        leaves out one of them, as classes require: all rows of a class are equal.

    Notes
    -----
    Rows of one x that all have one target may be copies, and weight 2 means a row twice: they count
    as evidence for each other only if repeated x often have several targets.
    """
    kept = np.flatnonzero(units >= 0)
    of_x, w, y = units[kept], weights[kept], targets[kept]
    total, sums = np.bincount(of_x, w)[of_x], sums_by(of_x, w[:, None] * y)[of_x]
    if distinct is None:
        # One row, or all of its class at its x if weights are below 1.
        left_out = np.minimum(np.sum(sums * y, axis=1), 1.0)
        several = np.max(sums, axis=1) < total * (1 - 1e-9)
        again = total - left_out > 1e-9 * total
        is_enough = np.sum(w[several & again]) >= SEVERAL * np.sum(w[again])
        known = again & is_enough
    else:
        left_out = np.bincount(distinct[kept], w)[distinct[kept]]
        known = total - left_out > 1e-9 * total
    out = np.full(targets.shape, np.nan)
    rest = (total - left_out)[known, None]
    out[kept[known]] = (sums - left_out[:, None] * y)[known] / rest
    return out
