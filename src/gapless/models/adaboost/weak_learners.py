"""The learners of a vote: any classifier that takes weights, or the best of all stumps.

Each is called with the weights of the distinct rows, and returns a fitted classifier and the class
that it predicts for each of these rows.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..._ground.columns import for_prediction
from ..trees import DecisionTreeClassifier, PackedTrees
from .stumps import Stumps

Array = np.ndarray

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
        """Fit one, and ask it about its own rows."""
        learner = self.make().fit(self.X, self.labels, sample_weight=weights)
        return learner, np.argmax(said(learner, self.X, self.classes), axis=1).astype(np.int32)


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
        learner.random_state = self.random_state.randint(np.iinfo(np.int32).max)
        return learner, predicted

    @cached_property
    def _shared(self) -> dict[str, Any]:
        """What a fit learns beside the tree."""
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
    """Whether a learner is our decision tree of depth 1, with nothing else set but a seed."""
    if type(learner) is not DecisionTreeClassifier:
        return False
    own, plain = learner.get_params(), DecisionTreeClassifier(max_depth=1).get_params()
    return all(type(own[k]) is type(plain[k]) and own[k] == plain[k] for k in own if k != SEED)


def said(learner: Any, X: Any, classes: Array) -> Array:
    """Which class a learner predicts for each row, (n, K)."""
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
