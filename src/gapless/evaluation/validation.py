"""How the score depends on a parameter, and the simplest value that is as good as the best."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from .._ground.docstrings import described
from .._ground.drawing import AXES, pictures
from .._ground.notebook import ShownInNotebook
from .held_out import HeldOut, as_time_allows, by_chance, expected, is_clearly_behind
from .rows import RESAMPLED, Rows

Array = np.ndarray

# What the names of losses with their sign reversed begin with, and how many times the smallest loss
# the largest is on a logarithmic axis at least.
MINUS, EXPLODED = "neg_", 20.0
# Which end of a parameter makes models simpler, by the last part of its name.
SIMPLER = {
    "alpha": "high",
    "ccp_alpha": "high",
    "epsilon": "high",
    "min_impurity_decrease": "high",
    "min_samples_leaf": "high",
    "min_samples_split": "high",
    "n_neighbors": "high",
    "nu": "high",
    "reg_param": "high",
    "smoothing": "high",
    "strength": "high",
    "var_smoothing": "high",
    "C": "low",
    "degree": "low",
    "gamma": "low",
    "learning_rate": "low",
    "max_depth": "low",
    "max_features": "low",
    "max_iter": "low",
    "max_leaf_nodes": "low",
    "n_components": "low",
    "n_estimators": "low",
    "n_knots": "low",
}


@dataclass(frozen=True, eq=False)
class ValidationCurve(ShownInNotebook):
    """Scores by the value of a parameter. Prints as a sentence.

    Attributes
    ----------
    parameter : str
        Its name.
    values : tuple
        The m values.
    train, unseen : ndarray of shape (m,)
        The score of the rows that models had learned from, and of those they had not.
    standard_errors : ndarray of shape (m,)
        Of `unseen`.
    best : int
        Which value has the highest unseen score.
    chosen : int
        The simplest value whose unseen score is within one standard error of the best; the best
        itself if it is not known which values are simpler.
    expected : float
        What the best one can be expected to score, corrected for having been chosen; NaN for scores
        that are not a mean over rows.
    metric : str
        What the score is; higher is better.
    skipped : tuple
        Values for which time ran out.
    kinds : tuple of str
        For each value, whether its models are "balanced", "under-fitted" or "over-fitted". They are
        balanced unless the best ones do clearly better, by the rule of `generalization_`; then they
        are under-fitted if they also fit their training rows worse, and over-fitted if they fit
        these at least as well. "unknown" where the score is not defined.
    """

    parameter: str
    values: tuple[Any, ...]
    train: Array
    unseen: Array
    standard_errors: Array
    best: int
    chosen: int
    expected: float
    metric: str
    skipped: tuple[Any, ...] = ()
    kinds: tuple[str, ...] = ()

    def __str__(self) -> str:
        i, j = self.best, self.chosen
        text = (
            f"{self.parameter}={self.values[i]} is best: {self.metric} {self.unseen[i]:.4g} ± "
            f"{self.standard_errors[i]:.2g} on unseen rows"
        )
        if j != i:
            text += (
                f"; {self.parameter}={self.values[j]} is simpler and within one standard error, "
                f"{self.unseen[j]:.4g}"
            )
        for kind in ("under-fitted", "over-fitted"):
            some = [str(v) for v, own in zip(self.values, self.kinds) if own == kind]
            if some:
                text += f"; {kind}: {', '.join(some)}"
        if self.skipped:
            text += f"; not tried for lack of time: {', '.join(map(str, self.skipped))}"
        return text + "."

    def __repr__(self) -> str:
        return f"<ValidationCurve of {self.parameter}: {self.values[self.chosen]} is chosen>"

    def to_dict(self) -> dict[str, Any]:
        """The same data as plain numbers and strings."""
        arrays = ("train", "unseen", "standard_errors")
        plain: dict[str, Any] = {name: getattr(self, name).tolist() for name in arrays}
        for name in ("values", "skipped"):
            given = getattr(self, name)
            plain[name] = [v.item() if isinstance(v, np.generic) else v for v in given]
        names = ("parameter", "best", "chosen", "expected", "metric", "kinds")
        return plain | {name: getattr(self, name) for name in names}

    @property
    def is_loss(self) -> bool:
        """Whether the score is a loss with its sign reversed, by its name."""
        return self.metric.startswith(MINUS)

    @described(AXES)
    def plot(self, *, log=None, axes=None):
        """Draw both scores by the value, marking the best and the chosen one; returns the axes.

        Parameters
        ----------
        log : bool, default=None
            Whether the scores have a logarithmic axis, on which 1 − R², or 1 minus any other score
            that is 1 at best, is drawn instead. A score that is minus a loss is always drawn as
            the loss, and None gives it a logarithmic axis if it explodes.
        """
        plots = pictures()
        scores = [np.asarray(of, dtype=float) for of in (self.train, self.unseen)]
        metric, as_losses = self.metric, self.is_loss or bool(log)
        if self.is_loss:
            scores, metric = [-of for of in scores], metric.removeprefix(MINUS).replace("_", " ")
        elif log:
            if max(np.nanmax(of) for of in scores) > 1:
                raise ValueError(f"{metric} is above 1, so 1 − {metric} has no logarithm.")
            scores, metric = [1 - of for of in scores], f"1 − {metric}"
        if log is None:
            known = scores[1][np.isfinite(scores[1])]
            log = self.is_loss and bool(known.min() > 0 and known.max() > EXPLODED * known.min())
        return plots.validation(
            self.values,
            *scores,
            self.standard_errors,
            best=self.best,
            chosen=self.chosen,
            parameter=self.parameter,
            metric=metric,
            higher_is_better=not as_losses,
            log_scores=log,
            kinds=self.kinds,
            axes=axes,
        )


@described(RESAMPLED)
def validation_curve(
    model: Any,
    X: Any,
    y: Any,
    parameter: str,
    values: Iterable[Any],
    *,
    simpler: str | None = None,
    k: int = 5,
    sample_weight: Any = None,
    scoring: Any = None,
    groups: Any = None,
    time: Any = None,
    time_limit: float | None = None,
    on_progress: Callable[[str, int, int], None] | None = None,
    random_state: int = 0,
) -> ValidationCurve:
    """Score a model for several values of a parameter, all on the same folds.

    Parameters
    ----------
    parameter : str
        Its name, such as "alpha", or "svc__C" in a pipeline.
    values : iterable
        Its values.
    simpler : "low", "high" or None, default=None
        Which values make simpler models; None knows it for common parameters, such as high ones for
        `alpha` and low ones for `C`, and for others takes the best.
    on_progress : callable, default=None
        Called before each value with "parameter=value", its place from 0, and the number of values.
    time_limit : float, default=None
        Seconds for all fits; values for which time runs out are named in `skipped`.

    Returns
    -------
    ValidationCurve

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from gapless import DecisionTreeRegressor
    >>> from gapless.evaluation import validation_curve
    >>> X, y = load_diabetes(return_X_y=True)
    >>> curve = validation_curve(DecisionTreeRegressor(), X, y, "max_depth", [1, 2, 3, 5, 8])
    >>> print(curve.values[curve.chosen])
    2
    """
    given = tuple(values)
    if not given:
        raise ValueError("values is empty; give at least one value.")
    if simpler not in (None, "low", "high"):
        raise ValueError(f'simpler must be "low", "high" or None, got {simpler!r}.')
    rows = Rows.read(X, y, sample_weight, groups, time)
    folds = rows.folds(model, k, random_state)

    def tried(place: int, value: Any) -> HeldOut:
        if on_progress is not None:
            on_progress(f"{parameter}={value}", place, len(given))
        one = clone(model).set_params(**{parameter: value})
        return HeldOut(one, rows, folds, scoring).at_once()

    tasks = (partial(tried, place, value) for place, value in enumerate(given))
    found = as_time_allows(tasks, time_limit, wanted="any value was tried")
    scored, skipped = given[: len(found)], given[len(found) :]
    unseen = np.array([one.unseen for one in found])
    errors = np.array([one.standard_error for one in found])
    if not np.any(np.isfinite(unseen)):
        raise ValueError(f"the {found[0].metric} of held-out rows is not defined for any value.")
    best = int(np.nanargmax(unseen))
    end = simpler or SIMPLER.get(parameter.rpartition("__")[2])
    return ValidationCurve(
        parameter=parameter,
        values=scored,
        train=np.array([one.train for one in found]),
        unseen=unseen,
        standard_errors=errors,
        best=best,
        chosen=_simplest(scored, unseen, errors, best, end),
        expected=expected(found, rows, best),
        metric=found[0].metric,
        skipped=skipped,
        kinds=_kinds(found, best, by_chance(model, rows, folds, scoring), rows),
    )


def _kinds(found: list[HeldOut], best: int, chance: HeldOut, rows: Rows) -> tuple[str, ...]:
    """The verdict on each next to the best one."""
    kinds = []
    for one in found:
        kind = "under-fitted" if one.train < found[best].train else "over-fitted"
        if not np.isfinite(one.unseen):
            kind = "unknown"
        elif not is_clearly_behind(one, found[best], chance, rows):
            kind = "balanced"
        kinds.append(kind)
    return tuple(kinds)


def _simplest(
    values: tuple[Any, ...], unseen: Array, errors: Array, best: int, end: str | None
) -> int:
    """The simplest value within one standard error of the best (Breiman et al. 1984, 3.4.3)."""
    if end is None or not np.isfinite(errors[best]):
        return best
    near = np.flatnonzero(unseen >= unseen[best] - errors[best])
    # None means no limit, where limits make models simpler.
    places = [np.inf if end == "low" and value is None else value for value in values]
    try:
        order = sorted(near, key=lambda i: places[i], reverse=end == "high")
    except TypeError:  # such as "sqrt" for max_features, which has no place among numbers
        return best
    return int(order[0])
