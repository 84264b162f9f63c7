"""Standard errors of scores, which are never 0 even for models that are right in all rows.

Even if all of 58 rows are right, the 59th may be wrong. An interval of a share that is honest at 0
and 1 is that of Wilson (1927, J. Am. Stat. Assoc. 22): for one standard error, and n rows that are
all right, it goes from n/(n + 1) to 1, as if one more row had been wrong. Here the effect of one
more row is added to the errors of all scores of classes; with many rows it is invisible.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..evaluation import HeldOut, Rows, behind_error
from ..unseen import Corrected
from .metric import BALANCED, MEAN_COST, OF_AREAS, ONE_CLASS, Metric

Array = np.ndarray

# The least cost of a wrong row: the probability of a class that is not predicted is at most ½.
# Errors of numbers have no such step from right to wrong, and show by themselves how they vary.
OF_A_ROW = {"accuracy": 1.0, "error_rate": 1.0, "log_loss": np.log(2.0), "brier": 0.25}
# These count each class separately, so that the rows of a class determine how well they are known.
OF_DECISIONS = (BALANCED, *ONE_CLASS)
# Two models differ in whole rows by these, and by parts of a row by others.
IN_STEPS = ("accuracy", "error_rate", *OF_DECISIONS)
# The score of a model has the spread of its rows three times: see `unseen.selection_bias`.
SPREADS = 3.0


@dataclass(frozen=True, eq=False)
class ScoreErrors:
    """Standard errors of the scores of one metric on the same held-out rows.

    Parameters
    ----------
    rows : Rows
        All rows for training.
    metric : Metric
        What is measured.
    """

    rows: Rows
    metric: Metric

    def of(self, held: HeldOut) -> float:
        """The standard error of the score on unseen rows."""
        return float(np.hypot(held.standard_error, self._of_one_more(held)))

    def behind(self, held: HeldOut, best: HeldOut) -> float:
        """The standard error of the difference from the best; 0 for the best itself.

        Agresti and Min (2005, Statistics in Medicine 24) add as much: half a row to those in which
        the one alone is right, and half a row to the others.
        """
        if held is best:
            return 0.0
        more = self._of_one_more(best) if self.metric.name in IN_STEPS else 0.0
        return float(np.hypot(behind_error(held, best, self.rows), more))

    def expected(self, after: Corrected, chosen: HeldOut) -> float:
        """The standard error of the score corrected for selection."""
        more = np.sqrt(SPREADS) * self._of_one_more(chosen)
        return float(np.hypot(after.standard_error, more))

    def of_test(self, after: Corrected, chosen: HeldOut, units: int) -> float:
        """The standard error of a test with `units` rows, or groups, around the corrected score.

        Test rows vary like held-out rows, and fewer of them vary more.
        """
        of_mean = self.of(chosen) * np.sqrt(self._count(chosen.tested) / max(units, 1))
        return float(np.hypot(self.expected(after, chosen), of_mean))

    def _of_one_more(self, held: HeldOut) -> float:
        """The effect of one more wrong row."""
        tested = held.tested
        if self.metric.name not in (*OF_DECISIONS, *OF_AREAS):
            return self._cost / (self._count(tested) + 1)
        y = self.rows.y[tested]
        shares = [1 / (self._count(tested[y == label]) + 1) for label in self._measured(y)]
        # A mean over classes, each of which may have one more.
        return float(np.linalg.norm(shares) / len(shares))

    @cached_property
    def _cost(self) -> float:
        """What a wrong row costs."""
        if self.metric.name == MEAN_COST and self.metric.costs is not None:
            return float(np.ptp(self.metric.costs))
        return float(OF_A_ROW.get(self.metric.name, 0.0))

    def _count(self, rows: Array) -> int:
        """The number of distinct rows, or of groups of them."""
        return len(np.unique(self.rows.units[rows]))

    def _measured(self, y: Array) -> Array:
        """The classes that the score averages; of two the one that determines most of it."""
        classes = self.metric.classes
        assert classes is not None
        labels, counts = np.unique(y, return_counts=True)
        if self.metric.name == BALANCED or len(classes) > 2:
            return labels
        # With two classes, areas compare all rows of one with all of the other, so the smaller one
        # counts; decisions are about the second.
        if self.metric.name in OF_AREAS:
            return labels[[np.argmin(counts)]]
        return classes[1:]
