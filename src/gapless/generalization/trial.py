"""One way of holding rows out, tried on a fit and, for the verdict, on other penalties."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..leave_one_out import NotAvailable
from .fitted import Array, Fitted, counted_labels
from .held_out import (
    FEW_UNITS,
    LARGE_SAMPLE,
    LARGE_WORK,
    Estimate,
    by_formula,
    by_refits,
    by_time,
    drawn,
)
from .result import Disagreement
from .scores import Judge

# How many units are left out for real to check a formula.
REFITS = 20


@dataclass(frozen=True, eq=False)
class Outcome:
    """Held-out predictions with their score.

    `why_refits` says why a formula was not used, and is None where it was.
    """

    estimate: Estimate
    score: float
    standard_error: float
    disagreement: Disagreement | None = None
    why_refits: str | None = None


@dataclass(frozen=True, eq=False)
class Trial:
    """What is left out, of which fit, and who judges."""

    fitted: Fitted
    judge: Judge
    groups: Array | None = None
    time: Array | None = None

    @cached_property
    def units(self) -> Array:
        """The group of each row, or its distinct row: 0, 1, …, and −1 without weight."""
        if self.groups is None:
            return self.fitted.distinct
        return counted_labels(self.groups, self.fitted.is_counted)

    @property
    def by(self) -> str:
        """What a unit is called."""
        return "row" if self.groups is None else "group"

    def run(
        self, fitted: Fitted, why_refits: str | None = None, enough: float = -np.inf
    ) -> Outcome:
        """Held-out predictions: by formula unless there is a reason against it.

        The fit is the trial's own, or another on the same rows. Only a score above `enough` is
        worth the check of an approximation.
        """
        if self.time is not None:
            return self._judged(by_time(fitted, self.time))
        if why_refits is None:
            try:
                outcome = self._judged(by_formula(fitted, self.groups))
                return self._checked(fitted, outcome) if outcome.score > enough else outcome
            except NotAvailable as reason:
                why_refits = str(reason)
        estimate = by_refits(fitted, self.units, why_refits, self.by)
        return replace(self._judged(estimate), why_refits=why_refits)

    def _judged(self, estimate: Estimate) -> Outcome:
        score = self.judge.score(estimate.z)
        return Outcome(estimate, score, self.judge.standard_error(estimate.z, self.units))

    def _checked(self, fitted: Fitted, outcome: Outcome) -> Outcome:
        """The outcome with its disagreement with real refits, or NotAvailable where that is large.

        Few units are all refitted: that is no more work than the check.
        """
        if outcome.estimate.is_exact:
            return outcome
        if self.units.max() < FEW_UNITS:
            raise NotAvailable("")
        disagreement = self._disagreement(fitted, outcome.estimate)
        if disagreement.score > outcome.standard_error:
            raise NotAvailable(
                f"the formula misses real refits by {disagreement.score:.2g}, more than a standard "
                "error"
            )
        return replace(outcome, disagreement=disagreement)

    def _disagreement(self, fitted: Fitted, estimate: Estimate) -> Disagreement:
        if fitted.work > LARGE_WORK and self.units.max() > LARGE_SAMPLE:
            return self._disagreement_of_sample(fitted)
        z = estimate.z.copy()
        chosen = drawn(self.units, REFITS)
        for unit in chosen:
            rows = np.flatnonzero(self.units == unit)
            z[rows] = fitted.predict(fitted.without(rows), rows)
        rows = np.flatnonzero(np.isin(self.units, chosen))
        difference = z[rows] - estimate.z[rows]
        if fitted.problems[0].loss.task == "multiclass":
            # Only differences between the scores of the classes mean anything.
            difference -= difference.mean(axis=1, keepdims=True)
        weights = self.judge.weights
        in_score = abs(self.judge.score(z) - self.judge.score(estimate.z))
        return Disagreement(
            refits=len(chosen),
            largest=float(np.max(np.abs(difference))),
            mean=float(np.mean(np.abs(difference))),
            score=float(in_score * weights.sum() / weights[rows].sum()),
        )

    def _disagreement_of_sample(self, fitted: Fitted) -> Disagreement:
        """On a part of the rows with the same ratio of penalty to weight.

        With fewer rows each has more to say, so that the formula does worse there than on all.
        """
        strata = fitted.targets if fitted.has_classes and self.groups is None else None
        chosen = drawn(self.units, LARGE_SAMPLE, strata)
        rows = np.flatnonzero(np.isin(self.units, chosen))
        sample = replace(replace(fitted, averages=True).only(rows), averages=fitted.averages)
        part = Trial(
            sample, self.judge.only(rows), None if self.groups is None else self.groups[rows]
        )
        return part._disagreement(sample, by_formula(sample, part.groups))
