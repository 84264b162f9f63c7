"""Regularisation paths as plain data, and the functions for them that scikit-learn has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..._ground.drawing import pictures

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Path:
    """The models along a sequence of m strengths, as plain data.

    Parameters
    ----------
    strengths : ndarray of shape (m,)
        Strengths of the penalty in the units of the estimator (`alpha`, or `C`), in the order in
        which the models were fitted.
    coefficients : ndarray of shape (m, n_features) or (m, n_features, n_outputs)
        Coefficients of each model.
    intercepts : ndarray of shape (m,) or (m, n_outputs)
        Bias of each model.
    gaps : ndarray of shape (m,)
        How far each objective can be above the smallest possible one.
    unseen, standard_errors : ndarray of shape (m,), default=None
        Estimated score of each model on unseen rows, and its standard error.
    chosen : int, default=None
        Position of the strength that was chosen.
    metric : str, default="score"
        What `unseen` is; higher is better. What strengths are chosen by is mostly minus a mean
        loss, such as "neg_mean_squared_error", where `generalization_` says R² or accuracy.
    """

    strengths: Array
    coefficients: Array
    intercepts: Array
    gaps: Array
    unseen: Array | None = None
    standard_errors: Array | None = None
    chosen: int | None = None
    metric: str = "score"

    def __repr__(self) -> str:
        ends = f"{np.max(self.strengths):.3g} to {np.min(self.strengths):.3g}"
        text = f"<Path of {len(self.strengths)} models, strengths from {ends}"
        if self.chosen is None or self.unseen is None or self.standard_errors is None:
            return f"{text}>"
        at = self.chosen
        return (
            f"{text}; {self.strengths[at]:.3g} is chosen: {self.metric} {self.unseen[at]:.4g} ± "
            f"{self.standard_errors[at]:.2g} on unseen rows>"
        )

    def plot(self, *, names: Sequence[str] | None = None, axes=None):
        """Draw coefficients and, where it is known, the score on unseen rows against the strength.

        Parameters
        ----------
        names : sequence of str, default=None
            Names of the features, for a legend of the largest coefficients.
        axes : sequence of matplotlib Axes, default=None
            Where to draw: one, or two if the unseen score is known; a new figure if None.

        Returns
        -------
        axes : tuple of matplotlib Axes
            The panel of the coefficients and, if it is known, that of the score.
        """
        plots = pictures()
        return plots.path(
            self.strengths,
            self.coefficients,
            unseen=self.unseen,
            standard_errors=self.standard_errors,
            chosen=self.chosen,
            metric=self.metric,
            names=names,
            axes=axes,
        )
