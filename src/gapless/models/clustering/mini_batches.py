"""Steps of k-means on small random parts of the rows, before those on all of them."""

from __future__ import annotations

import numpy as np

from ..._ground.interrupt import check
from .lloyd import ClusterRows, nearest

Array = np.ndarray

# Steps without progress after which they end, and how often each row is drawn at most.
PATIENCE, MOST_PASSES = 10, 10


def moved_by_batches(
    rows: ClusterRows, centers: Array, size: int, random: np.random.RandomState
) -> Array:
    """The centres after steps on batches of `size` rows (Sculley 2010, Web-scale k-means, WWW).

    Each centre is the mean of all rows that were nearest to it when they were drawn. Rows are drawn
    by weight, from the distinct ones in the order of their content.
    """
    distinct = rows.distinct
    count = len(distinct.first)
    if count <= size:
        return centers
    chances = np.cumsum(distinct.weights)
    centers, counts = centers.astype(float), np.zeros(len(centers))
    # A moving mean of the distances over about half of the rows, as single batches vary.
    pace = min(2.0 * size / (count + 1), 1.0)
    mean, least, since = np.nan, np.inf, 0
    for _ in range(MOST_PASSES * count // size):
        check()
        places = np.searchsorted(chances, random.uniform(size=size) * chances[-1], side="right")
        drawn = distinct.first[np.minimum(places, len(chances) - 1)]
        batch = ClusterRows(rows.design.rows(drawn), np.ones(size))
        labels, squares = nearest(batch.design, centers.astype(rows.dtype), rows.origin, True)
        assert squares is not None
        _move(batch, centers, counts, labels)
        mean = squares.mean() if np.isnan(mean) else (1 - pace) * mean + pace * squares.mean()
        least, since = (mean, 0) if mean < least else (least, since + 1)
        if since >= PATIENCE:
            break
    return np.ascontiguousarray(centers, dtype=rows.dtype)


def _move(batch: ClusterRows, centers: Array, counts: Array, labels: Array) -> None:
    """Every centre to the mean of all its rows so far."""
    sums, added = batch.sums(labels, len(centers))
    near = added > 0
    counts[near] += added[near]
    means = batch.origin + sums[near] / added[near, None]
    centers[near] += (means - centers[near]) * (added[near] / counts[near])[:, None]
