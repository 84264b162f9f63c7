"""Bayes classifiers of rows that are read in parts: one pass sums what the classes need.

The sums are kept by class and by fold of parts. The model, its certificate, and the models without
each fold are functions of sums; one more pass scores every row by the model of the other folds.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone

from ..._ground.progress import ProgressLine
from ..._ground.validation import Training as Memory
from ...certificates import Certificate
from ...streaming import (
    ByFold,
    Folds,
    Look,
    Rows,
    Training,
    checked_labels,
    checked_weights,
    fold_of,
    look_at,
    opened,
    total,
)
from ...unseen import Generalization, ScoreSums, judged_in_parts, unknown
from .held_out import LOWEST, bounded

Array = np.ndarray

# The most numbers in the sums of all classes and folds together.
MOST_NUMBERS = 1 << 28
NEITHER = "neither more nor less smoothing does clearly better"
METRIC = "accuracy"


class ByClass(dict[Any, Any]):
    """The sums of each class, by its label; those of two sets of rows add up."""

    def __add__(self, other: ByClass) -> ByClass:
        both = ByClass(self)
        for label, sums in other.items():
            both[label] = both[label] + sums if label in both else sums
        return both


@dataclass(frozen=True, eq=False)
class SumClasses:
    """The task that sums what a model needs of the classes."""

    model: Any

    def __call__(self, rows: Rows) -> ByClass:
        """The sums of the classes in one part."""
        labels, y = np.unique(checked_labels(rows), return_inverse=True)
        weights = checked_weights(rows)
        X = self.model._counted_in_parts(rows.X, rows.first)
        return ByClass(zip(labels.tolist(), self.model._class_sums(X, y, weights, len(labels))))


@dataclass(eq=False)
class BayesInParts:
    """The fit of a Bayes classifier to a table in parts."""

    model: Any
    training: Training
    line: ProgressLine

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, sample_weight: Any) -> BayesInParts:
        """The fit of a model, whose parameters must suit sums."""
        model._check_fits_in_parts()
        training = opened(X, y, sample_weight)
        return cls(model, training, ProgressLine(type(model).__name__, sys.stderr))

    @cached_property
    def look(self) -> Look:
        """What the pass has found; `more` are the sums of the classes, fold by fold."""
        task = ByFold(SumClasses(clone(self.model)), self.training.parts.rows)
        try:
            found = look_at(self.training, has_classes=True, more=task, line=self.line)
        finally:
            self.line.clear()
        fewest = self.model._fewest_classes
        if len(found.classes) < fewest:
            raise ValueError(
                f"This solver needs samples of at least {fewest} classes in the data, but the data "
                f"contains only one class: {found.classes.tolist()[0]!r}; add rows of another "
                "class."
            )
        return found

    @property
    def sums(self) -> Folds:
        """The sums of the classes in each fold."""
        return self.look.more

    @property
    def classes(self) -> Array:
        """The labels of rows with weight."""
        return self.look.classes

    @cached_property
    def data(self) -> Memory:
        """In place of the rows: none, of the same columns and classes."""
        training = self.training
        X = np.empty((0, training.d), training.source.dtype)
        y, none = np.empty(0, dtype=np.int64), np.empty(0)
        return Memory(X, y, none, none, self.classes, training.feature_names)

    def of_classes(self, sums: ByClass) -> list[Any]:
        """The sums in the order of the classes; those of nothing for a class without rows."""
        K, d = len(self.classes), self.training.d
        none = self.model._class_sums(np.empty((0, d)), np.empty(0, np.int64), np.empty(0), K)
        return [sums.get(label, none[k]) for k, label in enumerate(self.classes.tolist())]

    def run(self) -> dict[str, Any]:
        """What is learned."""
        sums = self.of_classes(self.sums.whole)
        learned = self.model._learn_from_sums(sums, self.data)
        learned |= {"classes_": self.classes, "n_features_in_": self.training.d}
        if self.data.feature_names is not None:
            learned["feature_names_in_"] = self.data.feature_names
        twin = self._twin(self.model, learned)
        learned["certificate_"] = twin._judged(twin._costs_from_sums(learned, sums, self.data))
        return learned

    def certify(self) -> Certificate:
        """The certificate of the model as it is, for these rows."""
        model = self.model
        if not np.array_equal(self.classes, model.classes_):
            raise ValueError(
                f"y has the classes {self.classes.tolist()}, but {type(model).__name__} was fitted "
                f"with {model.classes_.tolist()}; pass the training data."
            )
        sums = self.of_classes(self.sums.whole)
        learned = model._learn_from_sums(sums, self.data)
        return model._judged(model._costs_from_sums(learned, sums, self.data))

    def _twin(self, model: Any, learned: dict[str, Any]) -> Any:
        twin = copy.copy(model)
        vars(twin).update(learned, n_features_in_=self.training.d, classes_=self.classes)
        return twin

    # ---- unseen rows -----------------------------------------------------------------------------

    def generalization(self) -> Generalization:
        """The accuracy on parts that the models have not seen, by one more pass."""
        used = self.sums.used
        if len(used) < 2:
            why = "the table has one part alone, so none can be left out"
            return unknown(METRIC, float("nan"), why)
        versions = self._versions()
        held = {fold: self._without(self.model, fold) for fold in used}
        common = {fold: self._most_common(fold) for fold in used}
        rivals = [models for _, _, models in versions]
        rows = self.training.parts.rows
        task = Judge(copy.copy(self.model), held, common, rivals, self.classes, rows)
        try:
            found = total(self.training, task, line=self.line, what="held-out parts")
        finally:
            self.line.clear()
        return judged_in_parts(
            found,
            METRIC,
            True,
            [(name, is_simpler) for name, is_simpler, _ in versions],
            f"{len(used)} folds of parts",
            neither=NEITHER,
        )

    def _versions(self) -> list[tuple[str, bool, dict[int, Held]]]:
        """Models with more and with less smoothing: name, whether it is more, those by fold."""
        found = []
        for step, is_simpler in ((1, True), (-1, False)):
            version = self.model._smoothed(step)
            if version is None:
                continue
            name, other = version
            try:
                models = {fold: self._without(other, fold) for fold in self.sums.used}
            except np.linalg.LinAlgError:
                continue
            found.append((name, is_simpler, models))
        return found

    def _without(self, model: Any, fold: int) -> Held:
        """The model without a fold; classes that it cannot know are never predicted."""
        sums = self.of_classes(self.sums.without(fold))
        rows, weights = np.array([model._rows_and_weight(own) for own in sums]).T
        is_absent = model._is_unknown(rows, weights)
        none = self.of_classes(ByClass())
        known = [gone if out else own for own, gone, out in zip(sums, none, is_absent)]
        return Held(self._twin(model, model._learn_from_sums(known, self.data)), is_absent)

    def _most_common(self, fold: int) -> int:
        sums = self.of_classes(self.sums.without(fold))
        return int(np.argmax([self.model._rows_and_weight(own)[1] for own in sums]))


@dataclass(frozen=True, eq=False)
class Held:
    """A model without some of the rows, and which of the classes were not among the others."""

    model: Any
    is_absent: Array

    def predict(self, X: Array) -> Array:
        """The positions of the most probable classes."""
        z = bounded(self.model._scores_in_parts(X))
        z[:, self.is_absent] = LOWEST
        return np.argmax(z, axis=1)


@dataclass(frozen=True, eq=False)
class Judge:
    """The task that scores rows: by the fit, by the models of the other folds, by a constant.

    `held`, `common` and each of the `rivals` are by fold; parts have so many `rows`.
    """

    model: Any
    held: dict[int, Held]
    common: dict[int, int]
    rivals: Sequence[dict[int, Held]]
    classes: Array
    rows: int

    def __call__(self, rows: Rows) -> ScoreSums:
        """The sums of one part."""
        labels, weights = checked_labels(rows), checked_weights(rows)
        y = np.minimum(np.searchsorted(self.classes, labels), len(self.classes) - 1)
        fold = fold_of(rows, self.rows)
        own = Held(self.model, np.zeros(len(self.classes), dtype=bool))
        train, unseen, *others = (
            np.asarray(held.predict(rows.X) != y, dtype=float)
            for held in (own, self.held[fold], *(rival[fold] for rival in self.rivals))
        )
        constant = np.asarray(self.common[fold] != y, dtype=float)
        # What is lost is the mistake: these probabilities are too sure of themselves.
        values = np.column_stack([train, unseen, constant, train, unseen, *others])
        return ScoreSums.of_rows(values, weights)


def refuse_in_parts(name: str, what: str, cure: str) -> ValueError:
    """The error for a parameter that needs all rows in memory."""
    return ValueError(f"{name} in parts cannot {what}; {cure}.")
