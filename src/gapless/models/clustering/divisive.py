"""DivisiveClustering (DIANA): from one cluster downwards, each is split in two."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import StrOptions

from ..._ground.about import Examples, Formula
from ..._ground.docstrings import FEATURES, described
from ..._ground.interrupt import TimeLimit, limit_name, time_limit
from ..._ground.memory import GIGABYTE, free_memory
from ..._ground.progress import watch, with_callbacks
from ..._ground.validation import Training
from ...certificates import Certificate
from ...unseen import take_over
from .distances import METRICS
from .hierarchy import TRAINING, TREE, HierarchicalModel, tree_of_rows
from .linkage_checks import MOST_AT_FIT, certificate_of_splits
from .merge_trees import MergeTree
from .splitting import merges_of, split_all

Array = np.ndarray


@described(TREE, FEATURES)
class DivisiveClustering(HierarchicalModel):
    """Hierarchical clustering from the top down (DIANA).

    All rows begin as one cluster. Each cluster of two rows or more is split: the row that is
    farthest from the others on average leaves, and after it, one at a time, each row that is nearer
    on average to those that left than to those that stay. The height of a split is the diameter of
    the cluster, the largest distance within.

    Parameters
    ----------
    n_clusters : int or None, default=2
        How many clusters the cut leaves; None with `distance_threshold`.
    distance_threshold : float or None, default=None
        In place of `n_clusters`: clusters of this diameter or more are split.

    Attributes
    ----------
    distances_ : ndarray of shape (n_leaves − 1,)
        The diameter of each cluster that is split. Only with `distance_threshold`.

    Notes
    -----
    Takes n² numbers of memory for n distinct rows, and time n² for each level of the tree, n³ if
    single rows split off one after another. The first splits are decided by all rows, those of
    agglomeration last; use it for few clusters of rows that are not too many.

    Equal rows are one row with more weight and are never parted before height 0. Of rows that are
    equally far the first in the order of their columns leaves, so the order of the rows does not
    matter; those of a distance matrix are taken as they come.

    References
    ----------
    Kaufman and Rousseeuw (1990), Finding Groups in Data, chapter 6. Macnaughton-Smith, Williams,
    Dale and Mockett (1964), Dissimilarity analysis, Nature 202.

    Examples
    --------
    >>> from gapless import DivisiveClustering
    >>> model = DivisiveClustering(n_clusters=2).fit([[0.0], [1.0], [5.0], [6.5]])
    >>> print(model.labels_)
    [0 0 1 1]
    >>> print(model.merge_table_[:, 2])
    [1.  1.5 6.5]
    """

    _examples: ClassVar[Examples] = ()
    _parameter_constraints: ClassVar[dict] = {
        **HierarchicalModel._parameter_constraints,
        "metric": [StrOptions(METRICS | {"precomputed"}), callable],
    }

    def __init__(
        self, n_clusters=2, *, metric="euclidean", distance_threshold=None, time_limit=None
    ):
        self.n_clusters = n_clusters
        self.metric = metric
        self.distance_threshold = distance_threshold
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
        data = self._read(X, y, sample_weight)
        kept = self._check_cut(data)
        with watch(self, X, y) as after_step, time_limit(self.time_limit):
            try:
                tree = self._built(data, kept, after_step)
            except TimeLimit:
                raise TimeLimit(
                    f"the tree was not complete after {limit_name(self.time_limit)}; allow more "
                    "time, or cluster a sample."
                ) from None
            certificate = self._certificate(tree, data, MOST_AT_FIT)
        take_over(self, self._learned(tree, data, kept, certificate))
        return self

    def _built(self, data: Training, kept: Array, after_step: Any) -> MergeTree:
        distinct = self._distinct(data)
        n = len(distinct.first)
        needed, free = 2 * 8 * n**2, free_memory()
        if needed > free:
            raise MemoryError(
                f"the distances of {n} rows need {needed / GIGABYTE:.1f} GB, and "
                f"{free / GIGABYTE:.1f} GB are free; use AgglomerativeClustering with "
                "linkage='ward' or 'single', or cluster a sample."
            )
        D = self._distances(data, distinct.first)

        def progress(done: int, of: int) -> None:
            after_step(f"split {done} of {of}", 0.0)

        pairs, heights = merges_of(split_all(D, distinct.weights, progress))
        return tree_of_rows(pairs, heights, distinct, kept)

    def _certificate(self, tree: MergeTree, data: Training, most: int) -> Certificate:
        kept = np.flatnonzero(data.weights > 0)
        weights = data.weights[kept]
        return certificate_of_splits(tree, lambda: self._distances(data, kept), weights, most)

    def _formula(self) -> Formula:
        return Formula("split off what is nearer on average to those that left than to the rest")
