"""Over-fitted, under-fitted or balanced: what a person would say who knew the truth.

A model is compared, on the same held-out rows, with versions of itself: simpler ones, down to a
constant, and richer ones. Over-fitted: a simpler one is clearly better. Under-fitted: a richer one
is. For a model whose shape stays the same however little it is held back, as a line's, the richer
one is the model with a correction of its errors. Where both are better, the larger gain decides.
Families say which versions they have (`versions`); everything else is here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..leave_one_out import NotAvailable
from .answers import Answering, Link
from .fitted import Array
from .held_out import drawn
from .leftover import corrections
from .paired import Lead, lead
from .trial import Outcome, Trial
from .versions import Dial, Version

# How often a dial is turned at most, and for large data.
MOST_TURNS, TURNS_OF_LARGE = 5, 2
# A turn that changes the loss by less has no effect, or too little not to go on by two; one that
# raises it by more than this has gone too far.
NO_EFFECT, SLOW, HARM = 1e-3, 0.01, 0.02
# A model that does more than a constant is not held back where so many turns have no effect.
FLAT_TURNS = 2
# How surprising a lead must be, as a standard normal number: a chance of 0.5 %, and of 5 % where
# the model loses less than half as much on its own rows as on unseen ones.
SURE, SURE_BY_HEART, HALF = 2.58, 1.64, 0.5
# A gain that matters even if the score stays the same: this part of what a constant loses.
MUCH = 0.1
# Of so many units errors are predicted, and from so many features at most.
MOST_UNITS, MOST_FEATURES = 600, 500
NOTHING_BUT_HEART = "it knows its own rows by heart, and of others no more than a constant"
NEITHER = "no simpler and no richer version of it does clearly better"


@dataclass(frozen=True, eq=False)
class Rival:
    """A version that was compared: its lead, its score where it is known, and the fit itself."""

    name: str
    lead: Lead
    score: float | None
    fit: Any = None

    def is_clear(self, enough: float, score: float) -> bool:
        """Whether it is ahead by more than chance explains, and by enough to matter.

        Better probabilities alone matter less than answers with a better score.
        """
        is_better = self.score is None or not self.score <= score
        matters = self.lead.is_large and (is_better or self.lead.of_constant > MUCH)
        return matters and self.lead.surprise > enough


@dataclass(frozen=True, eq=False)
class Comparison:
    """A fit with its held-out predictions, and what other versions of it do on the same rows."""

    trial: Trial
    outcome: Outcome

    @cached_property
    def answering(self) -> Answering:
        """What scores say, and what that loses."""
        return Answering(self.trial.judge, self.trial.fitted)

    @cached_property
    def link(self) -> Link | None:
        """How the scores of the fit become probabilities."""
        return self.answering.link(self.trial.fitted)

    @cached_property
    def answers(self) -> Array:
        """What the fit says of unseen rows."""
        return self.answering.answers(self.outcome.estimate.z, self.link)

    @cached_property
    def losses(self) -> Array:
        """What it loses there."""
        return self.answering.losses(self.answers)

    @cached_property
    def constant(self) -> Array:
        """What each row would be told by one that knows no features, and none of its unit."""
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
    def is_by_heart(self) -> bool:
        """Whether the model loses far less on its own rows than on unseen ones."""
        known = self.answering.answers(self.trial.fitted.predictions, self.link)
        weights = np.where(self.trial.units >= 0, self.trial.judge.weights, 0.0)
        seen, unseen = self.answering.losses(known), self.losses
        kept = (weights > 0) & np.isfinite(seen) & np.isfinite(unseen)
        return bool(np.sum((weights * seen)[kept]) < HALF * np.sum((weights * unseen)[kept]))

    @cached_property
    def is_useful(self) -> bool:
        """Whether it is better than a constant on unseen rows, as far as can be told."""
        constant = self.lead(self.constant)
        return constant.change < -HARM and constant.surprise < -1.0

    def lead(self, answers: Array) -> Lead:
        """How far other answers are ahead of the fit's."""
        losses = self.answering.losses(answers)
        constant = self.answering.losses(self.constant)
        weights = np.where(self.trial.units >= 0, self.trial.judge.weights, 0.0)
        is_bounded = self.answering.has_classes
        units = self.trial.units
        return lead(self.losses, losses, constant, weights, units, is_bounded=is_bounded)

    # ---- versions --------------------------------------------------------------------------------

    def simpler(self) -> Iterator[Rival]:
        """The best of each way to be simpler, and a constant."""
        if self.trial.fitted.asymmetric_loss is None:
            score = self.answering.score(self.constant)
            yield Rival("a constant", self.lead(self.constant), score)
        # Between far too narrow and just right may lie worse, as where C is large as well.
        harm = np.inf if self.is_by_heart else HARM
        yield from self._turned(self.trial.fitted.simpler(), harm, MOST_TURNS)

    def richer(self) -> Iterator[Rival]:
        """The best of each way to be richer."""
        # One that knows its rows by heart has had freedom enough.
        dials = [] if self.is_by_heart else self.trial.fitted.richer()
        is_constant = abs(self.lead(self.constant).change) < HARM
        limits = (HARM, MOST_TURNS) if is_constant else (NO_EFFECT, FLAT_TURNS)
        turned = list(self._turned(dials, *limits))
        yield from turned
        score = self.outcome.score
        if self.trial.fitted.is_limited and not any(r.is_clear(SURE, score) for r in turned):
            yield from self._corrected()

    def _turned(self, dials: list[Dial], harm: float, flat: int) -> Iterator[Rival]:
        for dial in dials:
            best = self._best(dial, harm, flat)
            if best is not None:
                yield best

    def _best(self, dial: Dial, harm: float, flat: int) -> Rival | None:
        """The version of a dial that does best, turned as long as that does no more harm.

        After so many turns in a row without effect no other is tried.
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
        return Rival(version.name, self.lead(answers), outcome.score, version.fit)

    def confirmed(self, rival: Rival) -> Rival:
        """The rival, by refits where its formula misses them."""
        if rival.fit is None:
            return rival
        checked = self._rival(Version(rival.fit, rival.name), is_checked=True)
        return rival if checked is None else checked

    # ---- errors that can be predicted ------------------------------------------------------------

    def _corrected(self) -> Iterator[Rival]:
        """The model with its errors predicted by learners of another shape."""
        design = self.trial.fitted.plain_rows
        if design is None or design.d > MOST_FEATURES or self.trial.units.max() < 4:
            return
        told, kept = self.answers, self.trial.units >= 0
        known = self.answering.answers(self.trial.fitted.predictions, self.link)
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
            name = f"{name}, by which its errors can be predicted,"
            yield Rival(name, self.lead(answers), self.answering.score(answers))


def judgement(trial: Trial, outcome: Outcome) -> tuple[str, str]:
    """Over-fitted, under-fitted or balanced, and what follows."""
    comparison = Comparison(trial, outcome)
    found = []
    for kind, rivals, enough in (
        ("over-fitted", comparison.simpler(), SURE_BY_HEART if comparison.is_by_heart else SURE),
        ("under-fitted", comparison.richer(), SURE),
    ):
        clear = [rival for rival in rivals if rival.is_clear(enough, outcome.score)]
        best = max(clear, key=lambda rival: rival.lead.gain, default=None)
        if best is not None and (best := comparison.confirmed(best)).is_clear(
            enough, outcome.score
        ):
            found.append((kind, best))
    if not found and comparison.is_by_heart and not comparison.is_useful:
        return "over-fitted", NOTHING_BUT_HEART
    if not found:
        return "balanced", NEITHER
    kind, rival = max(found, key=lambda pair: pair[1].lead.gain)
    return kind, _advice(rival, outcome.score)


def _advice(rival: Rival, score: float) -> str:
    if rival.score is None or not rival.score > score:
        return f"{rival.name} would do better"
    return f"{rival.name} would give {rival.score:.3g}"
