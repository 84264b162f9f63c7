"""The number of rounds of boosting, chosen by folds.

All folds proceed together, some rounds at a time, until the mean loss of all held-out rows has
stopped falling. A single fold falls by chance now and then, and its own end would be too late or
too early for the others.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..._ground.interrupt import TimeLimit, deadline, time_limit
from ...losses import Loss
from ...unseen import Search, best_of, dealt, equal_rows, mean_losses, units_of
from ..trees import PackedTrees
from .data import BoostingData
from .losses import metric_of
from .refits import check_finished
from .rounds import Rounds
from .run import HeldOutRows, Round, Run, boost, row_losses, stages

Array = np.ndarray
Callback = Callable[[Any, float], bool]

# Folds take this many rounds at a time: by chance, a few in a row may not lower the loss.
PATIENCE = 20
# Folds end when these lower the loss by less than this part of what all rounds have: the loss of
# what can be fitted exactly falls a little for ever.
LITTLE = 1e-4
# Folds end after this many rounds at the latest.
MOST_ROUNDS = 1000
# The part of a time limit that folds may take: boosting all rows takes a quarter as long.
PART_OF_TIME = 0.75
# The number of rounds if there was no time for folds.
UNTRIED_ROUNDS = 100
# Scores by which folds may be judged: means over rows.
LOSS, BRIER = "loss", "neg_brier_score"


class Fold:
    """Boosting without a part of the rows, which is judged after each round.

    Parameters
    ----------
    model : HistGradientBoosting
        Says where boosting starts, and how trees are grown.
    own, held : BoostingData
        The rows to boost on, and distinct ones that are held out.
    weights : ndarray
        The weights of those held out.
    """

    def __init__(self, model: Any, own: BoostingData, held: BoostingData, weights: Array):
        z, learned = model._start_scores(own)
        self.rounds = Rounds(own.table, own.loss, own.y, own.weights, own.repeats, z)
        self.plan = model._plan(own)
        start = model._starts(held.F, held.X, learned)
        self.held = HeldOutRows(held.F, held.X, held.y, weights, start)
        self.run = Run()
        self.value = row_values(model.scoring, own.loss)
        # Σwℓ, Σw²ℓ and Σw²ℓ² after each round, where ℓ is the row's score.
        self.sums: list[tuple[float, float, float]] = []

    def go_on(self, seed: int) -> None:
        """Some more rounds."""
        done = len(self.run.trees)
        boost(self.rounds, self.plan, self.run, done + PATIENCE, seed)
        check_finished(self.run.ending)
        self._judge(self.run.trees[done:])

    def _judge(self, grown: Sequence[Round]) -> None:
        """Score the held-out rows after each of these rounds, whose trees are packed together."""
        held, w = self.held, self.held.weights
        packed = PackedTrees.of([tree for trees in grown for tree in trees])
        leaves = packed.apply(held.F).reshape(len(w), len(grown), -1)
        for z in stages(grown, leaves, held.z):
            loss = self.value(held.y, z)
            self.sums.append((float(w @ loss), float(w**2 @ loss), float(w**2 @ loss**2)))


def row_values(scoring: Any, loss: Loss) -> Callable[[Array, Array], Array]:
    """The score of each held-out row, given targets and scores; lower is better."""
    if scoring != BRIER:
        return lambda y, z: row_losses(loss, y, z)
    if type(loss).inverse_link is Loss.inverse_link:
        raise ValueError(
            f'scoring="{BRIER}" needs probabilities, which {loss!r} does not have; use '
            f'loss="log_loss", or scoring="{LOSS}".'
        )
    if loss.task == "multiclass":
        return lambda y, z: np.sum((loss.inverse_link(z) - np.eye(z.shape[1])[y]) ** 2, axis=1)
    return lambda y, z: (loss.inverse_link(z[:, 0]) - (y > 0)) ** 2


def choose_rounds(
    model: Any, data: BoostingData, seed: int, callback: Callback | None = None
) -> tuple[Search, bool]:
    """Choose the number of rounds by 5-fold cross-validation.

    Parameters
    ----------
    model : HistGradientBoosting
        The model.
    data : BoostingData
        The rows, all of which have a weight.
    seed : int
        Of the columns that are drawn.
    callback : callable or None, default=None
        Told now and then how far the folds are; True ends them.

    Returns
    -------
    search : Search
        By the mean loss of unseen rows after each round, or the mean squared error of their
        probabilities; of no model, where there was no time for a round.
    is_finished : bool
        Whether there was time for all of it.

    Raises
    ------
    KeyboardInterrupt
        On Ctrl-C: there is no model yet that could be kept.
    """
    folds: list[Fold] = []
    left = deadline() - time.monotonic()
    try:
        with time_limit(None if math.isinf(left) else max(PART_OF_TIME * left, 0.0)):
            folds += folds_of(model, data)
            _go_on(folds, seed, callback)
    except TimeLimit:
        return _search(model, data, folds), False
    return _search(model, data, folds), True


def folds_of(model: Any, data: BoostingData) -> list[Fold]:
    """Five folds, or as many as there are distinct x.

    Rows of one x are held out together, and folds are stratified by class. Equal rows are one with
    all their weight, in the order of their content, so that sums have the same bits however rows
    are ordered and repeated.
    """
    population, has_classes = data.population, data.outputs.classes is not None
    y, rows = data.outputs.y[:, 0], population.first
    weights = np.bincount(population.place, data.weights)
    units = units_of(equal_rows(data.F), population.place, np.ones(len(y), dtype=bool))
    of_row = dealt(units, strata=y if has_classes else None)
    found = []
    for k in range(of_row.max() + 1 if of_row.max() > 0 else 0):
        own = np.flatnonzero(of_row != k)
        is_held = of_row[rows] == k
        if has_classes:
            # No number of rounds teaches a model about a class it has not seen.
            is_held &= np.isin(y[rows], y[own])
        if is_held.any():
            found.append(Fold(model, data.of(own), data.of(rows[is_held]), weights[is_held]))
    if not found:
        raise ValueError(
            f'{type(model).__name__} cannot choose max_iter="cv" from n_samples = {len(y)}, '
            f"{len(rows)} of them distinct: none can be predicted from the others; give a number."
        )
    return found


def _go_on(folds: Sequence[Fold], seed: int, callback: Callback | None) -> None:
    """Boost until the mean loss has stopped falling."""
    for done in range(PATIENCE, MOST_ROUNDS + 1, PATIENCE):
        for fold in folds:
            fold.go_on(seed)
        losses = _sums(folds)[:, 0]
        least, before = losses.min(), losses[:-PATIENCE].min(initial=np.inf)
        if before - least <= LITTLE * (losses[0] - least):
            return
        words = f"round {done} of {len(folds)} folds, best with {np.argmin(losses) + 1}"
        if callback is not None and callback(words, 0.0):
            return


def _sums(folds: Sequence[Fold]) -> Array:
    """Sums over all held-out rows, (rounds, 3), for the rounds that all folds have done."""
    done = min((len(fold.sums) for fold in folds), default=0)
    total = np.zeros((done, 3))
    for fold in folds:
        total += np.reshape(fold.sums[:done], (done, 3))
    return total


def _search(model: Any, data: BoostingData, folds: Sequence[Fold]) -> Search:
    """What was tried; of numbers of rounds with the same loss the smallest is chosen."""
    sums = _sums(folds)
    done = len(sums)
    weights = np.concatenate([np.zeros(0), *(fold.held.weights for fold in folds)])
    loss, errors = mean_losses(sums, weights) if done else np.zeros((2, 0))
    return Search(
        values={"rounds": np.arange(1, done + 1)},
        unseen=-loss,
        standard_errors=errors,
        rows=np.full(done, len(weights)),
        chosen=best_of(-loss, errors, "min") if done else 0,
        metric=BRIER if model.scoring == BRIER else metric_of(data.loss),
    )
