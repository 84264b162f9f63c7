"""A run of boosting: rounds until they are enough, the validation loss stops falling, or time ends.

Estimators call `boost` for a fit, and for fits to some of the rows for unseen ones.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.metrics import check_scoring

from ..._ground.drawing import pictures
from ..._ground.interrupt import TimeLimit, check
from ..._ground.notebook import ShownInNotebook
from ...losses import Loss
from ...unseen import Population
from ..trees import PackedTrees, Tree
from .data import BoostingData
from .rounds import GrowthPlan, Rounds

Array = np.ndarray

Round = Sequence[Tree]


@dataclass(frozen=True, eq=False)
class BoostingTrace(ShownInNotebook):
    """How the loss fell. Prints as one line.

    Attributes
    ----------
    training : ndarray of shape (rounds + 1,)
        The mean loss of the training rows, before the first round and after each.
    validation : ndarray of shape (rounds + 1,) or None
        The same of rows that were held out, where there were any.
    seconds : ndarray of shape (rounds + 1,)
        Seconds since the start.
    """

    training: Array
    validation: Array | None
    seconds: Array

    @property
    def rounds(self) -> int:
        """The number of rounds."""
        return len(self.training) - 1

    def plot(self, *, axes=None):
        """Draw how the loss fell, of training rows and of those held out.

        Parameters
        ----------
        axes : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        axes : matplotlib Axes
            With a line for the training rows, and one for rows held out where there were any.
        """
        plots = pictures()
        return plots.rounds(self.training, self.validation, axes=axes)

    def __str__(self) -> str:
        text = f"round {self.rounds}, training loss {self.training[-1]:.6g}"
        if self.validation is not None:
            text += f", validation loss {self.validation[-1]:.6g}"
        return text


@dataclass(frozen=True, eq=False)
class HeldOutRows:
    """Rows scored after each round: features, targets of the loss, weights, scores.

    F are the features as trees read them, X as the caller gave them.
    """

    F: Any
    X: Any
    y: Array
    weights: Array
    z: Array

    def add(self, trees: Round) -> None:
        """Move the scores by the predictions of a round's trees."""
        add_rounds([trees], self.F, self.z)


def add_rounds(rounds: Sequence[Round], F: Any, z: Array) -> None:
    """Add the trees' predictions to scores (n, K), in the order and to the bit as fits do."""
    for trees in rounds:
        for k, tree in enumerate(trees):
            z[:, k] += PackedTrees.of([tree]).sum(F)[:, 0]


def stages(rounds: Sequence[Round], leaves: Array, z: Array) -> Iterator[Array]:
    """Scores z (n, K) after each round, the same array every time.

    `leaves` (n, rounds, K) has the leaf of each row in each tree.
    """
    for r, trees in enumerate(rounds):
        for k, tree in enumerate(trees):
            z[:, k] += tree.value[leaves[:, r, k], 0, 0]
        yield z


def row_losses(loss: Loss, y: Array, z: Array) -> Array:
    """ℓ(y, z) of each row, from scores z (n, K)."""
    return loss.value(y, z if loss.task == "multiclass" else z[:, 0])


def mean_loss(loss: Loss, y: Array, z: Array, weights: Array) -> float:
    """The mean of ℓ(y, z) over rows with scores z (n, K)."""
    return float(weights @ row_losses(loss, y, z) / weights.sum())


@dataclass(eq=False)
class Run:
    """What a run has done so far.

    `wanted` is its target number of rounds; `ending` is "" for all of them, or "early", "monitor",
    "callback", "time_limit", "interrupted", or "folds" if there was no time to choose their number.
    """

    trees: list[Round] = field(default_factory=list)
    training: list[float] = field(default_factory=list)
    validation: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    out_of_bag: list[tuple[float, float]] = field(default_factory=list)
    wanted: int = 0
    ending: str = ""

    @property
    def trace(self) -> BoostingTrace:
        """The losses as arrays."""
        validation = np.array(self.validation) if self.validation else None
        return BoostingTrace(np.array(self.training), validation, np.array(self.seconds))


@dataclass(frozen=True)
class Drawing:
    """A part of the rows for each round, drawn without replacement (Friedman 2002)."""

    population: Population
    share: float
    rows: int

    def draw(self, seed: int, weights: Array, repeats: Array) -> tuple[Array, Array, Array]:
        """Weights and numbers of the drawn rows, and the weights of those left out."""
        population = self.population
        copies = np.ceil(population.weights)
        size = max(int(self.share * copies.sum()), 1)
        counts = population.draw(seed, size, replace=False)
        place, first = population.place, population.first
        of_unit = np.bincount(place[place >= 0], weights[place >= 0], len(copies))
        drawn = counts / copies
        inside, left, number = np.zeros((3, self.rows))
        inside[first] = of_unit * drawn
        left[first] = of_unit * (1 - drawn)
        number[first] = counts
        return inside, number, left


def boost(
    rounds: Rounds,
    plan: GrowthPlan,
    run: Run,
    last: int,
    seed: int,
    *,
    held_out: HeldOutRows | None = None,
    drawing: Drawing | None = None,
    adapt: Callable[[Rounds], None] | None = None,
    after_round: Callable[[Run], str] | None = None,
) -> Run:
    """Add rounds to a run until there are `last`.

    `adapt` may change the loss before each round; `after_round` returns "" to continue, or what
    ends the run. What was grown before Ctrl-C or the time limit is kept.
    """
    run.wanted = last
    began = time.monotonic() - (run.seconds[-1] if run.seconds else 0.0)

    def note() -> None:
        run.training.append(rounds.evaluate())
        if held_out is not None:
            value = mean_loss(rounds.loss, held_out.y, held_out.z, held_out.weights)
            run.validation.append(value)
        run.seconds.append(time.monotonic() - began)

    try:
        if not run.training:
            note()
        else:
            rounds.evaluate()
        while len(run.trees) < last and not run.ending:
            check()
            if adapt is not None:
                adapt(rounds)
            trees = _round(rounds, plan, run, seed + len(run.trees), drawing)
            if held_out is not None:
                held_out.add(trees)
            run.trees.append(trees)
            note()
            run.ending = "" if after_round is None else after_round(run)
    except TimeLimit:
        run.ending = "time_limit"
    except KeyboardInterrupt:
        if not run.seconds:
            raise
        run.ending = "interrupted"
    _trim(run)
    return run


def _round(
    rounds: Rounds, plan: GrowthPlan, run: Run, seed: int, drawing: Drawing | None
) -> list[Tree]:
    if drawing is None:
        return rounds.grow(plan, seed)
    inside, number, left = drawing.draw(seed, rounds.weights, rounds.rows)
    is_known = left.sum() > 0
    before = mean_loss(rounds.loss, rounds.y, rounds.z, left) if is_known else np.nan
    trees = rounds.grow(plan, seed, inside, number)
    after = mean_loss(rounds.loss, rounds.y, rounds.z, left) if is_known else np.nan
    run.out_of_bag.append((before, after))
    return trees


def _trim(run: Run) -> None:
    """Drop what belongs to an unfinished round."""
    rounds = min(len(run.trees), len(run.seconds) - 1)
    del run.trees[rounds:], run.out_of_bag[rounds:]
    for losses in (run.training, run.validation, run.seconds):
        del losses[rounds + 1 :]


# ---- what is checked after each round ------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class BoostedRun:
    """A run, what was learned besides its trees, and the scores by which it was judged."""

    run: Run
    learned: dict[str, Any]
    scores: list[float]
    train_scores: list[float]


class RoundScores:
    """Scores each round, and asks the watchers whether to continue.

    `predict` computes the scores of other rows by the rounds so far.
    """

    def __init__(
        self,
        model: Any,
        data: BoostingData,
        rounds: Rounds,
        held: HeldOutRows | None,
        predict: Callable[[Any], Array],
        earlier: dict[str, Any] | None,
        watchers: tuple[Any, Any],
    ):
        self.model, self.data, self.rounds, self.held = model, data, rounds, held
        self.predict = predict
        self.callback, self.monitor = watchers
        self.scorer = self._scorer()
        self.scores: list[float] = []
        self.train_scores: list[float] = []
        if self.scorer is None:
            return
        if earlier is not None:
            self.train_scores = list(earlier["train_score_"])
            self.scores = list(earlier["validation_score_"] if held else self.train_scores)
        else:
            self._score()

    def _scorer(self) -> Any:
        """The scorer of rounds in place of the loss, if they are scored at all."""
        scoring = getattr(self.model, "scoring", "loss")
        if scoring == "loss" or not self.model._stops_early(self.data):
            return None
        return check_scoring(self._twin(None, self.rounds.z), scoring)

    def _twin(self, X: Any, z: Array) -> Any:
        """The current model, which already knows the scores z of the rows X."""
        twin: Any = copy.copy(self.model)
        twin._raw_predict = lambda asked: z if asked is X else self.predict(asked)
        if self.data.outputs.classes is not None:
            twin.classes_ = self.data.outputs.classes[0]
        twin.loss_ = self.data.loss
        return twin

    def _score(self) -> None:
        data = self.data
        self.train_scores.append(
            self._of(data.X, self.rounds.z, data.outputs.as_given, data.weights)
        )
        if self.held is None:
            self.scores.append(self.train_scores[-1])
            return
        own = self.held.y
        if data.classes is not None:
            position = own if data.loss.task == "multiclass" else (own > 0)
            own = data.classes[position.astype(int)]
        self.scores.append(self._of(self.held.X, self.held.z, own, self.held.weights))

    def _of(self, X: Any, z: Array, y: Array, weights: Array) -> float:
        options = {} if np.all(weights == weights[0]) else {"sample_weight": weights}
        return float(self.scorer(self._twin(X, z), X, y, **options))

    def ending(self, run: Run) -> str:
        """The watchers' verdict after a round: "" to continue, or why not."""
        if self.callback is not None and self.callback(run.trace, 0.0):
            return "callback"
        if self.scorer is not None:
            self._score()
        return "monitor" if self.monitor is not None and self.monitor(run) else ""

    def so_far(self, run: Run) -> list[float]:
        """The scores by which rounds are judged, the larger the better."""
        if self.scorer is not None:
            return self.scores
        losses = run.validation if self.held is not None else run.training
        return [-loss for loss in losses]
