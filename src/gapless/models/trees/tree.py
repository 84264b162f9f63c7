"""A grown tree as arrays: its nodes, its predictions, and the result of pruning it.

The names and meanings are those of scikit-learn's `tree_`, so that what reads one reads the other.
Made by `growing`; predictions go through `packed`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from .packed import PackedTrees

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Tree:
    """A binary tree.

    Parameters
    ----------
    n_features : int
        Columns of X.
    children_left, children_right : ndarray of int64, shape (nodes,)
        Nodes are in preorder (in the order of their making where the best was split first);
        −1 for leaves.
    feature : ndarray of int64, shape (nodes,)
        The column of the split; −2 for leaves.
    threshold : ndarray of float64, shape (nodes,)
        Numbers up to it go left; −2 for leaves, NaN for splits on categories.
    missing_go_to_left : ndarray of uint8, shape (nodes,)
        Whether a row goes left whose value is missing or a category that was never seen.
    impurity, weighted_n_node_samples : ndarray of float64, shape (nodes,)
        Of the training rows that reached the node.
    n_node_samples : ndarray of int64, shape (nodes,)
        How many rows these are; a row of weight s counts as ⌈s⌉ rows.
    value : ndarray of float64, shape (nodes, outputs, classes or 1)
        Shares of the classes, or the number that is predicted.
    category_start : ndarray of int64, shape (nodes + 1,)
        Where the words of each node's set of categories begin.
    category_bits : ndarray of uint32
        Bit v % 32 of word v // 32 of a node's set says that level v goes left.
    n_classes : ndarray of int64, shape (outputs,)
        The number of classes of each output, 1 for numbers.
    """

    n_features: int
    children_left: Array
    children_right: Array
    feature: Array
    threshold: Array
    missing_go_to_left: Array
    impurity: Array
    n_node_samples: Array
    weighted_n_node_samples: Array
    value: Array
    category_start: Array
    category_bits: Array
    n_classes: Array

    TREE_LEAF: ClassVar[int] = -1
    TREE_UNDEFINED: ClassVar[int] = -2

    # ---- sizes -----------------------------------------------------------------------------------

    @property
    def node_count(self) -> int:
        """The number of nodes."""
        return len(self.feature)

    @property
    def capacity(self) -> int:
        """The number of nodes there is room for: as many as there are."""
        return self.node_count

    @property
    def n_outputs(self) -> int:
        """The number of targets of a row."""
        return self.value.shape[1]

    @property
    def max_n_classes(self) -> int:
        """The largest number of classes of an output."""
        return self.value.shape[2]

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return int(np.sum(self.children_left == self.TREE_LEAF))

    @cached_property
    def parent(self) -> Array:
        """The node above each node, −1 for the root."""
        parent = np.full(self.node_count, -1, dtype=np.int64)
        inner = np.flatnonzero(self.children_left != self.TREE_LEAF)
        for children in (self.children_left, self.children_right):
            parent[children[inner]] = inner
        return parent

    @cached_property
    def depths(self) -> Array:
        """The number of splits on the way to each node."""
        return depths_of(self.parent)

    @property
    def max_depth(self) -> int:
        """The largest number of splits on the way to a leaf."""
        return int(self.depths.max())

    # ---- rows ------------------------------------------------------------------------------------

    def apply(self, X: Any) -> Array:
        """The leaf of each row (n,); X has categories as level numbers, NaN for missing values."""
        return self._packed.apply(X)[:, 0]

    def predict(self, X: Any) -> Array:
        """The values of the rows' leaves, (n, outputs, classes or 1); (n, classes) for one output.

        Shares of classes, or numbers, as in scikit-learn.
        """
        out = self.value.take(self.apply(X), axis=0)
        return out[:, 0] if self.n_outputs == 1 else out

    def decision_path(self, X: Any) -> sp.csr_matrix:
        """Which nodes each row passes, (n, nodes) with ones."""
        leaves, place = np.unique(self.apply(X), return_inverse=True)
        paths = [self._path(leaf) for leaf in leaves]
        lengths = np.array([len(path) for path in paths], dtype=np.int64)[place]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        indices = np.concatenate([paths[k] for k in place]) if len(place) else np.zeros(0, int)
        ones = np.ones(len(indices), dtype=np.int64)
        return sp.csr_matrix((ones, indices, indptr), shape=(len(place), self.node_count))

    def _path(self, node: int) -> Array:
        path = [int(node)]
        while path[-1] != 0:
            path.append(int(self.parent[path[-1]]))
        return np.array(path[::-1], dtype=np.int64)

    @cached_property
    def _packed(self) -> PackedTrees:
        return PackedTrees.of([self])

    # ---- columns ---------------------------------------------------------------------------------

    def compute_feature_importances(self, normalize: bool = True) -> Array:
        """How much the splits on each column lower the impurity, as a share of all."""
        weight = self.weighted_n_node_samples * self.impurity
        inner = np.flatnonzero(self.children_left != self.TREE_LEAF)
        left, right = self.children_left[inner], self.children_right[inner]
        decrease = weight[inner] - weight[left] - weight[right]
        total_weight = self.weighted_n_node_samples[0]
        importances = np.bincount(self.feature[inner], decrease / total_weight, self.n_features)
        total = importances.sum()
        return importances / total if normalize and total > 0 else importances

    def categories_left(self, node: int) -> Array:
        """The levels that go left at a node that splits on categories."""
        words = self.category_bits[self.category_start[node] : self.category_start[node + 1]]
        return np.flatnonzero(np.unpackbits(words.view(np.uint8), bitorder="little"))

    # ---- pruning ---------------------------------------------------------------------------------

    def pruned(self, is_leaf: Array) -> tuple[Tree, Array]:
        """The tree with some nodes made leaves, and the new number of each node, −1 for none."""
        kept, number = kept_below(self.parent, is_leaf)
        leaf = is_leaf[kept] | (self.children_left[kept] < 0)
        sizes = np.where(leaf, 0, np.diff(self.category_start)[kept])
        words = [
            self.category_bits[self.category_start[node] : self.category_start[node + 1]]
            for node in kept[sizes > 0]
        ]
        return replace(
            self,
            children_left=np.where(leaf, self.TREE_LEAF, number[self.children_left[kept]]),
            children_right=np.where(leaf, self.TREE_LEAF, number[self.children_right[kept]]),
            feature=np.where(leaf, self.TREE_UNDEFINED, self.feature[kept]),
            threshold=np.where(leaf, float(self.TREE_UNDEFINED), self.threshold[kept]),
            missing_go_to_left=np.where(leaf, 0, self.missing_go_to_left[kept]).astype(np.uint8),
            impurity=self.impurity[kept],
            n_node_samples=self.n_node_samples[kept],
            weighted_n_node_samples=self.weighted_n_node_samples[kept],
            value=self.value[kept],
            category_start=np.concatenate([[0], np.cumsum(sizes)]),
            category_bits=np.concatenate([self.category_bits[:0], *words]),
        ), number


def used_values(n_classes: Array) -> Array:
    """The places that each output uses among as many as the largest has, side by side."""
    most = int(n_classes.max())
    return np.concatenate([np.arange(width) + k * most for k, width in enumerate(n_classes)])


# ---- trees of any number of branches, given by the node above each node --------------------------


def depths_of(parent: Array) -> Array:
    """The number of splits on the way to each node."""
    depth, up = (parent >= 0).astype(np.int64), np.maximum(parent, 0)
    # Each round doubles how far up a node has looked.
    while up.any():
        depth, up = depth + depth[up], up[up]
    return depth


def levels(parent: Array) -> list[Array]:
    """The nodes of each depth, from the root down."""
    depth = depths_of(parent)
    return np.split(np.argsort(depth, kind="stable"), np.cumsum(np.bincount(depth))[:-1])


def kept_below(parent: Array, is_leaf: Array) -> tuple[Array, Array]:
    """The nodes that stay if some are made leaves, and the new number of each, −1 for none."""
    is_gone = np.zeros(len(parent), dtype=bool)
    for nodes in levels(parent)[1:]:
        above = parent[nodes]
        is_gone[nodes] = is_gone[above] | is_leaf[above]
    return np.flatnonzero(~is_gone), np.where(is_gone, -1, np.cumsum(~is_gone) - 1)
