"""Outlines of grown trees, of two branches and of more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .multiway import LEAF, MultiwayTree
from .outline import Condition, Outline
from .pruning import parents

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Features:
    """What the columns of a tree are called.

    Parameters
    ----------
    names : sequence of str
        The columns.
    levels : sequence of (sequence of str) or None
        The categories of each column, None for numbers.
    with_missing : sequence of bool
        Whether values of a column were missing in the fit.
    """

    names: Sequence[str]
    levels: Sequence[Sequence[str] | None]
    with_missing: Sequence[bool]


def outline_of_binary(tree: Any, features: Features, classes: list[Array] | None) -> Outline:
    """The outline of a tree of two branches; `classes` has an array for each output."""
    parent = parents(tree.children_left, tree.children_right)
    conditions: list[Condition | None] = [None] * tree.node_count
    for node in np.flatnonzero(tree.children_left >= 0).tolist():
        below = tree.children_left[node], tree.children_right[node]
        for child, condition in zip(below, _sides(tree, node, features)):
            conditions[child] = condition
    if classes is None:
        predicted = tree.value[:, :, 0]
        words = [", ".join(f"{v:.5g}" for v in row) for row in predicted]
        first = predicted[:, 0]
        low, high = float(first.min()), float(first.max())
        level = (first - low) / (high - low if high > low else 1.0)
        return Outline(parent, conditions, words, tree.n_node_samples, tree.impurity, None, level)
    parts = [tree.value[:, k, : len(own)] for k, own in enumerate(classes)]
    said = [own[np.argmax(part, axis=1)] for own, part in zip(classes, parts)]
    words = [", ".join(map(str, row)) for row in zip(*said)]
    error = np.mean([1.0 - part.max(axis=1) for part in parts], axis=0)
    level = np.argmax(parts[0], axis=1) / max(len(classes[0]) - 1, 1)
    shares = parts[0] if len(parts) == 1 else None
    error = np.where(error < 1e-12, 0.0, error)
    return Outline(parent, conditions, words, tree.n_node_samples, error, shares, level)


def _sides(tree: Any, node: int, features: Features) -> tuple[Condition, Condition]:
    """What leads to the left and to the right of a node."""
    j = int(tree.feature[node])
    name, levels = features.names[j], features.levels[j]
    left = bool(tree.missing_go_to_left[node])
    missing = (left, not left) if features.with_missing[j] else (False, False)
    if levels is None:
        t = float(tree.threshold[node])
        return (
            Condition(name, high=t, takes_missing=missing[0]),
            Condition(name, low=t, takes_missing=missing[1]),
        )
    goes_left = np.isin(np.arange(len(levels)), tree.categories_left(node))
    parts = [
        tuple(str(v) for v, is_left in zip(levels, goes_left) if is_left == side)
        for side in (True, False)
    ]
    return (
        Condition(name, categories=parts[0], takes_missing=missing[0]),
        Condition(name, categories=parts[1], takes_missing=missing[1]),
    )


def outline_of_multiway(
    tree: MultiwayTree, features: Features, edges: Sequence[Array | None], classes: Array
) -> Outline:
    """The outline of a tree with a branch for every category; `edges` cut numbers into bins."""
    conditions: list[Condition | None] = [None]
    for node in range(1, tree.node_count):
        above = int(tree.parent[node])
        conditions.append(_branch(tree, above, int(tree.branch[node]), features, edges))
    shares = tree.shares
    words = [str(label) for label in classes[np.argmax(shares, axis=1)]]
    error = np.where(tree.weight > 0, 1.0 - shares.max(axis=1), 0.0)
    level = np.argmax(shares, axis=1) / max(len(classes) - 1, 1)
    error = np.where(error < 1e-12, 0.0, error)
    return Outline(tree.parent, conditions, words, tree.weight, error, shares, level)


def _branch(
    tree: MultiwayTree, above: int, branch: int, features: Features, edges: Sequence[Array | None]
) -> Condition:
    j = int(tree.feature[above])
    assert j != LEAF
    name, levels, cuts = features.names[j], features.levels[j], edges[j]
    if levels is not None:
        return Condition(name, categories=(str(levels[branch]),))
    if cuts is not None:
        ends = np.concatenate([[-np.inf], cuts, [np.inf]])
        return Condition(name, low=float(ends[branch]), high=float(ends[branch + 1]))
    t = float(tree.threshold[above])
    return Condition(name, high=t) if branch == 0 else Condition(name, low=t)
