"""The input of hierarchical clustering: rows, or the distances between them."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist, squareform
from sklearn.metrics import pairwise_distances

from ..._ground.validation import Training, read_table

Array = np.ndarray
# Those that scikit-learn computes by matrix products or faster than SciPy, on the sphere included.
_BY_PRODUCTS = {"cosine", "cityblock", "haversine", "l1", "manhattan"}
# Rows without missing values have no other Euclidean distances.
_EUCLIDEAN = {"euclidean", "l2", "nan_euclidean"}
# Of entries that are 0 or not.
_BOOLEAN = {"dice", "jaccard", "rogerstanimoto", "sokalsneath", "yule"}
# Those of SciPy's `cdist`. Its "russellrao" is left out: equal rows are apart by it.
_BY_SCIPY = {
    "braycurtis",
    "canberra",
    "chebyshev",
    "correlation",
    "hamming",
    "jensenshannon",
    "mahalanobis",
    "minkowski",
    "seuclidean",
    "sqeuclidean",
}
METRICS = _BY_PRODUCTS | _EUCLIDEAN | _BOOLEAN | _BY_SCIPY


class Distances:
    """The distances between rows of a table, by the name of a metric or a function.

    Parameters
    ----------
    metric : str or callable
        One of METRICS, a function of two rows, or one of a table that returns the matrix of its
        distances: whichever needs as many arguments.
    X : ndarray of shape (n, d)
        All rows: the variances of "seuclidean" and "mahalanobis" are theirs.
    weights : ndarray of shape (n,)
        How often each counts there.
    """

    def __init__(self, metric: Any, X: Array, weights: Array):
        self.metric, self._options = metric, dict[str, Any]()
        self.is_of_table = callable(metric) and _required_arguments(metric) < 2
        if not callable(metric) and metric in ("seuclidean", "mahalanobis"):
            around = X - np.average(X, axis=0, weights=weights)
            covariance = (around.T * weights) @ around / max(float(weights.sum()) - 1, 1.0)
            if metric == "mahalanobis":
                self._options["VI"] = np.linalg.pinv(covariance, hermitian=True)
            else:
                # A column without variance differs nowhere.
                variances = np.diag(covariance)
                self._options["V"] = np.where(variances > 0, variances, 1.0)

    def between(self, X: Array, Z: Array) -> Array:
        """The distances of each row of X to each of Z."""
        metric = self.metric
        if not callable(metric) and metric in _BY_PRODUCTS:
            found = pairwise_distances(X, Z, metric=metric)
        elif not callable(metric) and metric in _EUCLIDEAN:
            found = cdist(X, Z)
        elif not callable(metric) and metric in _BOOLEAN:
            found = cdist(X != 0, Z != 0, metric)
        else:
            found = cdist(X, Z, metric, **self._options)
        if np.isnan(found).any():
            i, j = np.argwhere(np.isnan(found))[0]
            raise ValueError(
                f"metric={metric!r} gives no distance between the rows {X[i].tolist()} and "
                f"{Z[j].tolist()}; use another metric, or leave such rows out."
            )
        return np.asarray(found, dtype=np.float64)

    def square(self, X: Array) -> Array:
        """The distances between all rows of X."""
        if self.is_of_table:
            return np.asarray(self.metric(X), dtype=np.float64)
        found = self.between(X, X)
        np.fill_diagonal(found, 0.0)
        return found


def _required_arguments(function: Any) -> int:
    """How many arguments a function cannot do without; 1 if it does not say."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(each.kind in plain and each.default is each.empty for each in parameters)


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
