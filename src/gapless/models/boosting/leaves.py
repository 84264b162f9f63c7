"""What the leaves of a boosted tree say, where the second-order model of the loss does not tell.

A loss with kinks has no useful curvature, so the value of a leaf is the best constant to add to the
scores of its rows (Friedman 2001, section 4.3), found by `null_model`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...losses import Loss
from ...problem import minimise_bias

Array = np.ndarray


def best_constants(
    loss: Loss, y: Array, z: Array, weights: Array, leaf: Array, nodes: Array
) -> Array:
    """For each of the nodes the v that minimises Σ sᵢ ℓ(yᵢ, zᵢ + v) over the rows of that leaf.

    `leaf` (n,) has the node of each row; a node without weight gets 0.
    """
    kept = np.flatnonzero(weights > 0)
    order = kept[np.argsort(leaf[kept], kind="stable")]
    ends = np.searchsorted(leaf[order], [nodes, nodes + 1])
    values = np.zeros(len(nodes))
    for k, (first, last) in enumerate(ends.T):
        rows = order[first:last]
        if len(rows):
            values[k] = minimise_bias(loss, y[rows], z[rows], weights[rows])
    return values


def of_one_score(loss: Loss, y: Array, z: Array, k: int) -> tuple[Loss, Array]:
    """The loss as a function of score k alone, the others being as in z, and its targets."""
    if loss.task != "multiclass":
        return loss, y
    return _OneScore(loss, y, z, k), np.arange(len(y))


@dataclass(frozen=True, eq=False)
class _OneScore(Loss):
    """A loss of K scores as a function of one of them; the target of a row is its number."""

    loss: Loss
    y: Array
    z: Array
    k: int
    task = "binary"
    is_of_rows = True

    def value(self, y, z):
        return self.loss.value(self.y[y], self._scores(y, z))

    def gradient(self, y, z):
        return self.loss.gradient(self.y[y], self._scores(y, z))[:, self.k]

    def _scores(self, rows: Array, z: Array) -> Array:
        scores = self.z[rows]
        scores[:, self.k] = z
        return scores
