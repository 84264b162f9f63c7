"""The learners of a vote: the best of all decision stumps, or any classifier that takes weights.

A stump is a tree of one split, a `Tree` like every other. The weights change every round, so the
columns are sorted once; a search is then one pass of prefix sums over each column, in the core.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..._ground import core
from ..._ground.columns import Columns, for_prediction
from ..._ground.interrupt import deadline
from ..._ground.threads import thread_count
from ..trees import LARGEST_SEED, DecisionTreeClassifier, PackedTrees, Tree

Array = np.ndarray


class Question(NamedTuple):
    """The split of a stump: a small code, or a level among some."""

    column: int
    code: int
    above: int
    quality: float
    missing_left: bool
    levels: list[int]


@dataclass(frozen=True, eq=False)
class Stumps:
    """All stumps on some rows.

    Parameters
    ----------
    columns : Columns
        Numbers, and for two classes categories; values may be missing.
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
    search: core.StumpColumns

    @classmethod
    def of(cls, columns: Columns, rows: Array, y: Array, classes: int) -> Stumps:
        """Sort the columns."""
        search = core.StumpColumns(len(rows))
        for j in range(len(columns)):
            codes, count = columns.codes_of(j)[rows], int(columns.count[j])
            search.add(codes, count, bool(columns.is_category[j]))
        return cls(columns, rows, np.ascontiguousarray(y, dtype=np.int32), classes, search)

    def best(self, weights: Array) -> tuple[Tree, Array]:
        """The stump of least Gini impurity, and its predicted class for each row.

        The weights sum to 1.
        """
        left = np.zeros(self.classes)
        question = self._best(weights, False, left)
        all_rows = self._of_all(weights)
        if question.column < 0:  # all rows are equal
            tree = self._tree([all_rows], [len(self.y)])
            return tree, np.full(len(self.y), np.argmax(all_rows), dtype=np.int32)
        goes_left = self._goes_left(question)
        count = int(np.count_nonzero(goes_left))
        right = np.maximum(all_rows - left, 0.0)
        counts = [len(self.y), count, len(self.y) - count]
        if not self._has_missing(question.column):
            # Missing values in new rows go with the majority, as in every tree.
            question = question._replace(missing_left=2 * count > len(self.y))
        tree = self._tree([all_rows, left, right], counts, question)
        of_left, of_right = np.argmax([left, right], axis=1).astype(np.int32)
        return tree, np.where(goes_left, of_left, of_right)

    def largest_accuracy(self, weights: Array) -> float:
        """The weight of correctly classified rows, for the best of all stumps.

        A stump that predicts the same on both sides is one of them.
        """
        constant = float(self._of_all(weights).max())
        question = self._best(weights, True, np.zeros(self.classes))
        return constant if question.column < 0 else max(constant, question.quality)

    def _of_all(self, weights: Array) -> Array:
        """The weight of each class."""
        return np.bincount(self.y, weights, self.classes)

    def _best(self, weights: Array, by_accuracy: bool, left: Array) -> Question:
        """The best split; `left` receives the class weights of the rows that go left."""
        found = self.search.best(weights, self.y, by_accuracy, left, thread_count(), deadline())
        return Question(*found)

    def _codes(self, column: int) -> Array:
        return self.columns.codes_of(column)[self.rows]

    def _has_missing(self, column: int) -> bool:
        """Whether a value of these rows is missing."""
        if not self.columns.has_missing[column]:
            return False
        return bool(np.any(self._codes(column) == self.columns.count[column]))

    def _goes_left(self, question: Question) -> Array:
        """Which rows go left."""
        codes = self._codes(question.column)
        if self.columns.is_category[question.column]:
            is_left = np.isin(codes, question.levels)
        else:
            is_left = codes <= question.code
        if not self.columns.has_missing[question.column]:
            return is_left
        return np.where(
            codes == self.columns.count[question.column], question.missing_left, is_left
        )

    def _threshold(self, question: Question) -> float:
        """Halfway between two neighbouring values; NaN for categories."""
        if self.columns.is_category[question.column]:
            return np.nan
        if question.above < 0:  # all values against the missing ones
            return np.inf
        first = self.columns.values_begin[question.column]
        low = self.columns.highest[first + question.code]
        high = self.columns.lowest[first + question.above]
        middle = low / 2 + high / 2
        return float(middle if middle < high else low)

    def _words(self, question: Question) -> Array:
        """The bits of the levels that go left; levels without rows go with the missing ones."""
        if not self.columns.is_category[question.column]:
            return np.zeros(0, dtype=np.uint32)
        count = int(self.columns.count[question.column])
        bits = np.zeros((count // 32 + 1) * 32, dtype=np.uint8)
        if question.missing_left:
            bits[:count] = 1
            bits[self._codes(question.column)] = 0
            bits[count:] = 0
        bits[question.levels] = 1
        return np.packbits(bits, bitorder="little").view(np.uint32)

    def _tree(
        self, weights: list[Array], counts: list[int], question: Question | None = None
    ) -> Tree:
        """A leaf, or a node with two leaves, with these class weights."""
        of_class, leaf = np.array(weights), np.full(len(weights), -1)
        total = of_class.sum(axis=1)
        shares = of_class / np.where(total > 0, total, 1.0)[:, None]
        left, right, missing_left = leaf, leaf, np.zeros(len(weights), dtype=np.uint8)
        feature, threshold = np.full(len(weights), -2), np.full(len(weights), -2.0)
        words = np.zeros(0, dtype=np.uint32)
        if question is not None:
            left, right = np.array([1, -1, -1]), np.array([2, -1, -1])
            feature[0], threshold[0] = question.column, self._threshold(question)
            missing_left[0], words = question.missing_left, self._words(question)
        return Tree(
            n_features=len(self.columns),
            children_left=left,
            children_right=right,
            feature=feature,
            threshold=threshold,
            missing_go_to_left=missing_left,
            impurity=1 - np.sum(shares**2, axis=1),
            n_node_samples=np.array(counts),
            weighted_n_node_samples=total,
            value=shares[:, None, :],
            category_start=np.array([0] + [len(words)] * len(weights), dtype=np.int64),
            category_bits=words,
            n_classes=np.array([self.classes]),
        )


# ---- learners of a vote --------------------------------------------------------------------------
#
# Each is called with the weights of the distinct rows, and returns a fitted classifier and the
# class that it predicts for each of these rows.

SEED = "random_state"


@dataclass(frozen=True, eq=False)
class AnyLearner:
    """A classifier that is fitted again in each round.

    Parameters
    ----------
    make : callable
        Makes a new one, with seeds of its own.
    X, labels : array-like
        The distinct rows and their classes.
    classes : ndarray of shape (K,)
        All classes.
    """

    make: Callable[[], Any]
    X: Any
    labels: Array
    classes: Array

    def __call__(self, weights: Array) -> tuple[Any, Array]:
        """Fit one, and predict its training rows."""
        learner = self.make().fit(self.X, self.labels, sample_weight=weights)
        return learner, np.argmax(votes_of(learner, self.X, self.classes), axis=1).astype(np.int32)


@dataclass(frozen=True, eq=False)
class StumpLearner:
    """The stump of the least impurity, found by one pass over sorted columns.

    Parameters
    ----------
    plain : DecisionTreeClassifier
        A stump without a tree.
    stumps : Stumps
        All of them.
    classes : ndarray of shape (K,)
        All classes.
    random_state : RandomState
        Where the seeds of the stumps come from. They draw nothing, but say so as other learners do.
    names : ndarray or None, default=None
        Names of the columns of a table with categories, which stumps read as a table.
    """

    plain: DecisionTreeClassifier
    stumps: Stumps
    classes: Array
    random_state: np.random.RandomState
    names: Array | None = None

    def __call__(self, weights: Array) -> tuple[Any, Array]:
        """Find the best, and make it a classifier."""
        tree, predicted = self.stumps.best(weights)
        learner = copy.copy(self.plain)  # a tenth of the time of `clone`
        learner.__dict__.update(self._shared)
        learner.tree_ = tree
        learner.random_state = self.random_state.randint(LARGEST_SEED)
        return learner, predicted

    @cached_property
    def _shared(self) -> dict[str, Any]:
        """What a fit learns besides the tree."""
        features = len(self.stumps.columns)
        named = {} if self.names is None else {"feature_names_in_": self.names}
        return named | {
            "columns_": for_prediction(self.stumps.columns),
            "classes_": self.classes,
            "n_classes_": len(self.classes),
            "n_features_in_": features,
            "n_outputs_": 1,
            "max_features_": features,
        }


def is_plain_stump(learner: Any) -> bool:
    """Whether a learner is our decision tree of depth 1 with nothing else set except a seed."""
    if type(learner) is not DecisionTreeClassifier:
        return False
    own, plain = learner.get_params(), DecisionTreeClassifier(max_depth=1).get_params()
    return all(type(own[k]) is type(plain[k]) and own[k] == plain[k] for k in own if k != SEED)


def votes_of(learner: Any, X: Any, classes: Array) -> Array:
    """The class that a learner predicts for each row, one-hot (n, K)."""
    return np.asarray(learner.predict(X))[:, None] == classes


def votes_of_trees(learners: Sequence[Any], votes: Array, X: Any, classes: Array) -> Array | None:
    """Σ of the votes for each class, (n, K), by one walk down all trees; None for other learners.

    Parameters
    ----------
    learners : sequence of classifiers
        Fitted to the same columns.
    votes : ndarray
        The weight of each.
    X : array-like
        Rows.
    classes : ndarray of shape (K,)
        All classes.
    """
    if not all(
        type(one) is DecisionTreeClassifier and np.array_equal(one.classes_, classes)
        for one in learners
    ):
        return None
    trees = []
    for learner, vote in zip(learners, votes):
        value = learner.tree_.value[:, 0]
        one_hot = np.zeros_like(value)
        one_hot[np.arange(len(value)), np.argmax(value, axis=1)] = vote
        trees.append(replace(learner.tree_, value=one_hot[:, None, :]))
    return PackedTrees.of(trees).sum(learners[0]._read_rows(X))
