"""Stand-ins for fitted models: answers are computed once, so that any scorer can score rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Part:
    """Some of the rows, and the model that answers for them."""

    model: Any
    X: Any
    rows: Array


class StandIn:
    """Replaces models that together answer for n rows: X = [[i]] requests row i.

    Parameters
    ----------
    parts : sequence of Part
        Who answers for which rows; a model that answers for several parts may come several times.
    n : int
        How many rows there are.
    classes : ndarray, default=None
        All classes; a model that was fitted without some of them gives those no probability. None
        where there are none, or every model knows them all.
    """

    def __init__(self, parts: Sequence[Part], n: int, classes: Array | None = None):
        self._parts, self._n = parts, n
        self._known: dict[str, Array] = {}
        if classes is not None:
            self.classes_ = classes

    def __sklearn_tags__(self):
        return self._parts[0].model.__sklearn_tags__()

    def _standing_in(self, z: Array) -> StandIn:
        return self

    def __getattr__(self, name: str) -> Any:
        # A copy is inspected before it has any parts, and asked how to copy it.
        parts = self.__dict__.get("_parts")
        if parts is None or name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        value = getattr(parts[0].model, name)
        if not callable(value) or not (name.startswith("predict") or name == "decision_function"):
            return value

        @wraps(value)
        def answer(rows: Array) -> Array:
            if name not in self._known:
                self._known[name] = self._ask(name)
            return self._known[name][rows[:, 0]]

        return answer

    def _ask(self, name: str) -> Array:
        """The answers of all models, each put where its rows are."""
        found = [np.asarray(self._aligned(part.model, name, part)) for part in self._parts]
        whole = np.zeros((self._n, *found[0].shape[1:]), dtype=np.result_type(*found))
        for part, answers in zip(self._parts, found):
            whole[part.rows] = answers
        return whole

    def _aligned(self, model: Any, name: str, part: Part) -> Array:
        """Answers for one part, with a column for every class."""
        answers = np.asarray(getattr(model, name)(part.X))
        classes = self.__dict__.get("classes_")
        if classes is None or name == "predict" or len(model.classes_) == len(classes):
            return answers
        if name == "predict_proba":
            lowest = 0.0
        elif name == "predict_log_proba":
            lowest = -np.inf
        else:
            raise ValueError(
                f"a model was fitted without some of the {len(classes)} classes, so its {name} "
                "cannot be compared; use fewer folds, or a scorer of classes or probabilities."
            )
        wide = np.full((len(answers), len(classes)), lowest)
        wide[:, np.searchsorted(classes, model.classes_)] = answers
        return wide
