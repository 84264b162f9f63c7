"""Schedule: which family is judged when, and on how many rows, so that the time is well spent.

Cheap families come first and on all rows. A dear one is first looked at with some rows; when all
have been seen, those that promise most are judged on more rows, as far as the time goes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .families import Family
from .judging import Judging, Trial, in_words

# A family is cheap if all its fits need at most this part of what is left.
CHEAP = 0.03
# Rows of the first look at a dear family: families that take the same share what is prepared.
LOOKS_AT = (5000, 2500, 1000, 500)
LOOK, FEWEST = LOOKS_AT[0], LOOKS_AT[-1]
# First looks may take this part of the time, all together, and so may every round but the last.
LOOKS, ROUND = 0.4, 0.25
# A family may take so many times what was guessed, and then more than its share, up to this part of
# what is left: a look that is stopped was for nothing.
PATIENCE, OVER_SHARE = 3.0, 0.15


@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """Judges families within the budget.

    Parameters
    ----------
    judging : Judging
        Judges one family at a time.
    """

    judging: Judging

    def run(self, families: Sequence[Family]) -> list[Trial]:
        """Judge families, which come the cheapest first, as far as the time goes.

        The null model has no limit: whatever the time, there is an answer.
        """
        judging = self.judging
        end = judging.budget.left * (1 - LOOKS)
        for place, family in enumerate(families):
            if family.complexity == 0:
                judging.judge(family, judging.most_rows(family), None)
            else:
                share = max(self._available - end, 0.0) / (len(families) - place)
                self._look(family, max(share, self._half(family)))
        # What others have left may be enough now, and in the end whoever comes first is served.
        missed = self._missed(families)
        for place, family in enumerate(missed):
            share = ROUND * self._available / (len(missed) - place)
            self._look(family, max(share, self._half(family)))
        self._narrow_down()
        for family in self._missed(families):
            self._look(family, self._available)
        for family in self._missed(families):
            judging.say("skipped", family.name, text=judging.trials[family.name].reason)
        return [self._explained(judging.trials[family.name]) for family in families]

    def _half(self, family: Family) -> float:
        """Half of what is available, of few rows: all are needed, so that no smaller look helps.

        The cheapest come first, so that as many families as can be are judged.
        """
        return 0.5 * self._available if self.judging.most_rows(family) <= LOOK else 0.0

    def _missed(self, families: Sequence[Family]) -> list[Family]:
        """Families that were skipped."""
        return [family for family in families if not self.judging.trials[family.name].rows]

    @property
    def _available(self) -> float:
        """Seconds without those that the best family needs at the end."""
        return max(self.judging.budget.left - self.judging.end_seconds(), 0.0)

    def _look(self, family: Family, share: float) -> None:
        """Judge a family on all rows if it is cheap, or has the time for it, else on some."""
        judging, available = self.judging, self._available
        most, seconds = judging.most_rows(family), max(share, CHEAP * available)
        rows = judging.rows_within(family, seconds)
        if rows < most:
            rows = max((size for size in LOOKS_AT if size <= rows), default=0)
        if not rows:
            judging.skip(family, judging.need(family, most))
            return
        patience = max(PATIENCE * judging.need(family, rows), CHEAP * available)
        judging.judge(family, rows, min(patience, max(seconds, OVER_SHARE * available), available))

    def _narrow_down(self) -> None:
        """Judge those that promise most on more rows: all of them, then the better half, and so on.

        Each round has a part of the time, the last one all that is left (successive halving,
        Jamieson and Talwalkar 2016).
        """
        names = {trial.family.name for trial in self._promising()}
        while again := [trial for trial in self._promising() if trial.family.name in names]:
            part = 1.0 if len(names) == 1 else ROUND
            seconds = part * self._available / len(again)
            for trial in again:
                self._look_closer(trial, seconds)
            if len(names) == 1:
                break
            ahead = [t for t in self._promising() if t.family.name in names]
            names = {trial.family.name for trial in ahead[: (len(names) + 1) // 2]}
        for trial in self._promising():
            self._look_closer(trial, self._available)

    def _promising(self) -> list[Trial]:
        """Families that have not seen all their rows and may come first, the best ahead.

        More rows bring the scores of seen and unseen rows together from both sides: a family whose
        score on its own rows is behind the best on unseen ones will not come first.
        """
        found = [
            trial
            for trial in self.judging.trials.values()
            if not trial.failure and trial.rows and self._is_open(trial)
        ]
        # Of those that were stopped nothing is known but their price.
        return sorted(found, key=lambda t: (-t.unseen, self.judging.need(t.family, LOOK)))

    def _is_open(self, trial: Trial) -> bool:
        if trial.held is None:
            return True
        best = self.judging.best
        assert best is not None
        is_whole = trial.rows >= self.judging.most_rows(trial.family)
        return not is_whole and trial.held.train >= best.unseen

    def _look_closer(self, trial: Trial, seconds: float) -> None:
        """Judge a family again on as many rows as it can afford, if these are twice as many."""
        judging, family = self.judging, trial.family
        most = judging.most_rows(family)
        # The time for testing the best so far is kept; another one may need more.
        more = max(judging.test_seconds(trial) - judging.end_seconds(), 0.0)
        seconds = max(seconds - more, 0.0)
        rows = judging.rows_within(family, seconds)
        fewest = 2 * trial.rows if trial.held is not None else FEWEST
        if rows >= min(fewest, most):
            judging.judge(family, rows, min(PATIENCE * seconds, self._available))

    def _explained(self, trial: Trial) -> Trial:
        """Say of a family that has not learned from all rows why."""
        judging = self.judging
        most = judging.most_rows(trial.family)
        if trial.held is None or trial.rows >= judging.folds.largest:
            return trial
        if trial.rows >= most:
            why = f"learns from at most {most:,} rows"
        else:
            why = f"judged on {trial.rows:,} of {most:,} rows"
            if self._is_open(trial):
                why += f"; all would have needed about {in_words(judging.need(trial.family, most))}"
            else:
                why += "; with more it could not have come first"
        return replace(trial, reason=why)
