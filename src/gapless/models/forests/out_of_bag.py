"""What out-of-bag rows show: scores, importances, and the best size of leaves.

To choose that size the first trees are grown with leaves of each size, on the same draws, and those
of the winner stay in the forest. Rows of one x are out of bag together: a row is scored by the
trees that have drawn none of its equals, whatever their targets.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import Bunch
from sklearn.utils.multiclass import type_of_target

from ..._ground.interrupt import TimeLimit, check, deadline, time_limit
from ...unseen import Judge, MergedRows, ScoredChoice, draw_rows
from ..bagging import EnsembleData, warn_if_unpredicted
from ..trees import PackedTrees
from .growing import USUAL_SIZE, batches, chances_of, keys_of

Array = np.ndarray

# Sum out of bag over this many trees at a time, which bounds the memory for who saw which row.
TOGETHER = 32
# The sizes to try, the simplest model first, and the number of trees for each.
SIZES, FIRST_TREES = (10, 3, 1), 20
# The part of a time limit they may take: most of it is for the forest.
PART_OF_TIME = 0.5
# The attribute of the chosen size.
CHOSEN = "min_samples_leaf_"


def bags_of(
    forest: Any, place: Array, among: slice = slice(None)
) -> Iterator[tuple[PackedTrees, Array]]:
    """Some of the trees, a few at a time, and which rows each has seen, (trees, n).

    `place` is the distinct row of each row.
    """
    chosen, seen = forest._packed.part(among), forest._seen(place, forest._seeds[among])
    for first in range(0, len(chosen), TOGETHER):
        trees = chosen.part(slice(first, first + TOGETHER))
        yield trees, np.stack([next(seen) for _ in range(len(trees))])


def sums_out_of_bag(
    forest: Any, F: Any, bags: Iterable[tuple[PackedTrees, Array]]
) -> tuple[Array, Array]:
    """Sums over the trees that did not draw a row, for rows as prediction sees them."""
    sums: Any = 0.0
    used = np.zeros(F.shape[0], dtype=np.int64)
    with forest._threads():
        for packed, given in bags:
            part, by = packed.sum_without(F, given)
            sums, used = sums + part, used + by
    return forest._side_by_side(sums), used


def out_of_bag_attributes(forest: Any, data: EnsembleData) -> dict[str, Any]:
    """The out-of-bag score, and its predictions."""
    y, is_counted = data.outputs.as_given, data.outputs.sample_weight > 0
    has_classes = is_classifier(forest)
    if has_classes:
        _check_judgeable(y)
    sums, used = forest._out_of_bag(data)
    warn_if_unpredicted(used[is_counted], "trees")
    mean = sums / np.maximum(used, 1)[:, None]
    if has_classes:
        predicted = forest._standing_in(mean).predict(np.arange(len(y))[:, None])
        parts = forest._by_output(mean)
        shares = parts[0] if len(parts) == 1 else np.stack(parts, axis=2)
        kept = {"oob_decision_function_": shares}
    else:
        predicted = mean[:, 0] if data.outputs.is_flat else mean
        kept = {"oob_prediction_": predicted}
    usual = accuracy_score if has_classes else r2_score
    score = partial(usual, sample_weight=data.outputs.sample_weight[is_counted])
    if callable(forest.oob_score):
        score = forest.oob_score
    return {"oob_score_": score(y[is_counted], predicted[is_counted])} | kept


def _check_judgeable(y: Array) -> None:
    """Refuse classes without a known out-of-bag score."""
    kind = type_of_target(y)
    if kind in ("unknown", "multiclass-multioutput"):
        raise ValueError(
            f"The type of target cannot be used to compute OOB estimates. Got {kind} while "
            "only the following are supported: continuous, continuous-multioutput, binary, "
            "multiclass, multilabel-indicator."
        )


# ---- questions to a forest, which are its methods ------------------------------------------------


def oob_curve(self, counts=None):
    """The score out of bag of the first trees alone, to see whether more would help.

    Parameters
    ----------
    counts : array-like of int, default=None
        Numbers of trees; None takes a dozen, at about equal ratios.

    Returns
    -------
    curve : Bunch
        With `counts`, `scores` (accuracy or R²) and `standard_errors`. Rows that all of so few
        trees have drawn are left out of a score.
    """
    fitted = self._remembered("gapless.generalize(model, X, y, sample_weight)")
    judge = Judge(self, fitted.y, fitted.weights)
    if counts is None:
        counts = np.geomspace(min(4, len(self)), len(self), 12).round()
    counts = np.unique(np.asarray(counts, dtype=int))
    if not self.bootstrap or counts[0] < 1 or counts[-1] > len(self):
        raise ValueError(
            f"oob_curve needs bootstrap=True and counts between 1 and {len(self)}, the number "
            f"of trees; got bootstrap={self.bootstrap} and {counts.tolist()}."
        )
    F, before, sums, used = self._training_rows(fitted.data), 0, 0.0, 0
    scores, errors = [], []
    for count in counts.tolist():
        bags = bags_of(self, fitted.distinct, slice(before, count))
        part, by = sums_out_of_bag(self, F, bags)
        sums, used, before = sums + part, used + by, count
        z = _mean(sums, used)
        scores.append(judge.score(z))
        errors.append(judge.standard_error(z, fitted.distinct))
    return Bunch(counts=counts, scores=np.array(scores), standard_errors=np.array(errors))


def oob_importances(self, n_repeats=5, random_state=0):
    """By how much the score out of bag falls when a column is shuffled.

    Parameters
    ----------
    n_repeats : int, default=5
        How often each column is shuffled.
    random_state : int, default=0
        Seeds the shuffling.

    Returns
    -------
    importances : Bunch
        With `importances_mean` and `importances_std`, (n_features,), and `importances`,
        (n_features, n_repeats); in accuracy or R². An uninformative column has about 0, whatever
        its number of values (Breiman 2001). Each shuffle costs a prediction of the training rows,
        which must be the same as in the fit.
    """
    fitted = self._remembered("sklearn.inspection.permutation_importance")
    judge = Judge(self, fitted.y, fitted.weights)
    before = judge.score(fitted.held_out(None))
    rng = np.random.default_rng(random_state)
    F, place = self._training_rows(fitted.data), fitted.distinct
    bags = list(bags_of(self, place))
    falls = np.zeros((self.n_features_in_, n_repeats))
    for j in range(self.n_features_in_):
        for r in range(n_repeats):
            # Distinct rows are shuffled, so that repeats in place of weights change nothing.
            donor = rng.permutation(len(self._rows))[place]
            shuffled = _with_column(F, j, self._rows[donor])
            sums, used = sums_out_of_bag(self, shuffled, bags)
            falls[j, r] = before - judge.score(_mean(sums, used))
    return Bunch(
        importances_mean=falls.mean(axis=1),
        importances_std=falls.std(axis=1),
        importances=falls,
    )


def _mean(sums: Array, used: Array) -> Array:
    """The mean over the trees that predict a row; NaN if none does."""
    return np.where(used[:, None] > 0, sums / np.maximum(used, 1)[:, None], np.nan)


def _with_column(F: Any, j: int, rows: Array) -> Any:
    """F with the values of column j taken from other rows."""
    if not sp.issparse(F):
        changed = F.copy()
        changed[:, j] = F[rows, j]
        return changed
    columns = F.tocsc()
    return sp.hstack([columns[:, :j], columns[rows][:, [j]], columns[:, j + 1 :]], format="csr")


# ---- the size of leaves --------------------------------------------------------------------------


def choose_size(
    forest: Any, data: Any, seeds: Array, draws: int, callback: Callable
) -> tuple[ScoredChoice | None, list[Any]]:
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
    choice : ScoredChoice or None
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
        # The distinct rows of a fit are in the order of their content.
        self.units = self.data.units(np.arange(n))
        chances = chances_of(outputs)
        self.seen = np.empty((len(seeds), n), dtype=bool)
        for seen, key in zip(self.seen, keys_of(seeds)):
            seen[:] = np.bincount(self.units, draw_rows(n, draws, key, chances))[self.units] > 0
        # A single tree does not show how far it is from others.
        self.rows = np.flatnonzero(np.sum(~self.seen, axis=0) >= 2)
        self.weights = outputs.sample_weight[self.rows]
        self.scores: dict[int, tuple[Array, Array]] = {}

    def add(self, size: int, trees: list[Any]) -> None:
        """Score the rows by trees with leaves of at least `size` rows."""
        if not len(self.rows):
            return
        packed, rows = PackedTrees.of(trees), self.rows
        sums, used = packed.sum_without(self.data.F, self.seen)
        squares, _ = replace(packed, table=packed.table**2).sum_without(self.data.F, self.seen)
        count = used[rows, None]
        mean = sums[rows] / count
        # The mean of a few trees has a larger error than that of all, more so with smaller leaves:
        # by their variance times the difference of 1/trees.
        variance = (squares[rows] - count * mean**2) / (count - 1)
        errors = (mean - self._targets) ** 2 - variance * (1 / count - 1 / self.members)
        self.scores[size] = self._scores(mean, errors)

    @property
    def _targets(self) -> Array:
        """The ideal predictions for the rows: numbers, or 1 for the class of each output."""
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
            predicted = np.argmax(mean.reshape(len(mean), -1, most), axis=2)
            # With two classes the error of one is that of the other.
            by = errors.sum(axis=1) / y.shape[1] / (2 if most == 2 else 1)
            return -by, np.all(predicted == y[self.rows], axis=1).astype(float)
        center = np.average(y[self.rows], axis=0, weights=self.weights)
        spread = np.average((y[self.rows] - center) ** 2, axis=0, weights=self.weights)
        shown = 1 - np.mean(errors / np.where(spread > 0, spread, 1.0), axis=1)
        return -errors.mean(axis=1), shown

    def choice(self) -> ScoredChoice | None:
        """The best size; ties go to the largest; None if no rows could be scored."""
        if not self.scores:
            return None
        units = MergedRows.by(self.units[self.rows], self.weights)
        each = np.hstack([np.column_stack(both) for both in self.scores.values()])
        merged, weights = units.means(each, self.weights), units.weights
        by, shown = merged[:, ::2], merged[:, 1::2]
        choice = ScoredChoice.of(
            {"min_samples_leaf": np.array(list(self.scores), dtype=float)},
            shown,
            by,
            weights,
            metric="neg_brier_score" if self.data.has_classes else "neg_mean_squared_error",
        )
        # Being chosen adds as much to the score of all trees as to that of the first ones.
        can_correct = len(weights) >= 2
        return replace(choice, is_rough=can_correct, is_whole=can_correct)
