"""What all nearest-neighbour estimators share: reading rows, building the search, querying it."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.metrics import DistanceMetric
from sklearn.neighbors import VALID_METRICS, BallTree, KDTree
from sklearn.neighbors._base import KNeighborsMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_array, check_is_fitted

from ..._ground.design import Design
from ..._ground.docstrings import described
from ..._ground.stored import (
    INPUT,
    Declaration,
    Maybe,
    Nothing,
    Numbers,
    Unused,
    Value,
    Whole,
    all_finite,
)
from ..._ground.validation import read_numbers, read_rows, read_table
from ...unseen import GIVEN, as_fitted, given_to_fit
from .distances import MIXED, DistanceForm, MixedRows, form_of, mixed_form
from .searches import NeighborSearch, search_of

Array = np.ndarray

# Shared by the docstrings of several classes and methods.
SEARCHED = """
algorithm : {"auto", "kd_tree", "ball_tree", "brute", "faiss"}
    All but "faiss" are exact and find the same neighbours. "auto" takes boxes for up to 15 columns
    and bounds by projections for more; "faiss" is an approximate search by the package of that
    name, which must be installed.
leaf_size : int
    Only for searches by scikit-learn: metrics other than those named below.
metric : str or callable
    "euclidean", "manhattan", "chebyshev", "minkowski" (with `p`), "cosine" and "hamming"; for
    tables as they are, with categories and missing values, "mixed" (numbers in parts of their
    range, plus 1 for each category that differs) and "mixed_euclidean" (the root of the sum of
    squares); "precomputed"; any other metric of scikit-learn, or a function of two rows.
p : float
    The power of Minkowski's distance.
metric_params : dict
    Further parameters of the metric.
n_jobs : int
    Has no effect, and is here for code written for scikit-learn; GAPLESS_NUM_THREADS sets the
    number of threads.
categorical_features : array-like or "from_dtype"
    For mixed rows: which columns are categories; "from_dtype" goes by the types of a table.
effective_metric_ : str or callable
    The metric; Minkowski's special cases by their own names.
effective_metric_params_ : dict
    Its parameters.
n_samples_fit_ : int
    The number of training rows.
mixed_ : MixedRows
    For mixed rows: which columns are categories, and the ranges of the others.
"""
QUERIES = """
X : {array-like, sparse matrix, data frame} of shape (n_queries, n_features)
    Rows to find neighbours of, or their distances to the training rows if metric="precomputed".
    None takes the training rows, which are not neighbours of themselves. Rows of weight 0 are
    never neighbours.
n_neighbors : int
    How many neighbours; None takes the number of the estimator.
radius : float or array-like of shape (n_queries,)
    The largest distance, itself included; None takes that of the estimator.
mode : {"connectivity", "distance"}
    Whether the entries are ones or distances.
return_distance : bool
    Whether to return the distances as well.
"""

PRECOMPUTED, NAN_EUCLIDEAN = "precomputed", "nan_euclidean"
# Parameters of the search.
OF_SEARCH = ("algorithm", "leaf_size", "metric", "metric_params", "p", "categorical_features")
METRICS = set().union(*VALID_METRICS.values(), MIXED)
# If half of the columns together have less than this part of the variance, they have no influence.
NO_INFLUENCE = 1e-4


# scikit-learn's base class tells its functions, such as kneighbors_graph, what a model can do.
class NeighborsModel(KNeighborsMixin, BaseEstimator):
    """Base of the nearest-neighbour estimators: rows to search, and the nearest of them."""

    _guide = "neighbors"

    _stored: ClassVar[Declaration] = {
        "effective_metric_": Unused(),
        "effective_metric_params_": Unused(),
        "n_samples_fit_": Whole(1, size="rows"),
        **INPUT,
        "mixed_": Maybe(Value(MixedRows, features=lambda rows: len(rows.low))),
        GIVEN: Maybe(Value(dict)),
        "_fit_method": Unused(),
        "_fit_X": Numbers("rows", "features", is_finite=False, may_be_sparse=True),
        "_kept": Numbers("kept", types="i", below="rows") | Nothing(),
        "_search": Maybe(Nothing()),
    }
    _parameter_constraints: ClassVar[dict] = {
        "n_neighbors": [Interval(Integral, 1, None, closed="left"), None],
        "algorithm": [StrOptions({"auto", "ball_tree", "kd_tree", "brute", "faiss"})],
        "leaf_size": [Interval(Integral, 1, None, closed="left")],
        "p": [Interval(Real, 0, None, closed="right"), None],
        "metric": [StrOptions(METRICS), DistanceMetric, callable],
        "metric_params": [dict, None],
        "n_jobs": [Integral, None],
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
    }

    # ---- files -----------------------------------------------------------------------------------

    def _misfit(self) -> str | None:
        """What is inconsistent in the stored attributes, in words; None if nothing is."""
        fitted, rows = as_fitted(self), self._fit_X
        may_miss = fitted._is_mixed or fitted.metric == NAN_EUCLIDEAN
        # Searched rows must have an order, and NaN has none.
        if not may_miss and not all_finite(rows.data if sp.issparse(rows) else rows):
            return "_fit_X has numbers that are NaN or infinite"
        if fitted._is_mixed != ("mixed_" in vars(self)):
            return "mixed_ and the metric contradict each other"
        return None

    # ---- reading ---------------------------------------------------------------------------------

    @property
    def _is_mixed(self) -> bool:
        return isinstance(self.metric, str) and self.metric in MIXED

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.metric, str) and self.metric == PRECOMPUTED

    def _read_training_rows(
        self, X: Any, sample_weight: Any, *, reset: bool = True
    ) -> tuple[Any, Array | None, MixedRows | None]:
        """Training rows as the search takes them, the names of their columns, and their units."""
        if isinstance(X, (KDTree, BallTree)):
            X = np.asarray(X.data)
        if isinstance(X, NeighborsModel):
            X = X._fit_X
        self._check_for_mixed()
        if self._is_mixed:
            mixed, rows, names = MixedRows.read(self, X, sample_weight, reset=reset)
            return rows, names, mixed
        if self._is_precomputed:
            return self._read_distances(X, reset=reset), None, None
        if self.metric == NAN_EUCLIDEAN:
            return *read_numbers(self, X, reset=reset), None
        data = read_table(self, X, reset=reset)
        return _by_rows(data.X), data.feature_names, None

    def _check_for_mixed(self) -> None:
        """Refuse parameters that the metric does not use."""
        if self._is_mixed and self.metric_params:
            raise ValueError(
                f'metric="{self.metric}" has no metric_params, got {sorted(self.metric_params)}; '
                "leave them out."
            )
        is_given = not (
            self.categorical_features is None or isinstance(self.categorical_features, str)
        )
        if is_given and not self._is_mixed:
            raise ValueError(
                "categorical_features need mixed rows, and other metrics take only numbers; use "
                'metric="mixed" or "mixed_euclidean", or leave them out.'
            )

    def _read_queries(self, X: Any) -> Any:
        """Query rows, as the search takes them."""
        fitted = as_fitted(self)
        if fitted._is_mixed:
            return self.mixed_.new(self, X)
        if fitted._is_precomputed:
            return self._read_distances(X, reset=False)
        if fitted.metric == NAN_EUCLIDEAN:
            return read_numbers(self, X, reset=False)[0]
        return _by_rows(read_rows(self, X))

    def _read_distances(self, X: Any, *, reset: bool) -> Any:
        """A matrix of distances to the training rows."""
        formats = ("csr", "csc", "coo", "lil")
        if sp.issparse(X) and X.format not in formats:
            raise TypeError(
                f"Sparse matrix in {X.format!r} format is not supported due to its handling of "
                "explicit zeros; convert it with tocsr()."
            )
        X = check_array(
            X,
            accept_sparse="csr",
            ensure_non_negative=True,
            input_name="precomputed distance matrix",
        )
        if reset and X.shape[0] != X.shape[1]:
            raise ValueError(
                "Precomputed matrix must be square. Input is a "
                f"{X.shape[0]}x{X.shape[1]} matrix; give the distances between the training rows."
            )
        if not reset and X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} columns, but the model has {self.n_features_in_} training "
                "rows; give the distances of each row to all of them."
            )
        return X

    # ---- the search ------------------------------------------------------------------------------

    def _form(self, rows: Any, mixed: MixedRows | None) -> DistanceForm:
        if mixed is not None:
            return mixed_form(self.metric, mixed.numbers)
        if self.metric_params is not None and "p" in self.metric_params and self.p is not None:
            warnings.warn(
                "Parameter p is found in metric_params. The corresponding parameter from __init__ "
                "is ignored.",
                SyntaxWarning,
                stacklevel=5,
            )
        form = form_of(self.metric, self.p, self.metric_params, rows)
        self._check_form(form)
        return form

    def _check_form(self, form: DistanceForm) -> None:
        """Refuse what no search can do; warn of what is not a distance."""
        is_tree = self.algorithm in ("kd_tree", "ball_tree")
        if form.name == "minkowski" and form.params["p"] < 1:
            if is_tree:
                raise ValueError(
                    f'algorithm="{self.algorithm}" does not support 0 < p < 1 for the Minkowski '
                    'metric. To resolve this problem either set p >= 1 or algorithm="brute".'
                )
            warnings.warn(
                "Mind that for 0 < p < 1, Minkowski metrics are not distance metrics. Continuing "
                "the execution with `algorithm='brute'`.",
                stacklevel=6,
            )
        if callable(self.metric) and self.algorithm == "kd_tree":
            raise ValueError(
                f"kd_tree does not support callable metric {self.metric!r}; use ball_tree or brute."
            )
        is_named = is_tree and isinstance(self.metric, str)
        if is_named and self.metric not in VALID_METRICS[self.algorithm]:
            raise ValueError(
                f"Metric {self.metric!r} not valid for algorithm={self.algorithm!r}; use "
                'algorithm="auto", or one of sorted(sklearn.neighbors.VALID_METRICS['
                f"{self.algorithm!r}])."
            )

    def _learned_rows(
        self, rows: Any, names: Array | None, mixed: MixedRows | None, weights: Array | None
    ) -> dict[str, Any]:
        """What the model keeps of the rows; those of weight 0 are not searched."""
        form = self._form(rows, mixed)
        kept = None if weights is None or np.all(weights > 0) else np.flatnonzero(weights > 0)
        if form.is_of_scale and not sp.issparse(rows):
            _warn_of_scales(rows, names, weights, type(self).__name__)
        search = self._built(rows, form, kept)
        learned = {
            "effective_metric_": form.name,
            "effective_metric_params_": dict(form.params),
            "n_samples_fit_": rows.shape[0],
            "n_features_in_": rows.shape[1],
            "_fit_method": search.method if self.algorithm == "auto" else self.algorithm,
            "_fit_X": rows,
            "_kept": kept,
            "_search": search,
            **given_to_fit(self, OF_SEARCH),
        }
        if names is not None:
            learned["feature_names_in_"] = names
        if mixed is not None:
            learned["mixed_"] = mixed
        return learned

    def _built(self, rows: Any, form: DistanceForm, kept: Array | None) -> NeighborSearch:
        if kept is not None:
            rows = rows[kept][:, kept] if self._is_precomputed else rows[kept]
        return search_of(rows, form, self.algorithm, self.leaf_size)

    @property
    def _searching(self) -> NeighborSearch:
        """The search, rebuilt if a copy or a file lacks it."""
        check_is_fitted(self)
        search: NeighborSearch | None = vars(self).get("_search")
        if search is None:
            fitted = as_fitted(self)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                form = fitted._form(self._fit_X, vars(self).get("mixed_"))
            search = self._search = fitted._built(self._fit_X, form, self._kept)
        return search

    def _of_kept(self, X: Any) -> Any:
        """Given distances, restricted to the searched rows; other rows unchanged."""
        if self._kept is not None and as_fitted(self)._is_precomputed:
            return X[:, self._kept]
        return X

    def _own_rows(self) -> tuple[Any, Array, Array]:
        """All training rows, their numbers, and the numbers of those that are searched."""
        own = np.arange(self.n_samples_fit_)
        return self._of_kept(self._fit_X), own, own if self._kept is None else self._kept

    def _numbered(self, rows: Array) -> Array:
        """Positions among all training rows, from those among the searched rows."""
        return rows if self._kept is None else np.where(rows >= 0, self._kept[rows], -1)

    # ---- the nearest rows ------------------------------------------------------------------------

    @property
    def _requested_neighbors(self) -> int:
        """The number of neighbours that the parameters request."""
        return int(self.n_neighbors)

    @described(QUERIES)
    def kneighbors(self, X=None, n_neighbors=None, return_distance=True):
        """Find the nearest training rows.

        Returns
        -------
        distances : ndarray of shape (n_queries, n_neighbors)
            The nearest first; of equally near rows, the first. Only with `return_distance`.
        rows : ndarray of int, shape (n_queries, n_neighbors)
            Positions of the neighbours among the training rows.
        """
        check_is_fitted(self)
        k = self._count(n_neighbors, X is None)
        if X is None:
            queries, own, labels = self._own_rows()
            distances, rows = self._searching.nearest(queries, k, own, labels)
        else:
            distances, rows = self._searching.nearest(self._of_kept(self._read_queries(X)), k)
        rows = self._numbered(rows)
        return (distances, rows) if return_distance else rows

    def _count(self, n_neighbors: Any, is_own: bool) -> int:
        """How many neighbours, if there are enough rows."""
        k: Any = self.n_neighbors if n_neighbors is None else n_neighbors
        k = self._requested_neighbors if isinstance(k, str) else k
        if isinstance(k, bool) or not isinstance(k, Integral):
            raise TypeError(
                f"n_neighbors does not take {type(k)} value, enter integer value; got {k!r}."
            )
        count = int(k)
        if count <= 0:
            raise ValueError(f"Expected n_neighbors > 0. Got {k}")
        there = self.n_samples_fit_ if self._kept is None else len(self._kept)
        if count + is_own > there:
            sign = "<" if is_own else "<="
            raise ValueError(
                f"Expected n_neighbors {sign} n_samples_fit, but n_neighbors = {k}, n_samples_fit "
                f"= {there}; use fewer neighbours, or fit to more rows."
            )
        return count

    @described(QUERIES)
    def kneighbors_graph(self, X=None, n_neighbors=None, mode="connectivity"):
        """The graph from rows to their nearest training rows.

        Returns
        -------
        graph : sparse matrix in CSR format, shape (n_queries, n_samples_fit)
            With an entry for each neighbour.
        """
        check_is_fitted(self)
        check_mode(mode)
        distances, rows = self.kneighbors(X, n_neighbors)
        starts = np.arange(0, rows.size + 1, rows.shape[1])
        values = distances if mode == "distance" else np.ones(rows.shape)
        return graph_of(values.ravel(), rows.ravel(), starts, self.n_samples_fit_)

    def __getstate__(self):
        # What the compiled core has built is rebuilt from the rows.
        return super().__getstate__() | {"_search": None}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self._is_precomputed
        tags.input_tags.positive_only = self._is_precomputed
        tags.input_tags.allow_nan = self._is_mixed or self.metric == NAN_EUCLIDEAN
        return tags

    def _formula(self) -> None:
        """None: rows are stored and looked up, and nothing is minimised."""


def check_mode(mode: str) -> None:
    if mode not in ("connectivity", "distance"):
        raise ValueError(
            'Unsupported mode, must be one of "connectivity", or "distance" but got '
            f'"{mode}" instead'
        )


def graph_of(values: Array, rows: Array, starts: Array, count: int) -> Any:
    return sp.csr_matrix((values, rows, starts), shape=(len(starts) - 1, count))


def _by_rows(X: Any) -> Any:
    """Rows one after the other in memory."""
    return X.tocsr() if sp.issparse(X) else np.ascontiguousarray(X)


def _warn_of_scales(X: Array, names: Array | None, weights: Array | None, model: str) -> None:
    """Warn if a few columns decide all distances because of their units."""
    if X.shape[1] < 2 or len(X) < 2:
        return
    counts = np.ones(len(X)) if weights is None else weights
    mean = Design(X).transposed_times(counts) / counts.sum()
    spread = Design(X, mean).column_square_sums(counts) / counts.sum()
    # The rounding of a constant column.
    varying = np.flatnonzero(spread > (len(X) * np.finfo(X.dtype).eps * mean) ** 2)
    ordered = varying[np.argsort(spread[varying])]
    half = ordered[: len(ordered) // 2]
    if not len(half) or spread[half].sum() > NO_INFLUENCE * spread.sum():
        return
    small, large = np.sqrt(spread[half[0]]), np.sqrt(spread[ordered[-1]])
    called = range(X.shape[1]) if names is None else names.tolist()
    warnings.warn(
        f"{model}: half of the columns hardly affect the distances: the standard deviation of "
        f"column {called[ordered[-1]]!r} is {large:.3g}, that of column {called[half[0]]!r} is "
        f"{small:.3g}. Put them on one scale, e.g. with make_pipeline(StandardScaler(), model), "
        'or use metric="mixed", which divides by the ranges.',
        stacklevel=5,
    )
