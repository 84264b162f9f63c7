"""Schedule: which family is judged when, and on how many rows, so that the time is well spent.

First a linear model and boosting, without folds inside its fits, are judged on all rows, so that
there is a candidate that has seen them all. Then every family gets a first look, the cheapest
first: on all rows if it is cheap, else on some. Then the most promising ones are judged on more
rows, while time is left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from .family import Family
from .judging import FamilyTrial, Judging, seconds_in_words

# The first ones may each take this part of the time left.
FIRST = 0.25
# A family is cheap if all its fits need at most this part of the time left.
CHEAP = 0.03
# Rows of the first look at an expensive family: families with the same number share preparations.
LOOKS_AT = (5000, 2500, 1000, 500)
# The fewest rows of a look.
FEWEST = LOOKS_AT[-1]
# All first looks together may take this part of the time; the rest is for the promising families.
LOOKS = 0.4
# Every round except the last may take this part of the time left, so that there can be several.
ROUND = 0.25
# The smallest look may take this part of the time left, however small the family's share is: one
# that was never seen cannot be chosen.
SMALLEST = 0.12
# The same with few rows: all are needed, and no smaller look helps.
ALL_OF_FEW = 0.5
# A look may take this many times its estimate, since a stopped look is wasted.
PATIENCE = 3.0
# But at most this many times the part for a smallest look, unless its share is larger.
OVER_PART = 1.6
# Folds may together take this part of the time left, if one has ended in the time of a look: to
# stop and start again would take longer.
TOGETHER = 0.15
# For looks, at most this part of the time left is reserved for the last fit: it can use fewer rows.
KEPT = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """Judges families within the budget.

    Parameters
    ----------
    judging : Judging
        Judges one family at a time.
    """

    judging: Judging

    def run(self, families: Sequence[Family]) -> list[FamilyTrial]:
        """Judge families while time is left.

        The baseline has no limit: whatever the time, there is an answer.
        """
        judging = self.judging
        for family in families:
            if family.complexity == 0:
                judging.judge(family, judging.most_rows(family), None)
        self._begin([family for family in families if family.goes_first])
        self._look_at_all([family for family in families if self._is_waiting(family)])
        self._narrow_down()
        # At the end, first come, first served.
        for family in sorted(self._missed(families), key=self._price):
            self._look(family, self._spare)
        for family in self._missed(families):
            judging.say("skipped", family.name, text=judging.trials[family.name].reason)
        return [self._explained(judging.trials[family.name]) for family in families]

    def _missed(self, families: Sequence[Family]) -> list[Family]:
        """Families that were skipped."""
        return [family for family in families if not self.judging.trials[family.name].rows]

    def _is_waiting(self, family: Family) -> bool:
        """Whether nothing is known about a family yet."""
        trial = self.judging.trials.get(family.name)
        return trial is None or (trial.held is None and not trial.failure)

    @property
    def _spare(self) -> float:
        """Seconds without those reserved for the best family at the end."""
        return self._without_end(self.judging.budget.left)

    @property
    def _shared(self) -> float:
        """The same for the seconds to share out, which the load changes only if it must."""
        return self._without_end(self.judging.budget.shared)

    def _without_end(self, seconds: float) -> float:
        return seconds - min(self.judging.end_seconds(self.judging.best), KEPT * seconds)

    # ---- first looks -----------------------------------------------------------------------------

    def _begin(self, families: Sequence[Family]) -> None:
        """Judge these on all rows, without folds inside their fits unless that is cheap."""
        judging = self.judging
        for family in sorted(families, key=self._price):
            rows, shared = judging.most_rows(family), self._shared
            forms = [form for form, size in self._looks(family) if size == rows]
            form = forms[-1] if judging.need(family, rows) > CHEAP * shared else family
            need = judging.need(form, rows)
            if need <= min(FIRST * shared, self._spare):
                limit = min(PATIENCE * max(need, CHEAP * shared), FIRST * shared, self._spare)
                judging.judge(form, rows, limit)

    def _look_at_all(self, families: Sequence[Family]) -> None:
        """Look at every family; unused time goes to those that come later.

        Estimates improve with every look, so the cheapest of those waiting is determined each time.
        """
        end = (1 - LOOKS) * self.judging.budget.shared
        waiting = list(families)
        while waiting:
            family = min(waiting, key=self._price)
            share = max(self.judging.budget.shared - end, 0.0) / len(waiting)
            self._look(family, share)
            waiting.remove(family)

    def _looks(self, family: Family) -> list[tuple[Family, int]]:
        """The forms and numbers of rows for a look at a family, the best look first."""
        most, quick = self.judging.most_rows(family), family.quicker(self.judging.budget.facts)
        whole = [family] if quick is None else [family, quick]
        fewer = [(whole[-1], size) for size in LOOKS_AT if size < most]
        return [*((form, most) for form in whole), *fewer]

    def _price(self, family: Family) -> float:
        """Seconds of the smallest look."""
        return self.judging.need(*self._looks(family)[-1])

    def _look(self, family: Family, share: float) -> None:
        """Judge a family on all rows if it is cheap, or has the time for it, else on some."""
        judging, spare, shared = self.judging, self._spare, self._shared
        looks = self._looks(family)
        seconds = min(max(share, CHEAP * shared), spare)
        is_all = looks[-1][1] == looks[0][1]
        part = min((ALL_OF_FEW if is_all else SMALLEST) * shared, spare)
        affordable = [look for look in looks if judging.need(*look) <= seconds]
        if not affordable and self._price(family) <= part:
            affordable = looks[-1:]
        if not affordable:
            judging.skip(family, judging.need(*looks[0]))
            return
        form, rows = affordable[0]
        patience = PATIENCE * max(judging.need(form, rows), CHEAP * shared)
        limit = min(patience, max(seconds, OVER_PART * part), spare)
        judging.judge(form, rows, limit, max(limit, TOGETHER * spare))

    # ---- closer looks ----------------------------------------------------------------------------

    def _narrow_down(self) -> None:
        """Judge the most promising ones on more rows: all of them, then the better half, and so on.

        Each round has a part of the time, the last one all that is left (successive halving,
        Jamieson and Talwalkar 2016).
        """
        names = {trial.family.name for trial in self._promising()}
        while len(names) > 1:
            again = [trial for trial in self._promising() if trial.family.name in names]
            seconds = ROUND * self._shared / max(len(again), 1)
            for trial in again:
                self._look_closer(trial, seconds)
            ahead = [trial for trial in again if self._is_open(self._now(trial))]
            ahead.sort(key=lambda trial: -self._now(trial).unseen)
            names = {trial.family.name for trial in ahead[: len(names) // 2]}
        for trial in self._promising():
            if self._is_open(self._now(trial)):
                self._look_closer(self._now(trial), math.inf)

    def _now(self, trial: FamilyTrial) -> FamilyTrial:
        """The latest trial of the same family."""
        return self.judging.trials[trial.family.name]

    def _promising(self) -> list[FamilyTrial]:
        """Families that have not seen all their rows and may come first, the best ahead."""
        found = [trial for trial in self.judging.trials.values() if self._is_open(trial)]
        # Only the price of stopped ones is known.
        return sorted(found, key=lambda trial: (-trial.unseen, self._price(trial.family)))

    def _is_open(self, trial: FamilyTrial) -> bool:
        """Whether a family may come first with more rows.

        More rows bring training and unseen scores together from both sides: a family whose training
        score is behind the best unseen score will not come first.
        """
        if trial.failure or not trial.rows:
            return False
        if trial.held is None:
            return True
        best = self.judging.best
        assert best is not None
        is_done = trial.is_whole and trial.family.full is None
        return not is_done and trial.held.train >= best.unseen

    def _look_closer(self, trial: FamilyTrial, seconds: float) -> None:
        """Judge a family again on all rows, or on what it can afford if these are twice as many.

        With its folds, if they were left out and there is time for them on all rows.
        """
        judging, family = self.judging, trial.family
        most = rows = judging.most_rows(family)
        spare = self._beside(trial, is_whole=True)
        if family.full is not None:
            if judging.need_again(trial, most, family.full) <= min(seconds, spare):
                judging.judge(family.full, most, min(PATIENCE * seconds, spare))
                return
            if trial.is_whole:
                return
        if judging.need_again(trial, most) > min(seconds, spare):
            spare = self._beside(trial, is_whole=False)
            rows = judging.rows_within(trial, min(seconds, spare))
        fewest = 2 * trial.rows if trial.held is not None else FEWEST
        if rows >= min(fewest, most):
            judging.judge(family, rows, min(PATIENCE * seconds, spare))

    def _beside(self, trial: FamilyTrial, is_whole: bool) -> float:
        """Seconds without those for the end, whether the best is this family or the current one.

        A family that has learned from all rows of a split needs no last fit.
        """
        judging, best = self.judging, self.judging.best
        kept = judging.test_seconds(trial) if is_whole else judging.end_seconds(trial)
        if best is not None and best.family.name != trial.family.name:
            kept = max(kept, judging.end_seconds(best))
        return max(judging.budget.left - kept, 0.0)

    # ---- words -----------------------------------------------------------------------------------

    def _explained(self, trial: FamilyTrial) -> FamilyTrial:
        """Explain why a family did not learn from all rows."""
        judging = self.judging
        most = judging.most_rows(trial.family)
        if trial.held is None or trial.rows >= judging.folds.largest:
            return self._with_form(trial)
        if trial.rows >= most:
            why = f"learns from at most {most:,} rows"
        else:
            why = f"judged on {trial.rows:,} of {most:,} rows"
            if self._is_open(trial):
                need = seconds_in_words(judging.need(trial.family, most))
                why += f"; all rows would have taken about {need}"
            else:
                why += "; more rows could not have made it the best"
        return replace(trial, reason=why)

    def _with_form(self, trial: FamilyTrial) -> FamilyTrial:
        """Explain why a family was judged without its folds."""
        full = trial.family.full
        if full is None or trial.held is None:
            return trial
        why = "number of rounds tuned on one held-out part; cross-validation "
        if self._is_open(trial):
            need = self.judging.need(full, self.judging.most_rows(full))
            why += f"would have taken about {seconds_in_words(need)}"
        else:
            why += "could not have made it the best"
        return replace(trial, reason=why)
