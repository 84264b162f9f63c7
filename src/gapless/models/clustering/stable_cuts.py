"""Whether the clusters of a tree are found again in random halves of its rows."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import clone

from ..._ground.partitions import silhouette_values
from ..._ground.progress import without_lines
from ..._ground.validation import Training
from ...unseen import ResampledClusters
from .merge_trees import MergeTree

Array = np.ndarray

# Rows whose silhouette is computed, from all distances between them.
MOST_SILHOUETTES = 1000


class CutsFit(ResampledClusters):
    """A tree cut at several numbers of clusters, and how to build it again from some rows."""

    def __init__(self, model: Any, data: Training):
        super().__init__(data.weights, model._distinct(data).inverse)
        self.model, self.data = model, data
        tree = model._tree
        self.counts = numbers_compared(model.n_clusters_, tree.leaves)
        self.own = self.counts.index(model.n_clusters_)
        self.labels = self._all_rows(tree, np.flatnonzero(data.weights > 0))

    def _all_rows(self, tree: MergeTree, kept: Array) -> Array:
        labels = np.full((len(self.data.weights), len(self.counts)), -1)
        labels[kept] = self._cuts(tree)
        return labels

    def _cuts(self, tree: MergeTree) -> Array:
        """The labels of the leaves, a column for each number of clusters."""
        return np.column_stack([tree.cut(min(k, tree.leaves)) for k in self.counts])

    def labels_of(self, rows: Array) -> Array:
        """The tree of some rows, cut at the same numbers of clusters."""
        model = clone(self.model).set_params(n_clusters=1, distance_threshold=None)
        X = self.data.X
        X = X[np.ix_(rows, rows)] if model._is_precomputed else X[rows]
        with without_lines():
            model.fit(X, sample_weight=self.weights[rows])
        return self._cuts(model._tree)

    @cached_property
    def separations(self) -> list[float]:
        """The mean silhouette of each cut (Rousseeuw 1987); of many rows that of a sample."""
        rows = self.sampled(MOST_SILHOUETTES)
        distances = self.model._distances(self.data, rows)
        return [self._silhouette(distances, self.labels[rows, k]) for k in range(len(self.counts))]

    @staticmethod
    def _silhouette(distances: Array, labels: Array) -> float:
        count = len(np.unique(labels))
        if not 1 < count < len(labels):
            return 0.0
        np.fill_diagonal(distances, 0.0)
        _, own = np.unique(labels, return_inverse=True)
        inside = np.eye(count)[own]
        return float(silhouette_values(distances @ inside, inside.sum(axis=0), own, 1.0).mean())


def numbers_compared(own: int, leaves: int) -> list[int]:
    """Numbers of clusters around one's own, from 2 on."""
    around = {own, *range(2, 9), own - 2, own - 1, own + 1, own + 2, own // 2, 2 * own}
    return sorted(k for k in around if k == own or 2 <= k <= leaves // 2)
