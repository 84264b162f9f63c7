"""Trees packed for prediction: one block of small nodes for a tree or a whole forest.

Every prediction by trees comes through here: which leaf a row reaches, and sums of leaf values over
trees, for dense rows in float32 or float64. The loops are in the core.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .. import _core
from ..interrupt import deadline
from ..threads import thread_count

Array = np.ndarray

# A sparse X becomes dense for so many entries at a time.
DENSE_ENTRIES = 1 << 22


@dataclass(frozen=True, eq=False)
class PackedTrees:
    """Trees as prediction needs them.

    Parameters
    ----------
    nodes : ndarray of int64, shape (nodes, 2)
        Sixteen bytes for each node of each tree, in preorder.
    start : ndarray of int64, shape (trees + 1,)
        Where the nodes of each tree begin.
    table : ndarray of float64, shape (rows, width)
        Values of the leaves that are not a single number or a single class.
    words : ndarray of uint32
        Bit sets of the categories that go left.
    numbers : ndarray of int64, shape (nodes,), or None
        What each packed node is called in its tree; None if its place there.
    """

    nodes: Array
    start: Array
    table: Array
    words: Array
    numbers: Array | None = None

    @classmethod
    def of(cls, trees: Sequence[Any]) -> PackedTrees:
        """Pack fitted trees, all with values of the same width."""
        orders = [_preorder(tree.children_left, tree.children_right) for tree in trees]
        is_ordered = all(order is None for order in orders)
        trees = [
            tree if order is None else _Reordered(tree, order) for tree, order in zip(trees, orders)
        ]
        values = [np.ascontiguousarray(t.value.reshape(len(t.value), -1)) for t in trees]
        lefts = [np.ascontiguousarray(t.children_left, dtype=np.int64) for t in trees]
        start = _offsets([len(left) for left in lefts])
        rows = _offsets([_core.tree_table_rows(*pair) for pair in zip(lefts, values)])
        first_word = _offsets([len(t.category_bits) for t in trees])
        packed = cls(
            nodes=np.empty((start[-1], 2), dtype=np.int64),
            start=start,
            table=np.empty((rows[-1], values[0].shape[1])),
            words=np.concatenate([np.asarray(t.category_bits, dtype=np.uint32) for t in trees]),
            numbers=None if is_ordered else np.concatenate(_numbers(orders, lefts)),
        )
        for k, tree in enumerate(trees):
            _core.pack_tree(
                np.ascontiguousarray(tree.feature, dtype=np.int64),
                np.ascontiguousarray(tree.threshold, dtype=np.float64),
                lefts[k],
                np.ascontiguousarray(tree.children_right, dtype=np.int64),
                np.ascontiguousarray(tree.missing_go_to_left, dtype=np.uint8),
                np.ascontiguousarray(tree.category_start, dtype=np.int64),
                values[k],
                int(rows[k]),
                int(first_word[k]),
                packed.nodes[start[k] : start[k + 1]],
                packed.table[rows[k] : rows[k + 1]],
            )
        return packed

    def __len__(self) -> int:
        return len(self.start) - 1

    def apply(self, X: Any) -> Array:
        """The leaf that each row reaches in each tree, (n, trees)."""
        out = np.empty((X.shape[0], len(self)), dtype=np.int64)
        for rows, part in _dense_parts(X):
            _core.tree_leaves(*self._arrays, part, out[rows], thread_count(), deadline())
        return out if self.numbers is None else self.numbers[out + self.start[:-1]]

    def sum(self, X: Any) -> Array:
        """The sum of the leaf values over the trees, (n, width)."""
        out = np.empty((X.shape[0], self.table.shape[1]))
        for rows, part in _dense_parts(X):
            _core.tree_sums(*self._arrays, part, None, out[rows], None, thread_count(), deadline())
        return out

    def sum_without(self, X: Any, is_left_out: Array) -> tuple[Array, Array]:
        """The same over the trees where `is_left_out` (trees, n) is False, and their number."""
        out = np.empty((X.shape[0], self.table.shape[1]))
        used = np.empty(X.shape[0], dtype=np.int64)
        for rows, part in _dense_parts(X):
            bits = np.packbits(is_left_out[:, rows], axis=1, bitorder="little")
            _core.tree_sums(
                *self._arrays, part, bits, out[rows], used[rows], thread_count(), deadline()
            )
        return out, used

    @property
    def _arrays(self) -> tuple[Array, Array, Array, Array]:
        return self.nodes, self.start, self.table, self.words


def _preorder(left: Array, right: Array) -> Array | None:
    """The nodes in the order in which packed nodes stand; None if they are."""
    inner = np.flatnonzero(left >= 0)
    if np.array_equal(left[inner], inner + 1):
        return None
    order, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        order.append(node)
        if left[node] >= 0:
            waiting += [int(right[node]), int(left[node])]
    return np.array(order)


def _numbers(orders: Sequence[Array | None], lefts: Sequence[Array]) -> list[Array]:
    return [np.arange(len(left)) if o is None else o for o, left in zip(orders, lefts)]


class _Reordered:
    """A tree with its nodes in another order."""

    def __init__(self, tree: Any, order: Array):
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        self.children_left, self.children_right = (
            np.where(child >= 0, place[child], -1)[order]
            for child in (tree.children_left, tree.children_right)
        )
        for name in ("feature", "threshold", "missing_go_to_left", "value"):
            setattr(self, name, getattr(tree, name)[order])
        start = tree.category_start
        parts = [tree.category_bits[start[node] : start[node + 1]] for node in order]
        self.category_start = _offsets([len(part) for part in parts])
        self.category_bits = np.concatenate(parts)


def _offsets(sizes: Sequence[int]) -> Array:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def _dense_parts(X: Any):
    """Pairs (rows, dense part of X); a sparse matrix comes in parts, since whole it may not fit."""
    if not sp.issparse(X):
        if not (X.flags.c_contiguous or X.flags.f_contiguous):
            X = np.ascontiguousarray(X)
        yield slice(None), X
        return
    X = X.tocsr()
    size = max(1, DENSE_ENTRIES // max(1, X.shape[1]))
    for first in range(0, X.shape[0], size):
        rows = slice(first, first + size)
        yield rows, X[rows].toarray()
