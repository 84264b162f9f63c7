"""A tree in words: as text, as if-then rules, as the path of one prediction.

`Outline` is plain data for trees of two and of more branches; text, rules, paths and pictures are
made from it alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .multiway import LEAF, MultiwayTree
from .tree import levels

Array = np.ndarray

# Categories that a condition spells out.
SPELT_OUT = 6
INDENT = "|   "


@dataclass(frozen=True)
class Condition:
    """What one column must be: low < x ≤ high, or one of some categories; or missing.

    `categories` is None for numbers. `takes_missing` means that rows without a value go this way.
    """

    name: str
    low: float = -np.inf
    high: float = np.inf
    categories: tuple[str, ...] | None = None
    takes_missing: bool = False

    def __str__(self) -> str:
        text = self._numbers() if self.categories is None else self._categories()
        if not self.takes_missing:
            return text
        return f"{text} or missing" if text else f"{self.name} is missing"

    def _numbers(self) -> str:
        if np.isfinite(self.low) and np.isfinite(self.high):
            return f"{self.low:.6g} < {self.name} ≤ {self.high:.6g}"
        if np.isfinite(self.low):
            return f"{self.name} > {self.low:.6g}"
        return f"{self.name} ≤ {self.high:.6g}" if np.isfinite(self.high) else ""

    def _categories(self) -> str:
        names = self.categories or ()
        if len(names) == 1:
            return f"{self.name} = {names[0]}"
        shown = ", ".join(names[:SPELT_OUT])
        more = f", … {len(names) - SPELT_OUT} more" if len(names) > SPELT_OUT else ""
        return f"{self.name} in {{{shown}{more}}}" if names else ""

    def __and__(self, other: Condition) -> Condition:
        """Both conditions on the same column at once."""
        kept = self.categories
        if kept is not None and other.categories is not None:
            kept = tuple(name for name in kept if name in other.categories)
        return Condition(
            self.name,
            max(self.low, other.low),
            min(self.high, other.high),
            kept if self.categories is not None else other.categories,
            self.takes_missing and other.takes_missing,
        )


@dataclass(frozen=True)
class Rule:
    """What one leaf says: if all conditions hold, predict so.

    Attributes
    ----------
    conditions : tuple of Condition
        At most one for each column.
    prediction : str
        The class or the value.
    support : float
        The number of training rows for which the conditions hold, as in `Outline`.
    share : float
        The same as a part of all.
    error : float
        The part of them that is in another class; for numbers their mean squared error.
    """

    conditions: tuple[Condition, ...]
    prediction: str
    support: float
    share: float
    error: float

    @property
    def confidence(self) -> float:
        """1 − error: for classes, the part of the rows that the rule classifies correctly."""
        return 1.0 - self.error

    def __str__(self) -> str:
        when = " and ".join(map(str, self.conditions))
        then = f"then {self.prediction}  ({self.support:.6g} rows, error {self.error:.3g})"
        return f"if {when} {then}" if when else f"always {then.removeprefix('then ')}"


class Rules(tuple[Rule, ...]):
    """The rules of a tree, those with the largest support first; prints one on each line."""

    def __str__(self) -> str:
        return "\n".join(map(str, self))


@dataclass(frozen=True, eq=False)
class Outline:
    """A tree as plain data, nodes with parents in front of their children.

    Attributes
    ----------
    parent : ndarray of int, shape (nodes,)
        The node above, −1 for the root.
    condition : sequence of Condition or None
        What leads to each node from the one above; None for the root.
    prediction : sequence of str
        What each node would predict.
    support : ndarray of shape (nodes,)
        The number of training rows in it. A row of weight s counts as ⌈s⌉ rows in a tree of two
        branches; in one of more it counts as s, divided among the branches if the value is missing.
    error : ndarray of shape (nodes,)
        The part of it in other classes than the predicted one; for numbers the mean squared error.
    shares : ndarray of shape (nodes, classes) or None
        The parts of the classes, None for numbers and for several outputs.
    level : ndarray of shape (nodes,)
        Where the prediction stands among all predictions of the tree, 0 to 1; the class, or the
        number between the smallest and the largest. For colours.
    """

    parent: Array
    condition: Sequence[Condition | None]
    prediction: Sequence[str]
    support: Array
    error: Array
    shares: Array | None
    level: Array

    @property
    def children(self) -> list[list[int]]:
        """The nodes below each node."""
        below: list[list[int]] = [[] for _ in self.parent]
        for node, parent in enumerate(self.parent):
            if parent >= 0:
                below[parent].append(node)
        return below

    def path(self, node: int) -> list[int]:
        """The nodes from the root to this one."""
        found = [node]
        while self.parent[found[-1]] >= 0:
            found.append(int(self.parent[found[-1]]))
        return found[::-1]

    def to_text(self, max_depth: int | None = None) -> str:
        """One line for each branch, with its prediction at the end."""
        below, lines = self.children, []
        stack = [(child, 0) for child in reversed(below[0])]
        if not stack or max_depth == 0:
            return f"always {self._end(0)}"
        while stack:
            node, depth = stack.pop()
            is_cut = max_depth is not None and depth + 1 >= max_depth and below[node]
            line = f"{INDENT * depth}{self.condition[node]}"
            if is_cut:
                leaves = self._leaves_below(node, below)
                lines.append(f"{line}: {self._end(node)} … {leaves} leaves below")
            elif below[node]:
                lines.append(line)
                stack += [(child, depth + 1) for child in reversed(below[node])]
            else:
                lines.append(f"{line}: {self._end(node)}")
        return "\n".join(lines)

    def _end(self, node: int) -> str:
        error = f", error {self.error[node]:.3g}" if self.error[node] > 0 else ""
        return f"{self.prediction[node]} ({self.support[node]:.6g}{error})"

    @staticmethod
    def _leaves_below(node: int, below: list[list[int]]) -> int:
        stack, count = [node], 0
        while stack:
            at = stack.pop()
            stack += below[at]
            count += not below[at]
        return count

    def rules(self) -> Rules:
        """One rule for each leaf, conditions on the same column joined."""
        below = self.children
        leaves = [node for node in range(len(self.parent)) if not below[node]]
        leaves.sort(key=lambda node: -self.support[node])
        return Rules(self.rule(node) for node in leaves)

    def rule(self, node: int) -> Rule:
        """What must hold to reach a node, and its prediction."""
        joined: dict[str, Condition] = {}
        for at in self.path(node)[1:]:
            condition = self.condition[at]
            assert condition is not None
            name = condition.name
            joined[name] = joined[name] & condition if name in joined else condition
        return Rule(
            tuple(joined.values()),
            self.prediction[node],
            float(self.support[node]),
            float(self.support[node] / self.support[0]),
            float(self.error[node]),
        )

    def path_in_words(self, node: int, values: dict[str, Any]) -> str:
        """How a row with these values reaches a leaf, a line for each split."""
        lines = []
        for at in self.path(node)[1:]:
            condition = self.condition[at]
            assert condition is not None
            lines.append(f"{condition}: {condition.name} is {_shown(values[condition.name])}")
        rule = self.rule(node)
        number = f"{rule.support:.6g} training rows end here, error {rule.error:.3g}"
        return "\n".join([*lines, f"predict {rule.prediction}: {number}"])

    @property
    def depth(self) -> Array:
        """How far each node is from the root."""
        depth = np.zeros(len(self.parent), dtype=int)
        for k, nodes in enumerate(levels(self.parent)):
            depth[nodes] = k
        return depth


def _shown(value: Any) -> str:
    if value is None or value != value:
        return "missing"
    return f"{value:.6g}" if isinstance(value, float | np.floating) else str(value)


# ---- outlines of grown trees ---------------------------------------------------------------------


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
    parent = tree.parent
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
    predicted = [own[np.argmax(part, axis=1)] for own, part in zip(classes, parts)]
    words = [", ".join(map(str, row)) for row in zip(*predicted)]
    error = np.mean([1.0 - part.max(axis=1) for part in parts], axis=0)
    level = np.argmax(parts[0], axis=1) / max(len(classes[0]) - 1, 1)
    shares = parts[0] if len(parts) == 1 else None
    error = np.where(error < 1e-12, 0.0, error)
    return Outline(parent, conditions, words, tree.n_node_samples, error, shares, level)


def _sides(tree: Any, node: int, features: Features) -> tuple[Condition, Condition]:
    """The conditions for the left and for the right of a node."""
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
