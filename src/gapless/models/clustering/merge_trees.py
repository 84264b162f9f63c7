"""A hierarchy of clusters as a table of merges, in the format of SciPy's `linkage`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.cluster.hierarchy import cophenet

from ..._ground import core

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class MergeTree:
    """The merges of `leaves` rows.

    Parameters
    ----------
    table : ndarray of shape (merges, 4)
        The numbers of two clusters, the distance at which they merge, and the number of rows in the
        new cluster. Row i is cluster i, and merge t makes cluster leaves + t.
    leaves : int
        The number of rows.
    """

    table: Array
    leaves: int

    @classmethod
    def of(cls, pairs: Array, heights: Array, leaves: int) -> MergeTree:
        """The table of merges whose clusters are named by any of their rows."""
        table = np.empty((len(pairs), 4))
        core.merge_table(np.ascontiguousarray(pairs), heights, leaves, table)
        return cls(table, leaves)

    @classmethod
    def joined(cls, children: Array, heights: Array, leaves: int) -> MergeTree:
        """The table of merges whose clusters are named by their numbers."""
        counts = np.ones(leaves + len(children))
        for t, (one, other) in enumerate(children.tolist()):
            counts[leaves + t] = counts[one] + counts[other]
        table = np.column_stack([np.sort(children, axis=1), heights, counts[leaves:]])
        return cls(np.ascontiguousarray(table, dtype=np.float64), leaves)

    @property
    def children(self) -> Array:
        """The two clusters of each merge, (merges, 2)."""
        return self.table[:, :2].astype(np.intp)

    @property
    def heights(self) -> Array:
        """The distance at which each merge takes place, (merges,)."""
        return self.table[:, 2]

    @property
    def is_monotone(self) -> bool:
        """Whether no merge takes place below one that it contains."""
        return bool(np.array_equal(self.reaches, self.heights))

    @property
    def inversions(self) -> int:
        """How many merges take place below one that they contain."""
        return int(np.sum(self.reaches > self.heights))

    @cached_property
    def reaches(self) -> Array:
        """The greatest height within each merge, (merges,)."""
        heights = self.heights
        if np.all(heights[1:] >= heights[:-1]):
            return heights
        most = np.concatenate([np.full(self.leaves, -np.inf), heights])
        for t, (one, other) in enumerate(self.children.tolist(), start=self.leaves):
            most[t] = max(most[t], most[one], most[other])
        return most[self.leaves :]

    def labels(self, is_used: Array) -> Array:
        """The clusters that some merges leave: from 0 on, in the order of their first rows."""
        labels = np.empty(self.leaves, dtype=np.int64)
        core.cluster_labels(self.table, np.ascontiguousarray(is_used), labels)
        return labels

    def cut(self, n_clusters: int) -> Array:
        """The labels of a number of clusters."""
        least = self.leaves - len(self.table)
        if not least <= n_clusters <= self.leaves:
            what = (
                f"Cannot extract more clusters than samples: {n_clusters} clusters were given for "
                f"a tree with {self.leaves} leaves."
                if n_clusters > self.leaves
                else f"the tree ends at {least} clusters and has none of {n_clusters}; fit again "
                "with compute_full_tree=True, and a connectivity that is not in parts."
            )
            raise ValueError(what)
        return self.labels(np.arange(len(self.table)) < self.leaves - n_clusters)

    def cut_below(self, height: float) -> Array:
        """The labels of the clusters within which all merges are below a height."""
        return self.labels(self.reaches < height)

    def cophenetic(self) -> Array:
        """The height at which each two rows first share a cluster, in the order of `pdist`."""
        return cophenet(self.table)

    def order(self) -> Array:
        """The rows from left to right in a picture, so that no lines cross."""
        return ordered_leaves(self.children, self.leaves)


def ordered_leaves(children: Array, leaves: int) -> Array:
    """Rows in an order in which every cluster is a range: first the smaller number."""
    following = np.full(leaves, -1)
    first, last = list(range(leaves)), list(range(leaves))
    is_root = np.ones(leaves + len(children), dtype=bool)
    for one, other in children.tolist():
        following[last[one]] = first[other]
        first.append(first[one])
        last.append(last[other])
        is_root[[one, other]] = False
    order = []
    for root in np.flatnonzero(is_root).tolist():
        row = first[root]
        while True:
            order.append(row)
            if row == last[root]:
                break
            row = int(following[row])
    return np.array(order, dtype=np.intp)
