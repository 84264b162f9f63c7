"""What hierarchical clusterings share: the merge table, cuts, cophenetic distances, pictures."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from ..._ground.distinct_rows import DistinctRows
from ..._ground.drawing import pictures
from ..._ground.progress import CallbackSupport
from ..._ground.stored import INPUT, Declaration, Maybe, Numbers, Whole
from ..._ground.validation import Training
from ...certificates import Certificate
from ...unseen import JUDGED, Remembering
from .distances import Distances, read_data
from .linkage_checks import MOST
from .merge_trees import MergeTree
from .stable_cuts import CutsFit

Array = np.ndarray

TRAINING = """
X : {array-like, data frame} of shape (n_samples, n_features)
    Rows to cluster. With metric="precomputed" the distances between them: a square matrix, or its
    entries above the diagonal row by row, as SciPy's `pdist` returns them.
y : None
    Not used.
sample_weight : array-like of shape (n_samples,), default=None
    How often each row counts: weight 2 is the row twice. Rows of weight 0 are not clustered: their
    label is −1, and they are no leaves of the tree.
"""

TREE = """
metric : str or callable
    Distance between rows: "euclidean" or another name that SciPy's `pdist` or scikit-learn's
    `pairwise_distances` knows ("russellrao" excepted: equal rows are apart by it), "precomputed", a
    function of two rows, or one that takes X and returns the square matrix of distances. Variances
    of "seuclidean" and "mahalanobis" are those of X, by weight.
time_limit : float or None
    Seconds after which the fit gives up with an error; half a tree is no clustering.
labels_ : ndarray of shape (n_samples,)
    The cluster of each row, from 0 on in the order of their first rows; −1 for rows of weight 0.
merge_table_ : ndarray of shape (n_leaves − 1, 4)
    The tree as SciPy's `linkage` returns it: the numbers of two clusters, the distance at which
    they merge, and how many rows they have together.
children_ : ndarray of shape (n_leaves − 1, 2)
    The two clusters of each merge: below n_leaves_ a row, else n_leaves_ plus the number of the
    merge that made it.
n_clusters_ : int
    The number of clusters.
n_leaves_ : int
    The number of rows in the tree.
certificate_ : Certificate
    Whether the tree is the one that the rule describes, checked by repeating it another way. Up to
    200 rows are checked by the fit, more by `gapless.certify`.
generalization_ : Generalization
    How well the clusters are found again in random halves of the rows, computed on first access;
    other numbers of clusters are compared.
"""


class HierarchicalModel(ClusterMixin, CallbackSupport, Remembering, BaseEstimator):
    """A tree of clusters, and a cut through it."""

    _guide: ClassVar[str] = "hierarchical_clustering"
    _stored: ClassVar[Declaration] = {
        **JUDGED,
        **INPUT,
        "labels_": Numbers("rows", types="i", low=-1, high=1 << 62),
        "merge_table_": Numbers("merges", 4, low=0),
        "children_": Numbers("merges", 2, types="i", low=0),
        "distances_": Maybe(Numbers("merges", low=0)),
        "n_clusters_": Whole(low=1),
        "n_leaves_": Whole(low=1),
    }
    _parameter_constraints: ClassVar[dict] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left"), None],
        "distance_threshold": [Interval(Real, 0, None, closed="left"), None],
        "time_limit": [Interval(Real, 0, None, closed="left"), None],
    }
    merge_table_: Array
    labels_: Array
    n_leaves_: int
    metric: Any
    n_clusters: Any
    distance_threshold: Any
    n_clusters_: int

    # ---- reading

    @property
    def _is_precomputed(self) -> bool:
        return isinstance(self.metric, str) and self.metric == "precomputed"

    def _read(self, X, y=None, sample_weight=None, *, reset=True) -> Training:
        return read_data(self, X, sample_weight, reset=reset)

    def _distinct(self, data: Training) -> DistinctRows:
        """Equal points as one; each row of a distance matrix is its own."""
        if self._is_precomputed:
            return DistinctRows.by(np.arange(len(data.weights)), data.weights)
        return ordered_by_content(data.X, data.weights)

    def _check_cut(self, data: Training) -> Array:
        """The rows with weight, which must suffice for the clusters that are to be found."""
        if (self.n_clusters is None) == (self.distance_threshold is None):
            raise ValueError(
                "Exactly one of n_clusters and distance_threshold has to be set, and the other "
                "needs to be None."
            )
        kept = np.flatnonzero(data.weights > 0)
        if self.n_clusters is not None and self.n_clusters > len(kept):
            raise ValueError(
                f"Cannot extract more clusters than samples: {self.n_clusters} clusters were given "
                f"for a tree with {len(kept)} leaves."
            )
        return kept

    # ---- the tree

    def _learned(
        self, tree: MergeTree, data: Training, kept: Array, certificate: Certificate
    ) -> dict[str, Any]:
        """What a fit leaves in the model."""
        if self.n_clusters is not None:
            labels = tree.cut(self.n_clusters)
        else:
            labels = tree.cut_below(self.distance_threshold)
        every = np.full(len(data.weights), -1, dtype=np.int64)
        every[kept] = labels
        learned = {
            "labels_": every,
            "merge_table_": tree.table,
            "children_": tree.children,
            "n_clusters_": int(labels.max()) + 1,
            "n_leaves_": tree.leaves,
            "certificate_": certificate,
            "n_features_in_": data.X.shape[1],
            "_training": (data,),
        }
        if self.distance_threshold is not None:
            learned["distances_"] = tree.heights.copy()
        if data.feature_names is not None:
            learned["feature_names_in_"] = data.feature_names
        return learned

    @property
    def _tree(self) -> MergeTree:
        check_is_fitted(self)
        return MergeTree(self.merge_table_, self.n_leaves_)

    def cut(self, n_clusters=None, *, height=None):
        """Cut the tree elsewhere, without fitting again.

        Parameters
        ----------
        n_clusters : int, default=None
            How many clusters to keep.
        height : float, default=None
            In place of a number: clusters do not merge at this distance or above, as with
            `distance_threshold`.

        Returns
        -------
        labels : ndarray of shape (n_samples,)
            The cluster of each row, as in `labels_`.
        """
        tree = self._tree
        if (n_clusters is None) == (height is None):
            raise ValueError("cut takes either n_clusters or height; give exactly one of them.")
        if height is not None:
            return self._of_all_rows(tree.cut_below(float(height)))
        if not isinstance(n_clusters, Integral) or n_clusters < 1:
            raise ValueError(f"n_clusters must be a whole number from 1 on, got {n_clusters!r}.")
        return self._of_all_rows(tree.cut(int(n_clusters)))

    def _of_all_rows(self, labels: Array) -> Array:
        """Labels of leaves as those of all rows."""
        if len(labels) == len(self.labels_):
            return labels
        every = np.full(len(self.labels_), -1, dtype=labels.dtype)
        every[self.labels_ >= 0] = labels
        return every

    def cophenetic_distances(self):
        """The height at which each two rows of the tree first share a cluster.

        Returns
        -------
        distances : ndarray of shape (n_leaves·(n_leaves − 1)/2,)
            In the order of SciPy's `pdist`.
        """
        return self._tree.cophenetic()

    def cophenetic_correlation(self, X=None, sample_weight=None):
        """The correlation of the distances between rows with their cophenetic distances.

        Parameters
        ----------
        X : array-like, default=None
            The data of the fit; by default those that the model still holds.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of the fit, given with X.

        Returns
        -------
        correlation : float
            1 if the tree keeps all distances; trees with less distort them more (Sokal and Rohlf
            1962). A row of weight 2 counts as two equal rows.
        """
        if X is None:
            cure = "pass the data of the fit"
            data = self._kept_training(cure)[0]
        else:
            data = self._reread(X, None, sample_weight)
        kept = np.flatnonzero(data.weights > 0)
        if len(kept) < 3:
            raise ValueError(
                f"the tree has {len(kept)} rows; a correlation needs three distances or more."
            )
        distances = self._distances(data, kept)
        upper = np.triu_indices(len(kept), 1)
        own = data.weights[kept]
        weights = np.outer(own, own)[upper]
        # A row of weight s is s equal rows: s(s − 1)/2 pairs of them are at distance 0 in both.
        repeats = float(np.sum(np.maximum(own * (own - 1), 0.0)) / 2)
        return _correlation(
            np.append(distances[upper], 0.0),
            np.append(self._tree.cophenetic(), 0.0),
            np.append(weights, repeats),
        )

    def _distances(self, data: Training, rows: Array) -> Array:
        """The square matrix of the distances between some rows, in float64."""
        if self._is_precomputed:
            return np.asarray(data.X[np.ix_(rows, rows)], dtype=np.float64)
        X = np.asarray(data.X, dtype=np.float64)
        return Distances(self.metric, X, data.weights).square(X[rows])

    def dendrogram(self, *, height=None, most_leaves=None, names=None, axes=None):
        """Draw the tree.

        Parameters
        ----------
        height : float, default=None
            Where to cut the tree for its colours; by default where `labels_` cuts it.
        most_leaves : int, default=None
            The upper end of a large tree is drawn, down to this many clusters, with the number of
            their rows; by default 60, and all rows of a tree with at most 60.
        names : sequence of str, default=None
            The names of the rows in the tree; by default their numbers.
        axes : matplotlib Axes, default=None
            Where to draw; new ones if None.

        Returns
        -------
        axes : matplotlib Axes
            With the heights of the merges upwards, a colour for each cluster, and a line at the
            cut.
        """
        tree = self._tree
        height = self._height_of_cut(tree) if height is None else float(height)
        return pictures().dendrogram(
            tree.table, height=height, most_leaves=most_leaves, names=names, axes=axes
        )

    def _height_of_cut(self, tree: MergeTree) -> float | None:
        """A height between the last merge that was made and the first that was not."""
        made = len(tree.table) - (self.n_clusters_ - (tree.leaves - len(tree.table)))
        if not tree.is_monotone or not 0 <= made < len(tree.table):
            return None
        below = tree.heights[made - 1] if made else 0.0
        return float((below + tree.heights[made]) / 2)

    # ---- both gaps

    def _fitted(self, data: Training) -> CutsFit:
        return CutsFit(self, data)

    def _certified(self, X, y=None, sample_weight=None) -> Certificate:
        data = self._reread(X, y, sample_weight)
        count = int(np.sum(data.weights > 0))
        if count != self.n_leaves_:
            raise ValueError(
                f"X has {count} rows with weight, and the tree has {self.n_leaves_}; pass the data "
                "of the fit."
            )
        return self._certificate(self._tree, data, MOST)

    def _certificate(self, tree: MergeTree, data: Training, most: int) -> Certificate:
        """Whether the tree is that of the data, checked for up to so many rows."""
        raise NotImplementedError

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._is_precomputed
        return tags


def ordered_by_content(X: Array, weights: Array) -> DistinctRows:
    """The distinct rows in the order of their first column, then the second, and so on."""
    distinct = DistinctRows.of(X, weights)
    rows = X[distinct.first]
    order = np.argsort(rows[:, 0], kind="stable")
    first = rows[order, 0]
    is_tied = np.zeros(len(order), dtype=bool)
    is_tied[1:] = first[1:] == first[:-1]
    is_tied[:-1] |= is_tied[1:]
    if is_tied.any():
        tied = order[is_tied]
        order[is_tied] = tied[np.lexsort(rows[tied].T[::-1])]
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    inverse = np.where(distinct.inverse >= 0, place[distinct.inverse], -1)
    return DistinctRows(distinct.first[order], distinct.weights[order], inverse)


def tree_of_rows(pairs: Array, heights: Array, distinct: DistinctRows, kept: Array) -> MergeTree:
    """The tree of all rows with weight, from that of distinct ones: equal rows merge first, at 0.

    `kept` are the rows with weight, which become the leaves in their order.
    """
    inverse = distinct.inverse[kept]
    # The first row of each distinct one represents it.
    _, first = np.unique(inverse, return_index=True)
    copies = np.flatnonzero(np.arange(len(kept)) != first[inverse])
    equal = np.column_stack([first[inverse[copies]], copies])
    joined = np.concatenate([equal, first[pairs]]).astype(np.int64)
    return MergeTree.of(joined, np.concatenate([np.zeros(len(copies)), heights]), len(kept))


def _correlation(x: Array, y: Array, weights: Array) -> float:
    """Pearson's correlation of weighted pairs; NaN if all values on a side are equal."""
    x = x - np.average(x, weights=weights)
    y = y - np.average(y, weights=weights)
    scale = np.sqrt((weights @ x**2) * (weights @ y**2))
    return float(weights @ (x * y) / scale) if scale > 0 else float("nan")
