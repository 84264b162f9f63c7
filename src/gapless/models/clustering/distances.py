"""The input of hierarchical clustering: rows, or the distances between them."""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist, squareform
from sklearn.metrics import pairwise_distances

from ..._ground.memory import blocks
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
        distances: its arguments tell which, or a trial if it takes one or two.
    X : ndarray of shape (n, d)
        All rows: the variances of "seuclidean" and "mahalanobis" are theirs.
    weights : ndarray of shape (n,)
        How often each counts there.
    """

    def __init__(self, metric: Any, X: Array, weights: Array):
        self.metric, self._options = metric, dict[str, Any]()
        self.is_of_table = callable(metric) and _is_of_table(metric, X)
        if not callable(metric) and metric in ("seuclidean", "mahalanobis"):
            around = X - np.average(X, axis=0, weights=weights)
            covariance = (around.T * weights) @ around / max(float(weights.sum()) - 1, 1.0)
            if metric == "mahalanobis":
                self._options["VI"] = np.linalg.pinv(covariance, hermitian=True)
            else:
                # A column without variance differs nowhere.
                variances = np.diag(covariance)
                self._options["V"] = np.where(variances > 0, variances, 1.0)

    def to_earlier(self, X: Array, rows: slice) -> Array:
        """The distances of a block of rows to all rows before its end."""
        found = self._computed(X[rows], X[: rows.stop])
        own = found[:, rows]
        # A row has no distance from itself, whatever the metric makes of it.
        np.fill_diagonal(own, 0.0)
        self._check(found, X[rows], X)
        if callable(self.metric):
            # Both directions are known within a block; the others would take twice the time.
            self._check_symmetry(own, X[rows])
        return np.maximum(found, 0.0, out=found)

    def square(self, X: Array) -> Array:
        """The distances between all rows of X."""
        found = self._of_table(X) if self.is_of_table else self._computed(X, X)
        np.fill_diagonal(found, 0.0)
        self._check(found, X, X)
        if callable(self.metric):
            self._check_symmetry(found, X)
        return np.maximum(found, 0.0, out=found)

    def of_pair(self, u: Array, v: Array) -> float:
        """The distance between two rows."""
        return float(self.square(np.array([u, v], dtype=np.float64))[0, 1])

    def _check_symmetry(self, found: Array, X: Array) -> None:
        """Refuse distances that depend on which of two rows comes first."""
        pair = _first_uneven(found)
        if pair is not None:
            i, j = pair
            raise ValueError(
                f"metric={self.metric!r} is not symmetric: from the row {X[i].tolist()} to "
                f"{X[j].tolist()} it gives {found[i, j]:.6g}, and back {found[j, i]:.6g}; "
                "take e.g. the mean of both."
            )

    def _computed(self, X: Array, Z: Array) -> Array:
        metric = self.metric
        if not callable(metric) and metric in _BY_PRODUCTS:
            found = pairwise_distances(X, Z, metric=metric)
        elif not callable(metric) and metric in _EUCLIDEAN:
            found = cdist(X, Z)
        elif not callable(metric) and metric in _BOOLEAN:
            found = cdist(X != 0, Z != 0, metric)
        else:
            found = cdist(X, Z, metric, **self._options)
        return np.asarray(found, dtype=np.float64)

    def _of_table(self, X: Array) -> Array:
        found = np.array(self.metric(X), dtype=np.float64)
        if found.shape != (len(X), len(X)):
            raise ValueError(
                f"metric={self.metric!r} returned an array of shape {found.shape} for {len(X)} "
                "rows; it should return the square matrix of their distances, or take two rows "
                "and return a number."
            )
        return found

    def _check(self, found: Array, X: Array, Z: Array) -> None:
        """Refuse what is no distance. An infinite one is no closer than any other, for ever."""
        if not np.isfinite(found).all():
            i, j = np.argwhere(~np.isfinite(found))[0]
            what = "no distance" if np.isnan(found[i, j]) else f"the distance {found[i, j]}"
            advice = "use another metric, or leave such rows out"
        elif found.size and found.min() < -_rounding(found):
            i, j = divmod(int(np.argmin(found)), found.shape[1])
            what = f"the negative distance {found[i, j]:.3g}"
            advice = "if it is a similarity, use a distance such as 1 − similarity"
        else:
            return
        raise ValueError(
            f"metric={self.metric!r} gives {what} between the rows {X[i].tolist()} and "
            f"{Z[j].tolist()}; {advice}."
        )


def _is_of_table(function: Any, X: Array) -> bool:
    """Whether a function takes a table rather than two rows.

    Its arguments tell, unless it can do with one and takes two; then it is tried on two rows.
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        least, most = 1.0, np.inf
    else:
        plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        positional = [each for each in parameters if each.kind in plain]
        least = sum(each.default is each.empty for each in positional)
        takes_any = any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters)
        most = np.inf if takes_any else len(positional)
    if least > 1 or most < 2:
        return least < 2
    two = X[[0, -1]]
    # A function of neither kind counts as one of a table, and is refused when it is used.
    return _shape(function, two) == (2, 2) or _shape(function, *two) != ()


def _shape(function: Any, *arguments: Array) -> tuple[int, ...] | None:
    """The shape of what a function returns; None if it does not take these arguments."""
    try:
        return np.shape(function(*arguments))
    except Exception:  # of a user's function: whatever it raises, it does not take them
        return None


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
        if data.X.min() < 0:  # within rounding
            data = replace(data, X=np.maximum(data.X, 0))
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
    if D.size and D.min() < -_rounding(D):
        i, j = divmod(int(np.argmin(D)), len(D))
        raise ValueError(
            f"the distance in row {i}, column {j} is negative ({D[i, j]:.3g}); if these are "
            "similarities, pass a distance such as 1 − similarity."
        )
    is_apart = np.diagonal(D) > _rounding(D)
    if is_apart.any():
        i = int(np.argmax(is_apart))
        raise ValueError(
            f"the distance of row {i} from itself is {D[i, i]:.3g} and should be 0; if these are "
            "similarities, pass a distance such as 1 − similarity."
        )
    pair = _first_uneven(D)
    if pair is not None:
        i, j = pair
        raise ValueError(
            f"the matrix of distances is not symmetric: row {i}, column {j} has {D[i, j]:.6g}, "
            f"and row {j}, column {i} has {D[j, i]:.6g}; pass e.g. (D + D.T)/2."
        )


def _rounding(D: Array) -> float:
    """How far computed distances may be off: the root of a square near 0 keeps half the digits."""
    return float(np.sqrt(np.finfo(D.dtype).eps) * np.abs(D).max(initial=0.0))


def _first_uneven(D: Array) -> tuple[int, int] | None:
    """The first pair of rows whose two distances differ by more than rounding."""
    most = _rounding(D)
    for rows in blocks(len(D), len(D)):
        uneven = np.abs(D[rows] - D[:, rows].T) > most
        if uneven.any():
            i, j = divmod(int(np.argmax(uneven)), len(D))
            return rows.start + i, j
    return None
