"""Decision stumps, trees of one question: the best of all, for weights that change every round.

The columns are put in order once; a search is then one pass of prefix sums over each column, in the
core. A stump is a `Tree` like every other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import _core
from ..interrupt import deadline
from ..threads import thread_count
from ..trees.columns import Columns
from ..trees.tree import Tree

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Stumps:
    """All stumps on some rows.

    Parameters
    ----------
    columns : Columns
        Numbers, none of them missing.
    rows : ndarray of int, shape (n,)
        The rows of the columns that are there.
    y : ndarray of int32, shape (n,)
        Their classes 0 … classes − 1.
    classes : int
        How many there are.
    search : StumpColumns
        The columns in order, as the core has them.
    """

    columns: Columns
    rows: Array
    y: Array
    classes: int
    search: _core.StumpColumns

    @classmethod
    def of(cls, columns: Columns, rows: Array, y: Array, classes: int) -> Stumps:
        """Put the columns in order."""
        search = _core.StumpColumns(len(rows))
        for j in range(len(columns)):
            search.add(columns.codes_of(j)[rows], int(columns.count[j]))
        return cls(columns, rows, np.ascontiguousarray(y, dtype=np.int32), classes, search)

    def best(self, weights: Array) -> tuple[Tree, Array]:
        """The stump of the least Gini impurity, and the class that it predicts for each row.

        The weights sum to 1.
        """
        left = np.zeros(self.classes)
        column, code, above, _ = self._best(weights, False, left)
        all_rows = self._of_all(weights)
        if column < 0:  # all rows are equal
            tree = self._tree([all_rows], [len(self.y)])
            return tree, np.full(len(self.y), np.argmax(all_rows), dtype=np.int32)
        goes_right = self.columns.codes_of(column)[self.rows] > code
        count = int(np.count_nonzero(goes_right))
        right = np.maximum(all_rows - left, 0.0)
        tree = self._tree(
            [all_rows, left, right],
            [len(self.y), len(self.y) - count, count],
            column,
            self._threshold(column, code, above),
        )
        said = np.argmax([left, right], axis=1).astype(np.int32)
        return tree, np.where(goes_right, said[1], said[0])

    def largest_accuracy(self, weights: Array) -> float:
        """The weight of the rows that are right, for the best of all stumps.

        A stump that says the same on both sides is one of them.
        """
        constant = float(self._of_all(weights).max())
        column, _, _, accuracy = self._best(weights, True, np.zeros(self.classes))
        return constant if column < 0 else max(constant, accuracy)

    def _of_all(self, weights: Array) -> Array:
        """The weight of each class."""
        return np.bincount(self.y, weights, self.classes)

    def _best(self, weights: Array, by_accuracy: bool, left: Array) -> tuple[int, int, int, float]:
        """Column, code, next code and quality of the best split; `left` takes its class weights."""
        return self.search.best(weights, self.y, by_accuracy, left, thread_count(), deadline())

    def _threshold(self, column: int, code: int, above: int) -> float:
        """Half way between two values that are next to each other."""
        first = self.columns.values_begin[column]
        low, high = self.columns.highest[first + code], self.columns.lowest[first + above]
        middle = low / 2 + high / 2
        return float(middle if middle < high else low)

    def _tree(
        self, weights: list[Array], counts: list[int], column: int = -2, threshold: float = -2.0
    ) -> Tree:
        """A leaf, or a node with two leaves, whose classes have these weights."""
        of_class = np.array(weights)
        total = of_class.sum(axis=1)
        shares = of_class / np.where(total > 0, total, 1.0)[:, None]
        leaf = np.full(len(weights), -1)
        is_leaf = len(weights) == 1
        return Tree(
            n_features=len(self.columns),
            children_left=leaf if is_leaf else np.array([1, -1, -1]),
            children_right=leaf if is_leaf else np.array([2, -1, -1]),
            feature=np.array([column, -2, -2][: len(weights)]),
            threshold=np.array([threshold, -2.0, -2.0][: len(weights)]),
            missing_go_to_left=np.zeros(len(weights), dtype=np.uint8),
            impurity=1 - np.sum(shares**2, axis=1),
            n_node_samples=np.array(counts),
            weighted_n_node_samples=total,
            value=shares[:, None, :],
            category_start=np.zeros(len(weights) + 1, dtype=np.int64),
            category_bits=np.zeros(0, dtype=np.uint32),
            n_classes=np.array([self.classes]),
        )
