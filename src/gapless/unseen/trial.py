"""One way of holding rows out, applied to a fit and, for the verdict, to other penalties."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from .fitted import Array, Fitted
from .folds import drawn
from .held_out import LARGE_SAMPLE, Estimate, by_formula, by_refits, by_time
from .leave_one_out import NotAvailable
from .leave_one_out.distinct import counted_labels
from .result import Disagreement
from .scores import Judge

# Units to refit as a check of a formula: this many far ones, and as many at random.
REFITS = 20


@dataclass(frozen=True, eq=False)
class Outcome:
    """Held-out predictions with their score.

    `why_refits` says why a formula was not used, None if it was. With `keeps_shares` the score is
    that of the predictions with the class shares kept.
    """

    estimate: Estimate
    score: float
    standard_error: float
    disagreement: Disagreement | None = None
    why_refits: str | None = None
    keeps_shares: bool = False

    @property
    def method(self) -> str:
        """How the score was found, in words."""
        method = self.estimate.method
        return f"{method}, stratified by class" if self.keeps_shares else method


@dataclass(frozen=True, eq=False)
class Trial:
    """What is left out, of which fit, and how it is scored."""

    fitted: Fitted
    judge: Judge
    groups: Array | None = None
    time: Array | None = None

    @cached_property
    def units(self) -> Array:
        """The group of each row, or its distinct x: 0, 1, …, and −1 without weight."""
        if self.groups is None:
            return self.fitted.units
        return counted_labels(self.groups, self.fitted.is_counted)

    @property
    def by(self) -> str:
        """The name of a unit."""
        return "row" if self.groups is None else "group"

    def run(
        self, fitted: Fitted, why_refits: str | None = None, enough: float = -np.inf
    ) -> Outcome:
        """Held-out predictions: by formula unless there is a reason against it.

        The fit is the trial's own, or another on the same rows. Only a score above `enough` is
        worth checking an approximation.
        """
        if self.time is not None:
            return self._scored(by_time(fitted, self.time))
        if why_refits is None:
            try:
                outcome = self._judged(fitted, by_formula(fitted, self.groups))
                self._refuse_worse_than_guessing(fitted, outcome)
                return self._checked(fitted, outcome) if outcome.score > enough else outcome
            except NotAvailable as reason:
                why_refits = str(reason)
        estimate = by_refits(fitted, self.units, why_refits, self.by)
        is_few = self.units.max() < fitted.few_units
        outcome = self._judged(fitted, estimate) if is_few else self._scored(estimate)
        return replace(outcome, why_refits=why_refits)

    def _judged(self, fitted: Fitted, estimate: Estimate) -> Outcome:
        """The score of units left out one at a time; of rows, unless their absence has decided it.

        Without a row its class is less frequent, so held-out scores lean to the others: with
        balanced classes and little signal, to an accuracy of 0.
        """
        plain = self._scored(estimate)
        if self.groups is not None or not fitted.has_classes:
            return plain
        kept = self._scored(replace(estimate, z=fitted.with_shares(estimate.z)))
        if not abs(kept.score - plain.score) > kept.standard_error:
            return plain
        return replace(kept, estimate=estimate, keeps_shares=True)

    def _refuse_worse_than_guessing(self, fitted: Fitted, outcome: Outcome) -> None:
        """NotAvailable if the absence of single rows has decided, and no shares were kept.

        A model that has learned nothing is as good as a guess by the class shares.
        """
        is_asked = fitted.has_classes and self.groups is None and self.judge.metric == "accuracy"
        if not is_asked or outcome.keeps_shares or self.units.max() < fitted.few_units:
            return
        sizes = np.bincount(np.unique(self.judge.y, return_inverse=True)[1], self.judge.weights)
        guess = float(np.sum((sizes / sizes.sum()) ** 2))
        if outcome.score + 2 * outcome.standard_error < guess:
            raise NotAvailable(
                "leaving a row out makes its class rarer, which decides where the features "
                "predict little"
            )

    def _scored(self, estimate: Estimate) -> Outcome:
        z = estimate.z
        return Outcome(estimate, self.judge.score(z), self.judge.standard_error(z, self.units))

    def _checked(self, fitted: Fitted, outcome: Outcome) -> Outcome:
        """The outcome with its disagreement with refits; NotAvailable if that is large.

        Few units are all refitted: that is no more work than the check.
        """
        if outcome.estimate.is_exact:
            return outcome
        if self.units.max() < fitted.few_units:
            raise NotAvailable("")
        check = self._checked_on_sample if self._is_sampled(fitted) else self._refitted
        estimate, disagreement = check(fitted, outcome.estimate)
        outcome = self._judged(fitted, estimate)
        if disagreement.score > outcome.standard_error:
            raise NotAvailable(
                f"the formula differs from real refits by {disagreement.score:.2g}, more than a "
                "standard error"
            )
        return replace(outcome, disagreement=disagreement)

    def _refitted(self, fitted: Fitted, estimate: Estimate) -> tuple[Estimate, Disagreement]:
        """The estimate with some units refitted, and its error there.

        Half of them are those that the formula moves farthest: if it errs, it errs there, and few
        rows often decide the score. The others are random.
        """
        z, moved = estimate.z.copy(), _moved(fitted, estimate)
        halves = self._chosen(np.max(np.abs(moved), axis=1))
        for unit in np.concatenate(halves):
            rows = np.flatnonzero(self.units == unit)
            z[rows] = fitted.predict(fitted.without(rows), rows)
        missed = _comparable(fitted, z - estimate.z)
        in_half = [np.isin(self.units, half) for half in halves]
        is_refitted = in_half[0] | in_half[1]
        size = np.abs(missed[is_refitted])
        part = max(_ratio(missed[rows], moved[rows]) for rows in in_half)
        moved[is_refitted] = 0.0
        disagreement = Disagreement(
            refits=sum(map(len, halves)),
            largest=float(size.max()),
            mean=float(size.mean()),
            part=part,
            score=self._change(z, part * moved),
        )
        return replace(estimate, z=z), disagreement

    def _chosen(self, distance: Array) -> tuple[Array, Array]:
        """The units that move farthest, and as many random others."""
        of_unit = np.zeros(self.units.max() + 1)
        is_counted = self.units >= 0
        np.maximum.at(of_unit, self.units[is_counted], distance[is_counted])
        farthest = np.argsort(-of_unit, kind="stable")[:REFITS]
        others = drawn(self.units, 2 * REFITS)
        return farthest, others[~np.isin(others, farthest)][:REFITS]

    def _change(self, z: Array, by: Array) -> float:
        """The change of the score if predictions are off by twice `by`, all in or all out.

        Twice, since unchecked rows may miss by more.
        """
        score = self.judge.score(z)
        return max(abs(self.judge.score(z + 2 * side * by) - score) for side in (1, -1))

    def _is_sampled(self, fitted: Fitted) -> bool:
        return fitted.is_large and self.units.max() >= LARGE_SAMPLE

    def _checked_on_sample(
        self, fitted: Fitted, estimate: Estimate
    ) -> tuple[Estimate, Disagreement]:
        """The same by refits of a part of the rows, with the same ratio of penalty to weight.

        With fewer rows each has more influence, so the formula does worse there than on all.
        """
        strata = fitted.targets if fitted.has_classes and self.groups is None else None
        chosen = drawn(self.units, LARGE_SAMPLE, strata)
        rows = np.flatnonzero(np.isin(self.units, chosen))
        sample = fitted.sample(rows)
        groups = None if self.groups is None else self.groups[rows]
        trial = Trial(sample, self.judge.only(rows), groups)
        _, disagreement = trial._refitted(sample, by_formula(sample, groups))
        score = self._change(estimate.z, disagreement.part * _moved(fitted, estimate))
        return estimate, replace(disagreement, score=score)


def _moved(fitted: Fitted, estimate: Estimate) -> Array:
    """How far predictions move when their row is left out, by the formula."""
    moved = _comparable(fitted, estimate.z - fitted.predictions)
    return moved if estimate.is_refitted is None else np.where(estimate.is_refitted, 0.0, moved)


def _comparable(fitted: Fitted, difference: Array) -> Array:
    """Differences of scores, without a shift of all classes if that means nothing."""
    if fitted.ignores_shifts:
        return difference - difference.mean(axis=1, keepdims=True)
    return difference


def _ratio(missed: Array, moved: Array) -> float:
    """The part of their way from the fit that predictions missed: sums over all, 0/0 = 0."""
    total = float(np.sum(np.abs(moved)))
    return float(np.sum(np.abs(missed))) / total if total > 0 else 0.0
