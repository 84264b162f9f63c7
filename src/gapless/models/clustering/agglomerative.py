"""AgglomerativeClustering (AGNES): from single rows upwards, the two closest clusters merge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import _fit_context
from sklearn.cluster._agglomerative import _TREE_BUILDERS
from sklearn.utils import check_array
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.validation import check_memory

from ..._ground.about import Examples, Formula
from ..._ground.docstrings import FEATURES, described
from ..._ground.interrupt import TimeLimit, check, limit_name, time_limit
from ..._ground.memory import GIGABYTE
from ..._ground.progress import watch, with_callbacks
from ..._ground.stored import Declaration, Whole
from ..._ground.validation import Training
from ...certificates import Certificate
from ...unseen import take_over
from .distance_matrices import DistanceMatrices, distance_matrices
from .distances import METRICS, Distances
from .hierarchy import TRAINING, TREE, HierarchicalModel, tree_of_rows
from .linkage_checks import MOST_AT_FIT, certificate_of, unchecked
from .linkages import (
    LINKAGES,
    OF_MEANS,
    Merges,
    lower_triangle,
    merge_points,
    merge_triangle,
    needed_bytes,
)
from .merge_trees import MergeTree

Array = np.ndarray

FORMULAS = {
    "single": "min ‖x − z‖ over x in A, z in B",
    "complete": "max ‖x − z‖ over x in A, z in B",
    "average": "mean ‖x − z‖ over x in A, z in B",
    "centroid": "‖mean of A − mean of B‖",
    "ward": "√(2|A||B|/(|A| + |B|)) ‖mean of A − mean of B‖",
}


@described(TREE, FEATURES)
class AgglomerativeClustering(HierarchicalModel):
    """Hierarchical clustering from the bottom up (AGNES).

    Each row begins as a cluster. In each step the two closest clusters A and B merge, until one is
    left; the tree of all merges is then cut.

    Parameters
    ----------
    n_clusters : int or None, default=2
        How many clusters the cut leaves; None with `distance_threshold`.
    memory : str or object with the interface of joblib.Memory, default=None
        Where to keep trees, so that a fit to the same data need not build them again.
    connectivity : array-like, sparse matrix or callable, default=None
        Only clusters with neighbouring rows merge: a matrix (n_samples, n_samples) whose entries
        other than 0 say who is a neighbour of whom, or a function that makes one from X. Such trees
        are built by scikit-learn; not for centroid linkage, and without weights.
    compute_full_tree : "auto" or bool, default="auto"
        With connectivity, whether to build the tree above `n_clusters`; "auto" does if that is
        above max(100, 0.02·n_samples). Without, the whole tree is there in any case.
    linkage : {"ward", "complete", "average", "single", "centroid"}, default="ward"
        The distance of two clusters: the increase of the sum of squares around their means (Ward,
        scaled as in SciPy: for two rows it is their distance), the largest, mean or smallest
        distance of their rows, or that of their means. Ward and centroid need Euclidean distances.
    distance_threshold : float or None, default=None
        In place of `n_clusters`: clusters do not merge at this distance or above.
    compute_distances : bool, default=False
        Whether to set `distances_` also with `n_clusters`; the heights are in `merge_table_`
        anyway.

    Attributes
    ----------
    distances_ : ndarray of shape (n_leaves − 1,)
        The distance at which each merge takes place. Only with `distance_threshold` or
        `compute_distances`.
    n_connected_components_ : int
        The number of parts of the connectivity graph, before they are joined; 1 without.

    Notes
    -----
    For n rows with d columns, all linkages take time n²d, about that of comparing all pairs; a
    search by trees, faster for few columns, is not used. Single, Ward's and centroid linkage of
    points need memory for the points alone. Complete and average linkage, and other distances, need
    n²/2 numbers: in float64 up to 8,191 rows, else in float32, 0.8 GB for 20,000 rows; a fit that
    would need more than is free ends at once with an error that says how much.

    Heights are those of an exact computation in float64 up to rounding; from a matrix in float32
    up to 1e-6 of their size: near ties are then decided, and heights measured again, from the
    points.

    Equal rows are one row with more weight, and merge first, at height 0. Of several pairs of
    clusters with the same distance the one with the first cluster merges, and of those the one
    whose second cluster comes first. Clusters are in the order of their first rows, and points in
    that of their first columns, then the second, and so on; so the order of the rows does not
    matter. Those of a distance matrix are taken as they come. (Single linkage orders pairs of rows
    in place of pairs of clusters.)

    A centroid may come nearer to others than the two that it replaces were, so that centroid
    linkage can merge at a smaller distance than before (an inversion). A cut by number then takes
    the merges in the order in which they were made; a cut by height keeps clusters within which all
    merges are below it.

    When not to use it: for many rows k-means needs time linear in n; single linkage follows chains
    of noise from one cluster to the next.

    References
    ----------
    Kaufman and Rousseeuw (1990), Finding Groups in Data. Lance and Williams (1967), A general
    theory of classificatory sorting strategies. Müllner (2011), Modern hierarchical, agglomerative
    clustering algorithms, arXiv:1109.2378. Ward (1963), Hierarchical grouping to optimize an
    objective function, JASA 58.

    Examples
    --------
    >>> from gapless import AgglomerativeClustering
    >>> model = AgglomerativeClustering(linkage="single").fit([[0.0], [1.0], [5.0], [6.5]])
    >>> print(model.labels_)
    [0 0 1 1]
    >>> print(model.merge_table_[:, 2])
    [1.  1.5 4. ]
    >>> print(model.cut(height=1.2))
    [0 0 1 2]
    """

    _examples: ClassVar[Examples] = ()
    _stored: ClassVar[Declaration] = {
        **HierarchicalModel._stored,
        "n_connected_components_": Whole(low=1),
    }
    _parameter_constraints: ClassVar[dict] = {
        **HierarchicalModel._parameter_constraints,
        "metric": [StrOptions(METRICS | {"precomputed"}), callable],
        "memory": [str, HasMethods("cache"), None],
        "connectivity": ["array-like", "sparse matrix", callable, None],
        "compute_full_tree": [StrOptions({"auto"}), "boolean"],
        "linkage": [StrOptions(set(LINKAGES))],
        "compute_distances": ["boolean"],
    }

    def __init__(
        self,
        n_clusters=2,
        *,
        metric="euclidean",
        memory=None,
        connectivity=None,
        compute_full_tree="auto",
        linkage="ward",
        distance_threshold=None,
        compute_distances=False,
        time_limit=None,
    ):
        self.n_clusters = n_clusters
        self.metric = metric
        self.memory = memory
        self.connectivity = connectivity
        self.compute_full_tree = compute_full_tree
        self.linkage = linkage
        self.distance_threshold = distance_threshold
        self.compute_distances = compute_distances
        self.time_limit = time_limit

    @with_callbacks
    @_fit_context(prefer_skip_nested_validation=True)
    @described(TRAINING)
    def fit(self, X, y=None, sample_weight=None):
        """Build the tree and cut it.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._check_parameters()
        data = self._read(X, y, sample_weight)
        kept = self._check_cut(data)
        with watch(self, X, y) as after_step, time_limit(self.time_limit):
            tree, components = self._built(data, kept, after_step)
            certificate = self._certificate(tree, data, MOST_AT_FIT)
        learned = self._learned(tree, data, kept, certificate)
        learned["n_connected_components_"] = components
        if self.compute_distances:
            learned["distances_"] = tree.heights.copy()
        take_over(self, learned)
        return self

    def _check_parameters(self) -> None:
        if self.distance_threshold is not None and not self.compute_full_tree:
            raise ValueError("compute_full_tree must be True if distance_threshold is set.")
        if self.linkage in OF_MEANS and not _is_euclidean(self.metric):
            name = "Ward" if self.linkage == "ward" else "Centroid linkage"
            raise ValueError(
                f"{self.metric} was provided as metric. {name} can only work with euclidean "
                "distances; use linkage='average', 'complete' or 'single'."
            )
        if self.linkage == "centroid" and self.connectivity is not None:
            raise ValueError(
                "linkage='centroid' takes no connectivity; use 'ward', 'average', 'complete' or "
                "'single'."
            )

    # ---- building

    def _built(self, data: Training, kept: Array, after_step: Callable) -> tuple[MergeTree, int]:
        """The tree, and the number of parts of the connectivity graph."""
        try:
            check()
            if self.connectivity is not None:
                return self._structured(data, kept)
            distinct = self._distinct(data)
            build = check_memory(self.memory).cache(_merges, ignore=["shown"])
            shown = _Shown(after_step, needed_bytes(len(distinct.first), self.linkage, self.metric))
            rows = distinct.first
            X = data.X[np.ix_(rows, rows)] if self._is_precomputed else data.X[rows]
            found = build(X, distinct.weights, self.linkage, self.metric, shown)
            return tree_of_rows(found.pairs, found.heights, distinct, kept), 1
        except TimeLimit:
            raise TimeLimit(
                f"the tree was not complete after {limit_name(self.time_limit)}; allow more time, "
                "or cluster a sample."
            ) from None

    def _structured(self, data: Training, kept: Array) -> tuple[MergeTree, int]:
        """The tree of connected clusters, by scikit-learn."""
        if np.any(data.weights[kept] != 1):
            raise ValueError(
                "with connectivity, weights must be 0 or 1: what the neighbours of a repeated row "
                "are is not known; repeat rows in X and in connectivity instead."
            )
        X = data.X
        connectivity = self.connectivity(X) if callable(self.connectivity) else self.connectivity
        connectivity = check_array(connectivity, accept_sparse=["csr", "coo", "lil"])
        if connectivity.shape != (len(X), len(X)):
            raise ValueError(
                f"connectivity has the shape {connectivity.shape}, but there are {len(X)} rows; "
                "it needs a row and a column for each."
            )
        if len(kept) < len(X):
            connectivity = sp.csr_array(connectivity)[kept][:, kept]
            X = X[np.ix_(kept, kept)] if self._is_precomputed else X[kept]
        options: dict[str, Any] = {}
        if self.linkage != "ward":
            metric = self.metric
            if callable(metric):
                metric = Distances(metric, X, data.weights[kept]).of_pair
            options = {"linkage": self.linkage, "affinity": metric}
        builder = check_memory(self.memory).cache(_TREE_BUILDERS[self.linkage])
        children, components, leaves, _, heights = builder(
            X,
            connectivity=connectivity,
            n_clusters=None if self._is_full(len(kept)) else self.n_clusters,
            return_distance=True,
            **options,
        )
        # Parts of the graph that were not joined leave fewer merges.
        return MergeTree.joined(np.asarray(children), heights, leaves), int(components)

    def _is_full(self, rows: int) -> bool:
        """Whether the tree is built above the number of clusters."""
        if self.compute_full_tree != "auto":
            return bool(self.compute_full_tree)
        return self.distance_threshold is not None or self.n_clusters < max(100, 0.02 * rows)

    # ---- both gaps

    def _certificate(self, tree: MergeTree, data: Training, most: int) -> Certificate:
        if self.connectivity is not None:
            return unchecked(
                "with connectivity only some pairs of clusters may merge, and whether each merge "
                "was the closest of those was not checked"
            )
        kept = np.flatnonzero(data.weights > 0)
        weights = data.weights[kept]
        return certificate_of(
            tree, lambda: self._distances(data, kept), weights, self.linkage, most
        )

    # ---- for teaching

    def distance_matrices(self, names=None) -> DistanceMatrices:
        """The distances between clusters before each merge: D₁, D₂, …, each a row smaller.

        Parameters
        ----------
        names : sequence of str, default=None
            Names of the rows; by default a, b, c, … or their numbers.

        Returns
        -------
        matrices : DistanceMatrices
            A sequence that prints as the tables of a textbook.
        """
        (data,) = self._kept_training("fit again")
        kept = np.flatnonzero(data.weights > 0)
        if self.connectivity is not None:
            raise ValueError("distance_matrices describes trees without connectivity.")
        return distance_matrices(
            self._tree, self._distances(data, kept), data.weights[kept], self.linkage, names
        )

    # ---- what it says about itself

    def _formula(self) -> Formula:
        return Formula(f"merge the closest clusters by {FORMULAS[self.linkage]}")


def _is_euclidean(metric: Any) -> bool:
    return isinstance(metric, str) and metric in ("euclidean", "l2")


class _Shown:
    """The progress of a fit, as its line shows it; tells first how much memory it will take."""

    def __init__(self, after_step: Callable, needed: int):
        self.after_step, self.done, self.all = after_step, 0, 0
        self.needed = needed

    def __call__(self, done: int, all_merges: int) -> None:
        self.done, self.all = done, all_merges
        self.after_step(self, 0.0)

    def __str__(self) -> str:
        memory = f", {self.needed / GIGABYTE:.1f} GB of distances" if self.needed else ""
        return f"merge {self.done} of {self.all}{memory}"


def _merges(X: Array, weights: Array, linkage: str, metric: Any, shown: Any = None) -> Merges:
    """The merges of distinct rows, or of a matrix of distances."""
    if len(X) < 2:
        return Merges(np.zeros((0, 2), dtype=np.int64), np.zeros(0))
    progress = (lambda done, of: None) if shown is None else shown
    if isinstance(metric, str) and metric == "precomputed":
        return merge_triangle(lower_triangle(X), weights, linkage, progress)
    X = np.ascontiguousarray(X, dtype=np.float64)
    return merge_points(X, weights, linkage, metric, progress)
