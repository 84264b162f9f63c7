"""What the nodes of packed trees ask about: columns, thresholds, sets of categories.

The thresholds that a column is compared with, in all trees together, are numbered in increasing
order. A node then needs the number of its threshold alone, and a row can be coded once for all
trees. src/core/packed_trees.hpp has the layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._ground import core as _core

Array = np.ndarray

# So many thresholds of a column can be told apart by 8 and by 16 bits: a code counts those below a
# value, and one code is for missing values.
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
        """What trees ask about, and the questions of the inner nodes of each."""
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
        # Of every feature of X, the first column that asks about it.
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
        """Of questions: feature, content, whether missing values go left, whether it is a set."""
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
        _core.rank_columns(x[None], place, distinct, count, 1, np.inf)
        rank[rows] = place[0]
        contents.append(distinct[0, : count[0]].copy())
    return features, contents, rank


def _code_bits(sizes: Array) -> int:
    if sizes.max(initial=0) <= ROOM[8]:
        return 8
    # What is left of 32 bits must do for the columns.
    return 16 if np.sum(-(-sizes // ROOM[16])) < 1 << 15 else 8


def _piece_sizes(sizes: Array, pieces: Array, room: int) -> Array:
    """How many contents each piece of each column has: all are full but the last ones."""
    each = np.full(int(pieces.sum()), room, dtype=np.int64)
    each[np.cumsum(pieces) - 1] = sizes - (pieces - 1) * room
    return each
