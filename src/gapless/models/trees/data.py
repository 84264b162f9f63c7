"""Training data as trees see them, and what growing makes of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..._ground.interrupt import TimeLimit, check, time_limit
from ..._ground.validation import Outputs
from ...unseen import equal_rows, units_of
from .pruning import PruneTrace
from .tuning import Choice

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows that a tree is judged by: features, targets (n, outputs) and weights."""

    F: Any
    y: Array
    weights: Array


@dataclass(frozen=True, eq=False)
class TreeData:
    """Training data as trees see them.

    Parameters
    ----------
    F : array or sparse matrix of shape (n, d)
        Numbers as they are, categories as level numbers, NaN where a value is missing.
    outputs : Outputs
        Targets and weights.
    names : ndarray of str or None
        Names of the features, where X had names.
    columns : Any
        What the grower reads.
    validation : Rows or None
        Rows that were given to judge splits by.
    edges : list of (ndarray or None)
        Where the numbers of each column are cut into bins, for trees that ask for bins alone.
    uncut : array or None
        F with numbers in place of such bins.
    """

    F: Any
    outputs: Outputs
    names: Array | None
    columns: Any
    validation: Rows | None = None
    edges: list[Array | None] = field(default_factory=list)
    uncut: Any = None

    @property
    def has_classes(self) -> bool:
        """Whether the targets are classes."""
        return self.outputs.classes is not None

    @property
    def class_counts(self) -> list[int]:
        """The number of classes of each output, 0 for numbers."""
        return self.widths if self.has_classes else [0] * len(self.widths)

    def rows(self, index: Array, *, with_class_weights: bool = False) -> Rows:
        """Some of the rows, by increasing number; all of them without a copy."""
        weights = self.outputs.weights if with_class_weights else self.outputs.sample_weight
        if len(index) == len(weights):
            return Rows(self.F, self.outputs.y, weights)
        return Rows(self.F[index], self.outputs.y[index], weights[index])

    @cached_property
    def labels(self) -> Array:
        """Numbers of the rows (x, y), the same for equal ones, by content."""
        return equal_rows(self._given, self.outputs.y)

    @cached_property
    def _same(self) -> Array:
        """Numbers of the rows x, the same for equal ones."""
        return equal_rows(self._given)

    @property
    def _given(self) -> Any:
        return self.F if self.uncut is None else self.uncut

    def units(self, rows: Array) -> Array:
        """Which distinct x each of these rows is: 0, 1, … by content; −1 for all other rows."""
        is_in = np.zeros(len(self.labels), dtype=bool)
        is_in[rows] = True
        return units_of(self._same, self.labels, is_in)

    @cached_property
    def widths(self) -> list[int]:
        """How many numbers a leaf has for each output: the number of classes, or 1."""
        classes = self.outputs.classes
        return [1] * self.outputs.y.shape[1] if classes is None else [len(c) for c in classes]


@dataclass(frozen=True, eq=False)
class Grown:
    """A tree as it was grown and pruned.

    `stopped` is "" or what ended the growth before its time: "time_limit" or "interrupted";
    `choice` is the price of a leaf that was chosen, where it was to be.
    """

    tree: Any
    trace: PruneTrace | None = None
    stopped: str = ""
    choice: Choice | None = None


def grown_in_time(grow: Callable[[int], Any], most: int, seconds: float | None) -> tuple[Any, str]:
    """A tree, and what ended its growth too early: "", "time_limit" or "interrupted".

    With a limit trees of twice the depth are grown until it is reached, and the last complete one
    is kept: half of a tree that is grown depth first would be deep on one side only.

    Parameters
    ----------
    grow : callable
        Grows a tree of at most the depth that it is given.
    most : int
        The depth that is asked for.
    seconds : float or None
        The limit; without one the tree is grown at once, and Ctrl-C leaves nothing.
    """
    if seconds is None:
        return grow(most), ""
    tree, depth = grow(0), 1
    with time_limit(seconds):
        try:
            while True:
                check()
                tree = grow(min(depth, most))
                if depth >= most or tree.max_depth < depth:
                    return tree, ""
                depth *= 2
        except TimeLimit:
            return tree, "time_limit"
        except KeyboardInterrupt:
            return tree, "interrupted"
