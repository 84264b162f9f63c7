"""The input of hierarchical clustering: rows, or the distances between them."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import squareform
from sklearn.metrics.pairwise import PAIRWISE_DISTANCE_FUNCTIONS

from ..._ground.validation import Training, read_table

Array = np.ndarray
METRICS = (set(PAIRWISE_DISTANCE_FUNCTIONS) - {"haversine", "nan_euclidean", "precomputed"}) | {
    "braycurtis",
    "canberra",
    "chebyshev",
    "correlation",
    "hamming",
    "minkowski",
    "sqeuclidean",
}


def read_data(estimator: Any, X: Any, sample_weight: Any, *, reset: bool) -> Training:
    """Rows or distances, and weights; at least two rows."""
    is_precomputed = isinstance(estimator.metric, str) and estimator.metric == "precomputed"
    if sp.issparse(X):
        raise TypeError(
            f"{type(estimator).__name__} does not take sparse input: distances between all rows "
            "fill any matrix; pass X.toarray(), or the components of a TruncatedSVD."
        )
    if is_precomputed and np.ndim(X) == 1:
        X = _square(X)
    data = read_table(estimator, X, sample_weight, reset=reset)
    n = data.X.shape[0]
    if n < 2:
        raise ValueError(
            f"Found array with {n} sample(s) (shape={tuple(data.X.shape)}) while a minimum of 2 is "
            f"required by {type(estimator).__name__}."
        )
    if is_precomputed:
        _check_distances(data.X)
    elif isinstance(estimator.metric, str) and estimator.metric == "cosine":
        zero = np.flatnonzero(~np.any(data.X, axis=1))
        if len(zero):
            raise ValueError(
                "Cosine affinity cannot be used when X contains zero vectors: row "
                f"{zero[0]} has no direction; remove it or use another metric."
            )
    return data


def _square(X: Any) -> Array:
    """The square matrix of distances in the order of SciPy's `pdist`."""
    X = np.asarray(X)
    rows = round((1 + np.sqrt(1 + 8 * len(X))) / 2)
    if rows * (rows - 1) // 2 != len(X):
        raise ValueError(
            f"X has {len(X)} distances, which is not the number of pairs of any number of rows; "
            "pass a square matrix, or what scipy.spatial.distance.pdist returns."
        )
    return squareform(X, checks=False)


def _check_distances(D: Array) -> None:
    """Refuse what is not a matrix of distances, naming the first entry that is wrong."""
    if D.shape[0] != D.shape[1]:
        raise ValueError(
            f"Distance matrix should be square, got matrix of shape {D.shape}; pass the distances "
            "between all rows, or rows with another metric than 'precomputed'."
        )
    if D.size and D.min() < 0:
        i, j = divmod(int(np.argmin(D)), len(D))
        raise ValueError(
            f"the distance in row {i}, column {j} is negative ({D[i, j]:.3g}); if these are "
            "similarities, pass a distance such as 1 − similarity."
        )
    tol = np.sqrt(np.finfo(D.dtype).eps)
    is_apart = np.diagonal(D) > tol * D.max(initial=0.0)
    if is_apart.any():
        i = int(np.argmax(is_apart))
        raise ValueError(
            f"the distance of row {i} from itself is {D[i, i]:.3g} and should be 0; if these are "
            "similarities, pass a distance such as 1 − similarity."
        )
    # Rounding makes the two halves of a computed matrix differ a little.
    uneven = np.abs(D - D.T) > tol * np.maximum(np.abs(D), 1e-4 * D.max(initial=0.0))
    if uneven.any():
        i, j = divmod(int(np.argmax(uneven)), len(D))
        raise ValueError(
            f"the matrix of distances is not symmetric: row {i}, column {j} has {D[i, j]:.6g}, "
            f"and row {j}, column {i} has {D[j, i]:.6g}; pass e.g. (D + D.T)/2."
        )
