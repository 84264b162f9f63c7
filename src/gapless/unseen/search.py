"""What a search over parameters has tried and chosen, as plain data, and the winner's score.

Made by every estimator that tunes: `Search` is shown to users, `ScoredChoice` is kept until the
score of the winner has been corrected for the choice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._ground.drawing import pictures
from .._ground.notebook import ShownInNotebook
from .held_out import METHODS
from .leave_one_out.distinct import mean_and_error
from .result import Generalization, chosen_among, uncorrected
from .selection_bias import Corrected, correct

Array = np.ndarray

# Values that make the fit choose a parameter: by leaving out each row, or by folds.
LOO, CV = "loo", "cv"


@dataclass(frozen=True, eq=False)
class Search(ShownInNotebook):
    """What a search has tried, as plain data: one entry for each of m models.

    Attributes
    ----------
    values : dict of str to ndarray of shape (m,)
        The values of each parameter that was chosen, by name.
    unseen, standard_errors : ndarray of shape (m,)
        The score of rows that the models had not seen, and its standard error.
    rows : ndarray of int, shape (m,)
        The number of distinct x; a first look may use fewer.
    chosen : int
        Which of them was chosen.
    metric : str
        What the score is, such as "accuracy" or "R²".
    """

    values: dict[str, Array]
    unseen: Array
    standard_errors: Array
    rows: Array
    chosen: int
    metric: str

    @property
    def best(self) -> dict[str, float]:
        """The values of the parameters that were chosen, by name; none if nothing was tried."""
        return {name: float(of[self.chosen]) for name, of in self.values.items() if len(of)}

    def __repr__(self) -> str:
        if not len(self.unseen):
            return "<Search of 0 models>"
        best = ", ".join(f"{name}={value:.3g}" for name, value in self.best.items())
        return (
            f"<Search of {len(self.unseen)} models: {best}; {self.metric} "
            f"{self.unseen[self.chosen]:.3g} ± {self.standard_errors[self.chosen]:.2g}>"
        )

    def plot(self, *, axes=None):
        """Draw the score on unseen rows against the parameter, or as a heat map of two.

        Parameters
        ----------
        axes : matplotlib Axes, default=None
            Where to draw; a new figure if None.

        Returns
        -------
        axes : matplotlib Axes
            With a dot for each model tried, and a ring or disk for the chosen one.
        """
        plots = pictures()
        return plots.search(
            self.values, self.unseen, metric=self.metric, chosen=self.chosen, axes=axes
        )


def best_of(unseen: Array, standard_errors: Array, select: str) -> int:
    """The best of m models, or with "1se" the first within a standard error of it.

    The models are in order, the simplest first.
    """
    best = int(np.nanargmax(unseen))
    if select == "min":
        return best
    enough = unseen[best] - np.nan_to_num(standard_errors[best])
    return int(np.flatnonzero(unseen >= enough)[0])


@dataclass(frozen=True, eq=False)
class ScoredChoice:
    """What a search has chosen, with the scores of each unit that was left out.

    Parameters
    ----------
    search : Search
        The models tried, and which of them was chosen.
    shown, by : ndarray of shape (units, m)
        The scores that are reported, and those that decide; of the last m models of the search, if
        the earlier ones were only tried on fewer rows.
    weights : ndarray of shape (units,)
        The weights of the units.
    is_whole : bool, default=True
        Whether all units were left out; with a sample, the winner's score is not corrected.
    within : float, default=0.0
        The winner is the first model within this many standard errors of the best one.
    families : ndarray of int, shape (m,), optional
        With `within`, only models of the best one's family are considered.
    method : str, default="loo"
        How units were left out.
    refuted : tuple of str, default=()
        Verdicts on the winner that the search itself refutes, such as "over-fitted" if a much
        stronger penalty was tried and did worse.
    is_rough : bool, default=False
        Whether the scores are rougher than the estimate for the winner, or come from a sample. They
        then only show how much selection inflates a score, which is subtracted from the estimate.
    """

    search: Search
    shown: Array
    by: Array
    weights: Array
    is_whole: bool = True
    within: float = 0.0
    families: Array | None = None
    method: str = LOO
    refuted: tuple[str, ...] = ()
    is_rough: bool = False

    @classmethod
    def of(
        cls,
        values: dict[str, Array],
        shown: Array,
        by: Array,
        weights: Array,
        *,
        metric: str,
        select: str = "min",
        chosen: int | None = None,
        is_whole: bool = True,
    ) -> ScoredChoice:
        """The best of the models, the first of them that is good enough, or the one named."""
        unseen, errors = mean_and_error(by, weights)
        rows = np.full(len(unseen), len(weights))
        chosen = best_of(unseen, errors, select) if chosen is None else chosen
        search = Search(values, unseen, errors, rows, chosen, metric)
        return cls(search, shown, by, weights, is_whole, 1.0 if select == "1se" else 0.0)

    @property
    def values(self) -> dict[str, float]:
        """The values of the parameters that were chosen, by name."""
        return self.search.best

    def scored(self, model: Any, fitted: Any) -> ScoredChoice | None:
        """The same with the scores of all units: itself.

        A family that keeps something else in place of a `ScoredChoice`, because scores are computed
        only when needed, makes one here, from the model and its fit; None if it cannot.
        """
        return self

    def honest(self) -> Corrected:
        """What remains of the winner's lead when it has to win on other rows."""
        before = len(self.search.unseen) - self.by.shape[1]
        return correct(
            self.shown,
            self.weights,
            choose_by=self.by,
            within=self.within,
            families=self.families,
            chosen=self.search.chosen - before,
        )

    def corrected(self, plain: Generalization) -> Generalization:
        """The estimate for the chosen model, corrected for the choice."""
        if plain.kind == "unknown" or not (self.is_whole or self.is_rough):
            return uncorrected(plain, tuple(self.search.values))
        found, count = self.honest(), self.by.shape[1]
        if self.is_rough:
            rows = None if self.is_whole else len(self.weights)
            return chosen_among(plain, self._less(found, plain), count, plain.method, rows=rows)
        # Folds make no approximation that refits could check.
        checked = plain if self.method in METHODS else replace(plain, disagreement=None)
        kind = "balanced" if plain.kind in self.refuted else plain.kind
        return chosen_among(checked, found, count, self.method, kind=kind)

    def _less(self, found: Corrected, plain: Generalization) -> Corrected:
        """The estimate itself, less the optimism of the scores."""
        optimism, error = max(found.optimism, 0.0), plain.standard_error
        if self.is_whole:
            # With all rows less is up to chance than with a sample.
            error = max(error, found.standard_error)
        return replace(
            found, unseen=plain.unseen - optimism, standard_error=error, optimism=optimism
        )
