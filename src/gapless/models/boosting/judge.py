"""What is looked at after each round of boosting: scores of a scorer, callbacks and monitors."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.metrics import check_scoring

from .data import BoostingData
from .rounds import Rounds
from .run import HeldOutRows, Run

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Fitted:
    """A run, what was learned beside its trees, and the scores by which it was judged."""

    run: Run
    learned: dict[str, Any]
    scores: list[float]
    train_scores: list[float]


class Judge:
    """What is looked at after each round; `predict` scores other rows by the rounds there are."""

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
        """What rounds are judged by instead of the loss, where they are judged at all."""
        scoring = getattr(self.model, "scoring", "loss")
        if scoring == "loss" or not self.model._stops_early(self.data):
            return None
        return check_scoring(self._twin(None, self.rounds.z), scoring)

    def _twin(self, X: Any, z: Array) -> Any:
        """The model as it is now, which knows the scores z of the rows X already."""
        twin: Any = copy.copy(self.model)
        twin._raw_predict = lambda asked: z if asked is X else self.predict(asked)
        if self.data.outputs.classes is not None:
            twin.classes_ = self.data.outputs.classes[0]
        twin.loss_ = self.data.loss
        return twin

    def _score(self) -> None:
        data = self.data
        self.train_scores.append(self._of(data.X, self.rounds.z, data.given(), data.weights))
        if self.held is None:
            self.scores.append(self.train_scores[-1])
            return
        own = self.held.y
        if self.data.loss.task != "regression":
            position = (own > 0) if self.data.loss.task == "binary" else own
            own = self.data.classes[position.astype(int)]
        self.scores.append(self._of(self.held.X, self.held.z, own, self.held.weights))

    def _of(self, X: Any, z: Array, y: Array, weights: Array) -> float:
        options = {} if np.all(weights == weights[0]) else {"sample_weight": weights}
        return float(self.scorer(self._twin(X, z), X, y, **options))

    def ending(self, run: Run) -> str:
        """What those who watch say after a round: "" to go on, or why not."""
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
