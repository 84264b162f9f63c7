"""Votes: from the distances of neighbours to what each of them counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .searches import NeighborSearch

Array = np.ndarray

# Shares that differ by less are those of a tied vote.
TIED = 1e-12


def weigh(distances: Array, weights: str | Callable | None) -> Array:
    """The vote of a neighbour at its distance, (q, k).

    With 1/d or 1/d² a row at distance 0 outweighs all others: then only such rows count.
    """
    if weights is None or weights == "uniform":
        return np.ones_like(distances)
    if callable(weights):
        return _by_function(distances, weights)
    is_here = distances == 0
    with np.errstate(divide="ignore", over="ignore"):
        # Divided by the nearest, which is the same vote: 1/d² of a tiny d would overflow.
        least = np.min(np.where(is_here, np.inf, distances), axis=1, keepdims=True, initial=np.inf)
        ratio = np.where(np.isfinite(distances), least / distances, 0.0)
    closeness = ratio if weights == "distance" else ratio**2
    return np.where(is_here.any(axis=1, keepdims=True), is_here.astype(float), closeness)


def _by_function(distances: Array, weights: Callable) -> Array:
    """The user's function of distances, if it returns valid votes."""
    votes = np.asarray(weights(distances), dtype=float)
    if votes.shape != distances.shape:
        raise ValueError(
            f"weights={weights!r} returned an array of shape {votes.shape} for distances of shape "
            f"{distances.shape}; it must return one number ≥ 0 for each distance."
        )
    # Where there are too few rows, the distance is ∞.
    is_there = np.isfinite(distances)
    is_wrong = is_there & ~(np.isfinite(votes) & (votes >= 0))
    if np.any(is_wrong):
        first = tuple(np.argwhere(is_wrong)[0])
        raise ValueError(
            f"weights={weights!r} returned {votes[first]:g} for the distance {distances[first]:g}; "
            'it must return finite numbers ≥ 0. With weights="distance", rows at distance 0 '
            "decide alone."
        )
    return np.where(is_there, votes, 0.0)


def counted(distances: Array, weights: Array, k: float, ties: str) -> Array:
    """How much of each row's weight is among the k nearest, (q, K), rows sorted by distance.

    A row of weight 2 is two neighbours. Rows at the distance of the last neighbour count by their
    order, or with ties="nearest" share what is left in proportion to their weights.
    """
    before = np.cumsum(weights, axis=1) - weights
    if ties == "first":
        return np.clip(k - before, 0.0, weights)
    starts = np.ones(distances.shape, dtype=bool)
    starts[:, 1:] = distances[:, 1:] != distances[:, :-1]
    # For each row the weight before the first row that is as near, and that of all such rows.
    first = np.maximum.accumulate(np.where(starts, before, -np.inf), axis=1)
    ends = np.ones_like(starts)
    ends[:, :-1] = starts[:, 1:]
    upto = np.where(ends, before + weights, np.inf)
    last = np.minimum.accumulate(upto[:, ::-1], axis=1)[:, ::-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.clip((k - first) / (last - first), 0.0, 1.0)
    return np.where(weights > 0, share * weights, 0.0)


@dataclass(frozen=True, eq=False)
class Voters:
    """Training rows that vote.

    Parameters
    ----------
    search : NeighborSearch
        Finds the nearest of them.
    weights : ndarray of shape (n,) or None
        Their weights; None if all are 1.
    weighting : str, callable or None
        What distance does to a vote.
    ties : {"first", "nearest"}
        What decides between rows, and classes, that are equal.
    """

    search: NeighborSearch
    weights: Array | None
    weighting: Any
    ties: str

    def around(
        self, Q: Any, k: int, own: Array | None = None, labels: Array | None = None
    ) -> tuple[Array, Array, Array]:
        """Distances, positions and votes of the neighbours of each query, (q, K), nearest first."""
        distances, rows, counts = self.nearest(Q, k, own, labels)
        return distances, rows, self.weighed(distances, rows, counts)

    def weighed(self, distances: Array, rows: Array, counts: Array) -> Array:
        """The votes of neighbours that count by `counts`."""
        # Farther rows do not count, and a function is not called with them.
        width = int(np.max(np.sum(counts > 0, axis=1), initial=1))
        votes = np.zeros_like(counts)
        votes[:, :width] = counts[:, :width] * weigh(distances[:, :width], self.weighting)
        if votes.size and np.any(votes.sum(axis=1) == 0):
            raise ValueError(
                "All neighbors of some sample is getting zero weights. Please modify 'weights' to "
                "avoid this case if you are using a user-defined function. No neighbour of row "
                f"{int(np.argmax(votes.sum(axis=1) == 0))} has a vote."
            )
        return votes

    def nearest(
        self, Q: Any, k: int, own: Array | None = None, labels: Array | None = None
    ) -> tuple[Array, Array, Array]:
        """Distances, positions, and how much of each row's weight is among the k nearest."""
        fewest = 1.0 if self.weights is None else min(float(self.weights.min()), 1.0)
        width = int(np.ceil(min(k / fewest, 2 * k + 8))) + (self.ties == "nearest")
        return self._nearest(Q, k, own, labels, min(width, self.search.rows))

    def _nearest(self, Q, k, own, labels, width: int) -> tuple[Array, Array, Array]:
        distances, rows = self.search.nearest(Q, width, own, labels)
        if self.weights is None and self.ties == "first":
            return distances, rows, np.where(rows >= 0, 1.0, 0.0)
        of_row = np.ones(self.search.rows) if self.weights is None else self.weights
        weights = np.where(rows >= 0, of_row[rows], 0.0)
        short = np.flatnonzero(self._is_short(distances, rows, weights, k))
        if not len(short) or width >= self.search.rows:
            return distances, rows, counted(distances, weights, k, self.ties)
        # Those whose last neighbour may have equals farther on need more rows.
        their = None if own is None else own[short]
        rest = self._nearest(Q[short], k, their, labels, min(2 * width, self.search.rows))
        wide = rest[0].shape[1]
        out = [
            np.pad(of, ((0, 0), (0, wide - width)), constant_values=empty)
            for of, empty in (
                (distances, np.inf),
                (rows, -1),
                (counted(distances, weights, k, self.ties), 0.0),
            )
        ]
        for whole, part in zip(out, rest):
            whole[short] = part
        return out[0], out[1], out[2]

    def _is_short(self, distances: Array, rows: Array, weights: Array, k: float) -> Array:
        """Queries whose k nearest may be incomplete."""
        sums = np.cumsum(weights, axis=1)
        is_short = (sums[:, -1] < k) & (rows[:, -1] >= 0)
        if self.ties == "nearest":
            at = np.minimum(np.sum(sums < k, axis=1), distances.shape[1] - 1)
            last = distances[np.arange(len(at)), at]
            is_short |= (distances[:, -1] == last) & (rows[:, -1] >= 0)
        return is_short


def class_shares(rows: Array, votes: Array, labels: Array, count: int, ties: str) -> Array:
    """The share of the vote of each class, (q, classes).

    With ties="nearest" the tied class with the nearest neighbour is raised by the last bit, so that
    the largest share is the predicted class.
    """
    q = len(rows)
    of_vote = labels[rows] + count * np.arange(q)[:, None]
    totals = np.bincount(of_vote.ravel(), votes.ravel(), q * count).reshape(q, count)
    shares = totals / totals.sum(axis=1, keepdims=True)
    if ties == "nearest":
        best = shares.max(axis=1, keepdims=True)
        is_tied = shares >= best * (1 - TIED)
        several = np.flatnonzero(is_tied.sum(axis=1) > 1)
        if len(several):
            nearest = _nearest_class(rows[several], votes[several], labels, is_tied[several])
            shares[several, nearest] = np.nextafter(best[several, 0], 2.0)
    return shares


def _nearest_class(rows: Array, votes: Array, labels: Array, is_tied: Array) -> Array:
    """For each query the class of its nearest neighbour among the tied classes."""
    of_row = labels[rows]
    votes_for = np.take_along_axis(is_tied, of_row, axis=1) & (votes > 0)
    return of_row[np.arange(len(rows)), np.argmax(votes_for, axis=1)]


def mean_targets(rows: Array, votes: Array, y: Array) -> Array:
    """Means of the neighbours' targets (n, K), weighted by their votes: (q, K)."""
    total = votes.sum(axis=1)
    return np.einsum("qk,qko->qo", votes, y[rows]) / total[:, None]


def running_sums(rows: Array, votes: Array, targets: Array) -> Array:
    """Sums of the targets (n, K) of the first 1, 2, … neighbours by their votes: (q, k, K)."""
    return np.cumsum(votes[:, :, None] * targets[rows], axis=1)
