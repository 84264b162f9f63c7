"""Covariances of weighted rows: as they are, shrunk, or by an estimator of scikit-learn's kind."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from ..._ground.design import Design
from ..._ground.lapack import call_lapack

Array = np.ndarray

AUTO = "auto"


def covariance_of(X: Array, weights: Array, shrinkage: Any = None, estimator: Any = None) -> Array:
    """The covariance (d, d) of rows of positive weight.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows.
    weights : ndarray of shape (n,)
        Their weights.
    shrinkage : float, "auto" or None, default=None
        The part of the mean variance that replaces so much of the covariance; "auto" finds it by
        Ledoit and Wolf for columns of variance 1.
    estimator : object or None, default=None
        With `fit` and `covariance_`, used instead.
    """
    if estimator is not None:
        return _estimated(X, weights, estimator)
    centred, total = _centred(X, weights), weights.sum()
    if shrinkage != AUTO:
        return shrunk(Design(centred).gram(weights) / total, float(shrinkage or 0.0))
    scale = np.sqrt(weights @ centred**2 / total)
    scale[scale == 0] = 1.0
    S = Design(centred / scale).gram(weights) / total
    return shrunk(S, _ledoit_wolf(centred / scale, weights, S)) * np.outer(scale, scale)


def shrunk(S: Array, part: float) -> Array:
    """(1 − part)·S + part·(tr S/d)·1."""
    if not part:
        return S
    out = (1 - part) * S
    out[np.diag_indices(len(S))] += part * np.trace(S) / len(S)
    return out


def _centred(X: Array, weights: Array) -> Array:
    X = np.asarray(X, dtype=np.float64)
    return X - np.average(X, axis=0, weights=weights)


def _ledoit_wolf(X: Array, weights: Array, S: Array) -> float:
    """The shrinkage of least expected error (Ledoit and Wolf 2004, J. Multivariate Analysis 88)."""
    n, d = weights.sum(), len(S)
    mean = np.trace(S) / d
    spread = (np.sum(S**2) - d * mean**2) / d
    fourth = weights @ np.sum(X**2, axis=1) ** 2 / n
    noise = min((fourth - np.sum(S**2)) / (d * n), spread)
    return float(noise / spread) if noise > 0 and d > 1 else 0.0


def _estimated(X: Array, weights: Array, estimator: Any) -> Array:
    """By an estimator, which knows no weights: rows are repeated."""
    count = weights / weights.min()
    times = np.round(weights if np.all(weights == np.round(weights)) else count)
    if not np.allclose(times, weights) and not np.all(count == 1):
        raise ValueError(
            "covariance_estimator does not accept weights, so they must be whole numbers; use "
            "shrinkage."
        )
    repeated = X if np.all(count == 1) else np.repeat(X, times.astype(int), axis=0)
    estimator.fit(repeated)
    if not hasattr(estimator, "covariance_"):
        raise ValueError(
            f"{type(estimator).__name__} does not have a covariance_ attribute; use an estimator "
            "from sklearn.covariance."
        )
    return np.atleast_2d(np.asarray(estimator.covariance_, dtype=np.float64))


def right_singular(A: Array) -> tuple[Array, Array]:
    """Singular values, decreasing, and right singular vectors in columns, of A (n, d)."""
    values, right = call_lapack(_right_singular, A)
    return values, right.T


def _right_singular(A: Array) -> tuple[Array, Array]:
    if len(A) > 2 * A.shape[1]:
        A = scipy.linalg.qr(A, mode="r", check_finite=False)[0][: A.shape[1]]
    return np.linalg.svd(A, full_matrices=False)[1:]
