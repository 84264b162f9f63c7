"""The best subtree, exactly, for costs that add over the leaves.

A tree is given by `parent`, the number of each node's parent and −1 for the root, so that trees of
two and of more branches are pruned alike. Pruning a node makes it a leaf. Impurities with a price
for each leaf (cost-complexity), errors on a validation set (reduced error) and upper bounds of
error rates (pessimistic) are all sums over leaves, so one bottom-up pass minimises each of them.
The price of a leaf may be chosen by cross-validation over the whole nested sequence of subtrees.

References
----------
Breiman, Friedman, Olshen and Stone (1984), Classification and Regression Trees, chapters 3 and 10.
Quinlan (1993), C4.5: Programs for Machine Learning, chapter 4.
Esposito, Malerba and Semeraro (1997), A comparative analysis of methods for pruning decision trees,
IEEE PAMI 19.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from math import comb
from typing import Any

import numpy as np
from scipy.special import betaincinv

from ..._ground import core
from ..._ground.interrupt import check, deadline
from ...unseen import Search, best_of, dealt, mean_losses
from .tree import levels

Array = np.ndarray

# What rounding may hide, as a part of the cost of the root: costs this close count as equal, and
# the smaller tree wins.
ROUNDING = 1e-12
# The number of decisions that a trace prints.
SHOWN = 20


@dataclass(frozen=True, eq=False)
class PruneTrace:
    """Every decision whether a node stays split, in the order in which they were made.

    Attributes
    ----------
    cost : str
        What is compared, in words.
    node : ndarray of int, shape (m,)
        Numbers of the nodes in the tree as it was grown.
    with_split, as_leaf : ndarray of shape (m,)
        The cost below the node if it stays split, and if it becomes a leaf.
    is_pruned : ndarray of bool, shape (m,)
        Whether it became a leaf.
    kept_as : ndarray of int, shape (m,)
        The number of the node in the pruned tree, −1 if it is gone with one above it.
    """

    cost: str
    node: Array
    with_split: Array
    as_leaf: Array
    is_pruned: Array
    kept_as: Array

    def __len__(self) -> int:
        return len(self.node)

    def __str__(self) -> str:
        lines = [f"{self.is_pruned.sum()} of {len(self)} splits pruned by {self.cost}"]
        for k in range(min(len(self), SHOWN)):
            verdict = "leaf" if self.is_pruned[k] else "split kept"
            lines.append(
                f"node {self.node[k]}: {self.with_split[k]:.4g} with its split, "
                f"{self.as_leaf[k]:.4g} as a leaf: {verdict}"
            )
        if len(self) > SHOWN:
            lines.append(f"… and {len(self) - SHOWN} more")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<PruneTrace: {self.is_pruned.sum()} of {len(self)} splits pruned by {self.cost}>"

    def numbered(self, kept_as: Array) -> PruneTrace:
        """The same with each node's number in the pruned tree."""
        return replace(self, kept_as=kept_as[self.node])


def cheapest(parent: Array, cost: Array, name: str) -> PruneTrace:
    """Decide bottom-up for every split whether it lowers the cost, the smaller tree at a tie.

    Parameters
    ----------
    parent : ndarray of int, shape (nodes,)
        The tree.
    cost : ndarray of shape (nodes,)
        What each node would cost as a leaf; the cost of a tree is the sum over its leaves.
    name : str
        What the cost is, in words.

    Returns
    -------
    PruneTrace
        Making leaves of the nodes that are pruned gives the subtree of least cost (Breiman et al.
        1984, section 10.2), and the smallest such one.
    """
    room = ROUNDING * abs(float(cost[0]))
    best, below = np.array(cost, dtype=float), np.zeros(len(cost))
    order = []
    for nodes in reversed(levels(parent)[1:]):
        np.add.at(below, parent[nodes], best[nodes])
        split = np.unique(parent[nodes])
        best[split] = np.where(cost[split] <= below[split] + room, cost[split], below[split])
        order.append(split)
    node = np.concatenate(order) if order else np.zeros(0, dtype=int)
    is_pruned = cost[node] <= below[node] + room
    return PruneTrace(name, node, below[node], np.asarray(cost)[node], is_pruned, node)


def first_improvements(parent: Array, cost: Array, name: str) -> PruneTrace:
    """Decide top-down: a split stays if the cost falls at once, with its children as leaves.

    This is pre-pruning by validation: nothing below a rejected split is tried.
    """
    order = levels(parent)
    with_split = np.bincount(parent[1:], cost[1:], minlength=len(cost)) if len(cost) > 1 else cost
    is_open, node, pruned = np.zeros(len(cost), dtype=bool), [], []
    is_open[0] = True
    room = ROUNDING * abs(float(cost[0]))
    for nodes, children in pairwise(order):
        split = np.intersect1d(nodes[is_open[nodes]], parent[children])
        is_refused = cost[split] <= with_split[split] + room
        is_open[children] = np.isin(parent[children], split[~is_refused])
        node.append(split)
        pruned.append(is_refused)
    at = np.concatenate(node) if node else np.zeros(0, dtype=int)
    flags = np.concatenate(pruned) if pruned else np.zeros(0, dtype=bool)
    return PruneTrace(name, at, with_split[at], np.asarray(cost)[at], flags, at)


def without_splits(tree: Any, trace: PruneTrace) -> tuple[Any, PruneTrace]:
    """The tree without the splits that a trace prunes, and the trace with its node numbers."""
    is_leaf = np.zeros(tree.node_count, dtype=bool)
    is_leaf[trace.node[trace.is_pruned]] = True
    tree, number = tree.pruned(is_leaf)
    return tree, trace.numbered(number)


def pruned_at(tree: Any, alpha: float) -> Any:
    """The subtree with the least impurity + α·leaves."""
    return without_splits(tree, cheapest(tree.parent, risk_of(tree) + alpha, ""))[0]


# ---- the nested sequence -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class NestedSequence:
    """The subtrees that minimise R + α·leaves for some α, from the whole tree to the root alone.

    Attributes
    ----------
    parent : ndarray of int, shape (nodes,)
        The tree.
    alphas : ndarray of shape (m + 1,)
        0, and the α at which each node in turn becomes a leaf.
    step : ndarray of int, shape (nodes,)
        When a node becomes a leaf: 1, …, m for splits, 0 for leaves, and m + 1 for splits that go
        with one above them.
    """

    parent: Array
    alphas: Array
    step: Array

    def sums(self, cost: Array) -> Array:
        """Sums of any cost over the leaves of every subtree of the sequence, (m + 1, …)."""
        gone = np.full(len(self.parent), len(self.alphas))
        for nodes in levels(self.parent)[1:]:
            above = self.parent[nodes]
            gone[nodes] = np.minimum(gone[above], self.step[above])
        # A node is a leaf from its own step on, until one above it becomes one.
        change = np.zeros((len(self.alphas) + 1, *np.shape(cost)[1:]))
        is_ever_leaf = self.step < gone
        np.add.at(change, self.step[is_ever_leaf], cost[is_ever_leaf])
        np.subtract.at(change, gone[is_ever_leaf], cost[is_ever_leaf])
        return np.cumsum(change, axis=0)[:-1]

    def at(self, alpha: float) -> Array:
        """Which nodes are made leaves for a given α: the smallest minimiser."""
        last = int(np.searchsorted(self.alphas, alpha, side="right"))
        return (self.step > 0) & (self.step < last)


def weakest_links(parent: Array, cost: Array) -> NestedSequence:
    """Repeatedly prune the split that saves the least per leaf (Breiman et al. 1984, 3.3).

    The α of node t is (R(t) − R(T_t))/(|T_t| − 1), with T_t what is below it now. Costs O(depth)
    for each split, since only the splits above a pruned one change.
    """
    leaves, below = _branches(parent, cost)
    steps = np.zeros(len(parent), dtype=np.int64)
    own = np.ascontiguousarray(cost, dtype=float)
    up = np.ascontiguousarray(parent, dtype=np.int64)
    alphas = core.weakest_links(up, own, below, leaves, steps, deadline())
    is_split = np.isin(np.arange(len(parent)), parent)
    return NestedSequence(
        parent, np.array(alphas), np.where(is_split & (steps == 0), len(alphas), steps)
    )


def _branches(parent: Array, cost: Array) -> tuple[Array, Array]:
    """The number of leaves below each node, and the sum of their costs."""
    is_leaf = np.ones(len(parent), dtype=bool)
    is_leaf[parent[parent >= 0]] = False
    leaves, below = is_leaf.astype(np.int64), np.where(is_leaf, cost, 0.0)
    for nodes in reversed(levels(parent)[1:]):
        np.add.at(leaves, parent[nodes], leaves[nodes])
        np.add.at(below, parent[nodes], below[nodes])
    return leaves, below


# ---- costs ---------------------------------------------------------------------------------------


def pessimistic_errors(errors: Any, total: Any, confidence: float = 0.25) -> Array:
    """The pessimistic errors of a leaf: its weight times an upper bound on its error rate.

    The bound is the p for which this few errors, or fewer, have the probability `confidence`
    (Quinlan 1993, section 4.2): the Clopper–Pearson limit, here for fractional weights too.
    """
    errors, total = (np.asarray(v, dtype=float) for v in (errors, total))
    right = np.maximum(total - errors, 0.0)
    with np.errstate(all="ignore"):
        rate = betaincinv(errors + 1.0, right, 1.0 - confidence)
        # Weights beyond all counts: for very many rows the rate is known, for almost none it is
        # not.
        extreme = np.where(total > 1.0, errors / total, 1.0)
    rate = np.where(np.isfinite(rate), rate, extreme)
    return total * np.where(right > 0, rate, 1.0)


# ---- what rows that a tree has not seen cost in each of its nodes --------------------------------
#
# Errors add over the leaves, so that those of every subtree follow from what all rows in a node
# cost by the prediction of that node. They come from sums over the rows of the leaves, added
# upwards.


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
    """The weight of the rows that pass each node."""
    return upwards(tree, np.bincount(tree.apply(F), weights, minlength=tree.node_count))


def _wrong(tree: Any, leaf: Array, y: Array, w: Array, value: Array, width: int) -> Array:
    # One more column, for classes that the tree does not know.
    cells = leaf * (width + 1) + np.where(y < 0, width, y).astype(int)
    table = np.bincount(cells, w, minlength=tree.node_count * (width + 1))
    table = upwards(tree, table.reshape(tree.node_count, width + 1))
    predicted = np.argmax(value[:, :width], axis=1)
    return table.sum(axis=1) - table[np.arange(len(table)), predicted]


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
    """Add the values of leaves to all nodes above them, the deepest first."""
    for nodes in reversed(levels(tree.parent)[1:]):
        np.add.at(sums, tree.parent[nodes], sums[nodes])
    return sums


def sequence_of(tree: Any) -> NestedSequence:
    """The nested sequence of a grown tree."""
    return weakest_links(tree.parent, risk_of(tree))


def risk_of(tree: Any) -> Array:
    """The impurity of each node times its part of the weight."""
    weight = tree.weighted_n_node_samples
    return tree.impurity * weight / weight[0]


def choose_alpha(grow: Any, data: Any, units: Array, whole: Any, select: str) -> Search:
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
    # Scores that differ by rounding are equal; of the equal ones the highest price is the simplest.
    best = unseen.max()
    rounded = np.where(unseen >= best - ROUNDING, best, unseen)
    return Search(
        values={"ccp_alpha": alphas},
        unseen=unseen,
        standard_errors=errors,
        rows=np.full(len(alphas), len(rows)),
        chosen=len(alphas) - 1 - best_of(rounded[::-1], errors[::-1], select),
        metric="accuracy" if data.has_classes else "R²",
    )


def _candidates(alphas: Array) -> Array:
    """Geometric means of neighbours, and one price at which only the root is left."""
    alphas = np.unique(np.maximum(alphas, 0.0))
    return np.append(np.sqrt(alphas[:-1] * alphas[1:]), 2 * alphas[-1])


def _scores(sums: Array, weights: Array, y: Array, has_classes: bool) -> tuple[Array, Array]:
    """Scores and standard errors: the share of right classes, or R²."""
    loss, error = mean_losses(sums, weights)
    if has_classes:
        return 1.0 - loss, error
    mean = np.average(y, axis=0, weights=weights)
    variance = float(np.average(np.mean((y - mean) ** 2, axis=1), weights=weights))
    variance = variance if variance > 0 else 1.0
    return 1.0 - loss / variance, error / variance
