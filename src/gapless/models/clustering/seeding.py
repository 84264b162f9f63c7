"""The first centres of k-means: drawn far apart, drawn at random, or given."""

from __future__ import annotations

from typing import Any

import numpy as np

from .lloyd import ClusterRows

Array = np.ndarray

PLUS_PLUS, RANDOM = "k-means++", "random"


def first_centers(rows: ClusterRows, k: int, init: Any, random: np.random.RandomState) -> Array:
    """k centres in the type of the rows. Draws are from the distinct rows, ordered by content."""
    if isinstance(init, str):
        chosen = drawn_apart(rows, k, random) if init == PLUS_PLUS else drawn(rows, k, random)
        return taken(rows, chosen)
    centers = init(rows.design.X, k, random_state=random) if callable(init) else init
    centers = np.array(centers, dtype=rows.dtype, order="C", ndmin=2)
    check_centers(centers, rows.d, k)
    return centers


def check_centers(centers: Array, d: int, k: int) -> None:
    """Raise an error unless there are k centres of d columns."""
    if centers.shape[0] != k:
        raise ValueError(
            f"The shape of the initial centers {centers.shape} does not match the number of "
            f"clusters {k}; give one row for each cluster, or set n_clusters={centers.shape[0]}."
        )
    if centers.shape[1] != d:
        raise ValueError(
            f"The shape of the initial centers {centers.shape} does not match the number of "
            f"features of the data {d}; give one column for each feature."
        )
    if not np.isfinite(centers).all():
        raise ValueError("the initial centers have NaN or infinity; give finite numbers.")


def taken(rows: ClusterRows, chosen: Array) -> Array:
    """The rows at some positions, dense."""
    return np.ascontiguousarray(rows.design.rows(chosen).dense(), dtype=rows.dtype)


def drawn(rows: ClusterRows, k: int, random: np.random.RandomState) -> Array:
    """Positions of k distinct rows, drawn by weight; all rows and some again if there are fewer."""
    distinct = rows.distinct
    m = len(distinct.first)
    some = random.choice(m, size=min(k, m), replace=False, p=distinct.weights / rows.total)
    return distinct.first[np.resize(some, k)]


def drawn_apart(rows: ClusterRows, k: int, random: np.random.RandomState) -> Array:
    """Positions of k distinct rows by greedy k-means++ (Arthur and Vassilvitskii 2007).

    Each row is drawn in proportion to its weight and to its squared distance to the nearest of
    those before; of 2 + log k such draws the one is kept that leaves the least distances.
    """
    distinct = rows.distinct
    first, weights = distinct.first, distinct.weights
    trials = 2 + int(np.log(k))
    chosen = np.empty(k, dtype=np.intp)
    chosen[0] = first[_places(np.cumsum(weights), random.uniform(size=1))[0]]
    closest = rows.distances(taken(rows, chosen[:1]))[:, 0]
    for c in range(1, k):
        chance = np.cumsum(weights * closest[first])
        if not chance[-1] > 0:
            # Fewer distinct rows than clusters: the others coincide.
            return np.resize(chosen[:c], k)
        tried = first[_places(chance, random.uniform(size=trials))]
        left = np.minimum(rows.distances(taken(rows, tried)), closest[:, None])
        best = int(np.argmin(rows.weights @ left))
        chosen[c], closest = tried[best], np.ascontiguousarray(left[:, best])
    return chosen


def _places(cumulated: Array, shares: Array) -> Array:
    """Positions drawn in proportion to what was cumulated; none of those without a chance."""
    found = np.searchsorted(cumulated, shares * cumulated[-1], side="right")
    last = int(np.searchsorted(cumulated, cumulated[-1], side="left"))
    return np.minimum(found, last)
