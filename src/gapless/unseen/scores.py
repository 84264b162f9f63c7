"""Scores of held-out predictions by any scorer of scikit-learn, and their standard errors."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from sklearn.base import is_classifier, is_outlier_detector
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import check_scoring

from ..losses import Loss
from ..problem import minimise_bias
from .folds import dealt

Array = np.ndarray

# The score of models without targets, which separate rows inside from those outside.
INSIDE = "share inside"
# Blocks of rows left out in turn, for the standard error of scores that are not means.
BLOCKS = 50


@runtime_checkable
class RowScorer(Protocol):
    """A scorer that also returns what each row contributes: numbers whose mean is the score.

    If they depend on all rows, a method `shares` returns the change of the score per weight of a
    row, for its standard error.
    """

    def of_rows(self, model: Any, X: Array, y: Array, weights: Array) -> Array:
        """The contribution of each row, (n,)."""


class ExplainedLoss:
    """D², the share of a loss that a model explains: 1 − Σsℓ(y, z)/Σsℓ(y, z₀), z₀ a constant.

    z₀ is the best constant score of the rows that are scored; R² is the same for the squared loss.
    A scorer for models with scores z, which `_scores` returns.
    """

    __name__ = "D²"

    def __init__(self, loss: Loss):
        self.loss = loss

    def __call__(self, model: Any, X: Any, y: Array, sample_weight: Array | None = None) -> float:
        """The share explained of these rows."""
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        counts = weights > 0
        return float(
            np.average(self.of_rows(model, X, y, weights)[counts], weights=weights[counts])
        )

    def of_rows(self, model: Any, X: Any, y: Array, weights: Array) -> Array:
        """1 − ℓ(y, z)/B, whose mean is D², with B the mean of ℓ(y, z₀); 1 − ℓ for equal targets."""
        spread = float(np.average(self._without_features(y, weights), weights=weights))
        return 1 - self._excess(y, model._scores(X)) / (spread if spread > 0 else 1.0)

    def shares(self, model: Any, X: Any, y: Array, weights: Array) -> Array:
        """First order in the weights of the rows, as `_of_r2`: z₀ is best, so it does not count."""
        loss, without = self._excess(y, model._scores(X)), self._without_features(y, weights)
        A, B = (float(np.average(each, weights=weights)) for each in (loss, without))
        return -(loss - (A / B) * without) / B if B > 0 else np.zeros(len(y))

    def _without_features(self, y: Array, weights: Array) -> Array:
        """ℓ(y, z₀) of each row."""
        constant = minimise_bias(self.loss, y, np.zeros(len(y)), weights)
        return self._excess(y, np.full(len(y), constant))

    def _excess(self, y: Array, z: Array) -> Array:
        """ℓ above its smallest value."""
        with np.errstate(over="ignore"):
            return self.loss.value(y, np.asarray(z, dtype=float)) - self.loss.smallest(y)


class Judge:
    """Scores predictions z (n, K) of the rows of a fit, as the model itself would be scored.

    Parameters
    ----------
    model : estimator
        The fitted model; its `_standing_in(z)` is a copy that predicts row i, requested by
        X = [[i]], from the scores z[i].
    y : ndarray of shape (n,) or (n, K)
        Targets.
    weights : ndarray of shape (n,)
        Weights of the rows; those of weight 0 are ignored.
    scoring : str, callable or None
        As in scikit-learn; None is accuracy for classifiers, the share of rows predicted as +1 for
        outlier detectors, whose targets are all +1, and for all others R², or `_own_scoring` if the
        model has one. The standard error of a `RowScorer` is known without scoring again.
    """

    def __init__(self, model: Any, y: Array, weights: Array, scoring: Any = None):
        self.model, self.y, self.weights, self.scoring = model, y, weights, scoring
        is_region = is_outlier_detector(model)
        default = "accuracy" if is_classifier(model) or is_region else "r2"
        asked = getattr(model, "_own_scoring", default) if scoring is None else scoring
        own = OWN.get(asked) if isinstance(asked, str) else None
        self.scorer = own or check_scoring(scoring=asked)
        self.metric = metric_name(asked)
        if is_region and scoring is None:
            self.metric = INSIDE
        if isinstance(asked, RowScorer):
            self._of_rows: Callable | None = asked.of_rows
            self._shares: Callable | None = getattr(asked, "shares", _of_mean(asked.of_rows))
        else:
            self._of_rows, self._shares = ROWS.get(self.metric), SHARES.get(self.metric)

    def only(self, rows: Array) -> Judge:
        """The judge of some of the rows."""
        return Judge(self.model, self.y[rows], self.weights[rows], self.scoring)

    def score(self, z: Array, rows: Array | None = None) -> float:
        """The score of all rows that have a prediction, or of `rows`."""
        rows = self._predicted(z) if rows is None else rows
        weights = self.weights[rows]
        options: dict[str, Any] = {}
        if len(rows) and np.any(weights != weights[0]):
            options["sample_weight"] = self._checked(weights)
        twin = self.model._standing_in(z)
        try:
            with warnings.catch_warnings():
                # The score is then nan, which is reported in words.
                warnings.simplefilter("ignore", UndefinedMetricWarning)
                return float(self.scorer(twin, rows[:, None], self.y[rows], **options))
        except (AttributeError, TypeError, ValueError) as error:
            raise ValueError(
                f"{self.metric} cannot score {type(self.model).__name__}: {error}"
            ) from error

    @property
    def is_mean(self) -> bool:
        """Whether the score is a mean over rows, as R² is for a given spread of the targets."""
        return self._of_rows is not None

    @property
    def is_empty(self) -> bool:
        """Whether predicting the mean always has the best score, because all targets are equal."""
        y = self.y[self.weights > 0]
        return self.metric == "R²" and bool(np.all(y == y[:1]))

    def of_rows(self, z: Array) -> Array | None:
        """The score of each row if the score of all is their mean, else None."""
        if self._of_rows is None:
            return None
        twin, rows = self.model._standing_in(z), np.arange(len(z))
        return _single(self._of_rows(twin, rows[:, None], self.y, self.weights))

    def standard_error(self, z: Array, units: Array) -> float:
        """The standard error of the score, over the units 0, 1, … of the rows.

        For means over rows and for R², from each row's share; else by a jackknife that leaves out
        blocks of units.
        """
        rows = self._predicted(z)
        of_row = np.unique(units[rows], return_inverse=True)[1]
        count = int(of_row.max(initial=-1)) + 1
        if count < 2:
            return np.nan
        if self._shares is None:
            return self._jackknife(z, rows, of_row)
        twin, weights = self.model._standing_in(z), self.weights[rows]
        share = self._shares(twin, rows[:, None], self.y[rows], weights)
        of_unit = np.bincount(of_row, weights * share)
        return float(np.sqrt(count / (count - 1) * np.sum(of_unit**2)) / weights.sum())

    def _jackknife(self, z: Array, rows: Array, of_row: Array) -> float:
        """√((B−1)/B Σ(s₍₋b₎ − s̄)²) over B blocks (Shao and Wu 1989, Annals of Statistics 17)."""
        block = dealt(of_row, BLOCKS, in_turn=True)
        blocks = int(block.max()) + 1
        left = np.array([self.score(z, rows[block != b]) for b in range(blocks)])
        return float(np.sqrt((blocks - 1) * np.var(left)))

    def _predicted(self, z: Array) -> Array:
        return np.flatnonzero((self.weights > 0) & np.all(np.isfinite(z), axis=1))

    def _checked(self, weights: Array) -> Array:
        """The weights, if the scorer takes weights."""
        accepts = getattr(self.scorer, "_accept_sample_weight", None)
        if accepts is None:
            takes = inspect.signature(self.scorer).parameters
            kinds = {parameter.kind for parameter in takes.values()}
            is_taken = "sample_weight" in takes or inspect.Parameter.VAR_KEYWORD in kinds
        else:
            is_taken = accepts()
        if not is_taken:
            raise ValueError(
                f"scoring {self.metric} takes no sample_weight, but the rows differ in weight; "
                "use a scorer that does."
            )
        return weights


def metric_name(scoring: Any) -> str:
    """The name of the score."""
    if isinstance(scoring, str):
        return "R²" if scoring == "r2" else scoring
    function = getattr(scoring, "_score_func", scoring)
    return getattr(function, "__name__", type(scoring).__name__)


def _all_right(model: Any, X: Array, y: Array, sample_weight: Array | None = None) -> float:
    """The share of rows with all outputs right."""
    return float(np.average(_hits(model, X, y, sample_weight), weights=sample_weight))


def _explained(model: Any, X: Array, y: Array, sample_weight: Array | None = None) -> float:
    """R², the mean over outputs; of one without spread 1 if all is right, else 0."""
    if len(y) < 2:
        return np.nan
    weights = 1.0 if sample_weight is None else sample_weight[:, None]
    y = y.reshape(len(y), -1)
    error = np.sum(weights * (y - model.predict(X).reshape(y.shape)) ** 2, axis=0)
    spread = np.sum(weights * (y - np.average(y, axis=0, weights=sample_weight)) ** 2, axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.mean(np.where(spread != 0, 1 - error / spread, error == 0)))


# The usual scores, of predictions that need no checks: those of scikit-learn's scorers take longer
# than many a fit to few rows, and a verdict scores dozens of versions. scikit-learn also has no
# accuracy for several outputs with more than two classes.
OWN: dict[str, Callable] = {"accuracy": _all_right, "r2": _explained}


# ---- what each row contributes to a score --------------------------------------------------------


def _single(values: Array) -> Array:
    """One value for each row: the mean over its outputs."""
    return values if values.ndim == 1 else values.mean(axis=1)


def _of_mean(values: Callable) -> Callable:
    """For the mean of `values` over rows and outputs: the deviation of each row from it."""

    def share(model: Any, X: Array, y: Array, weights: Array) -> Array:
        value = _single(values(model, X, y, weights))
        return value - np.average(value, weights=weights)

    return share


def _of_r2(model: Any, X: Array, y: Array, weights: Array) -> Array:
    """First order in the weights of the rows: R² = 1 − A/B has dR² = −(dA − (A/B)dB)/B."""
    y = y.reshape(len(y), -1)
    error = (y - model.predict(X).reshape(y.shape)) ** 2
    spread = (y - np.average(y, axis=0, weights=weights)) ** 2
    A, B = (np.average(a, axis=0, weights=weights) for a in (error, spread))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = -(error - (A / B) * spread) / B
    return np.where(B > 0, share, 0.0).mean(axis=1)


def _parts_of_r2(model: Any, X: Array, y: Array, weights: Array) -> Array:
    """1 − eᵢ²/B, whose mean is R²; 1 − eᵢ² for a constant target."""
    y = y.reshape(len(y), -1)
    spread = np.average((y - np.average(y, axis=0, weights=weights)) ** 2, axis=0, weights=weights)
    return 1 - (y - model.predict(X).reshape(y.shape)) ** 2 / np.where(spread > 0, spread, 1.0)


def _hits(model: Any, X: Array, y: Array, weights: Array | None) -> Array:
    hits = model.predict(X) == y
    return np.asarray(hits if hits.ndim == 1 else hits.all(axis=1), dtype=float)


def _log_likelihood(model: Any, X: Array, y: Array, weights: Array) -> Array:
    p = model.predict_proba(X)[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return np.log(np.maximum(p, np.finfo(p.dtype).eps))


def _squares(model: Any, X: Array, y: Array, weights: Array) -> Array:
    return -((y - model.predict(X)) ** 2)


def _distances(model: Any, X: Array, y: Array, weights: Array) -> Array:
    return -np.abs(y - model.predict(X))


MEANS: dict[str, Callable] = {
    "accuracy": _hits,
    INSIDE: _hits,
    "neg_log_loss": _log_likelihood,
    "neg_mean_squared_error": _squares,
    "neg_mean_absolute_error": _distances,
}
ROWS: dict[str, Callable] = {"R²": _parts_of_r2} | MEANS
SHARES: dict[str, Callable] = {"R²": _of_r2} | {k: _of_mean(v) for k, v in MEANS.items()}
