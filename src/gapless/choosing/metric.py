"""The metric of table models: one of `gapless.metrics`, or the cost of decisions.

One object scores rows for a comparison, higher being better, gives each row's contribution, and the
score with its own sign with an interval. Costs of decisions may come from a file.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from .. import metrics
from .._ground.cost_matrices import read_cost_matrix, realised_costs
from ..data import TableError, Task, counted, read_table
from ..metrics import METRICS, Ratio, Rows, Score, Smooth
from ..unseen import StandIn

Array = np.ndarray


MEAN_COST, BALANCED = "mean_cost", "balanced_accuracy"
# The model's method that each metric needs.
ASKS = {
    "accuracy": "predict",
    "error_rate": "predict",
    BALANCED: "predict",
    "f1": "predict",
    "precision": "predict",
    "recall": "predict",
    MEAN_COST: "predict",
    "roc_auc": "scores",
    "average_precision": "scores",
    "log_loss": "predict_proba",
    "brier": "predict_proba",
    "r2": "predict",
    "mse": "predict",
    "rmse": "predict",
    "mae": "predict",
}
OF_NUMBERS = ("r2", "mse", "rmse", "mae")
OF_CLASSES = tuple(name for name in ASKS if name not in (*OF_NUMBERS, MEAN_COST))
# Those that compare rows of one class with rows of the others.
OF_AREAS = ("roc_auc", "average_precision")
# Those of one class against the others; the mean over classes if there are more than two.
ONE_CLASS = ("f1", "precision", "recall")
# From this ratio of class sizes on, accuracy says little.
UNEVEN = 10.0
# The confidence level of a difference.
LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class Metric:
    """A metric as a scorer: called with a model, rows and targets; higher is better.

    Parameters
    ----------
    name : str
        A key of `ASKS`.
    classes : ndarray or None, default=None
        All classes, sorted; None for numbers.
    costs : ndarray of shape (K, K) or None, default=None
        The costs of decisions: models decide by them, whatever the metric.
    """

    name: str
    classes: Array | None = None
    costs: Array | None = None

    @property
    def __name__(self) -> str:
        return self.name

    @property
    def is_loss(self) -> bool:
        """Whether lower is better."""
        return True if self.name == MEAN_COST else METRICS[self._measured_as][1]

    @property
    def bounds(self) -> tuple[float, float]:
        """The range of its values, with its own sign."""
        if self.name == "r2":
            return -np.inf, 1.0
        is_open = self.name in (*OF_NUMBERS, "log_loss", MEAN_COST)
        return 0.0, np.inf if is_open else 1.0

    @property
    def needs_probabilities(self) -> bool:
        """Whether it is undefined for models without probabilities."""
        return self.costs is not None or ASKS[self.name] == "predict_proba"

    @property
    def title(self) -> str:
        """Its name in words."""
        return {"r2": "R²", "roc_auc": "area under the ROC curve"}.get(
            self.name, self.name.replace("_", " ")
        )

    def with_own_sign(self, value: Any) -> Any:
        """Flip the sign of a loss: from higher-is-better to the metric's own sign, or back."""
        return -value if self.is_loss else value

    # ---- as a scorer -----------------------------------------------------------------------------

    def __call__(self, model: Any, X: Any, y: Array, sample_weight: Array | None = None) -> float:
        """The score, with its sign such that higher is better."""
        value = self._measure(y, self._ask(model, X), sample_weight).value
        return self.with_own_sign(1 - value if self.name == "r2" else value)

    def of_rows(self, model: Any, X: Any, y: Array, weights: Array) -> Array:
        """The contribution of each row: numbers whose weighted mean is the score.

        The score plus the pull of the row (Jaeckel 1972): to first order, how much it would change
        the score if it were drawn again. 0 for rows without weight.
        """
        counted = np.flatnonzero(weights > 0)
        smooth = self._measure(y[counted], self._ask(model, X[counted]), weights[counted])
        smooth = smooth.smooth if isinstance(smooth, Ratio) else smooth
        values = smooth.value + smooth.rows.total * smooth.pulls
        found = np.zeros(len(y))
        found[counted] = self.with_own_sign(1 - values if self.name == "r2" else values)
        return found

    def score(self, model: Any, X: Any, y: Array, groups: Array | None = None) -> Score:
        """The score of rows with its own sign, with an interval.

        Rows of the same group, (n,) labels 0, 1, …, are similar: the interval then counts groups.
        """
        z = self._ask(model, X)
        if self.name == MEAN_COST:
            found = metrics.mean_cost(y, z, self.costs, labels=self.classes)
        else:
            found = getattr(metrics, self._measured_as)(y, self._known(y, z), **self._options)
        return found if groups is None else self._of_groups(found, y, z, groups)

    def ahead(self, model: Any, other: Any, X: Any, y: Array, groups: Array | None = None) -> Score:
        """How much better a model is than another on the same rows, with an interval.

        Above 0 if it is better, even if lower is better. Most rows are as easy, or as hard, for
        both, so that this is known better than either score. Groups as in `score`.
        """
        z, beside = self._ask(model, X), self._ask(other, X)
        if groups is not None or self.name == MEAN_COST:
            # Both are of one kind, a ratio or not, since the metric is the same.
            one: Any = self._measure(y, z, None)
            apart = one.minus(self._measure(y, beside, None))
            found = self._difference(apart, len(y), groups)
        else:
            z, beside = (self._known(y, said) for said in (z, beside))
            options = {"level": LEVEL, **self._options}
            found = metrics.compare(y, z, beside, self._measured_as, **options).difference
        low, high = sorted((self.with_own_sign(found.low), self.with_own_sign(found.high)))
        value, name = float(self.with_own_sign(found.value)), f"ahead in {self.name}"
        return replace(found, name=name, value=value, low=float(low), high=float(high))

    def _of_groups(self, found: Score, y: Array, z: Array, groups: Array) -> Score:
        """A score with the interval of one that varies with whole groups."""
        # The interval of a root comes from that of its square.
        measured = replace(self, name="mse") if self.name == "rmse" else self
        ends = measured._measure(y, z, None).by_groups(groups).interval(found.level)
        low, high = ends.low, ends.high
        if self.name == "r2":
            low, high = 1 - high, 1 - low
        if self.name == "rmse":
            low, high = np.sqrt(low), np.sqrt(high)
        method = _by_groups(ends.method, groups)
        return replace(found, low=float(low), high=float(high), method=method)

    def _difference(self, apart: Ratio | Smooth, n: int, groups: Array | None) -> Score:
        """A difference of two models with its interval, over groups if there are some."""
        ends = (apart if groups is None else apart.by_groups(groups)).interval(LEVEL)
        # R² is measured by its complement.
        sign = -1.0 if self.name == "r2" else 1.0
        low, high = sorted((sign * ends.low, sign * ends.high))
        method = _by_groups(ends.method, groups)
        return Score("", sign * apart.value, low, high, LEVEL, method, n)

    # ---- what is measured ------------------------------------------------------------------------

    @property
    def _measured_as(self) -> str:
        return "recall" if self.name == BALANCED else self.name

    @property
    def _options(self) -> dict[str, Any]:
        """The metric's options besides answers and targets."""
        many = self.classes is not None and len(self.classes) > 2
        if self.name == BALANCED or (self.name in ONE_CLASS and many):
            return {"average": "macro"}
        return {"labels": self.classes} if ASKS[self.name] == "predict_proba" else {}

    def _ask(self, model: Any, X: Any) -> Array:
        """The model's answers for the rows."""
        asked = ASKS[self.name]
        if asked == "scores":
            asked = "predict_proba" if hasattr(model, "predict_proba") else "decision_function"
        return np.asarray(getattr(model, asked)(X))

    def _known(self, y: Array, z: Array) -> Array:
        """Scores of the classes that have rows: no curve can be drawn for others."""
        if ASKS[self.name] != "scores" or self.classes is None or z.ndim < 2 or z.shape[1] < 3:
            return z
        return z[:, np.isin(self.classes, y)]

    def _measure(self, y: Array, z: Array, weights: Array | None) -> Ratio | Smooth:
        if self.name == MEAN_COST:
            return self._cost(y, z, weights)
        measure = METRICS[self._measured_as][0]
        return measure(y, self._known(y, z), weights, **self._options)

    def _cost(self, y: Array, z: Array, weights: Array | None) -> Ratio:
        assert self.costs is not None and self.classes is not None
        true, decided = (np.searchsorted(self.classes, labels) for labels in (y, z))
        each = realised_costs(true, decided, self.costs, None)
        rows = Rows.of(np.ones(len(y)) if weights is None else weights)
        return Ratio.mean(each, rows, (float(self.costs.min()), float(self.costs.max())))


def _by_groups(method: str, groups: Array | None) -> str:
    """How an interval was found, mentioning groups if it counts them."""
    return method if groups is None else f"{method}, by {counted(groups.max() + 1, 'group')}"


def metric_of(name: str, task: Task, y: Array, costs: Any = None) -> Metric:
    """The metric for a name and these targets.

    "auto" is the mean cost if costs are given, R² for numbers, the area under the ROC curve for two
    classes of very different size, and else the accuracy. Costs are as for `BayesDecision`.
    """
    classes = None if task == "regression" else np.unique(y)
    plain = name.strip().lower().replace("-", "_").replace(" ", "_").replace("²", "2")
    if plain == "auto":
        plain = MEAN_COST if costs is not None else _usual(y, classes)
    known = OF_NUMBERS if classes is None else OF_CLASSES
    if plain not in known and not (plain == MEAN_COST and costs is not None):
        raise ValueError(
            f"unknown metric {name!r} for {task}; use one of {', '.join(known)}"
            f"{'' if classes is None else ', or mean_cost with a table of costs'}."
        )
    given = None if classes is None or costs is None else read_cost_matrix(costs, classes)
    return Metric(plain, classes, given)


def _usual(y: Array, classes: Array | None) -> str:
    if classes is None:
        return "r2"
    counts = np.unique(y, return_counts=True)[1]
    is_uneven = len(counts) == 2 and counts.max() >= UNEVEN * counts.min()
    return "roc_auc" if is_uneven else "accuracy"


def read_costs(costs: Any, classes: Array) -> Array:
    """Costs (K, K) of all classes in their order, from a file, a table of numbers or a mapping.

    Parameters
    ----------
    costs : path, array-like of shape (K, K) or (K,), or mapping
        A file has the classes in its first column and in its header. A mapping gives the cost of
        missing each class.
    classes : ndarray of shape (K,)
        All classes, sorted.

    Returns
    -------
    ndarray of shape (K, K)
        Row i, column j: the cost of deciding for class j when class i is true.

    Raises
    ------
    TableError
        If a class is missing or unknown, or a cost is not a number; the message names it.
    """
    table = _from_file(Path(costs), classes) if isinstance(costs, str | os.PathLike) else costs
    try:
        matrix = read_cost_matrix(table, classes)
    except ValueError as error:
        raise TableError(f"the costs cannot be used: {error}") from error
    if not np.any(matrix != matrix.diagonal()[:, None]):
        raise TableError(
            "all decisions cost the same, so it does not matter which one is taken; give mistakes "
            "a higher cost than correct decisions."
        )
    return matrix


def _from_file(path: Path, classes: Array) -> Array:
    frame = read_table(path).frame
    shape = (
        f"{path} must have a header with the predicted classes, and a row for each true class that "
        "begins with its name"
    )
    if frame.width < 2:
        raise TableError(f"{shape}; it has {frame.width} columns.")
    true = [str(label) for label in frame[:, 0].to_list()]
    names = [str(label) for label in classes.tolist()]
    for what, found in (("rows", true), ("columns", frame.columns[1:])):
        _check_classes(found, names, f"{shape}. Its {what}")
    by_name = frame.select(names).to_numpy()
    if by_name.dtype.kind not in "iuf" or not np.all(np.isfinite(by_name.astype(float))):
        raise TableError(f"{shape}; all costs must be numbers, and none may be missing.")
    return by_name[[true.index(name) for name in names]].astype(float)


def _check_classes(found: list[str], classes: list[str], where: str) -> None:
    unknown = [name for name in found if name not in classes]
    missing = [name for name in classes if name not in found]
    if unknown:
        raise TableError(
            f"{where} contain {unknown[0]!r}, which is not one of the classes {classes}."
        )
    if missing:
        raise TableError(f"{where} lack the class {missing[0]!r}.")
    if len(found) > len(classes):
        raise TableError(f"{where} name a class twice.")


@dataclass(frozen=True, eq=False)
class AnsweredRows:
    """Answers of a model for rows with known targets y, (n,), and their metric.

    Labels 0, 1, … say which rows belong together, (n,), if any do.
    """

    model: StandIn
    y: Array
    metric: Metric
    groups: Array | None = None

    def __call__(self, method: str) -> Array:
        """The result of a method of the model for the rows."""
        return np.asarray(getattr(self.model, method)(self._places))

    def score(self) -> Score:
        """The score of the rows, with its interval."""
        return self.metric.score(self.model, self._places, self.y, self.groups)

    def value(self) -> float:
        """The score alone, with its sign such that higher is better."""
        return self.metric(self.model, self._places, self.y)

    def ahead_of(self, other: AnsweredRows) -> Score:
        """How much better it is than another model on the same rows, with its interval."""
        return self.metric.ahead(self.model, other.model, self._places, self.y, self.groups)

    @property
    def _places(self) -> Array:
        return np.arange(len(self.y))[:, None]
