"""What a search over parameters has tried, as plain data. Made by every estimator that tunes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._ground.drawing import pictures

Array = np.ndarray

# What a parameter is set to so that the fit chooses it: by leaving out each row, or by folds.
LOO, CV = "loo", "cv"


@dataclass(frozen=True, eq=False)
class Search:
    """What a search has tried, as plain data: one entry for each of m models.

    Attributes
    ----------
    values : dict of str to ndarray of shape (m,)
        The values of each parameter that was chosen, by name.
    unseen, standard_errors : ndarray of shape (m,)
        The score of rows that the models had not seen, and its standard error.
    rows : ndarray of int, shape (m,)
        How many distinct x there were; a first look may be at fewer.
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

    def __repr__(self) -> str:
        if not len(self.unseen):
            return "<Search of 0 models>"
        best = ", ".join(f"{name}={of[self.chosen]:.3g}" for name, of in self.values.items())
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
            With a dot for each model that was tried, and a ring or disk for the chosen one.
        """
        plots = pictures()
        return plots.search(
            self.values, self.unseen, metric=self.metric, chosen=self.chosen, axes=axes
        )
