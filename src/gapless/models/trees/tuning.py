"""The price of a leaf, chosen over the nested sequence of subtrees by cross-validation.

The trees of the folds are pruned at the geometric means of the α at which the tree of all rows
changes, and every price is judged by one pass over each held-out row (Breiman et al. 1984, section
3.4): errors of all subtrees follow from those of all nodes, since they add over the leaves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._ground.interrupt import check
from ...unseen import Search, dealt, mean_losses
from .pruning import NestedSequence, node_costs, parents, weakest_links

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Choice:
    """The price that was chosen, and what was tried."""

    alpha: float
    search: Search


def sequence_of(tree: Any) -> NestedSequence:
    """The nested sequence of a grown tree."""
    parent = parents(tree.children_left, tree.children_right)
    return weakest_links(parent, risk_of(tree))


def risk_of(tree: Any) -> Array:
    """The impurity of each node times the part of the weight that it has."""
    weight = tree.weighted_n_node_samples
    return tree.impurity * weight / weight[0]


def choose_alpha(grow: Any, data: Any, units: Array, whole: Any, select: str) -> Choice:
    """Choose the price of a leaf by 5-fold cross-validation.

    Parameters
    ----------
    grow : callable
        Grows a tree without pruning, from the numbers of rows.
    data : TreeData
        The data.
    units : ndarray of int, shape (n,)
        The distinct x that each row has, −1 for rows that do not count.
    whole : Tree
        The tree of all rows.
    select : {"min", "1se"}
        The best price, or the highest within one standard error of it.
    """
    alphas = _candidates(sequence_of(whole).alphas)
    y, weights = data.outputs.y, data.outputs.sample_weight
    strata = y[:, 0] if data.has_classes else None
    of_row = dealt(units, strata=strata)
    # Equal rows are one, with all their weight.
    counted = np.flatnonzero(units >= 0)
    _, first, place = np.unique(data.labels[counted], return_index=True, return_inverse=True)
    rows, merged = counted[first], np.bincount(place, weights[counted])
    sums = np.zeros((len(alphas), 3))
    for k in range(of_row.max() + 1):
        check()
        tree = grow(np.flatnonzero((of_row >= 0) & (of_row != k)))
        is_held = of_row[rows] == k
        held = rows[is_held]
        costs = node_costs(tree, data.F[held], y[held], merged[is_held], data.class_counts)
        sequence = sequence_of(tree)
        at = np.searchsorted(sequence.alphas, alphas, side="right") - 1
        sums += sequence.sums(costs)[at]
    unseen, errors = _scores(sums, merged, y[rows], data.has_classes)
    chosen = _chosen(unseen, errors, select)
    search = Search(
        values={"ccp_alpha": alphas},
        unseen=unseen,
        standard_errors=errors,
        rows=np.full(len(alphas), len(rows)),
        chosen=chosen,
        metric="accuracy" if data.has_classes else "R²",
    )
    return Choice(float(alphas[chosen]), search)


def _candidates(alphas: Array) -> Array:
    """Geometric means of neighbours, and one price at which the root alone is left."""
    alphas = np.unique(np.maximum(alphas, 0.0))
    return np.append(np.sqrt(alphas[:-1] * alphas[1:]), 2 * alphas[-1])


def _chosen(unseen: Array, errors: Array, select: str) -> int:
    """The highest price among the best scores, or among those within one standard error."""
    best = int(np.argmax(unseen))
    slack = float(errors[best]) if select == "1se" else 1e-12
    return int(np.flatnonzero(unseen >= unseen[best] - slack)[-1])


def _scores(sums: Array, weights: Array, y: Array, has_classes: bool) -> tuple[Array, Array]:
    """Scores and standard errors: the share of right classes, or R²."""
    loss, error = mean_losses(sums, weights)
    if has_classes:
        return 1.0 - loss, error
    mean = np.average(y, axis=0, weights=weights)
    variance = float(np.average(np.mean((y - mean) ** 2, axis=1), weights=weights))
    variance = variance if variance > 0 else 1.0
    return 1.0 - loss / variance, error / variance
