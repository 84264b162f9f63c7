"""Over-fitted, under-fitted or balanced: what someone who knew the truth would say.

A model is compared, on the same held-out rows, with versions of itself: simpler ones, down to a
constant, and richer ones. Over-fitted: a simpler one is clearly better. Under-fitted: a richer one
is. For a model that keeps its shape however little it is regularised, such as a line, the richer
one is the model with a correction of its errors. If both are better, the larger gain decides.
Families say which versions they have (`versions`); everything else is here.

Rows that share their x are left out together, so held-out rows have new x. If x repeat, with other
targets, known x count as well: see `lack_of_fit`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .answers import Answering, Link
from .fitted import Array
from .folds import drawn
from .lack_of_fit import by_same_x, corrections
from .leave_one_out import NotAvailable
from .paired import PART, SURE, Lead, lead
from .trial import Outcome, Trial
from .versions import Dial, Version, at_once

# The most turns of a dial, and for large data.
MOST_TURNS, TURNS_OF_LARGE = 5, 2
# A turn that changes the loss by less than NO_EFFECT has none; below SLOW the next turn is a double
# one; one that raises the loss by more than HARM has gone too far.
NO_EFFECT, SLOW, HARM = 1e-3, 0.01, 0.02
# A model better than a constant is not held back if this many turns have no effect.
FLAT_TURNS = 2
# How surprising a lead must be if the model loses less than half as much on its training rows as on
# unseen ones: a chance of 5 %.
SURE_BY_HEART, HALF = 1.64, 0.5
# A gain that matters even if the score stays the same: this part of a constant's loss.
MUCH = 0.1
# Predict the errors of at most this many units, from at most this many features.
MOST_UNITS, MOST_FEATURES = 600, 500
# Use other rows of the same x if they cover this part of the weight.
MOST = 0.5
NOTHING_BUT_HEART = (
    "it has memorised its training rows, and does no better than a constant on unseen ones"
)
NEITHER = "no simpler or richer version does clearly better"


@dataclass(frozen=True, eq=False)
class Rival:
    """A version that was compared: its lead, its score if known, and the fit itself.

    `answers` are its answers on unseen rows.
    """

    name: str
    lead: Lead
    score: float | None
    answers: Array
    fit: Any = None

    def is_clear(self, enough: float, score: float) -> bool:
        """Whether it is ahead by more than chance explains, and by enough to matter.

        Better probabilities alone matter less than answers with a better score.
        """
        is_better = self.score is None or not self.score <= score
        matters = is_better or self.lead.of_constant > MUCH
        return matters and self.lead.is_clear(enough)


@dataclass(frozen=True, eq=False)
class Comparison:
    """A fit with its held-out predictions, compared with other versions on the same rows."""

    trial: Trial
    outcome: Outcome

    @cached_property
    def answering(self) -> Answering:
        """How scores become answers, and answers losses."""
        return Answering(self.trial.judge, self.trial.fitted)

    @cached_property
    def link(self) -> Link | None:
        """How the scores of the fit become probabilities."""
        return self.answering.link(self.trial.fitted)

    @cached_property
    def answers(self) -> Array:
        """The fit's answers on unseen rows."""
        return self.answering.answers(self.outcome.estimate.z, self.link)

    @cached_property
    def losses(self) -> Array:
        """Its losses there."""
        return self.answering.losses(self.answers)

    @cached_property
    def constant(self) -> Array:
        """The answer to each row without features, and without its unit."""
        targets, units = self.answering.targets, self.trial.units
        weights = np.where(units >= 0, self.trial.judge.weights, 0.0)
        sums = np.zeros((units.max() + 1, targets.shape[1] + 1))
        kept = weights > 0
        np.add.at(sums, units[kept], np.column_stack([weights[:, None] * targets, weights])[kept])
        rest = sums.sum(axis=0) - sums
        out = np.full(targets.shape, np.nan)
        out[kept] = (rest[:, :-1] / np.maximum(rest[:, -1:], 1e-300))[units[kept]]
        return out

    @cached_property
    def known(self) -> Array:
        """The fit's answers on its training rows."""
        return self.answering.answers(self.trial.fitted.predictions, self.link)

    @cached_property
    def weights(self) -> Array:
        """The weight of each row; 0 for those in no unit."""
        return np.where(self.trial.units >= 0, self.trial.judge.weights, 0.0)

    @cached_property
    def is_by_heart(self) -> bool:
        """Whether the model loses far less on its training rows than on unseen ones.

        That means nothing for one that interpolates, however simple it is.
        """
        if self.trial.fitted.interpolates:
            return False
        return self._ratio(self.answering.losses(self.known), self.losses) < HALF

    @cached_property
    def is_useful(self) -> bool:
        """Whether it is better than a constant on unseen rows, as far as is known."""
        constant = self.lead(self.constant)
        return constant.change < -HARM and constant.surprise < -1.0

    def _ratio(self, losses: Array, others: Array) -> float:
        """The sum of some losses as a part of that of others, over rows that have both."""
        kept = (self.weights > 0) & np.isfinite(losses) & np.isfinite(others)
        total = float(np.sum((self.weights * others)[kept]))
        return float(np.sum((self.weights * losses)[kept])) / total if total > 0 else 1.0

    def lead(self, answers: Array, of: Array | None = None) -> Lead:
        """How far other answers are ahead of the fit's on unseen rows, or of those given."""
        losses = self.losses if of is None else self.answering.losses(of)
        others = self.answering.losses(answers)
        constant = self.answering.losses(self.constant)
        is_bounded, units = self.answering.has_classes, self.trial.units
        return lead(losses, others, constant, self.weights, units, is_bounded=is_bounded)

    # ---- versions --------------------------------------------------------------------------------

    def simpler(self) -> Iterator[Rival]:
        """The best of each way to be simpler, and a constant."""
        if self.trial.fitted.asymmetric_loss is None:
            score = self.answering.score(self.constant)
            yield Rival("a constant", self.lead(self.constant), score, self.constant)
        # Between far too narrow and just right may lie worse, as if C is large as well.
        harm = np.inf if self.is_by_heart else HARM
        turned = list(self._turned(self.trial.fitted.simpler(), harm, MOST_TURNS))
        yield from turned
        if self.is_by_heart and not any(r.is_clear(SURE, self.outcome.score) for r in turned):
            # It may be too free in two ways, each of which hides the other.
            yield from self._turned([at_once(self.trial.fitted)], harm, MOST_TURNS)

    def richer(self) -> Iterator[Rival]:
        """The best of each way to be richer."""
        # One that knows its rows by heart has enough freedom.
        if self.is_by_heart:
            return
        # One that is no better than a constant has nothing to lose, and may need many splits.
        is_idle = self.lead(self.constant).change > -HARM
        limits = (np.inf, MOST_TURNS) if is_idle else (NO_EFFECT, FLAT_TURNS)
        turned = list(self._turned(self.trial.fitted.richer(), *limits))
        yield from turned
        if any(rival.is_clear(SURE, self.outcome.score) for rival in turned):
            return
        if self.trial.fitted.is_limited or is_idle:
            yield from self._corrected()

    def _turned(self, dials: list[Dial], harm: float, flat: int) -> Iterator[Rival]:
        for dial in dials:
            best = self._best(dial, harm, flat)
            if best is not None:
                yield best

    def _best(self, dial: Dial, harm: float, flat: int) -> Rival | None:
        """The best version of a dial, turned until it does harm.

        After `flat` turns in a row without effect no other is tried.
        """
        best, before, step, still = None, 0.0, 1, 0
        for _ in range(TURNS_OF_LARGE if self.trial.fitted.is_large else MOST_TURNS):
            version = dial(step)
            if version is None:
                break
            rival = self._rival(version)
            if rival is None or rival.lead.change < before - harm:
                break
            effect = abs(rival.lead.change - before)
            stride, still = 2 if effect < SLOW else 1, still + 1 if effect < NO_EFFECT else 0
            if still >= flat:
                break
            if best is None or rival.lead.change > best.lead.change:
                best = rival
            before, step = max(before, rival.lead.change), step + stride
        return best

    def _rival(self, version: Version, *, is_checked: bool = False) -> Rival | None:
        enough = -np.inf if is_checked else np.inf
        try:
            outcome = self.trial.run(version.fit, self.outcome.why_refits, enough)
        except NotAvailable:
            return None
        z = outcome.estimate.z
        answers = self.answering.answers(z, self.answering.link(version.fit))
        if self.trial.fitted.is_plain:
            # It loses nothing by having no probabilities.
            answers = _most_likely(answers)
        return Rival(version.name, self.lead(answers), outcome.score, answers, version.fit)

    def confirmed(self, rival: Rival) -> Rival:
        """The rival, by refits if its formula is off."""
        if rival.fit is None:
            return rival
        checked = self._rival(Version(rival.fit, rival.name), is_checked=True)
        return rival if checked is None else checked

    # ---- training rows ---------------------------------------------------------------------------

    def has_gained_over(self, rival: Rival) -> bool:
        """Whether the model knows its training rows clearly better than a simpler version does.

        If not, its freedom has not helped on its training rows, so it has not over-fitted: it may
        lose on unseen rows because the remaining rows are biased against them.
        """
        if self.is_by_heart or self.trial.fitted.interpolates:
            return True
        if rival.fit is None:
            targets, weights = self.answering.targets, self.weights
            mean = np.average(targets[weights > 0], axis=0, weights=weights[weights > 0])
            known = np.broadcast_to(mean, targets.shape)
        else:
            known = self.answering.answers(rival.fit.predictions, self.answering.link(rival.fit))
        ratio = self._ratio(self.answering.losses(self.known), self.answering.losses(known))
        return ratio < 1 - 0.5 * PART

    @cached_property
    def same_x(self) -> Array | None:
        """Answers for each row from other rows of the same x; None if they cover too little."""
        trial = self.trial
        if trial.groups is not None or trial.time is not None:
            return None
        if trial.fitted.asymmetric_loss is not None:
            return None
        found = by_same_x(
            self.answering.targets,
            self.weights,
            trial.units,
            None if self.answering.has_classes else trial.fitted.distinct,
        )
        spoken = np.all(np.isfinite(found), axis=1)
        return found if np.sum(self.weights[spoken]) > MOST * np.sum(self.weights) else None

    def lead_of_same_x(self, answers: Array) -> Rival | None:
        """How far other rows of the same x are ahead of these answers; None if they are not."""
        if self.same_x is None:
            return None
        score = self.answering.score(np.where(np.isfinite(self.same_x), answers, np.nan))
        ahead = self.lead(self.same_x, answers)
        found = self.answering.score(self.same_x)
        rival = Rival("the mean of other rows with the same x", ahead, found, self.same_x)
        return rival if rival.is_clear(SURE, -np.inf if score is None else score) else None

    # ---- errors that can be predicted ------------------------------------------------------------

    def _corrected(self) -> Iterator[Rival]:
        """The model with its errors predicted by learners of another shape."""
        design = self.trial.fitted.plain_rows
        if design is None or design.d > MOST_FEATURES or self.trial.units.max() < 4:
            return
        told, known, kept = self.answers, self.known, self.trial.units >= 0
        kept &= np.all(np.isfinite(told), axis=1) & np.all(np.isfinite(known), axis=1)
        kept &= self.trial.judge.weights > 0
        units = self.trial.units
        rows = np.flatnonzero(kept & np.isin(units, drawn(units, MOST_UNITS)))
        if not len(rows) or np.all(units[rows] == units[rows[0]]):
            return
        weights = self.trial.judge.weights[rows]
        errors = self.answering.targets[rows] - known[rows]
        if self.trial.fitted.asymmetric_loss is not None:
            errors = errors - np.average(errors, axis=0, weights=weights)
        labels = np.unique(units[rows], return_inverse=True)[1]
        for name, found in corrections(design.rows(rows).dense(), errors, weights, labels):
            answers = np.full(told.shape, np.nan)
            answers[rows] = told[rows] + found
            name = f"correcting its errors with {name}"
            yield Rival(name, self.lead(answers), self.answering.score(answers), answers)


def judgement(trial: Trial, outcome: Outcome) -> tuple[str, str]:
    """Over-fitted, under-fitted or balanced, and the advice."""
    comparison = Comparison(trial, outcome)
    # What holds for new x alone is not the fault of a model whose x repeat.
    if (rival := comparison.lead_of_same_x(comparison.known)) is not None:
        return "under-fitted", _advice(rival, outcome.score)
    over, under = _simpler(comparison), _clearest(comparison, comparison.richer(), SURE)
    is_useless = comparison.is_by_heart and not comparison.is_useful
    if over is None and is_useless and comparison.lead_of_same_x(comparison.constant) is None:
        return "over-fitted", NOTHING_BUT_HEART
    found = [
        (kind, rival) for kind, rival in (("over-fitted", over), ("under-fitted", under)) if rival
    ]
    if not found:
        return "balanced", NEITHER
    kind, rival = max(found, key=lambda pair: pair[1].lead.gain)
    if kind == "over-fitted" and comparison.lead_of_same_x(rival.answers) is not None:
        return (
            "balanced",
            f"{rival.name} would do better for new x, but not for those it was trained on",
        )
    return kind, _advice(rival, outcome.score)


def _simpler(comparison: Comparison) -> Rival | None:
    """A simpler version that is clearly better, at the price of its training rows."""
    enough = SURE_BY_HEART if comparison.is_by_heart else SURE
    rival = _clearest(comparison, comparison.simpler(), enough)
    return rival if rival is not None and comparison.has_gained_over(rival) else None


def _clearest(comparison: Comparison, rivals: Iterator[Rival], enough: float) -> Rival | None:
    """The clearly better version with the largest gain, if refits confirm it."""
    score = comparison.outcome.score
    clear = [rival for rival in rivals if rival.is_clear(enough, score)]
    if not clear:
        return None
    best = comparison.confirmed(max(clear, key=lambda rival: rival.lead.gain))
    return best if best.is_clear(enough, score) else None


def _most_likely(answers: Array) -> Array:
    """Classes without doubt: 1 for the likeliest, NaN if nothing is known."""
    is_known = np.all(np.isfinite(answers), axis=1)
    out = np.full(answers.shape, np.nan)
    out[is_known] = np.eye(answers.shape[1])[answers[is_known].argmax(axis=1)]
    return out


def _advice(rival: Rival, score: float) -> str:
    if rival.score is None or not rival.score > score:
        return f"{rival.name} would do better"
    return f"{rival.name} would give {rival.score:.3g}"
