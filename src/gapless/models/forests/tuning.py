"""The fewest rows of a leaf, chosen by the rows that trees have not drawn.

The first trees are grown with leaves of each size, on the same draws, and those of the winner stay
in the forest. Rows of one x are out of bag together: a row is judged by the trees that have drawn
none of its equals, whatever their targets.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from ..._ground.interrupt import TimeLimit, check, deadline, time_limit
from ...unseen import Choice, Distinct, Generalization, chosen_among, draw_rows
from ..trees import PackedTrees
from .growing import USUAL_SIZE, batches, chances_of, keys_of

Array = np.ndarray

# The sizes that are tried, the simplest model first, and how many trees each of them has for it.
SIZES, FIRST_TREES = (10, 3, 1), 20
# The part of a time limit that they may take: most of it is for the forest.
PART_OF_TIME = 0.5
# Where a forest keeps the size that was chosen.
CHOSEN = "min_samples_leaf_"


def choose_size(
    forest: Any, data: Any, seeds: Array, draws: int, callback: Callable
) -> tuple[Choice | None, list[Any]]:
    """The size with which rows out of bag are predicted best.

    Parameters
    ----------
    forest : Forest
        Says how trees are grown.
    data : ForestData
        The rows.
    seeds : ndarray of int
        Of all trees that are to be grown.
    draws : int
        How many rows each of them draws.
    callback : callable
        Told after each size; True ends the search.

    Returns
    -------
    choice : Choice or None
        Of the sizes for which there was time; None if there was none for any, or if no x is out of
        bag, as where a few x have all the rows.
    trees : list of Tree
        The first trees with that size, or with the usual one.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C: there is no forest yet that could be kept.
    """
    held = _OutOfBag(data, seeds[:FIRST_TREES], draws, int(forest.n_estimators))
    grown: dict[int, list[Any]] = {}
    left = deadline() - time.monotonic()
    try:
        with time_limit(None if math.isinf(left) else max(PART_OF_TIME * left, 0.0)):
            for size in SIZES:
                check()
                grower = forest._at(min_samples_leaf=size)
                trees = list(chain.from_iterable(batches(grower, data, held.seeds, draws)))
                held.add(size, trees)
                grown[size] = trees
                if callback(f"first trees with leaves of {size} rows or more", 0.0):
                    break
    except TimeLimit:
        # What was not tried to its end is not chosen.
        pass
    choice = held.choice()
    size = USUAL_SIZE if choice is None else int(choice.values["min_samples_leaf"])
    return choice, grown.get(size, [])


class _OutOfBag:
    """Scores of rows out of bag, for each size so far."""

    def __init__(self, data: Any, seeds: Array, draws: int, members: int):
        self.data, self.seeds, self.members = data.tree_data, seeds, members
        outputs = self.data.outputs
        n = len(outputs.y)
        # The distinct rows of a fit stand in the order of their content.
        self.units = self.data.units(np.arange(n))
        chances = chances_of(outputs)
        self.seen = np.empty((len(seeds), n), dtype=bool)
        for seen, key in zip(self.seen, keys_of(seeds)):
            seen[:] = np.bincount(self.units, draw_rows(n, draws, key, chances))[self.units] > 0
        # Of one tree alone nobody knows how far it is from others.
        self.rows = np.flatnonzero(np.sum(~self.seen, axis=0) >= 2)
        self.weights = outputs.sample_weight[self.rows]
        self.scores: dict[int, tuple[Array, Array]] = {}

    def add(self, size: int, trees: list[Any]) -> None:
        """Judge the rows by trees whose leaves have at least so many."""
        if not len(self.rows):
            return
        packed, rows = PackedTrees.of(trees), self.rows
        sums, used = packed.sum_without(self.data.F, self.seen)
        squares, _ = replace(packed, table=packed.table**2).sum_without(self.data.F, self.seen)
        count = used[rows, None]
        mean = sums[rows] / count
        # The mean of a few trees is off by more than that of all, the more so the smaller their
        # leaves: by their variance times the difference of 1/trees.
        variance = (squares[rows] - count * mean**2) / (count - 1)
        errors = (mean - self._targets) ** 2 - variance * (1 / count - 1 / self.members)
        self.scores[size] = self._scores(mean, errors)

    @property
    def _targets(self) -> Array:
        """What trees should say of the rows: numbers, or 1 for the class of each output."""
        y = self.data.outputs.y[self.rows]
        if not self.data.has_classes:
            return y
        most = max(self.data.widths)
        return np.hstack([np.eye(most)[column.astype(int)] for column in y.T])

    def _scores(self, mean: Array, errors: Array) -> tuple[Array, Array]:
        """What decides, and what is shown: accuracy or R²."""
        y = self.data.outputs.y
        if self.data.has_classes:
            most = max(self.data.widths)
            told = np.argmax(mean.reshape(len(mean), -1, most), axis=2)
            # Of two classes the error of one is that of the other.
            by = errors.sum(axis=1) / y.shape[1] / (2 if most == 2 else 1)
            return -by, np.all(told == y[self.rows], axis=1).astype(float)
        center = np.average(y[self.rows], axis=0, weights=self.weights)
        spread = np.average((y[self.rows] - center) ** 2, axis=0, weights=self.weights)
        shown = 1 - np.mean(errors / np.where(spread > 0, spread, 1.0), axis=1)
        return -errors.mean(axis=1), shown

    def choice(self) -> Choice | None:
        """The best size, of equal ones the largest; None if no rows could be judged."""
        if not self.scores:
            return None
        units = Distinct.by(self.units[self.rows], self.weights)
        each = np.hstack([np.column_stack(both) for both in self.scores.values()])
        merged, weights = units.means(each, self.weights), units.weights
        by, shown = merged[:, ::2], merged[:, 1::2]
        return Choice.of(
            {"min_samples_leaf": np.array(list(self.scores), dtype=float)},
            shown,
            by,
            weights,
            metric="neg_brier_score" if self.data.has_classes else "neg_mean_squared_error",
        )


def corrected(choice: Choice, plain: Generalization) -> Generalization:
    """What the tuned forest scores out of bag, corrected for its leaves having been chosen.

    Being chosen adds as much to the score of all trees as to that of the first ones.
    """
    if plain.kind == "unknown" or len(choice.weights) < 2:
        return plain
    found = choice.honest()
    found = replace(found, unseen=plain.unseen - found.optimism)
    return chosen_among(plain, found, choice.by.shape[1], method=plain.method)
