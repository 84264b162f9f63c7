"""The cost of a tree on data, counted from the rows, and the least cost of any of its subtrees.

Every criterion is the smallest mean loss of a constant: Gini's impurity that of the Brier score,
entropy that of the log loss, the variance that of the squared error. So the risk R(T) of a stored
tree is the loss of its stored predictions, and a lower bound for all subtrees comes from the best
constants, node by node. Growing and pruning do not use this file: it is how both are checked.

References
----------
Breiman, Friedman, Olshen and Stone (1984), Classification and Regression Trees, section 10.2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import xlogy

from ...certificates import Certificate, judged
from .pruning import upwards

Array = np.ndarray

# The meaning of the criteria in words; scikit-learn's synonyms have the same.
RISKS = {
    "gini": "Gini impurity",
    "entropy": "entropy",
    "log_loss": "entropy",
    "gain_ratio": "entropy",
    "squared_error": "squared error",
    "friedman_mse": "squared error",
    "absolute_error": "absolute error",
    "poisson": "half Poisson deviance",
}
CURE = (
    "these are not the training data, or the tree was changed; pass the training data, or fit again"
)


@dataclass(frozen=True, eq=False)
class Judgement:
    """Costs of a tree on data.

    Attributes
    ----------
    risk : ndarray of shape (nodes,)
        The loss of all rows in a node by the best constant, as a part of the mean over all rows.
    stored : float
        The mean loss by the predictions that the leaves have stored.
    """

    risk: Array
    stored: float


def judge(
    tree: Any, leaf: Array, targets: Array, weights: Array, criterion: str, classes: int
) -> Judgement:
    """Count the rows in the leaves, and their cost.

    Parameters
    ----------
    tree : Tree
        The stored tree.
    leaf : ndarray of int, shape (n,)
        The leaf of each row.
    targets : ndarray of shape (n, outputs)
        Positions of the classes, or numbers.
    weights : ndarray of shape (n,)
        How much each row counts.
    criterion : str
        The criterion of the fit.
    classes : int
        The largest number of classes of an output; 1 for numbers.
    """
    kind, total = RISKS[criterion], float(weights.sum())
    risk, stored = np.zeros(tree.node_count), 0.0
    for k, y in enumerate(targets.T):
        value = tree.value[:, k]
        if kind == "squared error":
            # From their mean, so that squares lose no digits.
            mean = float(np.average(y, weights=weights))
            y, value = y - mean, value - mean
        if kind == "absolute error":
            best, own = _absolute(tree, leaf, y, weights, value[:, 0])
        else:
            best, own = _from_sums(tree, _sums(kind, leaf, y, weights, tree, classes), kind, value)
        risk += best / total
        stored += float(own[tree.children_left < 0].sum()) / total
    outputs = targets.shape[1]
    return Judgement(risk / outputs, stored / outputs)


def certificate(parent: Array, judgement: Judgement, alpha: float, what: str) -> Certificate:
    """How far a tree is from the best of its subtrees for R(T) + α·leaves.

    `parent` has the number of the node above each node, and `what` names R.
    """
    cost = judgement.risk + alpha
    leaves = len(parent) - len(np.unique(parent[parent >= 0]))
    primal = judgement.stored + alpha * leaves
    scale = float(cost[0])
    rounding = 64 * np.finfo(float).eps * (primal + scale) if np.isfinite(primal) else 0.0
    found = judged(
        primal,
        least_cost(parent, cost),
        scale=scale,
        tol=1e-9,
        rounding=rounding,
        method="dynamic programme",
        cure=CURE,
    )
    return replace(found, verdict=_verdict(found, alpha, leaves, what))


def as_bound(found: Certificate) -> Certificate:
    """The certificate of a tree with constrained predictions: the gap includes the constraints."""
    if found.kind != "stopped":
        return found
    return replace(
        found,
        kind="bound",
        verdict=(
            f"bound: the cost is {found.primal:.6g} with predictions that obey monotonic_cst; no "
            f"subtree, whatever it predicts, costs less than {found.dual:.6g}."
        ),
    )


def least_cost(parent: Array, cost: Array) -> float:
    """The least cost of any subtree: of a node alone, or of the best below it."""
    up, best = parent.tolist(), cost.tolist()
    below: list[float | None] = [None] * len(best)
    for node in reversed(range(len(best))):  # children have larger numbers than their parents
        branch = below[node]
        if branch is not None and branch < best[node]:
            best[node] = branch
        if up[node] >= 0:
            below[up[node]] = (below[up[node]] or 0.0) + best[node]
    return float(best[0])


def _verdict(found: Certificate, alpha: float, leaves: int, what: str) -> str:
    price = f" + {alpha:.4g}·leaves" if alpha else ""
    name = f"the {what}{price}"
    if found.kind == "stopped":
        return (
            f"stopped: {name} is {found.primal:.6g} for the stored predictions, and a subtree "
            f"reaches {found.dual:.6g}; {CURE}."
        )
    many = "1 leaf" if leaves == 1 else f"{leaves} leaves"
    return (
        f"optimal among its subtrees: {name} is {found.primal:.6g} with {many}, and no pruning of "
        "this tree makes it smaller; whether another tree does better is not known."
    )


# ---- counting ------------------------------------------------------------------------------------


def _sums(kind: str, leaf: Array, y: Array, weights: Array, tree: Any, classes: int) -> Array:
    """Sums over the rows of each node from which all constants are judged, (nodes, sums)."""
    if kind in ("Gini impurity", "entropy"):
        cells = leaf * classes + y.astype(int)
        table = np.bincount(cells, weights, minlength=tree.node_count * classes)
        return upwards(tree, table.reshape(tree.node_count, classes))
    extra = xlogy(y, y) if kind == "half Poisson deviance" else y**2
    columns = [np.bincount(leaf, weights * v, tree.node_count) for v in (np.ones(len(y)), y, extra)]
    return upwards(tree, np.stack(columns, axis=1))


def _from_sums(tree: Any, sums: Array, kind: str, value: Array) -> tuple[Array, Array]:
    """The loss of each node by its best constant, and by its stored one, over all its rows."""
    if kind in ("Gini impurity", "entropy"):
        total = sums.sum(axis=1)
        shares = sums / np.where(total > 0, total, 1.0)[:, None]
        of_shares = _brier if kind == "Gini impurity" else _log_loss
        return of_shares(sums, total, shares), of_shares(sums, total, value[:, : sums.shape[1]])
    w, wy, extra = sums.T
    mean = wy / np.where(w > 0, w, 1.0)
    loss = _deviance if kind == "half Poisson deviance" else _squares
    return np.maximum(loss(w, wy, extra, mean), 0.0), loss(w, wy, extra, value[:, 0])


def _brier(counts: Array, total: Array, p: Array) -> Array:
    return total - 2 * np.sum(counts * p, axis=1) + total * np.sum(p**2, axis=1)


def _log_loss(counts: Array, total: Array, p: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        return -np.sum(np.where(counts > 0, counts * np.log2(np.maximum(p, 0.0)), 0.0), axis=1)


def _squares(w: Array, wy: Array, wyy: Array, v: Array) -> Array:
    return wyy - 2 * v * wy + v**2 * w


def _deviance(w: Array, wy: Array, wylogy: Array, v: Array) -> Array:
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = np.where(wy > 0, wy * np.log(np.maximum(v, 0.0)), 0.0)
    return wylogy - expected - wy + v * w


def _absolute(
    tree: Any, leaf: Array, y: Array, weights: Array, value: Array
) -> tuple[Array, Array]:
    """The same for absolute errors, whose best constants are medians: a sort for each node."""
    rows: list[Array] = [np.zeros(0, dtype=int)] * tree.node_count
    order = np.argsort(leaf, kind="stable")
    found, start = np.unique(leaf[order], return_index=True)
    for node, part in zip(found.tolist(), np.split(order, start[1:])):
        rows[node] = part
    best, own = np.zeros(tree.node_count), np.zeros(tree.node_count)
    for node in reversed(range(tree.node_count)):
        if tree.children_left[node] >= 0:
            below = tree.children_left[node], tree.children_right[node]
            rows[node] = np.concatenate([rows[child] for child in below])
        mine, w = y[rows[node]], weights[rows[node]]
        if len(mine):
            best[node] = np.sum(w * np.abs(mine - _median(mine, w)))
            own[node] = np.sum(w * np.abs(mine - value[node]))
    return best, own


def _median(y: Array, weights: Array) -> float:
    order = np.argsort(y, kind="stable")
    reached = np.cumsum(weights[order])
    return float(y[order[np.searchsorted(reached, 0.5 * reached[-1])]])
