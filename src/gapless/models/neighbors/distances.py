"""The meaning of a metric, and how rows are prepared for it: numbers, or mixed with categories."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ..._ground import core
from ..._ground.columns import Columns, for_prediction, read_new, read_training
from ..._ground.stored import Declaration, Numbers, Value
from ..._ground.validation import read_weights

Array = np.ndarray

MIXED = {"mixed": core.Metric.mixed_sum, "mixed_euclidean": core.Metric.mixed_euclidean}
# Other names of the same distances.
SAME = {
    "l1": "manhattan",
    "cityblock": "manhattan",
    "l2": "euclidean",
    "infinity": "chebyshev",
}
OF_CORE = {
    "euclidean": core.Metric.euclidean,
    "manhattan": core.Metric.manhattan,
    "chebyshev": core.Metric.chebyshev,
    "minkowski": core.Metric.minkowski,
    "hamming": core.Metric.hamming,
}
# Distances in which the columns with the largest numbers count most.
OF_SCALE = ("euclidean", "manhattan", "chebyshev", "minkowski")


@dataclass(frozen=True, eq=False)
class DistanceForm:
    """A distance.

    Parameters
    ----------
    name : str or callable
        The metric as scikit-learn calls it, with Minkowski's special cases by their own names.
    params : dict
        Its parameters.
    distance : core.Distance or None
        How the core computes it; None if scikit-learn does.
    factors : ndarray of shape (d,) or None
        The factors of the columns.
    """

    name: Any
    params: dict[str, Any] = field(default_factory=dict)
    distance: Any = None
    factors: Array | None = None

    @property
    def is_cosine(self) -> bool:
        """Whether rows are compared by their directions."""
        return self.distance is not None and self.name == "cosine"

    @property
    def is_of_scale(self) -> bool:
        """Whether columns should be on one scale."""
        return isinstance(self.name, str) and self.name in OF_SCALE

    def of_rows(self, X: Array, *, is_query: bool) -> Array:
        """Rows as the core takes them: contiguous, in float64 or float32."""
        if self.is_cosine:
            X = _directions(X, is_query)
        elif self.factors is not None:
            X = X * self.factors.astype(X.dtype)
        return np.ascontiguousarray(X)

    def finished(self, distances: Array) -> Array:
        """Distances from those of the core."""
        # For directions, ‖x − z‖² = 2 (1 − cos).
        return 0.5 * distances**2 if self.is_cosine else distances

    def for_core(self, radius: Array) -> Array:
        """The core's distance for a given distance."""
        return np.sqrt(2 * radius) if self.is_cosine else radius


def form_of(metric: Any, p: float | None, params: dict[str, Any] | None, X: Any) -> DistanceForm:
    """The distance that an estimator's parameters mean, for rows like X."""
    given = dict(params or {})
    name = SAME.get(metric, metric) if isinstance(metric, str) else metric
    if name == "minkowski":
        power, w = given.pop("p", p), given.pop("w", None)
        power = 2 if power is None else power
        if w is not None:
            return _weighted(power, np.asarray(w, dtype=float), given, X)
        name = {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}.get(power, "minkowski")
        if name == "minkowski":
            given["p"] = power
    if sp.issparse(X) or not isinstance(name, str) or set(given) - {"p"}:
        return DistanceForm(name, given)
    if name == "cosine":
        return DistanceForm(name, given, core.Distance(core.Metric.euclidean))
    if name in OF_CORE:
        return DistanceForm(name, given, core.Distance(OF_CORE[name], float(given.get("p", 2))))
    return DistanceForm(name, given)


def mixed_form(metric: str, numbers: int) -> DistanceForm:
    """The distance of mixed rows, whose first columns are numbers."""
    return DistanceForm(metric, {}, core.Distance(MIXED[metric], numbers=numbers))


def _weighted(power: float, w: Array, given: dict[str, Any], X: Any) -> DistanceForm:
    """Minkowski's distance with weights of the columns, (Σ wⱼ|xⱼ − zⱼ|ᵖ)^(1/p)."""
    shown = given | {"p": power, "w": w}
    if sp.issparse(X) or not np.isfinite(power) or np.any(w < 0) or w.shape != X.shape[1:]:
        return DistanceForm("minkowski", shown)
    names: dict[float, str] = {1: "manhattan", 2: "euclidean"}
    metric = names.get(power, "minkowski")
    return DistanceForm(
        "minkowski", shown, core.Distance(OF_CORE[metric], float(power)), w ** (1 / power)
    )


def _directions(X: Array, is_query: bool) -> Array:
    """Rows divided by their length, in float64; rows of zeros have distance 1 to all."""
    X = np.asarray(X, dtype=np.float64)
    # Divided by the largest entry first, whose square may overflow.
    largest = np.max(np.abs(X), axis=1, keepdims=True, initial=0.0)
    scaled = X / np.where(largest > 0, largest, 1.0)
    length = np.sqrt(np.sum(scaled**2, axis=1, keepdims=True))
    is_zero = largest[:, 0] == 0
    # One column for those of the rows and one for those of the queries: orthogonal to all.
    apart = np.zeros((len(X), 2))
    apart[is_zero, int(is_query)] = 1.0
    return np.hstack([scaled / np.where(length > 0, length, 1.0), apart])


@dataclass(frozen=True, eq=False)
class MixedRows:
    """How mixed rows are measured: numbers in parts of their range, categories equal or not.

    The sum of |xⱼ − zⱼ|/rangeⱼ over numbers, plus 1 for each category that differs, is Gower's
    distance times the number of columns (Gower 1971, Biometrics 27).

    Parameters
    ----------
    columns : Columns
        Which columns are categories, and their levels.
    low, factor : ndarray of shape (d,)
        The least value of each number, and one over its range; 0 and 1 for categories.
    """

    _stored: ClassVar[Declaration] = {
        "columns": Value(Columns, features=len),
        "low": Numbers("features"),
        "factor": Numbers("features"),
    }
    columns: Columns
    low: Array
    factor: Array

    @classmethod
    def read(
        cls, estimator: Any, X: Any, sample_weight: Any = None, *, reset: bool = True
    ) -> tuple[MixedRows, Array, Array | None]:
        """Ranges of the rows that have a weight; all rows in their units; names of the columns."""
        columns, F, names = read_training(estimator, X, None, reset=reset)
        F = _dense(F)
        weights = read_weights(sample_weight, F)
        low, factor = np.zeros(F.shape[1]), np.ones(F.shape[1])
        for j in np.flatnonzero(~columns.is_category):
            values = F[weights > 0, j]
            values = values[np.isfinite(values)]
            if len(values):
                low[j] = values.min()
                span = values.max() - low[j]
                # A number that does not vary carries no information.
                factor[j] = 1 / span if span > 0 else 0.0
        mixed = cls(for_prediction(columns), low, factor)
        return mixed, mixed.scaled(F), names

    def new(self, estimator: Any, X: Any) -> Array:
        """Rows to predict, in the units of the fit; a new level differs from all."""
        return self.scaled(_dense(read_new(estimator, self.columns, X)))

    def scaled(self, F: Array) -> Array:
        """Rows in these units, the numbers first; NaN if missing."""
        order = np.argsort(self.columns.is_category, kind="stable")
        return np.ascontiguousarray(((F - self.low) * self.factor)[:, order])

    @property
    def numbers(self) -> int:
        """The number of columns that are numbers."""
        return int(np.sum(~self.columns.is_category))


def _dense(F: Any) -> Array:
    return np.asarray(F.toarray() if sp.issparse(F) else F, dtype=np.float64)
