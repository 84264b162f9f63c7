"""Agglomeration: from points or distances to merges, in as little memory as the linkage allows.

Single linkage, Ward's and centroid linkage of points need memory linear in the number of rows.
Complete and average linkage, and other distances than the Euclidean one, need a number for each
pair of rows: in float64 as long as that is little, else in float32.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._ground import core
from ..._ground.interrupt import check, deadline
from ..._ground.memory import GIGABYTE, blocks, free_memory
from ..._ground.threads import thread_count
from ..._ground.validation import check_spread
from .distances import Distances

Array = np.ndarray
# Called with the number of merges made and of all; returns whether to stop.
Progress = Callable[[int, int], None]

LINKAGES = ("ward", "complete", "average", "single", "centroid")
# Linkages that are defined by means of points, and so for Euclidean distances alone.
OF_MEANS = ("ward", "centroid")
# Up to this many bytes, distances are kept in float64.
SMALL_MATRIX = 256 << 20
# The core is called for this part of the merges at a time, so that progress can be shown.
STEPS = 50
# If a kd-tree leaves more than this part of the rows to be compared with each row, comparing all of
# them once is faster (measured on 500 to 60,000 rows of 2 to 16 columns).
MOST_COMPARED = 0.07
# What the process needs besides the matrix.
ROOM = 0.05


@dataclass(frozen=True, eq=False)
class Merges:
    """Merges of clusters, each named by one of its rows, (merges, 2), and their heights."""

    pairs: Array
    heights: Array


def triangle_bytes(rows: int, dtype: Any) -> int:
    """The memory that a distance for each pair of rows takes."""
    return rows * (rows - 1) // 2 * np.dtype(dtype).itemsize


def empty_triangle(rows: int, dtype: Any) -> Array:
    """Room for a distance of each pair of rows; an error if there is not enough memory."""
    needed = triangle_bytes(rows, dtype)
    free = free_memory()
    if needed * (1 + ROOM) > free:
        raise MemoryError(
            f"the distances of {rows} rows need {needed / GIGABYTE:.1f} GB, and "
            f"{free / GIGABYTE:.1f} GB are free; use linkage='ward', 'single' or 'centroid' with "
            "Euclidean distances, whose memory is linear in the number of rows, or cluster a "
            "sample."
        )
    return np.empty(rows * (rows - 1) // 2, dtype=dtype)


def kept_dtype(rows: int) -> type:
    """The type in which the distances of this many rows are kept."""
    return np.float64 if triangle_bytes(rows, np.float64) <= SMALL_MATRIX else np.float32


def needed_bytes(rows: int, linkage: str, metric: Any) -> int:
    """What the distances between rows will take; 0 if none are kept."""
    is_linear = linkage in OF_MEANS or linkage == "single"
    if is_linear and metric in ("euclidean", "l2"):
        return 0
    return triangle_bytes(rows, kept_dtype(rows))


# ---- merging -------------------------------------------------------------------------------------


def merge_points(X: Array, weights: Array, linkage: str, metric: Any, progress: Progress) -> Merges:
    """The merges of distinct points, (n, d) in float64, by their weights."""
    n = len(X)
    check_spread(X)
    if metric not in ("euclidean", "l2"):
        return merge_triangle(_triangle_of(X, weights, metric), weights, linkage, progress)
    threads, until = thread_count(), deadline()
    if linkage == "single":
        return _advanced(spanning_tree(X), n, progress)
    if linkage in OF_MEANS:
        # A power of 4 keeps all digits, and its root those of the heights.
        unit = 4.0 ** np.ceil(np.log2(weights.max()) / 2)
        method = getattr(core.PointMethod, linkage)
        # Means of rows far from 0 would lose digits.
        near = X - X.mean(axis=0)
        found = core.point_linkage(method, near, weights / unit, threads, until)
        merges = _advanced(found, n, progress)
        if linkage == "ward":
            # Rounding may put a merge below one that it contains.
            heights = np.maximum.accumulate(merges.heights * np.sqrt(unit))
            return Merges(merges.pairs, heights)
        return merges
    method = getattr(core.MatrixMethod, linkage)
    triangle = empty_triangle(n, kept_dtype(n))
    merges = _advanced(
        core.filled_linkage(method, X, weights, triangle, threads, until), n, progress
    )
    if triangle.dtype == np.float64:
        return _sorted(merges)
    del triangle
    core.exact_heights(method, X, weights, merges.pairs, merges.heights, threads, until)
    return _sorted(merges)


def spanning_tree(X: Array) -> Any:
    """The spanning tree to be: by a kd-tree if that saves distances, else vertex by vertex.

    Both find the same edges.
    """
    threads, until = thread_count(), deadline()
    if X.shape[1] <= core.BoruvkaTree.most_columns:
        tree = core.boruvka_tree(X, threads, until)
        if tree.share_compared() <= MOST_COMPARED:
            return tree
    return core.spanning_tree(X, threads, until)


def merge_triangle(triangle: Array, weights: Array, linkage: str, progress: Progress) -> Merges:
    """The merges of rows whose distances are given, which are overwritten."""
    method = getattr(core.MatrixMethod, linkage)
    found = core.matrix_linkage(method, triangle, weights)
    return _sorted(_advanced(found, len(weights), progress))


def _advanced(linkage: Any, rows: int, progress: Progress) -> Merges:
    """All merges, in steps between which progress is shown."""
    merges = rows - 1
    step = max(merges // STEPS, 1000)
    while linkage.done < merges:
        check()
        linkage.advance(step, thread_count(), deadline())
        progress(linkage.done, merges)
    pairs, heights = np.empty((merges, 2), dtype=np.int64), np.empty(merges)
    linkage.take(pairs, heights)
    return Merges(pairs, heights)


def _sorted(merges: Merges) -> Merges:
    """By height: merges are made in another order.

    Heights that were measured again may differ within the error of float32 besides. A merge then
    takes the height of the highest one that it contains, and all are ordered by it; merges of
    equal height stay in their order, so that none comes before one that it contains.
    """
    heights = _at_least_those_within(merges)
    order = np.argsort(heights, kind="stable")
    return Merges(np.ascontiguousarray(merges.pairs[order]), heights[order])


def _at_least_those_within(merges: Merges) -> Array:
    heights = merges.heights.copy()
    if np.all(heights[1:] >= heights[:-1]):
        return heights
    # A cluster is named by the first of its rows, whose last merge is its own.
    reached: dict[int, float] = {}
    for t, (one, other) in enumerate(merges.pairs.tolist()):
        most = max(heights[t], reached.get(one, 0.0), reached.pop(other, 0.0))
        heights[t] = reached[one] = most
    return heights


# ---- distances -----------------------------------------------------------------------------------


def _triangle_of(X: Array, weights: Array, metric: Any) -> Array:
    """The distances of points by another metric, as the lower triangle of their matrix."""
    n = len(X)
    triangle = empty_triangle(n, kept_dtype(n))
    distances = Distances(metric, X, weights)
    if distances.is_of_table:
        return lower_triangle(distances.square(X), triangle)
    for rows in blocks(n, n):
        check()
        part = distances.to_earlier(X, rows)
        for i in range(rows.start, rows.stop):
            triangle[i * (i - 1) // 2 : i * (i + 1) // 2] = part[i - rows.start, :i]
    return triangle


def lower_triangle(matrix: Any, triangle: Array | None = None) -> Array:
    """The lower triangle of a square matrix, row by row."""
    matrix = np.asarray(matrix)
    n = len(matrix)
    triangle = empty_triangle(n, matrix.dtype) if triangle is None else triangle
    for i in range(n):
        triangle[i * (i - 1) // 2 : i * (i + 1) // 2] = matrix[i, :i]
    return triangle
