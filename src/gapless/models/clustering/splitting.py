"""Divisive analysis: from all rows downwards, the widest cluster is split in two."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..._ground.interrupt import check

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Split:
    """A cluster of distinct rows, its diameter, and the parts it falls into."""

    height: float
    stay: Array
    leave: Array


def split_all(D: Array, weights: Array, progress: Callable[[int, int], None]) -> list[Split]:
    """All splits of distinct rows, by DIANA (Kaufman and Rousseeuw 1990, chapter 6).

    The order of the splits does not change the tree, since a cluster is split without regard to the
    others; its height is its diameter, which is not below those of its parts.
    """
    n = len(D)
    splits: list[Split] = []
    waiting = [np.arange(n)]
    while waiting:
        check()
        rows = waiting.pop()
        if len(rows) < 2:
            continue
        own = D[np.ix_(rows, rows)]
        is_leaving = splinter(own, weights[rows])
        split = Split(float(own.max()), rows[~is_leaving], rows[is_leaving])
        splits.append(split)
        waiting += [split.stay, split.leave]
        progress(len(splits), n - 1)
    return splits


def splinter(D: Array, weights: Array) -> Array:
    """Which rows of a cluster leave it: first the one that is farthest from the others on average.

    Then, one at a time, the row that is nearer to those that left than to those that stayed, by the
    largest difference of the mean distances, until there is none. Of equal rows the first leaves.
    """
    total = float(weights.sum())
    to_stay, to_leave = D @ weights, np.zeros(len(D))
    is_leaving = np.zeros(len(D), dtype=bool)
    left = 0.0
    for step in range(len(D) - 1):
        if step % 64 == 0:
            check()
        # The mean distance from the others that stay, less that from those that left.
        others = total - left - weights
        with np.errstate(divide="ignore", invalid="ignore"):
            gain = to_stay / others
            if left > 0:
                gain = gain - to_leave / left
        gain[is_leaving | (others <= 0)] = -np.inf
        farthest = int(np.argmax(gain))
        if left > 0 and not gain[farthest] > 0:
            break
        is_leaving[farthest] = True
        left += weights[farthest]
        to_stay -= weights[farthest] * D[farthest]
        to_leave += weights[farthest] * D[farthest]
    return is_leaving


def merges_of(splits: list[Split]) -> tuple[Array, Array]:
    """The splits in reverse as merges, from the lowest up: rows of both parts, and heights."""
    # A stable order in reverse of discovery: parts come before what they are parts of.
    last_first = splits[::-1]
    heights = np.array([split.height for split in last_first])
    order = np.argsort(heights, kind="stable")
    pairs = np.array(
        [[last_first[i].stay[0], last_first[i].leave[0]] for i in order], dtype=np.int64
    ).reshape(-1, 2)
    return pairs, heights[order]
