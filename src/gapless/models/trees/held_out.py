"""What trees say of rows that they have not seen: by growing them again without those rows."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..._ground.design import Design
from ..._ground.interrupt import TimeLimit
from ...unseen import LARGE_ROWS, ChangeDial, Dial, NotAvailable, Refittable, Version, named
from .dials import fewer_limits, larger_leaves, lower

Array = np.ndarray
# The numbers of levels that were seen in each column of categories.
Levels = dict[int, Array]


class TreeFit(Refittable):
    """A tree, or several, and how to grow it again on some of the rows.

    Parameters
    ----------
    estimator : TreeModel
        The fitted model; `_grow(data, rows)` does all of a fit again that depends on targets, the
        choice of ccp_alpha and the pruning included.
    data : TreeData
        The data of the fit. Codes of columns are kept: they do not depend on the targets.
    """

    def __init__(self, estimator: Any, data: Any):
        outputs = data.outputs
        self.estimator, self.data = estimator, data
        self.has_classes = data.has_classes
        super().__init__(Design(data.F), _as_given(outputs), outputs.sample_weight)

    @property
    def targets(self) -> Array:
        """Positions of the classes, of all outputs together; numbers as they are."""
        if not self.has_classes:
            return self.y
        y, widths = self.data.outputs.y.astype(int), self.data.widths
        return np.ravel_multi_index(tuple(y.T), widths) if len(widths) > 1 else y[:, 0]

    @property
    def outputs(self) -> int:
        """How many numbers a row is told by its leaf."""
        return sum(self.data.widths)

    @property
    def fit_weights(self) -> Array:
        """How much each row counts in the fit."""
        return self.data.outputs.weights

    @cached_property
    def is_counted(self) -> Array:
        """Which rows have any weight, in the fit and in the score."""
        return (self.weights > 0) & (self.fit_weights > 0)

    @property
    def is_large(self) -> bool:
        """Whether another fit takes a good part of a second."""
        return len(self.y) > LARGE_ROWS

    @cached_property
    def labels(self) -> Array:
        """Numbers of the rows (x, y), the same for equal ones, by content."""
        return self.data.labels

    @cached_property
    def units(self) -> Array:
        """What is left out at a time: all rows of the same x.

        A tree tells the rows of one x from all others if it is deep enough. Without those of one
        class it would say the other, and be blamed for it.
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
        """What a tree says of rows; levels that it has not `seen` are as good as missing."""
        return lambda design: self.estimator._leaf_values(tree, _without_unseen(design.X, seen))

    def held_out(self, groups):
        """Not known: one row can change every split."""
        raise NotAvailable("trees must be regrown")

    def without_each(self, rows):
        """Not known either."""
        raise NotAvailable("trees must be regrown")

    def simpler(self):
        """Larger leaves, or less depth."""
        depth = int(self.estimator.tree_.max_depth)
        parameters = self.estimator.get_params(deep=False)
        return [
            self._dial(larger_leaves(parameters, float(self.weights.sum()))),
            self._dial(lower(depth)),
        ]

    def richer(self):
        """Fewer limits of growing."""
        parameters, price = self.estimator.get_params(deep=False), self.estimator._price()
        return [self._dial(fewer_limits(parameters, float(self.weights.sum()), price))]

    def _dial(self, changes: ChangeDial) -> Dial:
        """Trees with other parameters; a price that was chosen stays."""
        price = {"ccp_alpha": self.estimator._price()} if self.estimator._price() > 0 else {}

        def turned(step: int) -> Version | None:
            found = changes(step)
            if found is None:
                return None
            return Version(_Regrown(self.estimator._at(**price | found), self.data), named(found))

        return turned


class _Regrown(TreeFit):
    """A tree with another parameter, which has not been grown yet."""

    @cached_property
    def model(self):
        """The tree of all rows."""
        return self.fit_to(np.flatnonzero(self.is_counted))


def _levels_in(data: Any, rows: Array) -> Levels:
    """The levels of each column of categories that some rows have."""
    columns = np.flatnonzero(data.columns.is_category).tolist()
    return {j: np.unique(data.F[rows, j]) for j in columns}


def _without_unseen(F: Any, seen: Levels | None) -> Any:
    """Rows with NaN in place of the levels that are not among those `seen`."""
    if not seen:
        return F
    F = F.copy()
    for j, levels in seen.items():
        F[~np.isin(F[:, j], levels), j] = np.nan
    return F


def _as_given(outputs: Any) -> Array:
    """Targets as the caller gave them: labels or numbers, (n,) or (n, outputs)."""
    if outputs.classes is None:
        return outputs.y[:, 0] if outputs.is_flat else outputs.y
    labels = [own[y.astype(int)] for own, y in zip(outputs.classes, outputs.y.T)]
    return labels[0] if outputs.is_flat else np.stack(labels, axis=1)
