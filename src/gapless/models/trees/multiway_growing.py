"""How trees with a branch for every category are grown.

The gain of a test is what it takes from the entropy of the classes, for the known share of the rows
(Quinlan 1986; 1993, chapters 2 and 3). A node costs a pass over its rows and columns, in Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import xlogy

from ..._ground.interrupt import check
from .multiway import LEAF, MultiwayTree, branches_of, divided

Array = np.ndarray

# Gains in bits that differ by less are equal: the first column wins.
ROUNDING = 1e-10


@dataclass(frozen=True)
class Rule:
    """How tests are chosen and when growing ends.

    Parameters
    ----------
    uses_ratio : bool
        Whether the gain is divided by the information of the branches, among tests of at least
        average gain (C4.5), or counts as it is (ID3).
    smallest_branch : float
        At least two branches must have so much weight.
    max_depth : int or None
        The largest depth.
    """

    uses_ratio: bool
    smallest_branch: float = 0.0
    max_depth: int | None = None


class Test(NamedTuple):
    """A question about one column: which level it has, or with a threshold whether x ≤ it.

    `gain` and `ratio` are in bits, `shares` are the parts of the known weight in each branch.
    """

    feature: int
    threshold: float
    gain: float
    ratio: float
    shares: Array


def grow(
    F: Array, y: Array, weights: Array, classes: int, levels: Sequence[int | None], rule: Rule
) -> MultiwayTree:
    """Grow a tree.

    Parameters
    ----------
    F : ndarray of shape (n, d)
        Rows: numbers, or level numbers of categories; NaN is missing.
    y : ndarray of int, shape (n,)
        Positions of the classes.
    weights : ndarray of shape (n,)
        Weights ≥ 0; a row of weight 0 is no row.
    classes : int
        The number of classes.
    levels : sequence of d ints or None
        The number of levels of each column, None for numbers.
    rule : Rule
        How tests are chosen.

    Returns
    -------
    MultiwayTree
    """
    return _Grower(F, y, weights, classes, levels, rule).run()


def gains(
    F: Array, y: Array, weights: Array, classes: int, levels: Sequence[int | None], rule: Rule
) -> list[Test | None]:
    """What a test of each column would gain at the root; None where it divides nothing."""
    grower = _Grower(F, y, weights, classes, levels, rule)
    rows = np.arange(len(grower.y))
    return [grower._test(j, rows, grower.w) for j in range(F.shape[1])]


class _Grower:
    """The data of a tree and the nodes that it has so far."""

    def __init__(
        self,
        F: Array,
        y: Array,
        weights: Array,
        classes: int,
        levels: Sequence[int | None],
        rule: Rule,
    ):
        kept = np.flatnonzero(weights > 0)
        # By content, so that sums do not depend on the order of the rows.
        order = kept[np.lexsort((weights[kept], y[kept], *F[kept].T))]
        self.F, self.y, self.w = F[order], y[order], weights[order].astype(float)
        self.classes, self.levels, self.rule = classes, levels, rule
        self.values = [
            np.unique(column[~np.isnan(column)]) if count is None else column[:0]
            for column, count in zip(self.F.T, levels)
        ]
        self.nodes: list[tuple[Test | None, int, int, Array]] = []

    def run(self) -> MultiwayTree:
        nothing: frozenset[int] = frozenset()
        stack = [(np.arange(len(self.y)), self.w, -1, 0, 0, nothing)]
        while stack:
            check()
            rows, w, parent, branch, depth, used = stack.pop()
            counts = np.bincount(self.y[rows], w, minlength=self.classes)
            test = self._best(rows, w, counts, depth, used)
            node = len(self.nodes)
            self.nodes.append((test, parent, branch, counts))
            if test is None:
                continue
            if np.isnan(test.threshold):
                used = used | {test.feature}
            column = self.F[rows, test.feature]
            answers = branches_of(column, test.threshold, len(test.shares))
            for k in reversed(range(len(test.shares))):
                part = divided(answers, rows, w, k, float(test.shares[k]))
                stack.append((*part, node, k, depth + 1, used))
        return self._tree()

    def _tree(self) -> MultiwayTree:
        tests, parent, branch, value = zip(*self.nodes)
        return MultiwayTree(
            feature=np.array([LEAF if t is None else t.feature for t in tests]),
            threshold=np.array([np.nan if t is None else t.threshold for t in tests]),
            parent=np.array(parent),
            branch=np.array(branch),
            value=np.array(value),
            gain=np.array([0.0 if t is None else t.gain for t in tests]),
            ratio=np.array([0.0 if t is None else t.ratio for t in tests]),
        )

    def _best(self, rows: Array, w: Array, counts: Array, depth: int, used) -> Test | None:
        """The test of a node, None where it is to be a leaf."""
        limit = self.rule.max_depth
        if np.sum(counts > 0) < 2 or (limit is not None and depth >= limit):
            return None
        found = [self._test(j, rows, w) for j in range(self.F.shape[1]) if j not in used]
        tests = [test for test in found if test is not None]
        if self.rule.uses_ratio:
            tests = [test for test in tests if test.gain > ROUNDING]
        if not tests:
            return None
        if not self.rule.uses_ratio:
            return _first_best(tests, [test.gain for test in tests])
        average = float(np.mean([test.gain for test in tests]))
        tests = [test for test in tests if test.gain >= average - ROUNDING]
        return _first_best(tests, [test.ratio for test in tests])

    def _test(self, j: int, rows: Array, w: Array) -> Test | None:
        """The test of one column, None where it divides nothing."""
        column = self.F[rows, j]
        known = ~np.isnan(column)
        if not known.any():
            return None
        column, y, w_known = column[known], self.y[rows[known]], w[known]
        count = self.levels[j]
        if count is None:
            return self._number(j, column, y, w_known, float(w.sum()))
        cells = column.astype(int) * self.classes + y
        table = np.bincount(cells, w_known, minlength=count * self.classes)
        return self._judged(j, np.nan, table.reshape(count, self.classes), float(w.sum()))

    def _number(self, j: int, column: Array, y: Array, w: Array, total: float) -> Test | None:
        """The threshold with the largest gain."""
        values, place = np.unique(column, return_inverse=True)
        if len(values) < 2:
            return None
        cells = np.bincount(place * self.classes + y, w, minlength=len(values) * self.classes)
        left = np.cumsum(cells.reshape(len(values), self.classes), axis=0)
        right = left[-1] - left[:-1]
        low, high = left[:-1].sum(axis=1), right.sum(axis=1)
        rest = (low * entropy(left[:-1]) + high * entropy(right)) / (low + high)
        rest[np.minimum(low, high) < self.rule.smallest_branch * (1 - ROUNDING)] = np.inf
        k = int(np.argmax(rest <= rest.min() + ROUNDING))
        if not np.isfinite(rest[k]):
            return None
        # By rounding, the middle of neighbours on the grid of floats may leave one side empty.
        below = np.nextafter(values[k + 1], -np.inf)
        middle = np.clip(0.5 * values[k] + 0.5 * values[k + 1], values[k], below)
        # As C4.5 does it: a value that occurs, the largest one not above the middle.
        all_values = self.values[j]
        threshold = all_values[np.searchsorted(all_values, middle, side="right") - 1]
        return self._judged(j, float(threshold), np.stack([left[k], right[k]]), total)

    def _judged(self, j: int, threshold: float, table: Array, total: float) -> Test | None:
        """The gain of a test, from the weights of classes (branches, classes) that are known."""
        sizes = table.sum(axis=1)
        known = float(sizes.sum())
        if np.sum(sizes >= max(self.rule.smallest_branch * (1 - ROUNDING), 1e-300)) < 2:
            return None
        rest = float(np.sum(sizes * entropy(table))) / known
        gain = known / total * (float(entropy(table.sum(axis=0))) - rest)
        # Rows without a value are a branch of their own for the information of the test.
        split = float(entropy(np.append(sizes, max(total - known, 0.0))))
        return Test(j, threshold, gain, gain / split if split > 0 else 0.0, sizes / known)


def _first_best(tests: list[Test], scores: list[float]) -> Test:
    best = max(scores)
    return next(test for test, score in zip(tests, scores) if score >= best - ROUNDING)


def entropy(counts: Array) -> Array:
    """Entropy in bits of weights along the last axis; 0 where there are none."""
    counts = np.asarray(counts, dtype=float)
    total = counts.sum(axis=-1)
    shares = counts / np.where(total > 0, total, 1.0)[..., None]
    return np.asarray(-xlogy(shares, shares).sum(axis=-1) / np.log(2) + 0.0)
