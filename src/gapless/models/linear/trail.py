"""What a search along strengths finds: models, their scores on rows not seen, and the choice."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...losses import Loss
from ...problem import Parameters
from ...unseen import metric_name
from .path import Path

Array = np.ndarray
# What minus the mean loss is called as a score, as scikit-learn does.
SCORES = {
    "squared": "neg_mean_squared_error",
    "logistic": "neg_log_loss",
    "softmax": "neg_log_loss",
}


@dataclass(frozen=True, eq=False)
class Trail:
    """Models along strengths that fall, and the scores of rows that they have not seen.

    Parameters
    ----------
    strengths, gaps : ndarray of shape (m,)
        λ of each model, and a bound of its duality gap.
    parameters : list of list of Parameters
        Of each model, one for each of its problems.
    rows : ndarray of int, shape (r,)
        The distinct rows (x, y): where each first stands in the data.
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


def merged(one: Trail, other: Trail) -> Trail:
    """Both trails in one, by falling strength."""

    def both(name: str, axis: int = 0) -> Array:
        return np.concatenate([getattr(one, name), getattr(other, name)], axis=axis)

    together = replace(
        one,
        strengths=both("strengths"),
        gaps=both("gaps"),
        parameters=one.parameters + other.parameters,
        z=both("z", axis=1),
        unseen=both("unseen"),
        standard_errors=both("standard_errors"),
        status=other.status,
    )
    return by_strength(together)


def by_strength(trail: Trail) -> Trail:
    """The trail by falling strength."""
    order = np.argsort(-trail.strengths, kind="stable")
    return replace(
        trail,
        strengths=trail.strengths[order],
        gaps=trail.gaps[order],
        parameters=[trail.parameters[i] for i in order],
        z=None if trail.z is None else trail.z[:, order],
        unseen=trail.unseen[order],
        standard_errors=trail.standard_errors[order],
    )


def score_of(loss: Loss) -> str:
    """What minus the mean loss of held-out rows is called."""
    return SCORES.get(loss.name, f"neg_mean_{loss.name}_loss")


def path_of(trail: Trail, strengths: Array, chosen: int, metric: Any) -> Path:
    """The trail as plain data, its strengths in the units of the estimator.

    `metric` is what its scores are, the name of a scorer or one itself.
    """
    several = len(trail.parameters[0]) > 1

    def stacked(name: str) -> Array:
        models = [[getattr(p, name) for p in model] for model in trail.parameters]
        return np.stack([np.stack(m, axis=-1) if several else m[0] for m in models])

    return Path(
        strengths=strengths,
        coefficients=stacked("w"),
        intercepts=stacked("b"),
        gaps=trail.gaps,
        unseen=trail.unseen,
        standard_errors=trail.standard_errors,
        chosen=chosen,
        metric=metric_name(metric),
    )


@dataclass(frozen=True, eq=False)
class Choice:
    """What a search chose: parameters of the estimator, and the path on which it found them.

    `values` are those of the tuned parameters by name, `start` the solution there, `trails` all
    paths that were followed, and `winner` the position of the chosen model on the one at `trail`,
    −1 if it is none of its models. `scoring` is the scorer that chose, None the loss, and `extra`
    holds further attributes of the fitted estimator by name.
    """

    values: dict[str, float]
    start: list[Parameters] | None
    path: Path | None
    trails: list[Trail]
    trail: int = 0
    winner: int = 0
    status: str = "optimal"
    extra: dict[str, Any] = field(default_factory=dict)
    scoring: Any = None

    def attributes(self) -> dict[str, Any]:
        """What the fitted estimator says of the choice."""
        known = {"path_": self.path} if self.path is not None else {}
        return {f"{name}_": value for name, value in self.values.items()} | known | self.extra
