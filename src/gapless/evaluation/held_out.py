"""Models of several splits, scored together on the rows that each has not seen, and compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor

from .._ground.docstrings import described
from .._ground.drawing import AXES, pictures
from .._ground.interrupt import TimeLimit, check, time_limit
from .._ground.notebook import ShownInNotebook
from ..unseen import SURE, Corrected, Judge, Part, StandIn, correct, lead, sentence
from .rows import Rows, Split

Array = np.ndarray


T = TypeVar("T")


@dataclass(frozen=True)
class Resampled(ShownInNotebook):
    """What a model scores on unseen rows, found by refitting it. Prints as a sentence.

    Attributes
    ----------
    metric : str
        What is measured; higher is better, as for every scorer of scikit-learn.
    train, unseen : float
        The score of rows that the models had learned from, and of rows that they had not.
    standard_error : float
        Of `unseen`, over rows drawn like these.
    gap : float
        train − unseen.
    method : str
        How rows were held out.
    verdict : str
        "balanced" if train and unseen are not more than two standard errors apart, else "unknown"
        (`compare` shows whether a simpler model does better); then the scores in words.
    of_splits : tuple of float
        The unseen score of each split on its own; NaN if it is undefined there.
    """

    metric: str
    train: float
    unseen: float
    standard_error: float
    gap: float
    method: str
    verdict: str
    of_splits: tuple[float, ...]

    @property
    def kind(self) -> str:
        """The first word of the verdict."""
        return self.verdict.partition(":")[0]

    def __str__(self) -> str:
        return f"{self.verdict}\n(train − unseen = {self.gap:.3g}, by {self.method})"

    def __repr__(self) -> str:
        return (
            f"<Resampled by {self.method}: {self.metric} {self.unseen:.3g} ± "
            f"{self.standard_error:.2g} unseen, {self.train:.3g} train>"
        )

    def to_dict(self) -> dict[str, Any]:
        """The same data as plain numbers and strings."""
        return asdict(self)

    @described(AXES)
    def plot(self, *, axes=None):
        """Draw the score of each split, and train and unseen score of all; returns the axes."""
        plots = pictures()
        return plots.splits(
            self.of_splits,
            train=self.train,
            unseen=self.unseen,
            standard_error=self.standard_error,
            metric=self.metric,
            axes=axes,
        )


def resampled_with_verdict(
    metric: str,
    train: float,
    unseen: float,
    standard_error: float,
    method: str,
    of_splits: tuple[float, ...],
) -> Resampled:
    """The result with its verdict."""
    if not np.isfinite(unseen):
        verdict = f"unknown: the {metric} of held-out rows is not defined."
    elif train - unseen > 2 * standard_error:
        advice = (
            "more than 2 standard errors apart; compare it with simpler and richer models to see "
            "whether it over-fits"
        )
        verdict = sentence("unknown", metric, train, unseen, standard_error, advice)
    else:
        advice = "not more than 2 standard errors apart"
        verdict = sentence("balanced", metric, train, unseen, standard_error, advice)
    return Resampled(
        metric, train, unseen, standard_error, train - unseen, method, verdict, of_splits
    )


class HeldOut:
    """Models of several splits, scored together on the rows that each has not seen.

    The models are fitted at once; scores are computed on first access, and kept.

    Parameters
    ----------
    model : estimator
        Copies of it are fitted.
    rows : Rows
        All rows.
    splits : list of Split
        For each fit, the rows to learn from and those that are held out.
    scoring : str or callable, default=None
        As in scikit-learn.
    most_train : int, default=None
        How many of the rows that were learned from are scored at most, drawn at random.
    on_fit : callable, default=None
        Called before each fit with its place from 0.
    """

    def __init__(
        self,
        model: Any,
        rows: Rows,
        splits: list[Split],
        scoring: Any = None,
        *,
        most_train: int | None = None,
        on_fit: Callable[[int], None] | None = None,
    ):
        self._rows, self._splits, self._scoring = rows, splits, scoring
        self._classes, self._most_train = rows.classes(model), most_train
        self._models: list[Any] = []
        for place, (train, _) in enumerate(splits):
            if on_fit is not None:
                on_fit(place)
            self._models.append(rows.fit(model, train))
        self.tested = np.unique(np.concatenate([test for _, test in splits]))
        parts = [Part(m, rows.take(test), test) for m, (_, test) in zip(self._models, splits)]
        counts = np.zeros(len(rows))
        counts[self.tested] = rows.counts[self.tested]
        answers = StandIn(parts, len(rows), self._classes)
        self._judge = Judge(answers, rows.y, counts, scoring)
        self._known = np.zeros((len(rows), 1))

    @property
    def metric(self) -> str:
        """What is measured."""
        return self._judge.metric

    @property
    def first(self) -> Any:
        """The model of the first split."""
        return self._models[0]

    @cached_property
    def predicted(self) -> Array:
        """What was predicted for the rows `tested` by the models that had not seen them."""
        return self._judge.model.predict(self.tested[:, None])

    @cached_property
    def train(self) -> float:
        """The mean score of the models on the rows they have learned from."""
        own = []
        for model, (train, _) in zip(self._models, self._splits):
            if self._most_train is not None and len(train) > self._most_train:
                draw = np.random.default_rng(0)
                train = np.sort(draw.choice(train, self._most_train, replace=False))
            part = Part(model, self._rows.take(train), train)
            answers = StandIn([part], len(self._rows), self._classes)
            own.append(score(answers, self._rows, train, self._scoring))
        return float(np.mean(own))

    @cached_property
    def unseen(self) -> float:
        """The score of all rows that were held out, together."""
        return self._judge.score(self._known)

    @cached_property
    def standard_error(self) -> float:
        """The standard error of `unseen`, over units."""
        return self._judge.standard_error(self._known, self._rows.units)

    @cached_property
    def of_splits(self) -> tuple[float, ...]:
        """The unseen score of each split alone."""
        answers = self._judge.model
        return tuple(score(answers, self._rows, t, self._scoring) for _, t in self._splits)

    @cached_property
    def of_rows(self) -> Array | None:
        """The score of each row, if the score is a mean over rows; only valid for `tested` rows."""
        return self._judge.of_rows(self._known)

    def at_once(self) -> HeldOut:
        """Itself, with everything computed now: TimeLimit if a limit passes before."""
        self.result("")
        check()
        return self

    def result(self, method: str) -> Resampled:
        """The scores with a verdict in words."""
        return resampled_with_verdict(
            self.metric, self.train, self.unseen, self.standard_error, method, self.of_splits
        )


def as_time_allows(
    tasks: Iterable[Callable[[], T]], seconds: float | None, *, fewest: int = 1, wanted: str
) -> list[T]:
    """What tasks return, one after the other, until time is up; an error if they are too few."""
    found: list[T] = []
    with time_limit(seconds):
        for task in tasks:
            try:
                found.append(task())
            except TimeLimit:
                break
    if len(found) < fewest:
        raise TimeLimit(f"the time limit passed before {wanted}; raise time_limit.")
    return found


def folds_in_words(splits: list[Split], time: Any) -> str:
    """How rows were held out."""
    if time is None:
        return f"{len(splits)}-fold"
    return f"forward ({len(splits)} parts, each predicted from earlier ones)"


def corrected(results: list[HeldOut], rows: Rows, chosen: int) -> Corrected | None:
    """What one of several can be expected to score, corrected for having been chosen.

    None for scores that are not a mean over rows.
    """
    if any(one.of_rows is None for one in results):
        return None
    tested = results[chosen].tested
    scores = np.column_stack([np.asarray(one.of_rows)[tested] for one in results])
    return correct(*rows.by_unit(scores, tested), chosen=chosen)


def expected(results: list[HeldOut], rows: Rows, best: int) -> float:
    """What the best of several can be expected to score; NaN for scores that are not a mean."""
    found = corrected(results, rows, best)
    return float("nan") if found is None else float(found.unseen)


def behind_error(one: HeldOut, best: HeldOut, rows: Rows) -> float:
    """The standard error of the difference of two scores of the same rows."""
    if one is best:
        return 0.0
    if one.of_rows is None or best.of_rows is None:
        apart = np.array(best.of_splits) - np.array(one.of_splits)
        return float(np.nanstd(apart, ddof=1) / np.sqrt(len(apart))) if len(apart) > 1 else 0.0
    apart = np.asarray(best.of_rows) - np.asarray(one.of_rows)
    return rows.standard_error(apart[best.tested], best.tested)


def by_chance(model: Any, rows: Rows, splits: list[Split], scoring: Any) -> HeldOut:
    """A baseline that ignores the features, in place of a model."""
    ignorant = DummyClassifier(strategy="prior") if is_classifier(model) else DummyRegressor()
    return HeldOut(ignorant, rows, splits, scoring)


def is_clearly_behind(one: HeldOut, best: HeldOut, chance: HeldOut, rows: Rows) -> bool:
    """Whether another model does clearly better on the same unseen rows.

    The rule is that of verdicts, see `unseen.paired`: row by row, so that a few rows with huge
    errors hide nothing, more than chance explains, and enough to matter compared with the loss of
    `chance`. Scores that are not a mean over rows are compared by the error of their difference.
    """
    if one is best or not np.isfinite(one.unseen):
        return False
    scores = [_of_rows(held) for held in (one, best, chance)]
    if scores[0] is None or scores[1] is None:
        return bool(best.unseen - one.unseen > SURE * behind_error(one, best, rows))
    tested = best.tested
    found = np.stack([(scores[0] if of is None else of)[tested] for of in scores])
    known = found[:, np.all(np.isfinite(found), axis=0)]
    # The score of a row is at most 1, or minus a loss.
    highest = float(np.max(known, initial=-np.inf))
    top = max(highest, 1.0 if highest > 0 else 0.0)
    is_bounded = bool(np.min(known, initial=0.0) >= 0)
    losses, others, constant = top - found
    counts, units = rows.counts[tested], rows.units[tested]
    ahead = lead(losses, others, constant, counts, units, is_bounded=is_bounded)
    return ahead.is_clear()


def _of_rows(held: HeldOut) -> Array | None:
    """The scores of rows; None if a scorer needs a method that the model lacks."""
    try:
        return None if held.of_rows is None else np.asarray(held.of_rows, dtype=float)
    except (AttributeError, ValueError):
        return None


def score(answers: StandIn, rows: Rows, some: Array, scoring: Any) -> float:
    """The score of some of the rows; NaN if undefined, such as an area for one class alone."""
    counts = np.zeros(len(rows))
    counts[some] = rows.counts[some]
    try:
        return Judge(answers, rows.y, counts, scoring).score(np.zeros((len(rows), 1)), some)
    except ValueError:
        return float("nan")
