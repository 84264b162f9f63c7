"""How well rows fit their clusters, without the truth and with it: silhouettes, agreement."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import column_or_1d

from .._ground import core
from .._ground.design import Design
from .._ground.distinct_rows import DistinctRows
from .._ground.docstrings import described
from .._ground.drawing import pictures
from .._ground.interrupt import deadline
from .._ground.memory import blocks
from .._ground.notebook import ShownInNotebook
from .._ground.partitions import Agreement, silhouette_values
from .._ground.threads import thread_count
from .._ground.validation import check_values, read_labels, read_weights
from .estimates import Ratio, Smooth, scored
from .inputs import read_decisions
from .intervals import MEASURED, Rows, Score

Array = np.ndarray

# Distances of one call; of larger tables a sample of rows is judged, but always so many.
MOST_DISTANCES, LEAST_ROWS = 1e8, 500

CLUSTERED = """
X : {array-like, sparse matrix} of shape (n, d)
    The rows, or the distances between them, (n, n), if metric="precomputed".
labels : array-like of shape (n,)
    The cluster of each row.
metric : str or callable
    The distance, as scikit-learn's `pairwise_distances` takes it.
"""


@dataclass(frozen=True, eq=False)
class Silhouettes(ShownInNotebook):
    """The silhouette of each row: from 1, at the heart of its cluster, to −1, in the wrong one.

    Attributes
    ----------
    values : ndarray of shape (m,)
        The silhouettes.
    labels : ndarray of shape (m,)
        The clusters of these rows.
    rows : ndarray of int, shape (m,)
        Their positions in X: all rows, or a sample of a large table.
    mean : Score
        The mean, with its interval.
    """

    values: Array
    labels: Array
    rows: Array
    mean: Score

    def __str__(self) -> str:
        return str(self.mean)

    def __repr__(self) -> str:
        return f"<Silhouettes of {len(self.values)} rows: mean {self.mean.value:.3g}>"

    def plot(self, *, axes=None):
        """Draw a bar for each row, cluster by cluster.

        Parameters
        ----------
        axes : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        axes : matplotlib Axes
            With the bars.
        """
        return pictures().silhouettes(self.values, self.labels, mean=self.mean.value, axes=axes)


@described(CLUSTERED, MEASURED)
def silhouette(
    X: Any,
    labels: Any,
    *,
    metric: Any = "euclidean",
    sample_weight: Any = None,
    level: float = 0.95,
) -> Score:
    """How well rows fit their clusters, compared with the next ones: the mean silhouette.

    The silhouette of a row is (b − a)/max(a, b), where a is its mean distance to the other rows of
    its cluster and b that to the rows of the nearest other cluster; 0 for a row alone.

    Returns
    -------
    Score
        The mean with its interval, between −1 and 1.

    Notes
    -----
    Costs n² distances, in blocks. Of more than 10,000 rows a sample is judged, each by its
    distances to all rows; the result says how many.

    References
    ----------
    Rousseeuw (1987), Silhouettes: a graphical aid to the interpretation and validation of cluster
    analysis.

    Examples
    --------
    >>> from gapless.metrics import silhouette
    >>> print(f"{silhouette([[0.0], [1.0], [9.0], [10.0]], [0, 0, 1, 1]):.3f}")
    0.889
    """
    return silhouettes(X, labels, metric=metric, sample_weight=sample_weight, level=level).mean


@described(CLUSTERED, MEASURED)
def silhouettes(
    X: Any,
    labels: Any,
    *,
    metric: Any = "euclidean",
    sample_weight: Any = None,
    level: float = 0.95,
) -> Silhouettes:
    """The silhouette of each row; see `silhouette`.

    Returns
    -------
    Silhouettes
        Values by row, their mean, and `plot()`.
    """
    X, names, numbers, rows, kept = _read(X, labels, metric, sample_weight)
    judged = _judged(X, numbers, rows, metric)
    values = _values(X, numbers, rows, judged, metric)
    mean = scored("silhouette", Ratio.mean(values, rows.only(judged), (-1.0, 1.0)), level)
    if len(judged) < len(kept):
        words = f"{mean.method}, a sample of {len(kept):,} rows"
        mean = Score(mean.name, mean.value, mean.low, mean.high, level, words, mean.n)
    return Silhouettes(values, names[numbers[judged]], kept[judged], mean)


def _read(
    X: Any, labels: Any, metric: Any, sample_weight: Any
) -> tuple[Any, Array, Array, Rows, Array]:
    """X, the names of the clusters, their numbers by row, weights, and positions, with weight."""
    X = check_array(X, accept_sparse="csr", dtype=(np.float64, np.float32), ensure_all_finite=False)
    check_values(X, "X", None)
    labels = read_labels(column_or_1d(labels, input_name="labels"), X)
    check_consistent_length(X, labels)
    weights = read_weights(sample_weight, X)
    kept = np.flatnonzero(weights > 0)
    if metric == "precomputed":
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f'metric="precomputed" needs the distances between all rows, but X has shape '
                f"{X.shape}; pass a square matrix, or leave metric out."
            )
        X = X[kept][:, kept]
    else:
        X = X[kept]
    names, numbers = np.unique(labels[kept], return_inverse=True)
    if len(names) < 2:
        raise ValueError(
            "all rows are in one cluster, and a silhouette compares it with the nearest other one; "
            "give at least two clusters."
        )
    return X, names, numbers, Rows.of(weights[kept]), kept


def _judged(X: Any, numbers: Array, rows: Rows, metric: Any) -> Array:
    """Positions of the rows that are judged: all, or a sample drawn by content."""
    n = X.shape[0]
    size = max(int(MOST_DISTANCES / n), LEAST_ROWS)
    if n <= size or metric == "precomputed":
        return np.arange(n)
    distinct = DistinctRows.of(X, rows.mass, numbers.astype(float))
    order = np.random.default_rng(0).permutation(len(distinct.first))[:size]
    return np.flatnonzero(np.isin(distinct.inverse, order))


def _values(X: Any, numbers: Array, rows: Rows, judged: Array, metric: Any) -> Array:
    """The silhouettes of some rows."""
    n, k = X.shape[0], int(numbers.max()) + 1
    shares = sp.csr_array((rows.mass, (np.arange(n), numbers)), shape=(n, k))
    masses = np.bincount(numbers, rows.mass, k)
    out = np.empty(len(judged))
    for part in blocks(len(judged), n):
        some = judged[part]
        # A row is no neighbour of itself: its distance, 0, adds nothing to the sums.
        sums = np.asarray(shares.T @ _distances(X, some, metric)).T
        out[part] = silhouette_values(sums, masses, numbers[some], rows.weights[some])
    return out


def _distances(X: Any, some: Array, metric: Any) -> Array:
    """The distances of all rows to some of them, (n, some); of a row to itself 0."""
    if metric == "euclidean":
        design = Design(X)
        origin = design.transposed_times(np.full(design.n, 1.0 / design.n))
        others = np.ascontiguousarray(design.rows(some).dense(), dtype=design.dtype)
        out = np.empty((design.n, len(some)))
        core.center_distances(design.rows_view(), others, origin, out, thread_count(), deadline())
        return np.sqrt(out, out=out)
    if metric == "precomputed":
        out = X[some].toarray() if sp.issparse(X) else X[some].copy()
    else:
        out = pairwise_distances(X[some], X, metric=metric)
    out[np.arange(len(some)), some] = 0.0
    return out.T


@described(MEASURED)
def adjusted_rand(
    labels_true: Any, labels_pred: Any, *, sample_weight: Any = None, level: float = 0.95
) -> Score:
    """How far two clusterings agree on which rows belong together: the adjusted Rand index.

    1 if they are the same up to the names of the clusters, about 0 if they agree by chance alone.

    Parameters
    ----------
    labels_true, labels_pred : array-like of shape (n,)
        The clusters of each row by both.

    Returns
    -------
    Score
        The index with its interval.

    References
    ----------
    Hubert and Arabie (1985), Comparing partitions, Journal of Classification 2.

    Examples
    --------
    >>> from gapless.metrics import adjusted_rand
    >>> print(f"{adjusted_rand([0, 0, 1, 1, 2], ['b', 'b', 'a', 'a', 'a']):.3f}")
    0.545
    """
    _, one = np.unique(column_or_1d(labels_true), return_inverse=True)
    _, two = np.unique(column_or_1d(labels_pred), return_inverse=True)
    data = read_decisions(one, two, sample_weight)
    found, rows = Agreement(data.true, data.predicted, data.rows.mass), data.rows
    pulls = found.derivatives()
    smooth = Smooth(found.index, pulls - rows.sum(pulls) / rows.total, rows, (-1.0, 1.0))
    return scored("adjusted Rand index", smooth, level)
