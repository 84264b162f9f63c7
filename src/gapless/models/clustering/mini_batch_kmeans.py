"""MiniBatchKMeans: k centres that small random batches of rows move."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from ..._ground.about import Example, Examples
from ..._ground.design import Design
from ..._ground.docstrings import FEATURES, described
from ..._ground.stored import Declaration, Maybe, Numbers, Whole, Word
from ..._ground.threads import single_blas
from ..._ground.validation import Training
from ...unseen import take_over
from .batch_runs import BatchPlan, BatchRun
from .kmeans import AUTO, ROWS, KMeans, _check_squares, _rows_of
from .lloyd import ClusterRows, LloydRun
from .mini_batches import BatchWalk
from .seeding import PLUS_PLUS, check_centers

Array = np.ndarray


@described(FEATURES)
class MiniBatchKMeans(KMeans):
    """Clusters of rows around k centres, found on small random batches of rows.

    Brings  Σᵢ sᵢ minⱼ ‖xᵢ − cⱼ‖²  down: every row of a batch to its nearest centre, every centre to
    the mean of all rows that it has had so far. `partial_fit` takes rows that arrive in parts.
    `KMeans` with batch_size goes on from there with all rows, to a local minimum.

    Parameters
    ----------
    n_clusters : int or "auto", default=8
        The number of clusters k. "auto" chooses it as `KMeans` does; not in `partial_fit`.
    init : {"k-means++", "random"}, callable or array-like of shape (k, n_features), \
default="k-means++"
        The first centres: rows drawn far apart, rows drawn at random, a function of
        (X, n_clusters, random_state), or the centres themselves.
    max_iter : int, default=100
        The most passes over the rows: each draws as many rows as there are distinct ones.
    batch_size : int, default=1024
        The rows of a batch.
    verbose : int, default=0
        Whether to print why the batches end.
    compute_labels : bool, default=True
        Whether to keep the clusters of the rows of the fit, `labels_`.
    random_state : int, RandomState instance or None, default=None
        Seed of the first centres and of the batches. They do not depend on the order of the rows.
    tol : float, default=0.0
        Stop when the squares of the moves of all centres in a batch sum to at most tol times the
        mean variance of the features; not for this reason if 0.
    max_no_improvement : int or None, default=10
        Stop after so many batches in which a moving mean of the distances has not fallen; not for
        this reason if None.
    init_size : int, default=None
        The rows of which the first centres are drawn; three batches, or 3·k if that is less than k,
        if None.
    n_init : "auto" or int, default="auto"
        The number of starts, of which the best on all rows is kept. "auto" is 3 for init="random"
        or a function, else 1.
    reassignment_ratio : float, default=0.01
        Centres that have had less than this part of the rows of the one that has had most are put
        on rows drawn at random. From 1 on these are all that have had less than it.
    time_limit : float, default=None
        Seconds after which the centres of the last batch are kept.

    Attributes
    ----------
    cluster_centers_ : ndarray of shape (n_clusters, n_features)
        The centres.
    labels_ : ndarray of shape (n_samples,)
        The cluster of each row of the fit, or of the last `partial_fit`.
    inertia_ : float
        The weighted sum of squared distances of those rows to the nearest centre.
    n_iter_ : int
        Passes of the best start, the last of them perhaps not a whole one.
    n_steps_ : int
        Batches so far.
    n_clusters_ : int
        The number of clusters.
    search_ : Search or None
        With n_clusters="auto", the numbers tried and the log density of unseen rows under each;
        `search_.plot()` draws them.
    inertias_ : ndarray of shape (n_init,)
        The sum of squares at the end of each start.
    solver_ : str
        "batches".
    trace_ : BatchTrace
        The objective as estimated from each batch of the best start; `trace_.plot()` draws it. Not
        after `partial_fit`.
    certificate_ : Certificate
        How far the sum of squares is at most above that of the best k clusters, and how much of it
        would go if every centre were the mean of its rows. Not after `partial_fit`: see there.
    generalization_ : Generalization
        The explained variance of unseen rows, and whether there are too many or too few clusters.

    Notes
    -----
    A batch takes batch_size·k·d multiplications, however many rows there are; the end is one pass
    over all of them. Weight 2 means the row twice, weight 0 means the row is not there.

    References
    ----------
    Sculley (2010), Web-scale k-means clustering.
    Arthur and Vassilvitskii (2007), k-means++: the advantages of careful seeding.
    Ding and He (2004), K-means clustering via principal component analysis.

    Examples
    --------
    >>> from gapless import MiniBatchKMeans
    >>> model = MiniBatchKMeans(n_clusters=2, random_state=0, batch_size=4)
    >>> for part in ([[0.0], [1.0], [9.0], [10.0]], [[0.0], [1.0], [9.0], [10.0]]):
    ...     model = model.partial_fit(part)
    >>> print(model.cluster_centers_[model.predict([[0.2], [8.0]])].ravel())
    [0.5 9.5]
    """

    _starts_at_random = 3
    _cure = "KMeans(init=model.cluster_centers_) goes on from here, with all rows"
    _examples: ClassVar[Examples] = (Example("iris", {"n_clusters": 3, "random_state": 0}),)
    _stored: ClassVar[Declaration] = {
        **KMeans._stored,
        "labels_": Maybe(Numbers("rows", types="i", below="clusters")),
        "solver_": Word("batches"),
        "n_steps_": Whole(),
        "_counts": Numbers("clusters", low=0),
        "_init_size": Whole(1),
    }
    _parameter_constraints: ClassVar[dict] = {
        **{
            name: kinds
            for name, kinds in KMeans._parameter_constraints.items()
            if name not in ("copy_x", "algorithm")
        },
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "compute_labels": ["boolean"],
        "max_no_improvement": [Interval(Integral, 0, None, closed="left"), None],
        "init_size": [Interval(Integral, 1, None, closed="left"), None],
        "reassignment_ratio": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(
        self,
        n_clusters=8,
        *,
        init=PLUS_PLUS,
        max_iter=100,
        batch_size=1024,
        verbose=0,
        compute_labels=True,
        random_state=None,
        tol=0.0,
        max_no_improvement=10,
        init_size=None,
        n_init="auto",
        reassignment_ratio=0.01,
        time_limit=None,
    ):
        self.n_clusters = n_clusters
        self.init = init
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.verbose = verbose
        self.compute_labels = compute_labels
        self.random_state = random_state
        self.tol = tol
        self.max_no_improvement = max_no_improvement
        self.init_size = init_size
        self.n_init = n_init
        self.reassignment_ratio = reassignment_ratio
        self.time_limit = time_limit

    # ---- fitting ---------------------------------------------------------------------------------

    def _plan(self) -> BatchPlan:
        init = self._given_init()
        size = self.init_size
        if size is not None and self.n_clusters != AUTO and size < self.n_clusters:
            warnings.warn(
                f"init_size={size} should be larger than n_clusters={self.n_clusters}. Setting it "
                "to 3*n_clusters.",
                RuntimeWarning,
                stacklevel=3,
            )
        return BatchPlan(
            init,
            self._start_count(),
            self.max_iter,
            self.tol,
            batch_size=self.batch_size,
            init_size=size,
            patience=self.max_no_improvement,
            ratio=self.reassignment_ratio,
            verbose=bool(self.verbose),
        )

    def _learned(
        self, data: Training, rows: ClusterRows, best: LloydRun, inertias: Array
    ) -> dict[str, Any]:
        assert isinstance(best, BatchRun)
        learned = super()._learned(data, rows, best, inertias)
        if not self.compute_labels:
            del learned["labels_"]
        _, first = self._plan().sizes(len(rows.distinct.first), len(best.centers))
        return learned | {"n_steps_": best.batches, "_counts": best.counts, "_init_size": first}

    def _print_run(self, run: LloydRun) -> None:
        assert isinstance(run, BatchRun)
        print(f"{run.batches} batches, inertia {run.inertia}")

    @described(ROWS)
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(self, X, y=None, sample_weight=None):
        """Take one step, with these rows as the batch.

        The first call also draws the first centres from them.

        Returns
        -------
        self : object
            The fitted estimator. It keeps no reference to its data: pass them to
            `gapless.certify` and `gapless.generalize`.
        """
        is_first = not hasattr(self, "cluster_centers_")
        if is_first and self.n_clusters == AUTO:
            raise ValueError(
                'n_clusters="auto" needs all rows at once; give partial_fit a number, or call fit.'
            )
        data = self._read(X, y, sample_weight, reset=is_first)
        rows, plan = _rows_of(data), self._plan()
        _check_squares(rows)
        done = 0 if is_first else self.n_steps_
        random = self._random_at(done)
        with single_blas():
            if is_first:
                k = self.n_clusters
                if isinstance(plan.init, np.ndarray):
                    check_centers(plan.init, rows.d, k)
                if rows.n < k:
                    raise ValueError(
                        f"n_samples={rows.n} should be >= n_clusters={k}; choose fewer clusters, "
                        "or give more rows to the first call."
                    )
                walk = plan.first_walk(rows, k, random)
                _, first = plan.sizes(len(rows.distinct.first), k)
            else:
                k, first = self.n_clusters_, self._init_size
                walk = BatchWalk(self._centers_for(rows.design), self._counts)
            walk.step(rows, rows.origin)
            if plan.ratio:
                walk.renew(rows, plan.ratio, random)
            centers = walk.rounded()
            labels, squares = self._labelled(data, centers)
        inertia = float(data.weights @ squares)
        learned = {
            "cluster_centers_": centers,
            "inertia_": inertia,
            "n_iter_": 1 if is_first else self.n_iter_,
            "n_steps_": done + 1,
            "n_clusters_": k,
            "inertias_": np.array([inertia]),
            "solver_": "batches",
            "search_": None,
            "n_features_in_": rows.d,
            "_n_features_out": k,
            "_n_init": 1,
            "_counts": walk.counts,
            "_init_size": first,
        }
        if self.compute_labels:
            learned["labels_"] = labels
        names = data.feature_names if is_first else getattr(self, "feature_names_in_", None)
        if names is not None:
            learned["feature_names_in_"] = names
        take_over(self, learned)
        return self

    def _check_objective(self, found: float, rounding: float = 0.0) -> None:
        # Centres of parts have no objective of all rows to compare with.
        if self._holds_training or "certificate_" in vars(self):
            super()._check_objective(found, rounding)

    def _labelled(self, data: Training, centers: Array) -> tuple[Array, Array]:
        """The clusters of all rows, and their squared distances."""
        rows = ClusterRows(Design(data.X), data.weights)
        labels, squares = rows.nearest(centers, with_squares=True)
        assert squares is not None
        return labels, squares

    def _random_at(self, done: int) -> np.random.RandomState:
        """The draws of a part: of a seed that is a number others for each, also after a file."""
        if isinstance(self.random_state, Integral):
            return np.random.RandomState([int(self.random_state), done])
        return check_random_state(self.random_state)
