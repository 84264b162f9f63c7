"""Neighbours alone."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.neighbors._base import RadiusNeighborsMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from ..._ground.about import Examples
from ...unseen import take_over
from ._base import NeighborsModel, check_mode, graph_of

Array = np.ndarray


class NearestNeighbors(RadiusNeighborsMixin, NeighborsModel):
    """Find the nearest rows, exactly.

    Parameters
    ----------
    n_neighbors : int, default=5
        How many neighbours `kneighbors` finds.
    radius : float, default=1.0
        How far `radius_neighbors` looks.
    algorithm : {"auto", "kd_tree", "ball_tree", "brute", "faiss"}, default="auto"
        All but "faiss" are exact and find the same neighbours. "auto" takes boxes for up to 15
        columns and bounds by projections for more; "faiss" is an approximate search by the package
        of that name, which must be installed.
    leaf_size : int, default=30
        Only for searches by scikit-learn: metrics other than those named below.
    metric : str or callable, default="minkowski"
        "euclidean", "manhattan", "chebyshev", "minkowski" (with `p`), "cosine" and "hamming"; for
        tables "mixed" (numbers in parts of their range plus 1 for each category that differs) and
        "mixed_euclidean" (the root of the sum of squares); "precomputed"; any other metric of
        scikit-learn, or a function of two rows.
    p : float, default=2
        The power of Minkowski's distance.
    metric_params : dict, default=None
        Further parameters of the metric.
    n_jobs : int, default=None
        Accepted for scikit-learn's sake; the number of threads is GAPLESS_NUM_THREADS.
    categorical_features : array-like or "from_dtype", default="from_dtype"
        For mixed rows: which columns are categories; those of a table by their type.

    Attributes
    ----------
    effective_metric_ : str or callable
        The metric; Minkowski's special cases by their own names.
    effective_metric_params_ : dict
        Its parameters.
    n_samples_fit_ : int
        The number of training rows.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the features, where X had names.

    Notes
    -----
    Of equally near rows the first comes first. For n rows a query costs about log n in few
    dimensions. In many, it costs n products of 64 numbers when rows vary along few directions, and
    n products of all columns otherwise.

    References
    ----------
    Friedman, Bentley and Finkel (1977), An algorithm for finding best matches in logarithmic
    expected time, ACM TOMS 3.

    Examples
    --------
    >>> from gapless import NearestNeighbors
    >>> model = NearestNeighbors(n_neighbors=2).fit([[0.0], [1.0], [3.0]])
    >>> distances, rows = model.kneighbors([[0.9]])
    >>> print(rows)
    [[1 0]]
    """

    _examples: ClassVar[Examples] = ()

    _parameter_constraints: ClassVar[dict] = {
        **NeighborsModel._parameter_constraints,
        "radius": [Interval(Real, 0, None, closed="both"), None],
    }

    def __init__(
        self,
        *,
        n_neighbors=5,
        radius=1.0,
        algorithm="auto",
        leaf_size=30,
        metric="minkowski",
        p=2,
        metric_params=None,
        n_jobs=None,
        categorical_features="from_dtype",
    ):
        self.n_neighbors = n_neighbors
        self.radius = radius
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.metric = metric
        self.p = p
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.categorical_features = categorical_features

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None):
        """Keep the rows, and prepare the search.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), or distances \
of shape (n_samples, n_samples) if metric="precomputed"
            Rows among which neighbours are looked for.
        y : None
            Not used.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        rows, names, mixed = self._read_training_rows(X, None)
        take_over(self, self._learned_rows(rows, names, mixed, None))
        return self

    def radius_neighbors(self, X=None, radius=None, return_distance=True, sort_results=False):
        """Find all training rows within a distance.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_queries, n_features), default=None
            Rows to find neighbours of; the training rows without X, which are no neighbours of
            themselves.
        radius : float or array-like of shape (n_queries,), default=None
            The distance, its end included; as the estimator says if None.
        return_distance : bool, default=True
            Whether to return the distances.
        sort_results : bool, default=False
            Whether the nearest come first; else rows are in their own order. Needs the distances.

        Returns
        -------
        distances : ndarray of shape (n_queries,) of arrays
            Distances of the rows that were found. Only with `return_distance`.
        rows : ndarray of shape (n_queries,) of arrays
            Their positions among the training rows.
        """
        check_is_fitted(self)
        if sort_results and not return_distance:
            raise ValueError("return_distance must be True if sort_results is True.")
        if X is None:
            queries, own, labels = self._own_rows()
        else:
            queries, own, labels = self._read_queries(X), None, None
        reach = _reach(self.radius if radius is None else radius, queries.shape[0])
        lists = self._searching.within(queries, reach, own, labels)
        distances, rows = _objects(lists[0]), _objects(lists[1])
        if not sort_results:
            for i, found in enumerate(rows):
                order = np.argsort(found)
                distances[i], rows[i] = distances[i][order], found[order]
        return (distances, rows) if return_distance else rows

    def radius_neighbors_graph(self, X=None, radius=None, mode="connectivity", sort_results=False):
        """The graph from rows to all training rows within a distance.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_queries, n_features), default=None
            Rows; the training rows without X.
        radius : float, default=None
            The distance, its end included; as the estimator says if None.
        mode : {"connectivity", "distance"}, default="connectivity"
            Whether the entries are ones or distances.
        sort_results : bool, default=False
            Whether the nearest come first. Needs mode="distance".

        Returns
        -------
        graph : sparse matrix in CSR format, shape (n_queries, n_samples_fit)
            With an entry for each neighbour.
        """
        check_is_fitted(self)
        check_mode(mode)
        distances, rows = self.radius_neighbors(X, radius, sort_results=sort_results)
        starts = np.concatenate([[0], np.cumsum([len(found) for found in rows])])
        indices = np.concatenate([*rows, np.zeros(0, dtype=np.int64)])
        values = np.concatenate([*distances, np.zeros(0)])
        values = values if mode == "distance" else np.ones(len(indices))
        return graph_of(values, indices, starts, self.n_samples_fit_)


def _reach(radius: Any, count: int) -> Array:
    """The radius of each query."""
    if radius is None:
        raise ValueError("there is no radius; give one, e.g. radius_neighbors(X, radius=1.0).")
    reach = np.asarray(radius, dtype=np.float64)
    if reach.ndim and reach.shape != (count,):
        raise ValueError(
            f"radius has the shape {reach.shape}, but there are {count} rows to find neighbours "
            "of; give one number, or one for each row."
        )
    return np.ascontiguousarray(np.broadcast_to(reach, (count,)))


def _objects(parts: list[Array]) -> Array:
    """An array of arrays, also where all have one length."""
    out = np.empty(len(parts), dtype=object)
    out[:] = parts
    return out
