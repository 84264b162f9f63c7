"""What can be asked of neighbours: the k nearest, those within a radius, and graphs of both."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors._base import KNeighborsMixin, RadiusNeighborsMixin
from sklearn.utils.validation import check_is_fitted

from ._base import NeighborsModel

Array = np.ndarray


# The bases of scikit-learn tell its functions, such as kneighbors_graph, what a model can do.
class NearestMixin(NeighborsModel, KNeighborsMixin):
    """The nearest rows, and the graph of them."""

    @property
    def _requested_neighbors(self) -> int:
        """How many neighbours are asked for."""
        return int(self.n_neighbors)

    def kneighbors(self, X=None, n_neighbors=None, return_distance=True):
        """Find the nearest training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_queries, n_features), or distances \
to the training rows if metric="precomputed", default=None
            Rows to find neighbours of; all training rows without X, which are no neighbours of
            themselves. Rows of weight 0 are no neighbours of any.
        n_neighbors : int, default=None
            How many; as the estimator says if None.
        return_distance : bool, default=True
            Whether to return the distances.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors)
            The nearest first; of equally near rows, the first. Only with `return_distance`.
        rows : ndarray of int, shape (n_queries, n_neighbors)
            Positions of the neighbours among the training rows.
        """
        check_is_fitted(self)
        k = self._count(n_neighbors, X is None)
        if X is None:
            queries, own, labels = self._own_rows()
            distances, rows = self._searching.nearest(queries, k, own, labels)
        else:
            distances, rows = self._searching.nearest(self._of_kept(self._read_queries(X)), k)
        rows = self._numbered(rows)
        return (distances, rows) if return_distance else rows

    def _count(self, n_neighbors: Any, is_own: bool) -> int:
        """How many neighbours, if there are so many."""
        k: Any = self.n_neighbors if n_neighbors is None else n_neighbors
        k = self._requested_neighbors if isinstance(k, str) else k
        if isinstance(k, bool) or not isinstance(k, Integral):
            raise TypeError(
                f"n_neighbors does not take {type(k)} value, enter integer value; got {k!r}."
            )
        count = int(k)
        if count <= 0:
            raise ValueError(f"Expected n_neighbors > 0. Got {k}")
        there = self.n_samples_fit_ if self._kept is None else len(self._kept)
        if count + is_own > there:
            sign = "<" if is_own else "<="
            raise ValueError(
                f"Expected n_neighbors {sign} n_samples_fit, but n_neighbors = {k}, n_samples_fit "
                f"= {there}; use fewer neighbours, or fit to more rows."
            )
        return count

    def kneighbors_graph(self, X=None, n_neighbors=None, mode="connectivity"):
        """The graph from rows to their nearest training rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, data frame} of shape (n_queries, n_features), default=None
            Rows; the training rows without X.
        n_neighbors : int, default=None
            How many; as the estimator says if None.
        mode : {"connectivity", "distance"}, default="connectivity"
            Whether the entries are ones or distances.

        Returns
        -------
        graph : sparse matrix in CSR format, shape (n_queries, n_samples_fit)
            With an entry for each neighbour.
        """
        check_is_fitted(self)
        _check_mode(mode)
        distances, rows = self.kneighbors(X, n_neighbors)
        starts = np.arange(0, rows.size + 1, rows.shape[1])
        values = distances if mode == "distance" else np.ones(rows.shape)
        return _graph(values.ravel(), rows.ravel(), starts, self.n_samples_fit_)


class WithinMixin(NeighborsModel, RadiusNeighborsMixin):
    """The rows within a radius, and the graph of them."""

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
        _check_mode(mode)
        distances, rows = self.radius_neighbors(X, radius, sort_results=sort_results)
        starts = np.concatenate([[0], np.cumsum([len(found) for found in rows])])
        indices = np.concatenate([*rows, np.zeros(0, dtype=np.int64)])
        values = np.concatenate([*distances, np.zeros(0)])
        values = values if mode == "distance" else np.ones(len(indices))
        return _graph(values, indices, starts, self.n_samples_fit_)


def _check_mode(mode: str) -> None:
    if mode not in ("connectivity", "distance"):
        raise ValueError(
            'Unsupported mode, must be one of "connectivity", or "distance" but got '
            f'"{mode}" instead'
        )


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


def _graph(values: Array, rows: Array, starts: Array, count: int) -> Any:
    return sp.csr_matrix((values, rows, starts), shape=(len(starts) - 1, count))


def _objects(parts: list[Array]) -> Array:
    """An array of arrays, also where all have one length."""
    out = np.empty(len(parts), dtype=object)
    out[:] = parts
    return out
