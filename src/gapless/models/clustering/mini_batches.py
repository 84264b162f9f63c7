"""k-means on small random parts of the rows: before the steps on all of them, or instead.

Each centre is the mean of all rows that were nearest to it when they were drawn (Sculley 2010,
Web-scale k-means clustering, WWW). Rows are drawn by weight, from the distinct ones in the order of
their content, so that neither their order nor how often they repeat matters.
"""

from __future__ import annotations

import numpy as np

from ..._ground.interrupt import check
from .lloyd import ClusterRows, nearest

Array = np.ndarray

# Steps without progress after which they end, and how often each row is drawn at most, before the
# steps on all rows.
PATIENCE, MOST_PASSES = 10, 10
# Centres with few rows are looked for once so many rows for each cluster have been drawn.
ROWS_BETWEEN = 10


def drawn_by_weight(rows: ClusterRows, size: int, random: np.random.RandomState) -> ClusterRows:
    """A batch of rows, some of them perhaps twice."""
    distinct = rows.distinct
    chances = np.cumsum(distinct.weights)
    places = np.searchsorted(chances, random.uniform(size=size) * chances[-1], side="right")
    drawn = distinct.first[np.minimum(places, len(chances) - 1)]
    return ClusterRows(rows.design.rows(drawn), np.ones(size))


class BatchWalk:
    """Centres that batches of rows move.

    Parameters
    ----------
    centers : ndarray of shape (k, d)
        Where they are.
    counts : ndarray of shape (k,), default=None
        The weight of the rows that each has had so far; none if None.
    """

    def __init__(self, centers: Array, counts: Array | None = None):
        self.dtype = centers.dtype
        self.centers = centers.astype(float)
        self.counts = np.zeros(len(centers)) if counts is None else counts.astype(float)
        self._since = 0

    def rounded(self) -> Array:
        """The centres in the type of the rows."""
        return np.ascontiguousarray(self.centers, dtype=self.dtype)

    def step(self, batch: ClusterRows, origin: Array) -> float:
        """Every centre to the mean of all its rows so far; returns the batch's mean square."""
        labels, squares = nearest(batch.design, self.rounded(), origin, True)
        assert squares is not None
        sums, added = batch.sums(labels, len(self.centers))
        near = added > 0
        self.counts[near] += added[near]
        means = batch.origin + sums[near] / added[near, None]
        pace = (added[near] / self.counts[near])[:, None]
        self.centers[near] += (means - self.centers[near]) * pace
        return float(batch.weights @ squares) / batch.total

    def renew(self, batch: ClusterRows, ratio: float, random: np.random.RandomState) -> None:
        """Move centres that have hardly any rows to rows of the batch.

        Those with less than `ratio` times the rows of the centre that has most, and at most half as
        many as the batch has rows. They then count as much as the least of the others. The centre
        that has most is never moved, whatever the ratio.
        """
        self._since += batch.n
        if self.counts.all() and self._since < ROWS_BETWEEN * len(self.counts):
            return
        self._since = 0
        distinct = batch.distinct
        most = min(batch.n // 2, len(distinct.first))
        few = np.flatnonzero(self.counts < min(ratio, 1.0) * self.counts.max())
        few = few[np.argsort(self.counts[few], kind="stable")][:most]
        if not len(few):
            return
        drawn = random.choice(
            len(distinct.first), len(few), replace=False, p=distinct.weights / batch.total
        )
        self.centers[few] = batch.design.rows(distinct.first[drawn]).dense()
        self.counts[few] = np.delete(self.counts, few).min()


class Progress:
    """Whether the distances still fall: a moving mean over about half of the rows."""

    def __init__(self, size: int, count: int):
        self._pace = min(2.0 * size / (count + 1), 1.0)
        self.mean, self._least = np.nan, np.inf
        self.since = 0

    def add(self, square: float) -> None:
        """The mean square of a batch; `since` is then how many have brought nothing."""
        is_first = np.isnan(self.mean)
        self.mean = square if is_first else self.mean + self._pace * (square - self.mean)
        if self.mean < self._least:
            self._least, self.since = self.mean, 0
        else:
            self.since += 1


def moved_by_batches(
    rows: ClusterRows, centers: Array, size: int, random: np.random.RandomState
) -> Array:
    """The centres after steps on batches of `size` rows."""
    count = len(rows.distinct.first)
    if count <= size:
        return centers
    walk, progress = BatchWalk(centers), Progress(size, count)
    for _ in range(MOST_PASSES * count // size):
        check()
        progress.add(walk.step(drawn_by_weight(rows, size, random), rows.origin))
        if progress.since >= PATIENCE:
            break
    return walk.rounded()
