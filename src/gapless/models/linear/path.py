"""Regularisation paths: the models along strengths of a penalty, and their scores.

Users get a `Path`. A `ScoredPath` also has the predictions of held-out rows, which a search keeps
until the score of its winner has been corrected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._ground.drawing import pictures
from ..._ground.notebook import ShownInNotebook
from ...losses import Loss
from ...problem import Parameters
from ...unseen import metric_name

Array = np.ndarray
# The share of the variance of the targets that a model explains.
EXPLAINED = metric_name("r2")
# The name of minus the mean loss as a score, as in scikit-learn.
SCORES = {
    "squared": "neg_mean_squared_error",
    "logistic": "neg_log_loss",
    "softmax": "neg_log_loss",
}


@dataclass(frozen=True, eq=False)
class Path(ShownInNotebook):
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
        What `unseen` is; higher is better. R², as in `generalization_`, where squared errors chose
        the strength of one target; else the score that chose it, such as "neg_log_loss" where
        `generalization_` reports the accuracy.
    criterion : ndarray of shape (m,), default=None
        The score by which the strength was chosen: mostly minus a mean loss.
    criterion_errors : ndarray of shape (m,), default=None
        Its standard error.
    criterion_metric : str, default="score"
        What it is, such as "neg_mean_squared_error".
    """

    strengths: Array
    coefficients: Array
    intercepts: Array
    gaps: Array
    unseen: Array | None = None
    standard_errors: Array | None = None
    chosen: int | None = None
    metric: str = "score"
    criterion: Array | None = None
    criterion_errors: Array | None = None
    criterion_metric: str = "score"

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
        """Draw coefficients and, if known, the score on unseen rows against the strength.

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


@dataclass(frozen=True, eq=False)
class ScoredPath:
    """Models along strengths that fall, and the scores of rows that they have not seen.

    Parameters
    ----------
    strengths, gaps : ndarray of shape (m,)
        λ of each model, and a bound of its duality gap.
    parameters : list of list of Parameters
        Of each model, one for each of its problems.
    rows : ndarray of int, shape (r,)
        The distinct rows (x, y): their first positions in the data.
    weights : ndarray of shape (r,)
        Sums of the weights of equal rows.
    z : ndarray of shape (r, m, K), or None
        Their predictions without all rows of their x, where they were kept, which they are if all
        have one.
    unseen, standard_errors : ndarray of shape (m,)
        Minus the mean loss of held-out rows (for the squared loss, minus the mean squared error).
    method : str
        How rows were held out.
    status : str
        "optimal", or what ended the path: "time_limit", "callback" or "interrupted".
    is_sample : bool
        Whether the models are those of a sample of the rows.
    """

    strengths: Array
    gaps: Array
    parameters: list[list[Parameters]]
    rows: Array
    weights: Array
    z: Any
    unseen: Array
    standard_errors: Array
    method: str
    status: str = "optimal"
    is_sample: bool = False

    def at(self, order: Array) -> ScoredPath:
        """Some of the models, in that order."""
        return replace(
            self,
            strengths=self.strengths[order],
            gaps=self.gaps[order],
            parameters=[self.parameters[i] for i in order],
            z=None if self.z is None else self.z[:, order],
            unseen=self.unseen[order],
            standard_errors=self.standard_errors[order],
        )

    def by_strength(self) -> ScoredPath:
        """The strongest penalty first."""
        return self.at(np.argsort(-self.strengths, kind="stable"))

    def joined(self, other: ScoredPath) -> ScoredPath:
        """Both paths in one, the strongest penalty first."""

        def both(name: str, axis: int = 0) -> Array:
            return np.concatenate([getattr(self, name), getattr(other, name)], axis=axis)

        together = replace(
            self,
            strengths=both("strengths"),
            gaps=both("gaps"),
            parameters=self.parameters + other.parameters,
            z=both("z", axis=1),
            unseen=both("unseen"),
            standard_errors=both("standard_errors"),
            status=other.status,
        )
        return together.by_strength()

    def shown(self, strengths: Array, chosen: int, metric: Any, targets: Array | None) -> Path:
        """The path for users, with strengths in the units of the estimator.

        `metric` is the name of the scorer that chose, or the scorer itself, and `targets` are those
        of all rows, None for classes: a mean squared error e of one target is shown as R² =
        1 − e/s, with s the variance of the targets that were scored.
        """
        several = len(self.parameters[0]) > 1

        def stacked(name: str) -> Array:
            models = [[getattr(p, name) for p in model] for model in self.parameters]
            return np.stack([np.stack(m, axis=-1) if several else m[0] for m in models])

        unseen, errors, name = self.unseen, self.standard_errors, metric_name(metric)
        spread = self._spread(targets) if name == SCORES["squared"] else 0.0
        if spread > 0:
            unseen, errors = 1 + unseen / spread, errors / spread
        return Path(
            strengths=strengths,
            coefficients=stacked("w"),
            intercepts=stacked("b"),
            gaps=self.gaps,
            unseen=unseen,
            standard_errors=errors,
            chosen=chosen,
            metric=EXPLAINED if spread > 0 else name,
            criterion=self.unseen,
            criterion_errors=self.standard_errors,
            criterion_metric=name,
        )

    def _spread(self, targets: Array | None) -> float:
        """The variance of the targets of its rows; 0 if there are several for each, or classes."""
        if targets is None or targets.ndim > 1:
            return 0.0
        y = np.asarray(targets[self.rows], dtype=float)
        return float(
            np.average((y - np.average(y, weights=self.weights)) ** 2, weights=self.weights)
        )


def score_of(loss: Loss) -> str:
    """The name of minus the mean loss of held-out rows."""
    return SCORES.get(loss.name, f"neg_mean_{loss.name}_loss")
