"""Trees packed into small nodes: how forests are stored, and how all trees predict.

Every prediction by trees comes through here: which leaf a row reaches, and sums of leaf values over
trees, for dense rows in float32 or float64. The loops are in the core;
src/core/trees/packed_trees.hpp describes a node.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._ground import core
from ..._ground.interrupt import deadline
from ..._ground.shapley import Game
from ..._ground.threads import map_in_threads, thread_count

Array = np.ndarray

# A sparse X becomes dense for this many entries at a time.
DENSE_ENTRIES = 1 << 22


@dataclass(frozen=True, eq=False)
class PackedTrees:
    """Trees as prediction needs them.

    Parameters
    ----------
    nodes : ndarray of uint32, shape (nodes, 2)
        Eight bytes for each node of each tree, in preorder.
    start : ndarray of int64, shape (trees + 1,)
        Where the nodes of each tree begin.
    table : ndarray of float64, shape (rows, width)
        Values of leaves. With several numbers every value is stored once, single classes first.
    asked : AskedColumns
        What the nodes split on.
    numbers : ndarray of int32, shape (nodes,), or None
        What each packed node is called in its tree; None if its place there.
    groups : int
        Sums are over every `groups`-th tree: as many sums as there are scores of a row.
    """

    nodes: Array
    start: Array
    table: Array
    asked: AskedColumns
    numbers: Array | None = None
    groups: int = 1

    @classmethod
    def of(cls, trees: Sequence[Any], groups: int = 1) -> PackedTrees:
        """Pack fitted trees, all with values of the same width."""
        orders = [_preorder(tree.children_left, tree.children_right) for tree in trees]
        are_ordered = all(order is None for order in orders)
        trees = [
            tree if order is None else Reordered(tree, order) for tree, order in zip(trees, orders)
        ]
        start = offsets([len(tree.children_left) for tree in trees])
        nodes = np.empty((start[-1], 2), dtype=np.uint32)
        asked, questions = AskedColumns.of(trees)
        table, places = _table(trees)

        def pack(t: int) -> None:
            tree = trees[t]
            part = nodes[start[t] : start[t + 1]]
            # The columns of another library's trees may be interleaved.
            right, rows = (
                np.ascontiguousarray(each, dtype=np.int64)
                for each in (tree.children_right, tree.n_node_samples)
            )
            core.pack_tree(right, rows, questions[t], places[t], part)

        map_in_threads(pack, range(len(trees)), len(nodes))
        return cls(
            nodes=nodes,
            start=start,
            table=table,
            asked=asked,
            numbers=None if are_ordered else _numbers(orders, trees),
            groups=groups,
        )

    def __len__(self) -> int:
        return len(self.start) - 1

    def part(self, among: slice) -> PackedTrees:
        """Some trees, one after another in the same memory."""
        first, last, _ = among.indices(len(self))
        start = self.start[first : last + 1]
        nodes = slice(start[0], start[-1])
        numbers = None if self.numbers is None else self.numbers[nodes]
        return replace(self, nodes=self.nodes[nodes], start=start - start[0], numbers=numbers)

    def apply(self, X: Any) -> Array:
        """The leaf that each row reaches in each tree, (n, trees)."""
        out = np.empty((X.shape[0], len(self)), dtype=np.int64)
        for rows, part in _dense_parts(X):
            core.tree_leaves(self._arguments, part, out[rows], thread_count(), deadline())
        return out if self.numbers is None else self.numbers[out + self.start[:-1]].astype(int)

    def sum(self, X: Any) -> Array:
        """The sum of the leaf values over the trees of each group, (n, groups · width)."""
        out = np.empty((X.shape[0], self._width))
        for rows, part in _dense_parts(X):
            core.tree_sums(self._arguments, part, None, out[rows], None, thread_count(), deadline())
        return out

    def sum_without(self, X: Any, is_left_out: Array) -> tuple[Array, Array]:
        """The same over the trees where `is_left_out` (trees, n) is False, and their number."""
        out = np.empty((X.shape[0], self._width))
        used = np.empty(X.shape[0], dtype=np.int64)
        for rows, part in _dense_parts(X):
            bits = np.packbits(is_left_out[:, rows], axis=1, bitorder="little")
            core.tree_sums(
                self._arguments, part, bits, out[rows], used[rows], thread_count(), deadline()
            )
        return out, used

    def shapley(self, X: Any, game: Game) -> Array:
        """The Shapley values of the players in the sums, (n, players, groups · width)."""
        out = np.zeros((X.shape[0], game.player_count * self._width))
        for rows, part in _dense_parts(X):
            core.tree_shapley(
                self._arguments,
                part,
                game.background,
                game.shares,
                game.players,
                game.player_count,
                out[rows],
                thread_count(),
                deadline(),
            )
        return out.reshape(len(out), game.player_count, self._width)

    @property
    def nbytes(self) -> int:
        """The memory that the trees take."""
        own = (self.nodes, self.start, self.table, self.numbers)
        return sum(a.nbytes for a in own if a is not None) + self.asked.nbytes

    @property
    def _width(self) -> int:
        return self.table.shape[1] * self.groups

    @property
    def _arguments(self) -> tuple:
        return (self.nodes, self.start, self.table, self.groups, *self.asked.arguments)


def _preorder(left: Array, right: Array) -> Array | None:
    """The nodes in the order of packed nodes; None if they already are."""
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


def _numbers(orders: Sequence[Array | None], trees: Sequence[Any]) -> Array:
    parts = [
        np.arange(len(tree.children_left)) if order is None else order
        for order, tree in zip(orders, trees)
    ]
    return np.concatenate(parts).astype(np.int32)


def _table(trees: Sequence[Any]) -> tuple[Array, list[Array]]:
    """Values of leaves, and for each tree the table rows of its leaves."""
    size = sum(tree.value.size for tree in trees)
    values = map_in_threads(_of_leaves, trees, size)
    width = values[0].shape[1]
    if width == 1:
        sizes = offsets([len(each) for each in values])
        places = [np.arange(*sizes[t : t + 2], dtype=np.int32) for t in range(len(trees))]
        return np.concatenate(values), places
    each = map_in_threads(_distinct, values, size)
    table, number = _distinct(np.concatenate([np.eye(width), *(rows for rows, _ in each)]))
    begin = offsets([width, *(len(rows) for rows, _ in each)])
    return table, [number[begin[t + 1] :][of_tree] for t, (_, of_tree) in enumerate(each)]


def _of_leaves(tree: Any) -> Array:
    return tree.value.reshape(len(tree.value), -1)[tree.children_left < 0]


def _distinct(values: Array) -> tuple[Array, Array]:
    """The rows that differ from all before them, and which of these each row is."""
    number = np.empty(len(values), dtype=np.int32)
    first = np.empty(len(values), dtype=np.int64)
    count = core.number_rows(values, number, first)
    return values[first[:count]], number


class Reordered:
    """A tree with its nodes in another order, given by `order`."""

    def __init__(self, tree: Any, order: Array):
        place = np.empty(len(order), dtype=np.int64)
        place[order] = np.arange(len(order))
        self.children_left, self.children_right = (
            np.where(child >= 0, place[child], -1)[order]
            for child in (tree.children_left, tree.children_right)
        )
        for name in ("feature", "threshold", "missing_go_to_left", "value", "n_node_samples"):
            setattr(self, name, getattr(tree, name)[order])
        start = tree.category_start
        parts = [tree.category_bits[start[node] : start[node + 1]] for node in order]
        self.category_start = offsets([len(part) for part in parts])
        self.category_bits = np.concatenate(parts)


def _dense_parts(X: Any) -> Iterator[tuple[slice, Array]]:
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


# ---- what the nodes split on ---------------------------------------------------------------------
#
# The thresholds of a column, in all trees together, are numbered in increasing order. A node then
# needs only the number of its threshold, and a row can be coded once for all trees.

# The number of thresholds of a column that 8 and 16 bits can distinguish: a code counts those below
# a value, and one code is for missing values.
ROOM = {8: 254, 16: 65_534}


@dataclass(frozen=True, eq=False)
class AskedColumns:
    """Columns with their thresholds or sets of categories.

    Parameters
    ----------
    feature : ndarray of int32, shape (asked,)
        The column of X; one with more thresholds than codes is there several times.
    first : ndarray of int64, shape (asked + 1,)
        Where the contents of each begin.
    is_category : ndarray of uint8, shape (asked,)
        Whether contents are numbers of sets.
    content : ndarray of float64
        Thresholds in increasing order, or numbers of sets.
    set_start : ndarray of int64, shape (sets + 1,)
        Where the words of each set begin.
    words : ndarray of uint32
        Bit v % 32 of word v // 32 of a set says that level v goes left.
    code_bits : int
        8 or 16.
    """

    feature: Array
    first: Array
    is_category: Array
    content: Array
    set_start: Array
    words: Array
    code_bits: int

    @classmethod
    def of(cls, trees: Sequence[Any]) -> tuple[AskedColumns, list[Array]]:
        """What trees split on, and the questions of the inner nodes of each."""
        inner = [np.flatnonzero(tree.children_left >= 0) for tree in trees]
        feature = _of_all(trees, inner, "feature").astype(np.int32)
        content = _of_all(trees, inner, "threshold").astype(np.float64)
        missing = _of_all(trees, inner, "missing_go_to_left").astype(np.uint32)
        words = np.concatenate([np.diff(t.category_start)[at] for t, at in zip(trees, inner)])
        is_set = words > 0
        content[is_set] = np.arange(np.sum(is_set))
        features, contents, rank = _ranked(feature, content, is_set)
        sizes = np.array([len(each) for each in contents], dtype=np.int64)
        code_bits = _code_bits(sizes)
        room = ROOM[code_bits]
        pieces = -(-sizes // room)
        # For every feature of X, the first column that splits on it.
        first = np.zeros(features.max(initial=0) + 1, dtype=np.uint32)
        first[features] = offsets(pieces)[:-1]
        column = first[feature] + rank // room
        question = (column << 1 | missing) << code_bits | (rank % room + missing)
        asked = cls(
            feature=np.repeat(features, pieces).astype(np.int32),
            first=offsets(_piece_sizes(sizes, pieces, room)),
            is_category=np.repeat(np.isin(features, feature[is_set]), pieces).astype(np.uint8),
            content=np.concatenate([*contents, np.zeros(0)]),
            set_start=offsets(words[is_set]),
            words=np.concatenate([tree.category_bits for tree in trees]).astype(np.uint32),
            code_bits=code_bits,
        )
        return asked, np.split(question, np.cumsum([len(at) for at in inner])[:-1])

    def read(self, question: Array) -> tuple[Array, Array, Array, Array]:
        """For questions: feature, content, whether missing values go left, whether it is a set."""
        column = question >> (self.code_bits + 1)
        missing = question >> self.code_bits & 1
        code = (question & ((1 << self.code_bits) - 1)) - missing
        content = self.content[self.first[column] + code]
        return self.feature[column], content, missing, self.is_category[column] > 0

    @property
    def nbytes(self) -> int:
        """The memory that they take."""
        return sum(a.nbytes for a in self.arguments[:-1])

    @property
    def arguments(self) -> tuple:
        """As the core takes them."""
        return (
            self.feature,
            self.first,
            self.is_category,
            self.content,
            self.set_start,
            self.words,
            self.code_bits,
        )


def offsets(sizes: Sequence[int] | Array) -> Array:
    """Where parts of these sizes begin, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def _of_all(trees: Sequence[Any], nodes: Sequence[Array], name: str) -> Array:
    return np.concatenate([getattr(tree, name)[at] for tree, at in zip(trees, nodes)])


def _ranked(feature: Array, content: Array, is_set: Array) -> tuple[Array, list[Array], Array]:
    """The features, the distinct contents of each, and the place of every content among them."""
    narrow = feature.astype(np.uint16) if feature.max(initial=0) < 1 << 16 else feature
    order = np.argsort(narrow, kind="stable")
    ordered = narrow[order]
    begin = np.flatnonzero(np.diff(ordered, prepend=-1))
    features = ordered[begin].astype(np.int64)
    rank = np.empty(len(feature), dtype=np.uint32)
    contents = []
    for rows in np.split(order, begin[1:]) if len(features) else []:
        x = content[rows]
        if is_set[rows[0]]:
            rank[rows] = np.arange(len(rows))
            contents.append(x)
            continue
        place, distinct = np.empty((1, len(x)), np.uint32), np.empty((1, len(x)))
        count = np.empty(1, dtype=np.int64)
        core.rank_columns(x[None], place, distinct, count, 1, np.inf)
        rank[rows] = place[0]
        contents.append(distinct[0, : count[0]].copy())
    return features, contents, rank


def _code_bits(sizes: Array) -> int:
    if sizes.max(initial=0) <= ROOM[8]:
        return 8
    # The rest of the 32 bits must be enough for the columns.
    return 16 if np.sum(-(-sizes // ROOM[16])) < 1 << 15 else 8


def _piece_sizes(sizes: Array, pieces: Array, room: int) -> Array:
    """How many contents each piece of each column has: all are full except the last ones."""
    each = np.full(int(pieces.sum()), room, dtype=np.int64)
    each[np.cumsum(pieces) - 1] = sizes - (pieces - 1) * room
    return each
