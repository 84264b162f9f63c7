"""Gaps between clusters: rows are rarer midway between two centres than near either of them.

A single cloud, which is densest in one place, has no such gap along a line towards that place.
Where its tails are cut off, other rows give other clusters.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import betainc

Array = np.ndarray

# Half the width of the places where rows are counted, in distances between two centres.
REACH = 1 / 6


class Line(NamedTuple):
    """A direction, and where two centres are along it."""

    direction: Array
    start: float
    end: float


def are_the_same(centers: Array, others: Array) -> bool:
    """Whether each of some centres is nearest to another one of the others, and none is left."""
    nearest = ((centers[:, None] - others[None]) ** 2).sum(axis=2).argmin(axis=1)
    return np.array_equal(np.sort(nearest), np.arange(len(others)))


def in_order_of(centers: Array, others: Array) -> Array:
    """Centres in the order of those that they are nearest to, one each."""
    apart = ((centers[:, None] - others[None]) ** 2).sum(axis=2)
    own, place = linear_sum_assignment(apart)
    return centers[own[np.argsort(place)]]


def neighbours(centers: Array) -> Iterator[tuple[int, int]]:
    """Pairs without a third centre in the ball between them (the graph of Gabriel and Sokal)."""
    count = len(centers)
    for a in range(count):
        for b in range(a + 1, count):
            middle = (centers[a] + centers[b]) / 2
            reach = np.sum((centers[a] - middle) ** 2)
            others = np.delete(np.sum((centers - middle) ** 2, axis=1), [a, b])
            if np.all(others >= reach):
                yield a, b


def line_between(
    first: Array, second: Array, weights: tuple[Array, Array] | None = None
) -> Line | None:
    """A direction in which two clusters are well apart.

    That of Fisher's discriminant, W⁻¹(c₂ − c₁) for the scatter W within the clusters, drawn towards
    that of the centres where rows are few; None if a cluster is empty or both centres are the same.
    """
    if not len(first) or not len(second):
        return None
    own = (np.ones(len(first)), np.ones(len(second))) if weights is None else weights
    centers = [np.average(x, axis=0, weights=s) for x, s in zip((first, second), own)]
    s = np.concatenate(own)
    inside = np.vstack([first - centers[0], second - centers[1]])
    size, width = float(s.sum()), inside.shape[1]
    within = (inside.T * s) @ inside / size
    unit = np.trace(within) / width or 1.0
    part = width / (width + size)
    shrunk = (1 - part) * within / unit + (part + np.finfo(float).eps) * np.eye(width)
    direction = np.linalg.solve(shrunk, centers[1] - centers[0])
    start, end = centers[0] @ direction, centers[1] @ direction
    return Line(direction, float(start), float(end)) if end > start else None


def counts_between(rows: Array, line: Line | None, weights: Array | None = None) -> Array:
    """Rows near the first centre, midway, and near the second, along a line between them."""
    if line is None:
        return np.zeros(3)
    along = (rows @ line.direction - line.start) / (line.end - line.start)
    s = np.ones(len(rows)) if weights is None else weights
    return np.array([s @ (np.abs(along - place) < REACH) for place in (0.0, 0.5, 1.0)])


def doubt(counts: Array) -> float:
    """The p-value of a gap: a density with one peak is at least as high midway as at one end.

    The chance of so few rows midway, if each is as likely there as at the end; counts of weights
    need not be whole.
    """
    near, midway, far = counts
    return float(max(betainc(end, midway + 1, 0.5) if end else 1.0 for end in (near, far)))


def part_midway(counts: Array) -> float:
    """The rows midway, for each near the centre with fewer of them."""
    near, midway, far = counts
    return float(midway / max(min(near, far), 1))
