"""How trees are regrown: without some rows, and with less or more freedom.

The first predicts rows that a tree has not seen, the second is what its verdict compares it with.
Forests, boosting and bagging request the same changes of their trees.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..._ground.design import Design
from ..._ground.interrupt import TimeLimit
from ...unseen import ChangeDial, Changes, Dial, OnlyRefittable, changing
from .growing import row_count

Array = np.ndarray
# Leaves grow by this factor with each step; none is larger than this part of the rows.
LARGER, LARGEST_PART = 3, 0.25
# The levels seen in each column of categories.
Levels = dict[int, Array]


class TreeFit(OnlyRefittable):
    """A tree, or several, and how to grow it again on some of the rows.

    Parameters
    ----------
    estimator : TreeModel
        The fitted model; `_grow(data, rows)` does all of a fit again that depends on targets, the
        choice of ccp_alpha and the pruning included.
    data : TreeData
        The data of the fit. Codes of columns are kept: they do not depend on the targets.
    """

    reason = "trees must be regrown"

    def __init__(self, estimator: Any, data: Any):
        outputs = data.outputs
        self.estimator, self.data = estimator, data
        self.has_classes = data.has_classes
        super().__init__(Design(data.F), outputs.as_given, outputs.sample_weight)

    @property
    def targets(self) -> Array:
        """Positions of the classes, of all outputs together; or numbers."""
        if not self.has_classes:
            return self.y
        y, widths = self.data.outputs.y.astype(int), self.data.widths
        return np.ravel_multi_index(tuple(y.T), widths) if len(widths) > 1 else y[:, 0]

    @property
    def outputs(self) -> int:
        """How many numbers a leaf predicts."""
        return sum(self.data.widths)

    @property
    def fit_weights(self) -> Array:
        """How much each row counts in the fit."""
        return self.data.outputs.weights

    @cached_property
    def is_counted(self) -> Array:
        """Which rows have any weight, in the fit and in the score."""
        return (self.weights > 0) & (self.fit_weights > 0)

    @cached_property
    def labels(self) -> Array:
        """Numbers of the rows (x, y), the same for equal ones, by content."""
        return self.data.labels

    @cached_property
    def units(self) -> Array:
        """The units to leave out: all rows of the same x.

        A deep enough tree separates the rows of one x from all others. Without those of one class
        it would predict the other, and be blamed for it.
        """
        return self.data.units(np.flatnonzero(self.is_counted))

    @property
    def model(self):
        """The tree of the fit."""
        return self._predictor(self.estimator.tree_)

    def fit_to(self, rows):
        """A tree of some rows alone."""
        grown = self.estimator._grow(self.data, rows)
        if grown.stopped == "interrupted":
            raise KeyboardInterrupt
        if grown.stopped:
            raise TimeLimit
        seen = _levels_in(self.data, rows)
        return self._predictor(grown.tree, seen)

    def _predictor(self, tree: Any, seen: Levels | None = None):
        """A tree's predictions for rows; levels that it has not `seen` count as missing."""
        return lambda design: self.estimator._leaf_values(tree, _without_unseen(design.X, seen))

    def simpler(self):
        """Larger leaves, or less depth."""
        depth = int(self.estimator.tree_.max_depth)
        parameters = self.estimator.get_params(deep=False)
        return [
            self._dial(larger_leaves(parameters, float(self.weights.sum()))),
            self._dial(lower(depth)),
        ]

    def richer(self):
        """Weaker growth limits."""
        parameters, price = self.estimator.get_params(deep=False), self.estimator._price()
        return [self._dial(fewer_limits(parameters, float(self.weights.sum()), price))]

    def _dial(self, changes: ChangeDial) -> Dial:
        """Trees with other parameters; a chosen price stays."""
        price = {"ccp_alpha": self.estimator._price()} if self.estimator._price() > 0 else {}
        return changing(changes, lambda new: _Regrown(self.estimator._at(**price | new), self.data))


class _Regrown(TreeFit):
    """A tree with another parameter, not grown yet."""

    @cached_property
    def model(self):
        """The tree of all rows."""
        return self.fit_to(np.flatnonzero(self.is_counted))


def _levels_in(data: Any, rows: Array) -> Levels:
    """The levels of each column of categories that occur in some rows."""
    columns = np.flatnonzero(data.columns.is_category).tolist()
    return {j: np.unique(data.F[rows, j]) for j in columns}


def _without_unseen(F: Any, seen: Levels | None) -> Any:
    """Rows with NaN in place of levels that are not among those `seen`."""
    if not seen:
        return F
    F = F.copy()
    for j, levels in seen.items():
        F[~np.isin(F[:, j], levels), j] = np.nan
    return F


def larger_leaves(parameters: Changes, rows: float) -> ChangeDial:
    """Leaves of at least 3, 9, … times as many rows."""

    def turned(step: int) -> Changes | None:
        size = LARGER**step * row_count(parameters.get("min_samples_leaf", 1), rows)
        return {"min_samples_leaf": size} if size <= LARGEST_PART * rows else None

    return turned if "min_samples_leaf" in parameters else _nothing


def lower(depth: int) -> ChangeDial:
    """Half of the depth, a quarter, …"""

    def turned(step: int) -> Changes | None:
        lowered = depth // 2**step
        return {"max_depth": lowered} if lowered >= 1 else None

    return turned


def fewer_limits(parameters: Changes, rows: float, price: float = 0.0) -> ChangeDial:
    """All growth limits weakened: twice the depth, a third of the leaves, …"""

    def turned(step: int) -> Changes | None:
        changes: Changes = {}
        if parameters.get("max_depth") is not None:
            changes["max_depth"] = int(parameters["max_depth"]) * 2**step
        if parameters.get("max_leaf_nodes") is not None:
            changes["max_leaf_nodes"] = int(parameters["max_leaf_nodes"]) * LARGER**step
        for name, least in (("min_samples_leaf", 1), ("min_samples_split", 2)):
            size = row_count(parameters.get(name, least), rows)
            if size > least:
                changes[name] = max(size // LARGER**step, least)
        if parameters.get("min_impurity_decrease"):
            changes["min_impurity_decrease"] = parameters["min_impurity_decrease"] / 10.0**step
        if price > 0:
            changes["ccp_alpha"] = price / 10.0**step
        if parameters.get("prune") is not None:
            changes["prune"] = None
        return changes or None

    return turned


def _nothing(step: int) -> Changes | None:
    return None
