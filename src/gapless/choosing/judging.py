"""Judging: the score of each family on the same held-out rows, within a time limit."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from sklearn.pipeline import Pipeline

from .._ground.cost_matrices import named_costs
from .._ground.interrupt import TimeLimit, check, time_limit
from ..data import Column, TableError, Target, counted, prepare
from ..evaluation import HeldOut, Rows, Split
from ..models.bayes import BayesDecision
from .budget import Budget, doubt, most_within, rounded
from .family import Family
from .metric import OF_AREAS, Metric
from .prepared_rows import ByRow, Preparation
from .score_errors import ScoreErrors
from .splitting import Folds

Array = np.ndarray


# A part this small is not missed: its rows need not be learned at the end, if time is short.
SMALL_PART = 0.1
# The training score is that of at most this many rows.
MOST_TRAIN = 10_000
# Refit at the end only with this many times as many rows.
WORTH_IT = 1.2
NO_TIME = "there was no time for more"
# The time reserved for the end is mentioned if it is this part of what is left.
TOLD = 0.05
# How often rows are predicted at the end.
ASKED_AT_END = 2


@dataclass(frozen=True, eq=False)
class FamilyTrial:
    """The result of judging a family.

    Attributes
    ----------
    family : Family
        The family.
    model : str
        The class of its estimator.
    rows : int
        The rows of the largest fit; 0 if there was none.
    is_whole : bool
        Whether these are all rows that the family can use.
    held : HeldOut or None
        Its scores, if any.
    failure : str
        Its error, if it failed.
    reason : str
        Why it was not judged, or not on all rows.
    seconds : float
        The wall-clock time of all its fits and predictions.
    ask_seconds : float
        The time to predict a row, in seconds of work.
    """

    family: Family
    model: str = ""
    rows: int = 0
    is_whole: bool = False
    held: HeldOut | None = None
    failure: str = ""
    reason: str = ""
    seconds: float = 0.0
    ask_seconds: float = 0.0

    @property
    def unseen(self) -> float:
        """Its score on unseen rows; −∞ if it has none."""
        return -np.inf if self.held is None else self.held.unseen


@dataclass(eq=False)
class Judging:
    """Judges families on the same splits of the training rows.

    Parameters
    ----------
    rows : Rows
        The rows for training.
    columns : sequence of Column
        The columns of the table with their roles.
    metric : Metric
        What is measured.
    budget : Budget
        The time.
    test_rows : int
        The number of rows to predict at the end.
    seed : int
        Of folds and models.
    say : callable
        Called with what is being done: a stage, the family, and a text.
    """

    rows: Rows
    columns: Sequence[Column]
    metric: Metric
    budget: Budget
    test_rows: int
    seed: int
    say: Callable[..., None]
    trials: dict[str, FamilyTrial] = field(default_factory=dict)

    @cached_property
    def folds(self) -> Folds:
        """The held-out rows, and the training rows of smaller fits."""
        return Folds(self.rows, self.budget.facts.task, self.seed)

    @cached_property
    def _numbered(self) -> Rows:
        """The rows by number, so that families share preparations."""
        return replace(self.rows, X=np.arange(len(self.rows))[:, None])

    @cached_property
    def _preparation(self) -> Preparation:
        return Preparation(self.rows.X)

    # ---- models ----------------------------------------------------------------------------------

    def pipeline(self, family: Family) -> Pipeline:
        """Preparation and model of a family, unfitted."""
        model = family.build(self.budget.facts, self.seed)
        features = [column for column in self.columns if column.is_feature]
        # The baseline uses no column, so one is enough, and nothing has to be prepared.
        used = features if family.complexity else features[:1]
        return prepare(used, family.kind, self.decided(model))

    def decided(self, model: Any) -> Any:
        """A model that makes the decisions of least cost, if there are costs."""
        costs, classes = self.metric.costs, self.metric.classes
        if costs is None or classes is None:
            return model
        # By name, since a part of the rows may lack a class.
        return BayesDecision(model, named_costs(costs, classes))

    def refit(self, trial: FamilyTrial, most: int) -> tuple[Pipeline | None, Array, str]:
        """A family fitted to `most` rows, or as many as there is time for.

        Also which rows these are, and why they are not all; None if the judged model has learned
        from nearly as many.
        """
        family, budget = trial.family, self.budget
        left = max(budget.left - self.test_seconds(trial), 0.0)
        count = budget.rows_for(family, left, most, trial.rows)
        rows = self.folds.of_all(count)
        why = "" if count == most else NO_TIME
        if count < min(WORTH_IT * trial.rows, most):
            return None, rows, why
        self.say("fitting", family.name, text=f"{count:,} rows")
        try:
            with time_limit(budget.clock_left), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fitted = self.rows.fit(self.pipeline(family), rows)
                check()
                return fitted, rows, why
        except TimeLimit:
            return None, rows, NO_TIME
        except Exception as error:
            return None, rows, f"it failed: {failure_in_words(error, self.rows.X)}"

    def untried(self, family: Family) -> FamilyTrial:
        """A family before its trial."""
        return FamilyTrial(family, type(family.build(self.budget.facts, self.seed)).__name__)

    def most_rows(self, family: Family) -> int:
        """The most rows of a training part that the family can use."""
        return min(family.most_rows(self.budget.facts), self.folds.largest)

    def need(self, family: Family, rows: int) -> float:
        """Seconds for judging it: fits of `rows` rows, and predictions."""
        learned = len(self.folds.splits) * min(rows, MOST_TRAIN)
        asked = (learned + self._held_out) * self._ask_seconds(family, rows)
        return len(self.folds.splits) * self.budget.fit_seconds(family, rows) + asked

    @cached_property
    def _held_out(self) -> int:
        return sum(len(test) for _, test in self.folds.splits)

    def _ask_seconds(self, family: Family, rows: int) -> float:
        """The time to predict a row, as measured or estimated."""
        known = self.trials[family.name].ask_seconds if family.name in self.trials else 0.0
        return known or family.asking * self.budget.alone(family, rows) / max(rows, 1)

    def rows_within(self, trial: FamilyTrial, seconds: float) -> int:
        """The most rows on which a family can be judged again in `seconds`; 0 if none."""
        most = self.most_rows(trial.family)
        return most_within(lambda rows: self.need_again(trial, rows), seconds, most)

    def need_again(self, trial: FamilyTrial, rows: int, family: Family | None = None) -> float:
        """Seconds for judging a family on more rows than before, or in another form."""
        return doubt(rows, trial.rows) * self.need(family or trial.family, rows)

    def end_seconds(self, trial: FamilyTrial | None) -> float:
        """The time to fit a family to all rows and test it; 0 for none."""
        if trial is None:
            return 0.0
        family, test = trial.family, self.test_seconds(trial)
        if len(self.rows) - self.folds.largest <= SMALL_PART * len(self.rows):
            return test
        most = min(family.most_rows(self.budget.facts), len(self.rows))
        return test + self.budget.fit_seconds(family, most)

    def test_seconds(self, trial: FamilyTrial) -> float:
        """The time to predict the test rows: numbers or classes, and probabilities.

        Held-out rows were prepared once and for all, but test rows are prepared each time: for long
        texts that is nearly all of it.
        """
        preparing = self.budget.prepare_seconds(trial.family.kind, self.test_rows)
        return ASKED_AT_END * (preparing + self.test_rows * trial.ask_seconds)

    @property
    def best(self) -> FamilyTrial | None:
        """The trial with the best score so far."""
        known = [trial for trial in self.trials.values() if trial.held is not None]
        return max(known, key=lambda trial: trial.unseen, default=None)

    # ---- one family ------------------------------------------------------------------------------

    def judge(
        self, family: Family, rows: int, seconds: float | None, together: float | None = None
    ) -> FamilyTrial:
        """Fit a family to `rows` rows of each split, and keep its scores.

        A fit has `seconds` of work, and all fits have `together`, or as many as one: they are
        stopped as soon as it is clear that they would need more. An error ends this family alone. A
        second trial that fails, or is stopped by the limit, keeps the scores of the first.
        """
        before = self.trials.get(family.name, self.untried(family))
        started, began = self.budget.clock(), self.budget.worked
        fits, folds = 0.5, len(self.folds.splits)
        together = seconds if together is None else together
        prepared: float | None = None

        def on_fit(place: int) -> None:
            nonlocal fits
            fits = place
            if place and self._is_over(prepared, folds / place, together):
                raise TimeLimit
            # A stopped one is about half done.
            fits += 0.5
            text = f"fit {place + 1} of {folds}, {min(rows, self.folds.largest):,} rows"
            self.say("judging", family.name, text=text)

        is_whole = rows >= self.most_rows(family)
        trial = replace(
            before, family=family, rows=rows, is_whole=is_whole, held=None, failure="", reason=""
        )
        try:
            with warnings.catch_warnings():
                # Certificates and scores already say what a fit warns about.
                warnings.simplefilter("ignore")
                # Others will use what is prepared, so it does not count as the family's own time.
                with time_limit(None if seconds is None else self.budget.clock_left):
                    self._prepare(family, rows)
                prepared = self.budget.worked
                with time_limit(self.budget.on_clock(together)):
                    held, fit_seconds, ask_seconds = self._scored(family, rows, on_fit, seconds)
            self.budget.learn(family, rows, fit_seconds)
            trial = replace(trial, held=held, ask_seconds=ask_seconds)
        except TimeLimit:
            took = self.budget.worked - (began if prepared is None else prepared)
            if prepared is not None:
                self.budget.learn(family, rows, took / fits)
            need = seconds_in_words(max(self.need(family, rows), took))
            seen = f"on {rows:,} rows" if rows < self.folds.largest else "on all rows"
            trial = replace(
                trial, reason=f"after {seconds_in_words(took)} {seen}; needed about {need}"
            )
        except Exception as error:
            trial = replace(trial, failure=failure_in_words(error, self.rows.X))
        if trial.held is None and before.held is not None:
            trial = before
        trial = replace(trial, seconds=before.seconds + self.budget.clock() - started)
        self.trials[family.name] = trial
        self.say("judged", family.name, text=self._outcome_in_words(trial))
        return trial

    def _is_over(self, began: float | None, times: float, seconds: float | None) -> bool:
        """Whether the work done, repeated `times` times, would exceed `seconds`."""
        if began is None or seconds is None:
            return False
        return times * (self.budget.worked - began) > seconds

    def _scored(
        self, family: Family, rows: int, on_fit: Callable[[int], None], seconds: float | None
    ) -> tuple[HeldOut, float, float]:
        """The scores of a family, and the seconds of a fit and of the prediction of a row."""
        splits = self._splits_of(rows)
        model = self._by_row(family, self.budget.on_clock(seconds))
        if self.metric.needs_probabilities and not self._has_probabilities(family):
            by_costs = "deciding by costs"
            what = self.metric.title if self.metric.costs is None else by_costs
            raise ValueError(f"it has no probabilities, which {what} requires")
        began = self.budget.worked
        held = HeldOut(
            model, self._numbered, splits, self.metric, most_train=MOST_TRAIN, on_fit=on_fit
        )
        fitted = self.budget.worked
        check()
        if not np.isfinite(held.unseen):
            raise ValueError(f"{self.metric.title} is undefined on the held-out rows")
        # Everything needed later is computed now, within the limit.
        _ = held.train, held.standard_error, held.of_rows
        check()
        asked = sum(min(len(train), MOST_TRAIN) + len(test) for train, test in splits)
        ask_seconds = rounded((self.budget.worked - fitted) / asked)
        return held, (fitted - began) / len(splits), ask_seconds

    def _splits_of(self, rows: int) -> list[Split]:
        """The splits, with `rows` training rows."""
        return [(self.folds.some(train, rows), test) for train, test in self.folds.splits]

    def _by_row(self, family: Family, seconds: float | None = None) -> ByRow:
        """The pipeline of a family, queried by row numbers; `seconds` is the limit of a fit."""
        pipeline = self.pipeline(family)
        return ByRow(pipeline, self._preparation, (family.kind, len(pipeline[0].columns)), seconds)

    def _prepare(self, family: Family, rows: int) -> None:
        """Prepare the rows of all splits, unless that has been done."""
        model, splits = self._by_row(family), self._splits_of(rows)
        began, longest = self.budget.worked, 0.0
        for place, (train, test) in enumerate(splits):
            check()
            # Preparing a part, such as counting the words of long texts, cannot be stopped.
            if family.complexity and longest > self.budget.clock_left:
                raise TimeLimit
            started = self.budget.seconds
            if family.complexity and not model.is_prepared(train):
                text = f"preparing {len(train):,} rows, fold {place + 1} of {len(splits)}"
                self.say("preparing", family.name, text=text)
            model.prepare(train).of(test)
            longest = max(longest, self.budget.seconds - started)
        if family.complexity:
            seconds = (self.budget.worked - began) / len(splits)
            asked = self._held_out // len(splits)
            self.budget.learn_preparing(family.kind, rows, asked, seconds)

    def _has_probabilities(self, family: Family) -> bool:
        return hasattr(family.build(self.budget.facts, self.seed), "predict_proba")

    # ---- words -----------------------------------------------------------------------------------

    def skip(self, family: Family, need: float) -> None:
        """Record that there is no time for a family yet."""
        end, left = self.end_seconds(self.best), self.budget.left
        reason = f"needed about {seconds_in_words(need)}, with {seconds_in_words(left)} left"
        if left > 0 and end > TOLD * left:
            kept = "all" if end >= left else seconds_in_words(end)
            reason += f" ({kept} reserved for the last fit and the test)"
        self.trials[family.name] = replace(self.untried(family), reason=reason)

    def _outcome_in_words(self, trial: FamilyTrial) -> str:
        if trial.held is None:
            return trial.failure or f"stopped {trial.reason}"
        return (
            f"{self.metric.title} {self.metric.with_own_sign(trial.held.unseen):.4g} ± "
            f"{ScoreErrors(self.rows, self.metric).of(trial.held):.2g}"
        )


def seconds_in_words(seconds: float) -> str:
    """Seconds, with a decimal if they are few."""
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"


# Beyond this, squares of numbers and sums of them overflow.
HUGE = 1e150
# The most characters of an error that are shown.
MOST_CHARACTERS = 240


def failure_in_words(error: Exception, frame: pl.DataFrame) -> str:
    """What went wrong, and what to do about it.

    Parameters
    ----------
    error : Exception
        The error of a fit or a prediction.
    frame : polars.DataFrame
        The features of the training rows.

    Returns
    -------
    str
        One line.
    """
    if isinstance(error, MemoryError):
        return "it needs more memory than is available; drop columns, or use fewer rows"
    text = " ".join(str(error).split("\n")[0].split())[:MOST_CHARACTERS].rstrip(".")
    if isinstance(error, np.linalg.LinAlgError):
        return f"its equations have no solution ({text}); drop columns that repeat others"
    if isinstance(error, ValueError) and text:
        return _too_large(frame) or text
    return f"a bug in gapless, {type(error).__name__}: {text}; please report it"


def refuse_huge(target: Target) -> None:
    """Raise TableError for a target whose errors would overflow."""
    if target.task == "regression" and np.max(np.abs(target.values), initial=0.0) > HUGE:
        raise TableError(
            f"{target.name!r} contains {_largest(target.values):.2g}, too large to be squared; "
            "divide the column by a power of ten first."
        )


def check_test(metric: Metric, y: np.ndarray, target: Target) -> None:
    """Raise TableError for test rows, with targets y, that a metric cannot measure."""
    labels = np.unique(y)
    if metric.name not in OF_AREAS or len(labels) > 1:
        return
    counts = [
        f"{counted(int(np.sum(target.values == label)), 'row')} of {label!r}"
        for label in np.setdiff1d(target.values, labels).tolist()
    ]
    raise TableError(
        f"all {len(y):,} test rows are of class {labels.tolist()[0]!r}, and the table has only "
        f"{' and '.join(counts)}, so {metric.title} cannot be measured; set aside more test rows, "
        "or use another metric, such as log_loss."
    )


def _too_large(frame: pl.DataFrame) -> str:
    """A column whose numbers are too large to square, with the cure; "" if there is none."""
    for column in frame.iter_columns():
        if column.dtype.is_float() and abs(_largest(column.drop_nulls().to_numpy())) > HUGE:
            largest = _largest(column.drop_nulls().to_numpy())
            return (
                f"column {column.name!r} contains {largest:.2g}, too large to be squared; "
                "divide the column by a power of ten, or drop it"
            )
    return ""


def _largest(values: np.ndarray) -> float:
    """The number furthest from 0; 0 if there is none."""
    known = values[np.isfinite(values)]
    return float(known[np.argmax(np.abs(known))]) if len(known) else 0.0
