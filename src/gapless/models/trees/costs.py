"""What rows that a tree has not seen cost in each of its nodes.

Errors add over the leaves, so that those of every subtree follow from what all rows in a node cost
by the prediction of that node. They come from sums over the rows of the leaves, added upwards.
"""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np

from .pruning import levels, parents

Array = np.ndarray


def node_costs(tree: Any, F: Any, y: Array, weights: Array, widths: list[int]) -> Array:
    """Σwℓ, Σw²ℓ and Σw²ℓ² over the rows in each node, by what the node predicts, (nodes, 3).

    ℓ is 1 for a wrong class and the squared error for numbers, averaged over the outputs.

    Parameters
    ----------
    tree : Tree
        A grown tree.
    F : array or sparse matrix of shape (n, d)
        The rows.
    y : ndarray of shape (n, outputs)
        Positions of the classes, −1 for a class that the tree does not know, or numbers.
    weights : ndarray of shape (n,)
        How much each row counts.
    widths : list of int
        The number of classes of each output, 0 for numbers.
    """
    leaf = tree.apply(F)
    costs = np.zeros((tree.node_count, 3))
    for k, width in enumerate(widths):
        target, value = y[:, k], tree.value[:, k]
        if width:
            wrong, squared = (
                _wrong(tree, leaf, target, w, value, width) for w in (weights, weights**2)
            )
            costs += np.stack([wrong, squared, squared], axis=1)
        else:
            costs += _errors(tree, leaf, target, weights, value[:, 0])
    return costs / y.shape[1]


def node_weights(tree: Any, F: Any, weights: Array) -> Array:
    """The weight of the rows that come through each node."""
    return upwards(tree, np.bincount(tree.apply(F), weights, minlength=tree.node_count))


def _wrong(tree: Any, leaf: Array, y: Array, w: Array, value: Array, width: int) -> Array:
    # One column more, for classes that the tree does not know.
    cells = leaf * (width + 1) + np.where(y < 0, width, y).astype(int)
    table = np.bincount(cells, w, minlength=tree.node_count * (width + 1))
    table = upwards(tree, table.reshape(tree.node_count, width + 1))
    said = np.argmax(value[:, :width], axis=1)
    return table.sum(axis=1) - table[np.arange(len(table)), said]


def _errors(tree: Any, leaf: Array, y: Array, w: Array, value: Array) -> Array:
    """The same for squared errors, from sums of powers of y about the root's prediction."""
    y, v = y - value[0], value - value[0]
    powers = np.stack([y**p for p in range(5)], axis=1)
    first, second = (upwards(tree, _by_leaf(tree, leaf, powers * w[:, None] ** e)) for e in (1, 2))
    square = [_moment(sums, v, 2) for sums in (first, second)]
    return np.maximum(np.stack([*square, _moment(second, v, 4)], axis=1), 0.0)


def _moment(sums: Array, v: Array, p: int) -> Array:
    """Σ w(y − v)^p from the sums of w·yⁱ."""
    return sum(comb(p, i) * (-v) ** (p - i) * sums[:, i] for i in range(p + 1))


def _by_leaf(tree: Any, leaf: Array, values: Array) -> Array:
    return np.stack([np.bincount(leaf, v, tree.node_count) for v in values.T], axis=1)


def upwards(tree: Any, sums: Array) -> Array:
    """Add what is in the leaves to all nodes above them, the deepest first."""
    parent = parents(tree.children_left, tree.children_right)
    for nodes in reversed(levels(parent)[1:]):
        np.add.at(sums, parent[nodes], sums[nodes])
    return sums
