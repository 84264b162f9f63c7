"""What classifiers and regressors by neighbours share: fit = read → search → choose k."""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints
from sklearn.utils.validation import check_is_fitted

from ..._ground.design import Design
from ..._ground.docstrings import described
from ..._ground.interrupt import IN_SECONDS, limit_name
from ..._ground.progress import CallbackSupport, watch
from ..._ground.stored import Declaration, Flag, Nothing, Numbers, Unused, Whole
from ..._ground.validation import Outputs, check_given, is_same, read_outputs, readable_target
from ...certificates import Certificate
from ...unseen import JUDGED, Remembering, as_fitted, take_over
from ._base import NeighborsModel
from .held_out import NeighborsFit, choose_k
from .votes import Voters

Array = np.ndarray

# Shared by the docstrings of several classes and methods.
VOTING = """
n_neighbors : int or "loo"
    How many neighbours vote; "loo" chooses the number by exact leave-one-out, all at once.
weights : {"uniform", "distance", "squared_distance"}, callable or None
    What a neighbour counts at distance d: 1, 1/d, 1/d², or what the function returns for an array
    of distances. By 1/d and 1/d², rows at distance 0 decide alone.
select : {"min", "1se"}
    With "loo", the best number of neighbours, or the largest within one standard error of it.
time_limit : float
    Seconds after which "loo" chooses from the rows left out so far.
n_neighbors_ : int
    The number of neighbours.
search_ : Search
    With "loo", the numbers that were tried and their scores on unseen rows.
certificate_ : Certificate
    Of kind "none": nothing is minimised.
generalization_ : Generalization
    What the model will score on unseen rows, by exact leave-one-out.
outputs_2d_ : bool
    Whether there are several outputs.
"""
TRAINING = """
X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
    Training data, or the distances between training rows if metric="precomputed".
y : array-like of shape (n_samples,) or (n_samples, n_outputs)
    Classes, or numbers.
sample_weight : array-like of shape (n_samples,)
    Weights ≥ 0. Weight 2 means the row twice, weight 0 means the row is not there.
"""
ROWS = """
X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features), or None
    Rows to predict; None takes the training rows, each without itself.
sample_weight : array-like of shape (n_samples,)
    How much each row counts in the score.
"""

LOO = "loo"
# The number of neighbours where time was up before any was judged.
USUAL = 5
NONE = Certificate(
    kind="none",
    verdict=(
        "no bound: nothing is minimised, so there is no best model to compare with; the "
        "neighbours found are exact."
    ),
    primal=float("nan"),
    dual=float("-inf"),
    gap=float("inf"),
    relative_gap=float("inf"),
    tolerance=0.0,
    scale=0.0,
)


@dataclass(frozen=True, eq=False)
class NeighborsData:
    """Validated data of a fit: rows as the search takes them, targets and weights, and units."""

    rows: Any
    outputs: Outputs
    names: Array | None
    mixed: Any
    is_matrix: bool

    @property
    def is_unit(self) -> bool:
        """Whether all rows have weight 1."""
        return bool(np.all(self.outputs.weights == 1))


class SupervisedNeighbors(Remembering, CallbackSupport, NeighborsModel):
    """Base of the estimators whose neighbours vote."""

    _stored: ClassVar[Declaration] = {
        **NeighborsModel._stored,
        "n_neighbors_": Whole(1),
        "search_": Unused(),
        **JUDGED,
        "outputs_2d_": Flag(),
        "_y": Numbers("rows", "outputs"),
        "_weights": Numbers("rows", low=0.0) | Nothing(),
    }
    _parameter_constraints: ClassVar[dict] = {
        **NeighborsModel._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), StrOptions({LOO})],
        "weights": [StrOptions({"uniform", "distance", "squared_distance"}), callable, None],
        "ties": [StrOptions({"first", "nearest"})],
        "select": [StrOptions({"min", "1se"})],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    }
    _has_classes: ClassVar[bool]

    def _misfit(self) -> str | None:
        fault = super()._misfit()
        # What predictions read, and a fit would have refused.
        given = {name: getattr(self, name) for name in ("n_neighbors", "ties", "weights")}
        rules = {name: self._parameter_constraints[name] for name in given}
        validate_parameter_constraints(rules, given, type(self).__name__)
        searched = np.arange(self._fit_X.shape[0]) if self._kept is None else self._kept
        # Neighbours without a weight would have no vote.
        has_say = self._weights is None or np.array_equal(searched, np.flatnonzero(self._weights))
        if fault is None and not has_say:
            fault = "_kept has rows without a weight, or lacks rows that have one"
        found = self._fit_X.shape[0] if self._kept is None else len(self._kept)
        if fault is None and self.n_neighbors_ > found:
            fault = f"n_neighbors_ is {self.n_neighbors_}, of {found} rows"
        if fault is None and not self.outputs_2d_ and self._y.shape[1] != 1:
            fault = f"_y has {self._y.shape[1]} columns, and outputs_2d_ is False"
        return fault

    def __init__(
        self,
        n_neighbors=5,
        *,
        weights="uniform",
        algorithm="auto",
        leaf_size=30,
        p=2,
        metric="minkowski",
        metric_params=None,
        n_jobs=None,
        categorical_features="from_dtype",
        ties="first",
        select="min",
        time_limit=None,
    ):
        self.n_neighbors = n_neighbors
        self.weights = weights
        self.algorithm = algorithm
        self.leaf_size = leaf_size
        self.p = p
        self.metric = metric
        self.metric_params = metric_params
        self.n_jobs = n_jobs
        self.categorical_features = categorical_features
        self.ties = ties
        self.select = select
        self.time_limit = time_limit

    # ---- fitting ---------------------------------------------------------------------------------

    def _read(self, X: Any, y: Any, sample_weight: Any, *, reset: bool = True) -> NeighborsData:
        """X, y and weights, validated."""
        check_given(self, y)
        y = readable_target(y)
        rows, names, mixed = self._read_training_rows(X, sample_weight, reset=reset)
        outputs = read_outputs(y, rows, sample_weight, has_classes=self._has_classes)
        return NeighborsData(rows, outputs, names, mixed, np.asarray(y).ndim == 2)

    @_fit_context(prefer_skip_nested_validation=False)
    @described(TRAINING)
    def fit(self, X, y, sample_weight=None):
        """Keep the training rows, and choose the number of neighbours.

        Returns
        -------
        self : object
            The fitted estimator. Ctrl-C keeps the best choice so far, if there is one, and raises
            KeyboardInterrupt; an error leaves the estimator as it was.
        """
        data = self._read(X, y, sample_weight)
        learned = self._learned_rows(data.rows, data.names, data.mixed, data.outputs.weights)
        learned |= self._learned_targets(data)
        learned |= {"certificate_": NONE, "_training": (data,), "_calibration": None}
        learned |= {"_choice": None, "n_neighbors_": self.n_neighbors}
        status = "found"
        if self.n_neighbors == LOO:
            status = self._choose(data, learned)
        take_over(self, learned)
        if status == "interrupted":
            raise KeyboardInterrupt
        if status == "time_limit":
            warnings.warn(
                f"{type(self).__name__} reached {limit_name(self.time_limit, IN_SECONDS)} before "
                "all rows were left out; n_neighbors_ is the best for those left out so far. "
                "Raise time_limit.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return self

    def _learned_targets(self, data: NeighborsData) -> dict[str, Any]:
        """What the model keeps of the targets."""
        weights = None if data.is_unit else data.outputs.weights
        return {
            "_y": data.outputs.y,
            "_weights": weights,
            "outputs_2d_": not data.outputs.is_flat,
        }

    def _choose(self, data: NeighborsData, learned: dict[str, Any]) -> str:
        """Choose the number of neighbours; how the search ended."""
        twin: Any = copy.copy(self)
        vars(twin).update(learned)
        with watch(self, data.rows, data.outputs.y) as callback:
            choice, status = choose_k(
                NeighborsFit(twin, data), self.select, self.time_limit, callback
            )
        if choice is None and status == "interrupted":
            raise KeyboardInterrupt
        total = int(data.outputs.weights.sum())
        chosen = max(min(USUAL, total), 1) if choice is None else choice.values["n_neighbors"]
        learned["n_neighbors_"] = int(chosen)
        if choice is not None:
            learned |= {"search_": choice.search, "_choice": choice}
        return status

    # ---- predicting ------------------------------------------------------------------------------

    @property
    def _requested_neighbors(self):
        return int(self.n_neighbors_ if self.n_neighbors == LOO else self.n_neighbors)

    @property
    def _voters(self) -> Voters:
        weights = self._weights
        if weights is not None and self._kept is not None:
            weights = weights[self._kept]
        return Voters(self._searching, weights, self.weights, self.ties)

    def _scores(self, X: Any) -> Array:
        """What the neighbours of rows vote for, (n, ΣK): shares of the classes, or numbers."""
        check_is_fitted(self)
        k = self._enough(self._requested_neighbors, X is None)
        if X is None:
            queries, own, labels = self._own_rows()
            found = self._voters.around(queries, k, own, labels)
        else:
            found = self._voters.around(self._of_kept(self._read_queries(X)), k)
        return self._from_votes(*found[1:], self._targets())

    def _enough(self, k: int, is_own: bool) -> int:
        """The number of neighbours, if the rows, or all but one, weigh that much together."""
        weights = np.ones(self.n_samples_fit_) if self._weights is None else self._weights
        total, left = weights.sum(), weights.sum() - is_own * weights.max()
        # Parts of a weight add up to an integer except for rounding.
        if k > left * (1 + 1e-9):
            sign = "<" if is_own else "<="
            counts = (
                ""
                if self._weights is None
                else (
                    ", the sum of the weights, since a row of weight 2 is two neighbours (weights "
                    "divided by their mean count the rows)"
                )
            )
            raise ValueError(
                f"Expected n_neighbors {sign} n_samples_fit, but n_neighbors = {k}, n_samples_fit "
                f"= {total:g}{counts}; use fewer neighbours, or fit to more rows."
            )
        return k

    def _from_votes(self, rows: Array, votes: Array, y: Array) -> Array:
        """The outcome of votes, (q, ΣK), given the targets y (n, outputs) of all rows."""
        raise NotImplementedError

    def _targets(self) -> Array:
        """Targets of the searched rows, (n, outputs)."""
        return self._y if self._kept is None else self._y[self._kept]

    # ---- both gaps -------------------------------------------------------------------------------

    def _tuned(self):
        return ("n_neighbors",) if self.n_neighbors == LOO else ()

    def _reread(self, X, y, sample_weight) -> NeighborsData:
        """The data of the fit, read again."""
        check_is_fitted(self)
        return as_fitted(self)._read(X, y, sample_weight, reset=False)

    def _check_same(self, data: NeighborsData) -> None:
        weights = np.ones(len(self._y)) if self._weights is None else self._weights
        pairs = ((data.rows, self._fit_X), (data.outputs.y, self._y))
        same = all(is_same(a, b) for a, b in (*pairs, (data.outputs.weights, weights)))
        if not same:
            raise ValueError(
                "these are not the training data: X, y or the weights have changed since "
                f"{type(self).__name__} was fitted. Fit again."
            )

    def _certified(self, X, y, sample_weight=None) -> Certificate:
        """The certificate; the data must be those of the fit, because the model is its data."""
        self._check_same(self._reread(X, y, sample_weight))
        return NONE

    def _fitted(self, data: NeighborsData) -> NeighborsFit:
        self._check_same(data)
        return NeighborsFit(as_fitted(self), data)

    def _calibration_rows(self, X: Any) -> Design:
        """New rows for the models of a calibration."""
        return Design(self._read_queries(X))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
