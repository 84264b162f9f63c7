"""Nearest neighbours as such: the k nearest rows, and those within a radius."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.neighbors._base import RadiusNeighborsMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from ..._ground.about import Examples
from ..._ground.docstrings import FEATURES, described
from ...unseen import take_over
from ._base import QUERIES, SEARCHED, NeighborsModel, check_mode, graph_of

Array = np.ndarray


@described(SEARCHED, FEATURES)
class NearestNeighbors(RadiusNeighborsMixin, NeighborsModel):
    """Find the nearest rows, exactly.

    Parameters
    ----------
    n_neighbors : int, default=5
        How many neighbours `kneighbors` finds.
    radius : float, default=1.0
        How far `radius_neighbors` looks.

    Notes
    -----
    Equally near rows come in their own order. For n rows a query costs about log n in few
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
        X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
            Rows to search, or the distances between them if metric="precomputed".
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

    @described(QUERIES)
    def radius_neighbors(self, X=None, radius=None, return_distance=True, sort_results=False):
        """Find all training rows within a distance.

        Parameters
        ----------
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

    @described(QUERIES)
    def radius_neighbors_graph(self, X=None, radius=None, mode="connectivity", sort_results=False):
        """The graph from rows to all training rows within a distance.

        Parameters
        ----------
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
        raise ValueError("radius is not set; pass one, e.g. radius_neighbors(X, radius=1.0).")
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
