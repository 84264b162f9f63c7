"""Finding the nearest rows: trees of boxes, projections, or all rows, in the compiled core.

Every search of the core returns the same neighbours to the last bit, equally near ones in the order
of the rows. scikit-learn searches sparse rows, and distances that the core lacks.
"""

from __future__ import annotations

import importlib
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors as ScikitNeighbors

from ..._ground import core
from ..._ground.design import Design
from ..._ground.interrupt import deadline
from ..._ground.threads import single_blas, thread_count
from .distances import DistanceForm

Array = np.ndarray

Lists = tuple[list[Array], list[Array]]

# Up to this many columns boxes rule out most rows.
MOST_IN_BOXES = 15
# With fewer rows, measuring all of them is as fast as anything.
FEW_ROWS = 200
# Columns of the products with a projection (one is the length of the rest), columns of the whole
# projection, and columns from which on a projection is worthwhile.
PROJECTED, WIDE, WORTH_PROJECTING = 48, 96, 128
# Rows in the sample that shows along which directions rows vary; steps of subspace iteration.
SAMPLE, STEPS = 1000, 2
# Queries that show how many rows a projection leaves; how many entries of a product take as long as
# one entry of those rows; and the part of a sample beyond which a projection is not even tried.
PILOT, SLOWNESS, HOPELESS = 64, 30, 0.05
# Neighbours of each node in the graph of an approximate search.
LINKS = 32


class NeighborSearch(Protocol):
    """Rows among which neighbours are searched.

    `own` and `labels` are numbers of the queries and of the rows: a query finds no row of its own
    number. Without them no rows are hidden.
    """

    rows: int
    # Its name in scikit-learn's terms.
    method: str

    def nearest(
        self, Q: Any, k: int, own: Array | None = None, labels: Array | None = None
    ) -> tuple[Array, Array]:
        """Distances and positions of the k nearest rows, (q, k); ∞ and −1 if there are fewer."""

    def within(
        self, Q: Any, radius: Array, own: Array | None = None, labels: Array | None = None
    ) -> Lists:
        """Distances and positions of all rows within a radius of each query, the nearest first."""


def search_of(X: Any, form: DistanceForm, algorithm: str, leaf_size: int = 30) -> NeighborSearch:
    """The search among rows X that suits them, or the one requested."""
    if algorithm == "faiss":
        return FaissSearch(X, form)
    if form.distance is None:
        return ScikitSearch(X, form, algorithm, leaf_size)
    rows = form.of_rows(X, is_query=False)
    metric, power = form.distance.metric, form.distance.power
    is_norm = metric in NORMS and power >= 1
    if is_norm and rows.shape[1] <= MOST_IN_BOXES and algorithm != "brute":
        return CoreSearch(rows, form, core.kd_tree(rows, form.distance, *_how()))
    if metric == core.Metric.euclidean and len(rows) >= FEW_ROWS:
        return ProjectedSearch(rows, form)
    return CoreSearch(rows, form, None)


NORMS = (
    core.Metric.euclidean,
    core.Metric.manhattan,
    core.Metric.chebyshev,
    core.Metric.minkowski,
)


def _how() -> tuple[int, float]:
    return thread_count(), deadline()


class CoreSearch:
    """Search by a tree of the core, or without one by measuring all rows."""

    def __init__(self, X: Array, form: DistanceForm, prepared: Any):
        self.X, self.form, self.prepared = X, form, prepared
        self.rows = len(X)
        self.method = "brute" if prepared is None else "kd_tree"

    def nearest(self, Q, k, own=None, labels=None):
        """Distances and positions of the k nearest rows."""
        Q = self._queries(Q)
        found = np.empty((len(Q), k)), np.empty((len(Q), k), dtype=np.int64)
        self._ask(Q, found, own, labels)
        return self.form.finished(found[0]), found[1]

    def _ask(self, Q: Array, found: tuple[Array, Array], own, labels) -> int:
        """Run the search into `found`; return how many rows were measured."""
        with single_blas():
            if self.prepared is None:
                arguments = (self.form.distance, self.X, Q, own, labels, *found, *_how())
                return int(core.scan_nearest(*arguments))
            return int(self.prepared.nearest(Q, own, labels, *found, *_how()))

    def within(self, Q, radius, own=None, labels=None):
        """All rows within a radius."""
        Q, radius = self._queries(Q), self.form.for_core(np.asarray(radius, dtype=np.float64))
        with single_blas():
            found = self._within(Q, radius, own, labels)
        counts = np.empty(len(Q), dtype=np.int64)
        found.count(counts)
        distances, rows = np.empty(counts.sum()), np.empty(counts.sum(), dtype=np.int64)
        found.take(distances, rows)
        cuts = np.cumsum(counts)[:-1]
        return np.split(self.form.finished(distances), cuts), np.split(rows, cuts)

    def _within(self, Q: Array, radius: Array, own, labels) -> Any:
        if self.prepared is None:
            arguments = (self.form.distance, self.X, Q, radius, own, labels, *_how())
            return core.scan_within(*arguments)
        return self.prepared.within(Q, radius, own, labels, *_how())

    def _queries(self, Q: Any) -> Array:
        return self.form.of_rows(np.asarray(Q, dtype=self._dtype(Q)), is_query=True)

    def _dtype(self, Q: Any) -> Any:
        return np.float64 if self.form.is_cosine else self.X.dtype


class ProjectedSearch(CoreSearch):
    """Search by products with the main directions of the rows, or with all columns.

    If rows vary along few directions, 47 directions and the length of the rest rule out most rows
    in a fraction of the work, and 95 most of the others; a sample of the rows and the first queries
    show whether they do.
    """

    def __init__(self, X: Array, form: DistanceForm):
        self.mean = Design(X).transposed_times(np.ones(len(X))) / len(X)
        super().__init__(X, form, None)
        basis = worthwhile_basis(X, self.mean) if X.shape[1] > WORTH_PROJECTING else None
        self.is_projected = basis is not None
        self.prepared = self._prepare(basis)

    def _prepare(self, basis: Array | None) -> Any:
        defect = 0.0
        if basis is not None:
            # How far the basis is from orthonormal, up to rounding.
            with single_blas():
                gram = basis @ basis.T
            rounding = basis.size * np.finfo(float).eps
            defect = float(np.linalg.norm(gram - np.eye(len(basis)))) + rounding
        with single_blas():
            return core.projected_rows(self.X, self.mean, basis, defect, *_how())

    def _ask(self, Q, found, own, labels):
        first = PILOT if self.is_projected and len(Q) > 4 * PILOT else 0
        if first:
            part = tuple(of[:first] for of in found)
            measured = super()._ask(Q[:first], part, _part(own, slice(first)), labels) / first
            self._reconsider(measured)
        rest = tuple(of[first:] for of in found)
        return super()._ask(Q[first:], rest, _part(own, slice(first, None)), labels)

    def _reconsider(self, measured: float) -> None:
        """Take all columns if the projection leaves too many rows for each query."""
        n, d = self.X.shape
        if PROJECTED * n + SLOWNESS * measured * d > n * d:
            self.is_projected = False
            self.prepared = self._prepare(None)


def _part(own: Array | None, rows: slice) -> Array | None:
    return None if own is None else np.ascontiguousarray(own[rows])


def worthwhile_basis(X: Array, mean: Array) -> Array | None:
    """Main directions of the rows; None if they do not rule out most of a sample."""
    step = max(len(X) // SAMPLE, 1)
    part = X[::step].astype(np.float64) - mean
    part /= np.max(np.abs(part), initial=np.finfo(float).tiny)
    # The threads of a BLAS wait for each other far longer than such small products take.
    with single_blas():
        basis = main_directions(part)
        return basis if share_left(part, basis[: PROJECTED - 1]) <= HOPELESS else None


def main_directions(part: Array) -> Array:
    """An orthonormal basis (at most 95, d) of roughly the directions along which rows vary most.

    Any basis finds the same neighbours, so a sample of the rows will do, and a few steps of
    subspace iteration (Halko, Martinsson and Tropp 2011, SIAM Review 53).
    """
    count = min(WIDE - 1, max(PROJECTED - 1, part.shape[1] // 2), *part.shape)
    basis = np.random.default_rng(0).standard_normal((part.shape[1], count))
    for _ in range(STEPS):
        basis = np.linalg.qr(part.T @ (part @ basis))[0]
    along = part @ basis
    turned = np.linalg.eigh(along.T @ along)[1][:, ::-1]
    return np.ascontiguousarray((basis @ turned).T)


def share_left(part: Array, basis: Array) -> float:
    """The share of a sample that a projection does not rule out as the neighbour of its rows.

    Among all rows neighbours are nearer than in a sample, and the projection leaves fewer.
    """
    step = max(len(part) // PILOT, 1)
    along = part @ basis.T
    rest = np.linalg.norm(part, axis=1) ** 2 - np.linalg.norm(along, axis=1) ** 2
    projected = np.column_stack([along, np.sqrt(np.maximum(rest, 0.0))])
    whole, least = (_squared_distances(rows[::step], rows) for rows in (part, projected))
    whole[np.arange(len(whole)), step * np.arange(len(whole))] = np.inf
    return float(np.mean(least <= np.min(whole, axis=1, keepdims=True)))


def _squared_distances(X: Array, Z: Array) -> Array:
    return np.sum(X**2, axis=1)[:, None] + np.sum(Z**2, axis=1) - 2 * X @ Z.T


class ScikitSearch:
    """Search by scikit-learn: for other distances, functions, sparse rows, and given distances."""

    def __init__(self, X: Any, form: DistanceForm, algorithm: str, leaf_size: int):
        self.X, self.rows = X, X.shape[0]
        self.is_precomputed = isinstance(form.name, str) and form.name == "precomputed"
        params = dict(form.params)
        p = params.pop("p", 2)
        self.model = ScikitNeighbors(
            n_neighbors=1,
            algorithm=algorithm,
            leaf_size=leaf_size,
            metric=form.name,
            p=p,
            metric_params=params or None,
            n_jobs=thread_count(),
        ).fit(X)
        self.method = str(self.model._fit_method)

    def nearest(self, Q, k, own=None, labels=None):
        """Distances and positions of the k nearest rows."""
        if own is None:
            distances, rows = self.model.kneighbors(Q, min(k, self.rows))
            return _widened(distances, rows, k)
        # As many more as could be hidden.
        most = min(k + int(np.bincount(labels).max()), self.rows)
        distances, rows = self.model.kneighbors(self._whole(Q), most)
        is_hidden = labels[rows] == own[:, None]
        order = np.argsort(is_hidden, axis=1, kind="stable")[:, :k]
        distances, rows = (np.take_along_axis(of, order, axis=1) for of in (distances, rows))
        hidden = np.take_along_axis(is_hidden, order, axis=1)
        return _widened(np.where(hidden, np.inf, distances), np.where(hidden, -1, rows), k)

    def within(self, Q, radius, own=None, labels=None):
        """All rows within a radius."""
        Q = self._whole(Q)
        if np.all(radius == radius[:1]):
            found = self.model.radius_neighbors(Q, float(radius[0]))
        else:
            each = [self.model.radius_neighbors(Q[[i]], float(r)) for i, r in enumerate(radius)]
            found = tuple([part[0] for part in side] for side in zip(*each))
        lists: Lists = ([], [])
        for i, (distances, rows) in enumerate(zip(*found)):
            if own is not None:
                is_other = labels[rows] != own[i]
                distances, rows = distances[is_other], rows[is_other]
            order = np.lexsort([rows, distances])
            lists[0].append(distances[order])
            lists[1].append(rows[order])
        return lists

    def _whole(self, Q: Any) -> Any:
        return self.X if Q is None else Q


def _widened(distances: Array, rows: Array, k: int) -> tuple[Array, Array]:
    """Pad with columns of ∞ and −1 if there are fewer than k."""
    missing = k - distances.shape[1]
    if missing <= 0:
        return distances, rows
    ends = ((0, 0), (0, missing))
    return (
        np.pad(distances, ends, constant_values=np.inf),
        np.pad(rows, ends, constant_values=-1),
    )


class FaissSearch(CoreSearch):
    """Approximate search by a graph of near rows, through the package faiss."""

    def __init__(self, X: Any, form: DistanceForm):
        is_euclidean = form.distance is not None and form.distance.metric == NORMS[0]
        if sp.issparse(X) or not is_euclidean:
            raise ValueError(
                'algorithm="faiss" needs dense rows and the metric "euclidean" or "cosine"; use '
                'algorithm="auto".'
            )
        super().__init__(form.of_rows(X, is_query=False), form, None)
        self.index = _faiss().IndexHNSWFlat(self.X.shape[1], LINKS)
        self.index.add(self.X.astype(np.float32))

    def _ask(self, Q, found, own, labels):
        more = 0 if own is None else int(np.bincount(labels).max())
        k = found[0].shape[1]
        squares, rows = self.index.search(Q.astype(np.float32), min(k + more, self.rows))
        is_hidden = rows < 0 if own is None else (rows < 0) | (labels[rows] == own[:, None])
        squares = np.where(is_hidden, np.inf, np.maximum(squares, 0.0))
        order = np.lexsort([rows, squares], axis=1)[:, :k]
        rows = np.take_along_axis(np.where(is_hidden, -1, rows), order, axis=1)
        squares = np.take_along_axis(squares, order, axis=1)
        found[0][:], found[1][:] = _widened(np.sqrt(squares), rows, k)
        return 0


def _faiss() -> Any:
    try:
        return importlib.import_module("faiss")
    except ImportError as error:
        raise ImportError(
            'algorithm="faiss" needs the package faiss; install it with "pip install '
            'gapless[faiss]", or use algorithm="auto", which is exact.'
        ) from error
