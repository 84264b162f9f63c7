"""Judging: every family on the same held-out rows, within the time that there is.

Cheap families come first and on all rows. A dear one is first judged on some rows; when all have
been seen, those that promise most are judged on all rows, as far as the time goes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from ..bayes import BayesDecision
from ..data import Column, prepare
from ..evaluation.resampling import HeldOut
from ..evaluation.rows import Rows, Split
from ..interrupt import TimeLimit, check, time_limit
from .budget import Budget
from .families import Family
from .metric import MEAN_COST, Metric
from .splitting import null_model

Array = np.ndarray

FOLDS = 5
# From so many rows on a single part is held out: its score is known well enough.
LONG = 20_000
HELD_OUT_PART = 0.2
# A first look at a dear family has at least so many rows.
FEWEST = 500
# The score on rows that were learned from is that of so many.
MOST_TRAIN = 10_000
# Predictions and scores take about this part of the fits.
BESIDE = 1.1
# A family may take so many times what was guessed, if that leaves time for the others.
PATIENCE = 3.0


@dataclass(frozen=True, eq=False)
class Trial:
    """How a family fared.

    Attributes
    ----------
    family : Family
        The family.
    model : str
        The class of its estimator.
    rows : int
        The rows of the largest fit; 0 if there was none.
    held : HeldOut or None
        Its scores, where it has any.
    failure : str
        Its error, if it failed.
    reason : str
        Why it was not judged, or not on all rows.
    seconds : float
        What all its fits and predictions took.
    """

    family: Family
    model: str = ""
    rows: int = 0
    held: HeldOut | None = None
    failure: str = ""
    reason: str = ""
    seconds: float = 0.0


@dataclass(eq=False)
class Judging:
    """Judges families on the same splits of the rows for training.

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
    seed : int
        Of folds and models.
    say : callable
        Told what is being done: a stage, the family, and a text.
    """

    rows: Rows
    columns: Sequence[Column]
    metric: Metric
    budget: Budget
    seed: int
    say: Callable[..., None]
    trials: dict[str, Trial] = field(default_factory=dict)

    # ---- rows ------------------------------------------------------------------------------------

    @cached_property
    def splits(self) -> list[Split]:
        """The rows to learn from and those that are held out, the same for all families."""
        if len(self.rows) >= LONG:
            return [self.rows.hold_out(self._stand_in, HELD_OUT_PART, self.seed)]
        k = min(FOLDS, self.rows.unit_count)
        return self.rows.folds(self._stand_in, k, self.seed)

    @cached_property
    def method(self) -> str:
        """How rows are held out, in words."""
        if len(self.rows) >= LONG:
            latest = "the latest " if self.rows.time is not None else ""
            return f"hold-out of {latest}{len(self.splits[0][1]):,} rows"
        if self.rows.time is not None:
            return f"forward ({len(self.splits)} parts after their past)"
        return f"{len(self.splits)}-fold"

    @cached_property
    def largest(self) -> int:
        """The rows of the largest training part."""
        return max(len(train) for train, _ in self.splits)

    @cached_property
    def _order(self) -> Array:
        """The place of each row among those that smaller fits take first: any first ones serve.

        In time the latest come first, else units in a random order with a fair share of classes.
        """
        if self.rows.time is not None:
            return -self.rows.time
        place = np.empty(self.rows.unit_count, dtype=int)
        place[self.rows.shuffled(self._stand_in, self.seed + 1)] = np.arange(self.rows.unit_count)
        return place[self.rows.units]

    def some(self, rows: Array, count: int) -> Array:
        """So many of these rows; all if there are no more."""
        if len(rows) <= count:
            return rows
        return np.sort(rows[np.argsort(self._order[rows], kind="stable")[:count]])

    # ---- models ----------------------------------------------------------------------------------

    @cached_property
    def _stand_in(self) -> Any:
        """A model of the task, by which folds know whether there are classes."""
        return null_model(self.budget.facts.task)

    def pipeline(self, family: Family) -> Pipeline:
        """Preparation and model of a family, unfitted."""
        model = family.build(self.budget.facts, self.seed)
        return prepare(self.columns, family.kind, self.decided(model))

    def decided(self, model: Any) -> Any:
        """A model whose decisions are those of least cost, where there are costs."""
        is_costly = self.metric.name == MEAN_COST
        return BayesDecision(model, self.metric.costs) if is_costly else model

    def refit(self, family: Family, rows: Array) -> tuple[Pipeline | None, str]:
        """A family fitted to these rows; or None, and why."""
        left = self.budget.left
        if self.budget.fit_seconds(family, len(rows)) > left:
            return None, "there was no time"
        try:
            with time_limit(left), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fitted = self.rows.fit(self.pipeline(family), rows)
                check()
                return fitted, ""
        except TimeLimit:
            return None, "there was no time"
        except Exception as error:
            return None, f"it failed ({_told(error)})"

    def _nothing(self, family: Family) -> Trial:
        """A family before its trial."""
        return Trial(family, type(family.build(self.budget.facts, self.seed)).__name__)

    def most_rows(self, family: Family) -> int:
        """The most rows of a training part that the family can use."""
        return min(family.most_rows(self.budget.facts), self.largest)

    def need(self, family: Family, rows: int) -> float:
        """Seconds for all fits of so many rows, and one more on all rows at the end."""
        fits = len(self.splits) + len(self.rows) / self.largest
        return BESIDE * fits * self.budget.fit_seconds(family, rows)

    # ---- all families ----------------------------------------------------------------------------

    def run(self, families: Sequence[Family]) -> list[Trial]:
        """Judge all families, as far as the time goes; they come the cheapest first.

        The null model has no limit: whatever the time, there is an answer.
        """
        for place, family in enumerate(families):
            if family.complexity == 0:
                self._judge(family, self.most_rows(family), None)
            else:
                self._look(family, len(families) - place)
        for trial in self._promising():
            self._look_closer(trial)
        return [self.trials[family.name] for family in families]

    def _look(self, family: Family, waiting: int) -> None:
        """Judge a family in its share of the time: on all rows if it can, else on some."""
        most = self.most_rows(family)
        available = max(self.budget.left - self._refit_seconds(), 0.0)
        share, need = available / waiting, self.need(family, most)
        if need <= share:
            self._judge(family, most, min(available, max(PATIENCE * need, share)))
            return
        rows = self.budget.rows_for(family, share / 2 / (BESIDE * (len(self.splits) + 1)), most)
        if rows >= min(FEWEST, most):
            self._judge(family, rows, share)
        else:
            self._skip(family, need)

    def _promising(self) -> list[Trial]:
        """Families that were judged on some rows, or stopped, and may be better; best first.

        More rows bring the scores of seen and unseen rows together from both sides: a family
        whose score on its own rows is behind the best on unseen ones will not come first.
        """
        best = self.best
        found = [
            trial
            for trial in self.trials.values()
            if not trial.failure and trial.rows < self.most_rows(trial.family)
        ]
        top = -np.inf if best is None or best.held is None else best.held.unseen
        known = [trial for trial in found if trial.held is not None and trial.held.train >= top]
        unknown = [trial for trial in found if trial.held is None and trial.rows]
        known.sort(key=lambda trial: -trial.held.unseen if trial.held is not None else 0.0)
        return known + unknown

    def _look_closer(self, trial: Trial) -> None:
        """Judge a family again, on as many rows as the time allows, if these are twice as many."""
        family = trial.family
        most = self.most_rows(family)
        kept = 0.0 if trial is self.best else self._refit_seconds()
        available = max(self.budget.left - kept, 0.0)
        seconds = available / (BESIDE * (len(self.splits) + 1.25))
        rows = self.budget.rows_for(family, seconds, most)
        fewest = 2 * trial.rows if trial.held is not None else FEWEST
        if rows >= min(fewest, most) and (trial.held is not None or rows < trial.rows):
            self._judge(family, rows, available)

    @property
    def best(self) -> Trial | None:
        """The trial with the best score so far."""
        known = [trial for trial in self.trials.values() if trial.held is not None]
        return max(known, key=lambda trial: trial.held.unseen if trial.held else 0.0, default=None)

    def _refit_seconds(self) -> float:
        """What it will take to fit the best family so far to all rows for training."""
        if self.best is None:
            return 0.0
        family = self.best.family
        return self.budget.fit_seconds(
            family, min(family.most_rows(self.budget.facts), len(self.rows))
        )

    # ---- one family ------------------------------------------------------------------------------

    def _judge(self, family: Family, rows: int, seconds: float | None) -> None:
        """Fit a family to so many rows of each split, and keep its scores; errors end it alone."""
        before = self.trials.get(family.name, self._nothing(family))
        began, done = self.budget.clock(), 0

        def on_fit(place: int) -> None:
            nonlocal done
            done = place
            text = f"fit {place + 1} of {len(self.splits)}, {min(rows, self.largest):,} rows"
            self.say("judging", family.name, text=text)

        held, failure = None, ""
        try:
            with time_limit(seconds), warnings.catch_warnings():
                # What a fit warns of is said by its certificate and by its scores.
                warnings.simplefilter("ignore")
                held, fit_seconds = self._scored(family, rows, on_fit)
        except TimeLimit:
            done, fit_seconds = max(done, 1), 0.0
        except Exception as error:
            failure = _told(error)
        took = self.budget.clock() - began
        trial = Trial(family, before.model, rows, held, failure, "", before.seconds + took)
        if held is not None:
            self.budget.learn(family, rows, fit_seconds)
        elif not failure:
            self.budget.learn(family, rows, took / done)
            trial = self._stopped(trial, before, took)
        elif before.held is not None:
            trial = replace(
                before, reason=f"failed on {rows:,} rows: {failure}", seconds=trial.seconds
            )
        self.trials[family.name] = self._with_reason(trial)
        self.say("judged", family.name, text=self._told(trial))

    def _scored(
        self, family: Family, rows: int, on_fit: Callable[[int], None]
    ) -> tuple[HeldOut, float]:
        """The scores of a family, and the seconds of one of its fits."""
        splits = [(self.some(train, rows), test) for train, test in self.splits]
        pipeline = self.pipeline(family)
        if self.metric.needs_probabilities and not hasattr(pipeline, "predict_proba"):
            raise ValueError(f"it has no probabilities, which {self.metric.title} needs")
        began = self.budget.clock()
        held = HeldOut(
            pipeline, self.rows, splits, self.metric, most_train=MOST_TRAIN, on_fit=on_fit
        )
        seconds = (self.budget.clock() - began) / len(splits)
        # Models that are stopped by the limit return what they have; that is not what they are.
        check()
        if not np.isfinite(held.unseen):
            raise ValueError(f"the {self.metric.title} of held-out rows is not defined")
        # All that is asked for later is worked out now, within the limit.
        _ = held.train, held.standard_error, held.of_rows
        check()
        return held, seconds

    # ---- why -------------------------------------------------------------------------------------

    def _skip(self, family: Family, need: float) -> None:
        reason = (
            f"would have needed about {_seconds(need)} of the {_seconds(self.budget.left)} left"
        )
        self.trials[family.name] = replace(self._nothing(family), reason=reason)
        self.say("skipped", family.name, text=reason)

    def _stopped(self, trial: Trial, before: Trial, took: float) -> Trial:
        need = self.need(trial.family, trial.rows)
        reason = f"stopped after {_seconds(took)}; would have needed about {_seconds(need)}"
        if before.held is not None:
            return replace(before, seconds=trial.seconds)
        return replace(trial, reason=reason)

    def _with_reason(self, trial: Trial) -> Trial:
        """Say of a trial on some of the rows why it was not on all."""
        most = self.most_rows(trial.family)
        if trial.held is None or trial.reason:
            return trial
        if trial.rows < most:
            need = _seconds(self.need(trial.family, most))
            text = f"judged on {trial.rows:,} of {most:,} rows; all would have needed about {need}"
        elif most < self.largest:
            text = f"learns from at most {most:,} rows"
        else:
            return trial
        return replace(trial, reason=text)

    def _told(self, trial: Trial) -> str:
        if trial.held is None:
            return trial.failure or trial.reason
        return (
            f"{self.metric.title} {self.metric.own(trial.held.unseen):.4g} ± "
            f"{trial.held.standard_error:.2g}"
        )


def _told(error: Exception) -> str:
    """An error in one line."""
    text = str(error).strip().partition("\n")[0]
    return text if isinstance(error, ValueError) and text else f"{type(error).__name__}: {text}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
