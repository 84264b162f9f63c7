"""A tree in words: as text, as if-then rules, as the path of one prediction.

`Outline` is plain data that trees of two and of more branches make alike; text, rules, paths and
pictures are read from it and from nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .pruning import levels

Array = np.ndarray

# Names of categories that a condition spells out.
SPELT_OUT = 6
INDENT = "|   "


@dataclass(frozen=True)
class Condition:
    """What one column must be: low < x ≤ high, or one of some categories; or missing.

    `categories` is None for numbers. `takes_missing` says that rows without a value come this way.
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
        """1 − error: for classes, the part of the rows that the rule gets right."""
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
        branches; in one of more it counts as s, of which each branch has a part where the value is
        missing.
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
        """One line for each branch, with what it predicts where it ends."""
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
        """What must hold to reach a node, and what it predicts."""
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
        """How a row with these values comes to a leaf, a line for each question."""
        lines = []
        for at in self.path(node)[1:]:
            condition = self.condition[at]
            assert condition is not None
            lines.append(f"{condition}: {condition.name} is {_shown(values[condition.name])}")
        rule = self.rule(node)
        number = f"{rule.support:.6g} training rows came here, error {rule.error:.3g}"
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
