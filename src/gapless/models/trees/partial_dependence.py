"""Means of trees over rows when some columns are set to given values, without predicting any row.

A row with other values in some columns reaches a leaf if the row itself passes the splits on all
other columns on the way there, and the values pass those on the columns that are set. So the mean
of a tree over rows is, at each point,

    Σ_leaves value · (share of rows that pass) · (whether the point passes),

the partial dependence of Friedman (2001, section 8.2) with the given rows in place of the training
rows. It costs rows · nodes + points · leaves, while one prediction for each row at each point costs
rows · points · depth.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .tree import Tree

Array = np.ndarray


def mean_over_rows(
    trees: Iterable[Tree], F: Array, weights: Array, columns: Sequence[int], points: Sequence[Array]
) -> Array:
    """The sum of the trees, on average over rows whose columns are set to each point of a grid.

    Parameters
    ----------
    trees : iterable of Tree
        Trees of the same outputs.
    F : ndarray of shape (n, d)
        The rows as trees take them: categories as level numbers, NaN for missing values.
    weights : ndarray of shape (n,)
        How much each row counts.
    columns : sequence of one or two int
        The columns that are set.
    points : sequence of ndarray
        The values of each of them, (m,) or (m,) and (k,); the grid has all pairs.

    Returns
    -------
    ndarray of shape (m, values of a leaf) or (m, k, values of a leaf)
    """
    shares = weights / weights.sum()
    parts = (part for tree in trees for part in _leaf_parts(tree, F, shares, columns, points))
    grid: Array = np.zeros((*map(len, points), 1))
    for part in parts:
        grid = grid + part
    return grid


def mean_of_model(
    read: Callable[[Any], Any],
    trees: Iterable[Tree],
    X: Any,
    weights: Array,
    columns: Sequence[int],
    donors: Sequence[Any],
) -> Array | None:
    """The same for a model's own input rows; None if they are sparse.

    `read` turns such rows into those that trees take, and the rows of `donors` have, in the column
    that is set, the values it is set to.
    """
    F = read(X)
    if sp.issparse(F):
        return None
    points = [np.asarray(read(own))[:, column] for column, own in zip(columns, donors)]
    return mean_over_rows(trees, np.asarray(F), weights, columns, points)


@dataclass(frozen=True)
class _Level:
    """Nodes of one depth, the rows that pass all splits on the way there, and the values."""

    nodes: Array
    rows: Array
    values: list[Array]

    def where(self, kept: Array) -> _Level:
        return _Level(self.nodes[kept], self.rows[kept], [each[kept] for each in self.values])

    def joined(self, other: _Level) -> _Level:
        both = zip(self.values, other.values)
        return _Level(
            np.concatenate([self.nodes, other.nodes]),
            np.concatenate([self.rows, other.rows]),
            [np.concatenate(pair) for pair in both],
        )


def _leaf_parts(
    tree: Tree, F: Array, shares: Array, columns: Sequence[int], points: Sequence[Array]
) -> Iterable[Array]:
    """What the leaves of each depth add to the grid; nodes that no row can reach are left out."""
    by_column = np.ascontiguousarray(F.T)
    value = tree.value.reshape(tree.node_count, -1)
    level = _Level(
        np.zeros(1, dtype=np.int64),
        np.ones((1, len(F)), dtype=bool),
        [np.ones((1, len(each)), dtype=bool) for each in points],
    )
    while len(level.nodes):
        is_leaf = tree.children_left[level.nodes] == tree.TREE_LEAF
        leaves = level.where(is_leaf)
        passing = (leaves.rows @ shares)[:, None] * value[leaves.nodes]
        first, *second = (each.astype(np.float64) for each in leaves.values)
        if second:
            # One product of matrices for each value of a leaf.
            each = [(first * part[:, None]).T @ second[0] for part in passing.T]
            yield np.stack(each, axis=-1)
        else:
            yield first.T @ passing
        level = _below(tree, level.where(~is_leaf), by_column, columns, points)


def _below(
    tree: Tree, level: _Level, by_column: Array, columns: Sequence[int], points: Sequence[Array]
) -> _Level:
    """The children of inner nodes."""
    sides = []
    asked = tree.feature[level.nodes]
    goes_left = _goes_left(tree, level.nodes, by_column[asked])
    for children, is_left in ((tree.children_left, True), (tree.children_right, False)):
        rows = level.rows & (goes_left == is_left)
        values = []
        for column, own, point in zip(columns, level.values, points):
            is_set = asked == column
            rows[is_set] = level.rows[is_set]
            found = own.copy()
            passes = _goes_left(tree, level.nodes[is_set], point[None, :])
            found[is_set] &= passes == is_left
            values.append(found)
        sides.append(_Level(children[level.nodes], rows, values))
    both = sides[0].joined(sides[1])
    reached = np.asarray(both.rows.any(axis=1))
    for each in both.values:
        reached &= each.any(axis=1)
    return both.where(reached)


def _goes_left(tree: Tree, nodes: Array, values: Array) -> Array:
    """Whether each of some values goes left, (nodes, values); one row of values may be for all."""
    is_missing = np.isnan(values)
    left = values <= tree.threshold[nodes][:, None]
    start, end = tree.category_start[nodes], tree.category_start[nodes + 1]
    has_set = end > start
    if has_set.any():
        of_sets = values if len(values) == 1 else values[has_set]
        level = np.where(np.isnan(of_sets), -1, of_sets).astype(np.int64)
        word = start[has_set][:, None] + (level >> 5)
        # A level beyond the words of its set goes right, as one that is not in the set.
        is_there = (level >= 0) & (word < end[has_set][:, None])
        bits = tree.category_bits[np.where(is_there, word, 0)] >> (level & 31).astype(np.uint32)
        left[has_set] = is_there & (bits & 1).astype(bool)
    return np.where(is_missing, tree.missing_go_to_left[nodes][:, None].astype(bool), left)
