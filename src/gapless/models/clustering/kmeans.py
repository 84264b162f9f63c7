"""KMeans: k centres that are the means of the rows nearest to them."""

from __future__ import annotations

import copy
import functools
import time
import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_array, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from ..._ground.about import Example, Examples, Formula
from ..._ground.design import Design
from ..._ground.docstrings import FEATURES, described
from ..._ground.interrupt import TimeLimit, limit_name, seconds_left, time_limit
from ..._ground.progress import CallbackSupport, watch, with_callbacks
from ..._ground.stored import INPUT, Declaration, Maybe, Number, Numbers, Unused, Whole, Word
from ..._ground.threads import single_blas
from ..._ground.validation import Training, check_spread, read_rows, read_table
from ...certificates import Certificate
from ...streaming import applied, is_in_parts
from ...unseen import FOLDS, JUDGED, Generalization, Remembering, measure, take_over
from .in_parts import KMeansInParts
from .kmeans_bound import AT_ONCE, FEW, FURTHER, REFIT, Starts, certificate_of
from .kmeans_held_out import KMeansFit, Mixture, choose_clusters
from .kmeans_runs import Plan
from .lloyd import (
    LEAST_IN_SINGLE,
    MOST_IN_SINGLE,
    ClusterRows,
    LloydRun,
    distances,
    nearest,
)
from .seeding import PLUS_PLUS, RANDOM, check_centers

Array = np.ndarray

AUTO = "auto"
# Below this, squares may have vanished.
SMALLEST_SCATTER = 1e-200
# Multiplications of a bound that a fit always computes, and the part of its own beyond that.
QUICK, SHARE = 2e6, 0.1
# How a run ends that was told to.
STOPPED = ("time_limit", "interrupted")
# The seed of fits to some of the rows.
SEED = 0

ROWS = """
X : {array-like, sparse matrix, data frame} of shape (n_samples, n_features)
    Rows.
y : None
    Not used.
sample_weight : array-like of shape (n_samples,)
    Weights ≥ 0. Weight 2 means the row twice, weight 0 means the row is not there.
"""


@described(FEATURES)
class KMeans(
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    ClusterMixin,
    CallbackSupport,
    Remembering,
    BaseEstimator,
):
    """Clusters of rows around k centres.

    Minimises  Σᵢ sᵢ minⱼ ‖xᵢ − cⱼ‖²  over the centres c₁ … c_k by Lloyd's algorithm: every row to
    its nearest centre, every centre to the mean of its rows, until nothing changes.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        The number of clusters k. "auto" chooses it in two steps. Clusters define a density, a
        Gaussian around each centre: the smallest number under which unseen rows are least
        surprising, within one standard error, is an upper limit. Up to it, the largest number is
        taken for which all folds find the same clusters, and unseen rows are clearly rarer midway
        between any two neighbouring centres than near either of them; 1 if there is none.
    init : {"k-means++", "random"}, callable or array-like of shape (k, n_features), \
default="k-means++"
        The first centres: rows drawn far apart, rows drawn at random, a function of
        (X, n_clusters, random_state), or the centres themselves.
    n_init : "auto" or int, default="auto"
        The number of starts, of which the best is kept. "auto" is 10 for init="random" or a
        function, else 1.
    max_iter : int, default=300
        The most steps of one start.
    tol : float, default=1e-4
        Stop when the squares of the moves of all centres sum to at most tol times the mean variance
        of the features; 0 goes on until no row changes its cluster.
    verbose : int, default=0
        Whether to print the objective of each step.
    random_state : int, RandomState instance or None, default=None
        Seed of the first centres. They do not depend on the order of the rows.
    copy_x : bool, default=True
        Accepted for scikit-learn's sake: X is never changed.
    algorithm : {"lloyd", "elkan"}, default="lloyd"
        Both find the same clusters. "lloyd" chooses by the shape of X which bounds save distances;
        "elkan" keeps one for every row and centre, if there is memory for them.
    batch_size : int, default=None
        With a number, each start first takes steps on random batches of so many rows, as
        MiniBatchKMeans does; Lloyd's steps on all rows go on from there, and fewer are needed.
    time_limit : float, default=None
        Seconds after which the last whole step of the best start is kept.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centres.
    labels_ : ndarray of shape (n_samples,)
        The cluster of each row of the fit; not kept for more than 134,217,728 rows in parts.
    inertia_ : float
        The objective: the weighted sum of squared distances to the nearest centre.
    n_iter_ : int
        Steps of the best start.
    n_clusters_ : int
        The number of clusters.
    search_ : Search or None
        With n_clusters="auto", the numbers tried and the log density of unseen rows under each;
        `search_.plot()` draws them.
    inertias_ : ndarray of shape (n_init,)
        The objective at the end of each start.
    trace_ : LloydTrace
        The objective after each step of the best start, which never rises; `trace_.plot()` draws
        it, and `trace_.plot(X)` the way of the centres.
    solver_ : str
        Which bounds saved distances: "hamerly" (one for each row), "elkan" (one for each row and
        centre), "yinyang" (one for each row and group of centres) or "none" (a table in parts).
    certificate_ : Certificate
        How far the sum of squares is at most above that of the best k clusters. Where that takes
        longer than the fit, it is computed when it is first read.
    generalization_ : Generalization
        The explained variance of unseen rows, and whether there are too many or too few clusters.

    Notes
    -----
    A step compares n rows with k centres, n·k·d multiplications, of which the bounds save most:
    after a few steps hardly any row can change its cluster. All starts of the same seed give the
    same bits for any number of threads, and the labels are those of plain Lloyd steps. A local
    minimum depends on the start; `inertias_` shows how much.

    X may be a table in parts (`gapless.in_parts`). Each step is then one pass for all starts. These
    begin where Lloyd's algorithm ends on a sample of at most 100,000 rows, or with the same first
    centres as in memory if that is all rows; "auto" chooses on the sample as well.

    Features count in their own units:
    scale them first if they differ.

    References
    ----------
    Lloyd (1982), Least squares quantization in PCM.
    Arthur and Vassilvitskii (2007), k-means++: the advantages of careful seeding.
    Elkan (2003), Using the triangle inequality to accelerate k-means.
    Hamerly (2010), Making k-means even faster.
    Sculley (2010), Web-scale k-means clustering.
    Ding and He (2004), K-means clustering via principal component analysis.

    Examples
    --------
    >>> from gapless import KMeans
    >>> model = KMeans(n_clusters=2, random_state=0).fit([[0.0], [1.0], [9.0], [10.0]])
    >>> print(model.cluster_centers_[model.predict([[0.2], [8.0]])].ravel())
    [0.5 9.5]
    """

    _guide = "kmeans"
    # Starts for n_init="auto" if they are drawn without regard to distances.
    _starts_at_random = 10
    # What helps centres that have not come to rest.
    _cure = FURTHER
    _on_demand: ClassVar[tuple[str, ...]] = (*Remembering._on_demand, "certificate_")
    _examples: ClassVar[Examples] = (Example("iris", {"n_clusters": 3, "random_state": 0}),)
    _stored: ClassVar[Declaration] = {
        **JUDGED,
        **INPUT,
        "cluster_centers_": Numbers("clusters", "features"),
        "n_clusters_": Whole(1, size="clusters"),
        "labels_": Maybe(Numbers("rows", types="i", below="clusters")),
        "inertia_": Number(0),
        "n_iter_": Whole(),
        "inertias_": Numbers(None, low=0),
        "solver_": Word("hamerly", "elkan", "yinyang", "none"),
        "trace_": Unused(),
        "search_": Unused(),
        "_n_features_out": Whole(1, size="clusters"),
        "_n_init": Whole(1),
    }
    _parameter_constraints: ClassVar[dict] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), StrOptions({AUTO})],
        "init": [StrOptions({PLUS_PLUS, RANDOM}), callable, "array-like"],
        "n_init": [StrOptions({AUTO}), Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
        "copy_x": ["boolean"],
        "algorithm": [StrOptions({"lloyd", "elkan"})],
        "batch_size": [Interval(Integral, 1, None, closed="left"), None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        init=PLUS_PLUS,
        n_init="auto",
        max_iter=300,
        tol=1e-4,
        verbose=0,
        random_state=None,
        copy_x=True,
        algorithm="lloyd",
        batch_size=None,
        time_limit=None,
    ):
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state
        self.copy_x = copy_x
        self.algorithm = algorithm
        self.batch_size = batch_size
        self.time_limit = time_limit

    # ---- fitting ---------------------------------------------------------------------------------

    @described(ROWS)
    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X, y=None, sample_weight=None):
        """Find the clusters.

        Returns
        -------
        self : object
            The fitted estimator. Ctrl-C keeps the last whole step and raises KeyboardInterrupt; an
            error leaves the estimator as it was.
        """
        if is_in_parts(X):
            return self._fit_in_parts(X, y, sample_weight)
        data = self._read(X, y, sample_weight, reset=True)
        rows, plan, began = _rows_of(data), self._plan(), time.monotonic()
        _check_squares(rows)
        choice = None
        with single_blas(), watch(self, data.X, None) as callback:
            k = self.n_clusters
            if k == AUTO:
                choice = self._choose(rows, plan)
                k = 1 if choice is None else int(choice.values["n_clusters"])
            if isinstance(plan.init, np.ndarray):
                check_centers(plan.init, rows.d, k)
            if rows.n < k:
                raise ValueError(
                    f"n_samples={rows.n} should be >= n_clusters={k}; choose fewer clusters."
                )
            runs, status = self._runs(rows, k, plan, began, callback)
            best = min(runs, key=lambda run: run.inertia)
            learned = self._learned(data, rows, best, np.array([run.inertia for run in runs]))
        learned["search_"] = None if choice is None else choice.search
        learned["_choice"] = choice
        learned["_training"] = data, plan
        take_over(self, learned)
        if status == "interrupted":
            raise KeyboardInterrupt
        self._warn(best.totals, best.steps, status)
        if self.n_clusters == AUTO and choice is None:
            self._warn_of_one()
        return self

    def _fit_in_parts(self, X, y, sample_weight):
        """The same for a table in parts: steps are sums over them."""
        began, plan = time.monotonic(), self._plan()
        fit, choice, k = KMeansInParts.of(self, X, y, sample_weight), None, self.n_clusters
        if isinstance(plan.init, np.ndarray):
            check_centers(plan.init, fit.training.d, k)
        with time_limit(self.time_limit):
            _check_squares(fit.sample)
            if k == AUTO:
                with single_blas():
                    choice = self._choose(fit.sample, plan)
                k = 1 if choice is None else int(choice.values["n_clusters"])
        learned = fit.run(k, plan, began)
        learned |= {"search_": None if choice is None else choice.search, "_in_parts": fit}
        take_over(self, learned)
        if fit.status == "interrupted":
            raise KeyboardInterrupt
        self._warn(fit.totals, self.n_iter_, fit.status)
        if self.n_clusters == AUTO and choice is None:
            self._warn_of_one()
        return self

    def _warn_of_one(self) -> None:
        warnings.warn(
            f'n_clusters="auto" takes one cluster: X has fewer than {FOLDS} distinct rows, too '
            "few to leave some out.",
            UserWarning,
            stacklevel=3,
        )

    def _judged_on(self, rows: ClusterRows) -> Generalization:
        """How well clusters describe unseen rows of a sample, whose number counts."""
        centers = np.ascontiguousarray(self.cluster_centers_, dtype=rows.dtype)
        mixture = Mixture.around(rows, centers, rows.nearest(centers)[0])
        k, plan = self.n_clusters_, self._plan()
        return measure(self, KMeansFit(rows.design, rows.weights, k, plan, SEED, mixture))

    def _choose(self, rows: ClusterRows, plan: Plan) -> Any:
        """The number of clusters."""
        try:
            with time_limit(self.time_limit):
                return choose_clusters(rows, plan, SEED)
        except TimeLimit:
            raise TimeLimit(
                f'n_clusters="auto" has reached {limit_name(self.time_limit)} before all numbers '
                "were tried; raise it, or give a number."
            ) from None

    def _plan(self) -> Plan:
        init = self._given_init()
        if self.algorithm == "elkan" and self.n_clusters == 1:
            warnings.warn(
                "algorithm='elkan' doesn't make sense for a single cluster: "
                "there is no other centre to compare with.",
                RuntimeWarning,
                stacklevel=3,
            )
        by_groups = True if self.algorithm == "elkan" else None
        starts = self._start_count()
        return Plan(init, starts, self.max_iter, self.tol, by_groups, self.batch_size)

    def _given_init(self) -> Any:
        """The first centres, checked if they are numbers."""
        init = self.init
        if not isinstance(init, str) and not callable(init):
            init = check_array(init, dtype=(np.float64, np.float32), input_name="init")
            if self.n_clusters == AUTO:
                raise ValueError(
                    'n_clusters="auto" tries several numbers of clusters, and init has the centres '
                    f'of {len(init)}; use init="k-means++", or n_clusters={len(init)}.'
                )
        return init

    def _runs(
        self,
        rows: ClusterRows,
        k: int,
        plan: Plan,
        began: float,
        callback: Callable[[Any, float], bool],
    ) -> tuple[list[LloydRun], str]:
        """The runs of all starts, and how the last of them ended."""
        random = check_random_state(self.random_state)
        runs, status = list[LloydRun](), "converged"
        for _ in range(plan.starts):
            try:
                with time_limit(seconds_left(self.time_limit, began)):
                    run = plan.run(rows, k, random, callback)
            except (TimeLimit, KeyboardInterrupt) as stop:
                if not runs and isinstance(stop, TimeLimit):
                    raise TimeLimit(
                        f"{type(self).__name__} has reached {limit_name(self.time_limit)} before "
                        "there were any centres; raise it, or choose fewer clusters."
                    ) from None
                if not runs:
                    raise
                return runs, "time_limit" if isinstance(stop, TimeLimit) else "interrupted"
            runs.append(run)
            status = run.status
            if self.verbose:
                self._print_run(run)
            if status in STOPPED:
                break
        return runs, status

    def _print_run(self, run: LloydRun) -> None:
        """The steps of a run, as scikit-learn prints them."""
        print("Initialization complete")
        for step, objective in enumerate(run.trace.objective):
            print(f"Iteration {step}, inertia {objective}.")
        if run.status == "converged":
            shift = run.trace.shifts[-1]
            why = f"center shift {shift} within tolerance" if shift else "strict convergence"
            print(f"Converged at iteration {run.steps - 1}: {why}.")

    def _start_count(self) -> int:
        """How many starts there are; centres that are given make one."""
        if not isinstance(self.init, str) and not callable(self.init):
            if self.n_init not in ("auto", 1):
                warnings.warn(
                    "Explicit initial center position passed: performing only one init in "
                    f"{type(self).__name__} instead of n_init={self.n_init}.",
                    RuntimeWarning,
                    stacklevel=4,
                )
            return 1
        if self.n_init == "auto":
            return 1 if self.init == PLUS_PLUS else self._starts_at_random
        return int(self.n_init)

    def _learned(
        self, data: Training, rows: ClusterRows, best: LloydRun, inertias: Array
    ) -> dict[str, Any]:
        k, n, d = len(best.centers), rows.n, rows.d
        labels = best.labels
        if n < len(data.weights):
            labels, _ = nearest(Design(data.X), best.centers, rows.origin)
        is_whole = best.status not in STOPPED
        work = float(n) * d * k * best.steps
        needed = float(n) * d * min(n, d) if 1 < k <= min(n, d) else 0.0
        learned = {
            "cluster_centers_": best.centers,
            "labels_": labels,
            "inertia_": best.inertia,
            "n_iter_": best.steps,
            "n_clusters_": k,
            "inertias_": inertias,
            "trace_": best.trace,
            "solver_": best.solver,
            "n_features_in_": d,
            "_n_features_out": k,
            "_n_init": len(inertias),
        }
        if data.feature_names is not None:
            learned["feature_names_in_"] = data.feature_names
        # A bound that would take longer than the fit is computed when somebody reads it.
        if not is_whole or not max(QUICK, SHARE * work) < needed <= FEW:
            learned["certificate_"] = certificate_of(
                rows,
                best.centers,
                best.sums,
                best.totals,
                tol=max(self.tol, 1e-9),
                starts=Starts(inertias),
                most_work=max(FEW, 0.25 * work) if is_whole else AT_ONCE,
                is_whole=is_whole,
                cure=self._cure,
            )
        return learned

    @functools.cached_property
    def certificate_(self) -> Certificate:  # type: ignore[override]
        """How far the sum of squares is at most above that of the best k clusters."""
        if "_in_parts" in vars(self):
            return vars(self)["_in_parts"].certificate()
        data, *_ = self._kept_training("call gapless.certify(model, X, None, sample_weight)")
        return self._certified_by(_rows_of(data))

    def _certified_in_parts(self, X, y=None, sample_weight=None) -> Certificate:
        check_is_fitted(self)
        fit = KMeansInParts.of(self, X, y, sample_weight)
        if fit.training.d != self.n_features_in_:
            raise ValueError(
                f"X has {fit.training.d} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input; pass the table of the fit."
            )
        return fit.certify()

    def _warn(self, totals: Array, steps: int, status: str) -> None:
        if status == "time_limit":
            warnings.warn(
                f"stopped by {limit_name(self.time_limit)} after {steps} steps, the last of "
                "which is kept; raise it, or choose fewer clusters.",
                ConvergenceWarning,
                stacklevel=3,
            )
        found = int(np.count_nonzero(totals > 0))
        if found < len(totals):
            warnings.warn(
                f"Number of distinct clusters ({found}) found smaller than n_clusters "
                f"({len(totals)}). Possibly due to duplicate points in X.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _read(self, X, y, sample_weight, reset=False) -> Training:
        return read_table(self, X, sample_weight, reset=reset)

    # ---- using -----------------------------------------------------------------------------------

    @described(ROWS)
    def fit_predict(self, X, y=None, sample_weight=None):
        """Find the clusters, and return those of the rows.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The cluster of each row.
        """
        return self.fit(X, sample_weight=sample_weight).labels_

    @described(ROWS)
    def predict(self, X):
        """The cluster of each row: that of the nearest centre.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            Numbers of clusters.
        """
        labels, _ = self._nearest(X)
        return labels

    @described(ROWS)
    def transform(self, X):
        """The distances of rows to all centres.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            In the units of X.
        """
        check_is_fitted(self)
        if is_in_parts(X):
            return self._applied(X, copy.copy(self)._distances)
        return self._distances(read_rows(self, X))

    def _distances(self, X: Any) -> Array:
        """Distances of rows that have been read."""
        design = Design(X)
        centers = self._centers_for(design)
        found = np.sqrt(distances(design, centers, centers.mean(axis=0, dtype=float)))
        return found.astype(design.dtype, copy=False)

    @described(ROWS)
    def fit_transform(self, X, y=None, sample_weight=None):
        """Find the clusters, and return the distances of the rows to their centres.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_clusters)
            In the units of X.
        """
        return self.fit(X, sample_weight=sample_weight).transform(X)

    @described(ROWS)
    def score(self, X, y=None, sample_weight=None):
        """The opposite of the objective on some rows.

        Returns
        -------
        score : float
            −Σ sᵢ minⱼ ‖xᵢ − cⱼ‖²; the larger, the better.
        """
        check_is_fitted(self)
        data = read_table(self, X, sample_weight, reset=False)
        _, squares = self._nearest_to(Design(data.X), with_squares=True)
        return -float(data.weights @ squares)

    def _nearest(self, X) -> tuple[Array, Array | None]:
        check_is_fitted(self)
        if is_in_parts(X):
            return self._applied(X, copy.copy(self)._labels_of), None
        return self._nearest_to(Design(read_rows(self, X)))

    def _labels_of(self, X: Array) -> Array:
        """The clusters of rows that have been read."""
        return self._nearest_to(Design(X))[0]

    def _applied(self, X: Any, function: Callable[[Array], Array]) -> Array:
        """A function of the rows of a table in parts."""
        names = getattr(self, "feature_names_in_", None)
        return applied(X, function, self.n_features_in_, names, name=type(self).__name__)

    def _nearest_to(self, design: Design, with_squares: bool = False):
        centers = self._centers_for(design)
        return nearest(design, centers, centers.mean(axis=0, dtype=float), with_squares)

    def _centers_for(self, design: Design) -> Array:
        """The centres in the type of the rows."""
        return np.ascontiguousarray(self.cluster_centers_, dtype=design.dtype)

    # ---- both gaps -------------------------------------------------------------------------------

    def _certified(self, X, y=None, sample_weight=None):
        return self._certified_by(_rows_of(self._reread(X, y, sample_weight)))

    def _certified_by(self, rows: ClusterRows) -> Certificate:
        centers = np.ascontiguousarray(self.cluster_centers_, dtype=rows.dtype)
        with single_blas():
            labels, _ = rows.nearest(centers)
            sums, totals = rows.sums(labels, len(centers))
            tol, starts = max(self.tol, 1e-9), Starts(self.inertias_)
            inertia = rows.sum_of_squares(centers, labels, sums, totals)
            is_own = abs(inertia - self.inertia_) <= 1e-6 * self.inertia_
            cure = self._cure if is_own else REFIT
            return certificate_of(rows, centers, sums, totals, tol=tol, starts=starts, cure=cure)

    def _fitted(self, data: Training, plan: Plan) -> KMeansFit:
        rows = _rows_of(data)
        centers = np.ascontiguousarray(self.cluster_centers_, dtype=rows.dtype)
        mixture = Mixture.around(rows, centers, rows.nearest(centers)[0])
        return KMeansFit(Design(data.X), data.weights, self.n_clusters_, plan, SEED, mixture)

    def _fitted_to(self, X, y=None, sample_weight=None) -> KMeansFit:
        data = self._reread(X, y, sample_weight)
        rows = _rows_of(data)
        centers = np.ascontiguousarray(self.cluster_centers_, dtype=rows.dtype)
        labels, _ = rows.nearest(centers)
        sums, totals = rows.sums(labels, len(centers))
        self._check_objective(rows.sum_of_squares(centers, labels, sums, totals))
        return self._fitted(data, self._plan())

    def _tuned(self) -> tuple[str, ...]:
        return ("n_clusters",) if self.n_clusters == AUTO else ()

    # ---- what it says about itself ---------------------------------------------------------------

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _formula(self) -> Formula:
        return Formula("Σᵢ minⱼ ‖xᵢ − cⱼ‖²", {"k": self.n_clusters_})


def _rows_of(data: Training) -> ClusterRows:
    """The rows that have weight."""
    design, counted = Design(data.X), data.weights > 0
    if counted.all():
        return ClusterRows(design, data.weights)
    kept = np.flatnonzero(counted)
    return ClusterRows(design.rows(kept), data.weights[kept])


def _check_squares(rows: ClusterRows) -> None:
    """Refuse rows whose squared differences vanish, or exceed their type."""
    if rows.scatter < SMALLEST_SCATTER:
        check_spread(rows.design.X)
    if rows.dtype == np.float32 and rows.scatter > 0:
        size = "much" if rows.scatter >= MOST_IN_SINGLE else "little"
        if not LEAST_IN_SINGLE < rows.scatter < MOST_IN_SINGLE:
            raise ValueError(
                f"the rows of X differ by too {size} to be squared in float32; give them in "
                "float64, or rescale them, e.g. with StandardScaler()."
            )
