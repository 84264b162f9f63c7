"""Prediction intervals and prediction sets that hold without assumptions on the noise.

A new row is judged by models fitted without some training rows, against the errors of the same
models on those rows: jackknife+ if least squares gives all of them in closed form, else CV+ with
refits on folds. `calibrate` keeps what is needed of a fit, and estimators call it when an interval
or a set is first requested; `intervals` and `prediction_sets` do all of it for a fitted model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._ground.design import Design
from .._ground.memory import blocks
from .fitted import Fitted
from .folds import dealt, drawn
from .held_out import by_formula
from .leave_one_out import NotAvailable
from .leave_one_out.new_rows import WithoutEach
from .refittable import Refittable

Array = np.ndarray
Respond = Callable[[Array], Array]

# Calibrate with at most this many rows, a sample of more. The share of new rows in an interval of
# 90 % then varies by 0.7 % from one training set to the next.
MOST_ROWS = 2000
FOLDS = 10


class Intervals(NamedTuple):
    """Predictions and their intervals, each of shape (n,) or (n, K)."""

    prediction: Array
    lower: Array
    upper: Array


class LeftOut(Protocol):
    """Models without each of the calibration rows."""

    def predict(self, design: Design) -> Array:
        """Scores of new rows by each of them, (new rows, calibration rows, K)."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """The errors of a fit on rows it has not seen.

    Parameters
    ----------
    held : ndarray of shape (r, K)
        Scores of the calibration rows, distinct rows (x, y) of the fit, by models fitted without
        their x.
    targets : ndarray of shape (r,) or (r, K)
        Their targets, or the positions of their classes.
    weights : ndarray of shape (r,)
        Their weights, summed over equal rows.
    models : LeftOut
        The models themselves.
    method : str
        "jackknife+" or "CV+".
    """

    held: Array
    targets: Array
    weights: Array
    models: LeftOut
    method: str

    def intervals(self, design: Design, coverage: float, respond: Respond) -> tuple[Array, Array]:
        """Lower and upper ends for new rows, (n, K); `respond` turns scores into predictions."""
        check_coverage(coverage)
        errors = np.abs(self.targets.reshape(self.held.shape) - respond(self.held))
        lower, upper = (np.empty((design.n, self.held.shape[1])) for _ in range(2))
        for rows, scores in self._scores(design):
            predicted = respond(scores)
            for k in range(lower.shape[1]):
                below, above = predicted[:, :, k] - errors[:, k], predicted[:, :, k] + errors[:, k]
                lower[rows, k] = -quantiles(-below, self.weights, coverage)
                upper[rows, k] = quantiles(above, self.weights, coverage)
        return lower, upper

    def sets(self, design: Design, coverage: float, conform: Respond) -> Array:
        """Which classes are plausible for new rows, (n, classes).

        `conform` turns scores into one number per class, larger for classes that fit better. A
        class is out if too many training rows fit their class better than the new row fits it.
        """
        check_coverage(coverage)
        own = conform(self.held)[np.arange(len(self.held)), self.targets]
        needed = coverage * (self.weights.sum() + self.weights.mean())
        kept = []
        for _, scores in self._scores(design):
            fits = conform(scores.reshape(-1, scores.shape[2]))
            fits = fits.reshape(*scores.shape[:2], -1)
            better = np.einsum("r,nrc->nc", self.weights, own[:, None] > fits)
            kept.append(better < needed * (1 - 1e-12))
        return np.concatenate(kept)

    def _scores(self, design: Design) -> Iterator[tuple[slice, Array]]:
        """New rows in blocks, and their scores by all models."""
        for rows in blocks(design.n, self.held.size):
            yield rows, self.models.predict(design.rows(rows))


def check_coverage(coverage: float) -> None:
    """Refuse what is not a share."""
    if not 0 < coverage < 1:
        raise ValueError(f"the coverage must be between 0 and 1, such as 0.9; got {coverage!r}.")


def leads(scores: Array) -> Array:
    """The lead of each class over the best other one, (n, classes).

    `scores` (n, K) are those of all classes, or of the second of two.
    """
    if scores.shape[1] == 1:
        return np.hstack([-scores, scores])
    second, first = np.partition(scores, -2, axis=1)[:, -2:].T[:, :, None]
    return scores - np.where(scores == first, second, first)


def quantiles(values: Array, weights: Array, coverage: float) -> Array:
    """For each row of values (n, r), the smallest that the weight `coverage` does not exceed.

    The new row counts too, with the average weight, and might be the largest of all: if its weight
    is needed, the answer is ∞.
    """
    r, total = len(weights), float(weights.sum())
    if np.all(weights == weights[0]):
        at = int(np.ceil(coverage * (r + 1) * (1 - 1e-12)))
        if at > r:
            return np.full(len(values), np.inf)
        return np.partition(values, at - 1, axis=1)[:, at - 1]
    needed = coverage * (total + total / r) * (1 - 1e-12)
    order = np.argsort(values, axis=1, kind="stable")
    sums = np.cumsum(weights[order], axis=1)
    at = np.sum(sums < needed, axis=1)
    found = np.take_along_axis(
        values, np.take_along_axis(order, np.minimum(at, r - 1)[:, None], axis=1), axis=1
    )[:, 0]
    return np.where(at < r, found, np.inf)


# ---- calibrating ---------------------------------------------------------------------------------


def calibrate(fitted: Fitted | Refittable) -> Calibration:
    """Leave rows out of a fit, in closed form or by refits, and keep what new rows need.

    There is one refit for each distinct x up to `few_units` of them, and 10 for more.
    """
    units = fitted.units
    count = int(units.max(initial=-1)) + 1
    if count < 2:
        raise ValueError("all rows are equal, so none can be left out to measure errors.")
    order = drawn(units, count, fitted.targets if fitted.has_classes else None)
    rows, weights = _calibrating(fitted, order)
    models: LeftOut
    try:
        models, held = _in_closed_form(fitted, rows)
        method = "jackknife+"
    except NotAvailable:
        models, held = _by_refits(fitted, units, order, rows)
        method = "CV+"
    # If all members of an ensemble drew a row, none can predict it unseen.
    known = np.flatnonzero(np.isfinite(held).all(axis=1))
    if len(known) < len(rows):
        models, held, rows, weights = (
            Subset(models, known),
            held[known],
            rows[known],
            weights[known],
        )
    return Calibration(held, fitted.targets[rows], weights, models, method)


def _calibrating(fitted: Fitted | Refittable, order: Array) -> tuple[Array, Array]:
    """Distinct rows (x, y) of the first units in an order, a sample of many, and their weights."""
    labels, counted = fitted.distinct, np.flatnonzero(fitted.distinct >= 0)
    first = counted[np.unique(labels[counted], return_index=True)[1]]
    chosen = np.flatnonzero(np.isin(fitted.units[first], order[:MOST_ROWS]))
    if len(chosen) > MOST_ROWS:
        chosen = chosen[np.sort(drawn(np.arange(len(chosen)), MOST_ROWS))]
    return first[chosen], np.bincount(labels[counted], fitted.weights[counted])[chosen]


@singledispatch
def _in_closed_form(fitted: Any, rows: Array) -> tuple[LeftOut, Array]:
    """Models without the x of each of the rows, and their predictions for their own row."""
    if fitted.averages or any(p.loss.name != "squared" for p in fitted.problems):
        raise NotAvailable("only least squares with a fixed penalty has a closed form")
    held = by_formula(fitted).z[rows]
    parts, start = [], 0
    for problem, parameters in zip(fitted.problems, fitted.parameters):
        columns = slice(start, start + (problem.outputs or 1))
        parts.append(WithoutEach.of(problem, parameters, rows, held[:, columns]))
        start = columns.stop
    return PerProblem(parts), held


@_in_closed_form.register
def _of_refittable(fitted: Refittable, rows: Array) -> tuple[LeftOut, Array]:
    held, predict = fitted.without_each(rows)
    return ByFunction(predict), held


@dataclass(frozen=True, eq=False)
class ByFunction:
    """Models without each of the rows, as a function that predicts by all of them."""

    function: Callable[[Design], Array]

    def predict(self, design: Design) -> Array:
        """Scores of new rows, (new rows, calibration rows, K)."""
        return self.function(design)


@dataclass(frozen=True, eq=False)
class Subset:
    """The models without a row, for some of the rows."""

    models: LeftOut
    which: Array

    def predict(self, design: Design) -> Array:
        """Scores of new rows, (new rows, calibration rows, K)."""
        return self.models.predict(design)[:, self.which]


@dataclass(frozen=True, eq=False)
class PerProblem:
    """The models of several problems, one after another."""

    parts: list[WithoutEach]

    def predict(self, design: Design) -> Array:
        """Scores of new rows, (new rows, calibration rows, K)."""
        return np.concatenate([part.predict(design) for part in self.parts], axis=2)


def _by_refits(
    fitted: Fitted | Refittable, units: Array, order: Array, rows: Array
) -> tuple[LeftOut, Array]:
    """One model for each fold of the units, which are dealt out in random order."""
    count = len(order)
    of_row = dealt(units, count if count <= fitted.few_units else FOLDS, order=order)
    # With many rows, only some folds contain calibration rows.
    used, fold = np.unique(of_row[rows], return_inverse=True)
    models = [_without(fitted, np.flatnonzero(of_row == k)) for k in used]
    held = np.empty((len(rows), fitted.predictions.shape[1]))
    for k, model in enumerate(models):
        held[fold == k] = _predicted(fitted, model, rows[fold == k])
    return Folds(models, fold), held


@singledispatch
def _without(fitted: Any, rows: Array) -> Callable[[Design], Array]:
    """The model without some rows, as a function of rows to predict, (n, K)."""
    parameters = fitted.without(rows)

    def predict(design: Design) -> Array:
        return np.hstack([(design.times(p.w) + p.b).reshape(design.n, -1) for p in parameters])

    return predict


@_without.register
def _without_of_refittable(fitted: Refittable, rows: Array) -> Callable[[Design], Array]:
    return fitted.without(rows)


@singledispatch
def _predicted(fitted: Any, model: Callable[[Design], Array], rows: Array) -> Array:
    """A model's predictions for some rows of the fit, (rows, K)."""
    return model(fitted.design.rows(rows))


@_predicted.register
def _predicted_of_refittable(fitted: Refittable, model: Any, rows: Array) -> Array:
    return fitted.predict(model, rows)


@dataclass(frozen=True, eq=False)
class Folds:
    """Models fitted without each fold, and the fold of each calibration row."""

    models: list[Callable[[Design], Array]]
    fold: Array

    def predict(self, design: Design) -> Array:
        """Scores of new rows, (new rows, calibration rows, K)."""
        return np.stack([model(design) for model in self.models], axis=1)[:, self.fold]


# ---- for a fitted model and its data -------------------------------------------------------------


def intervals(
    model: Any, X: Any, y: Any, X_new: Any, *, coverage: float = 0.9, sample_weight: Any = None
) -> Intervals:
    """Predict new rows with intervals that contain a chosen share of the targets.

    Parameters
    ----------
    model : estimator
        A fitted regressor of gapless.
    X, y : array-like
        The data it was fitted to.
    X_new : array-like of shape (n, d)
        Rows to predict.
    coverage : float, default=0.9
        The share of new rows whose target should be inside.
    sample_weight : array-like, optional
        The weights it was fitted with.

    Returns
    -------
    Intervals
        `prediction`, `lower` and `upper`, each (n,) or (n, K).

    Notes
    -----
    `model.predict(X_new, interval=coverage)` does the same while the model has a reference to its
    training data. For rows from the same source as the data, the share inside is about `coverage`
    on average, and provably at least 2·coverage − 1 (for CV+ minus at most √(2/n)). It is an
    average over all rows: if the noise depends on x, intervals are too wide where it is small and
    too narrow where it is large. With fewer than coverage/(1 − coverage) rows the ends are
    infinite. Each output has its own intervals.

    References
    ----------
    Barber, Candès, Ramdas and Tibshirani (2021), Annals of Statistics 49.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> import gapless
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = gapless.Ridge(alpha=0.1).fit(X[:300], y[:300])
    >>> _, lower, upper = gapless.intervals(model, X[:300], y[:300], X[300:])
    >>> print(round(float(((lower <= y[300:]) & (y[300:] <= upper)).mean()), 2))
    0.9
    """
    calibration = calibrate(_read_fit(model, "_intervals", X, y, sample_weight))
    return model._intervals(calibration, X_new, coverage)


def prediction_sets(
    model: Any, X: Any, y: Any, X_new: Any, *, coverage: float = 0.9, sample_weight: Any = None
) -> Array:
    """Predict sets of classes that contain the true class for a chosen share of new rows.

    Parameters
    ----------
    model : estimator
        A fitted classifier of gapless.
    X, y : array-like
        The data it was fitted to.
    X_new : array-like of shape (n, d)
        Rows to classify.
    coverage : float, default=0.9
        The share of new rows whose set should contain their class.
    sample_weight : array-like, optional
        The weights it was fitted with.

    Returns
    -------
    ndarray of bool, shape (n, classes)
        Which classes are in the set of each row, in the order of `classes_`; the predicted class
        always is.

    Notes
    -----
    `model.predict_set(X_new, coverage)` does the same while the model has a reference to its
    training data. The guarantee is that of `intervals`. Classes are compared by probability, or, if
    the model has none, by their lead in score over the best other class.

    References
    ----------
    Sadinle, Lei and Wasserman (2019), J. Am. Stat. Assoc. 114: the smallest sets. Romano, Sesia and
    Candès (2020), Advances in Neural Information Processing Systems 33: by folds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import gapless
    >>> X, y = load_iris(return_X_y=True)
    >>> model = gapless.LogisticRegression().fit(X, y)
    >>> gapless.prediction_sets(model, X, y, X[[0, 70, 120]], coverage=0.99).astype(int)
    array([[1, 0, 0],
           [0, 1, 1],
           [0, 0, 1]])
    """
    calibration = calibrate(_read_fit(model, "_sets", X, y, sample_weight))
    return model._sets(calibration, X_new, coverage)


def _read_fit(model: Any, method: str, X: Any, y: Any, sample_weight: Any) -> Fitted:
    if not hasattr(model, method):
        kind = "regressor" if method == "_intervals" else "classifier"
        raise TypeError(
            f"{type(model).__name__} is not a {kind} that can be refitted without some rows; pass "
            f"a fitted {kind} from gapless."
        )
    return model._fitted_to(X, y, sample_weight)
