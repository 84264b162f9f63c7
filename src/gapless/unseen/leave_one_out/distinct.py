"""Rows of one x as one: what is left out is a distinct x, with all its rows and all their weight.

So weight 2 and a repeated row give the same estimates, a row of weight 0 does not exist, and if an
x occurs with several targets, none of them is left to contradict the others. Only if all rows have
the same x, so that nothing distinguishes them, distinct rows (x, y) are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._ground.design import Design
from ...problem import Problem
from ._base import Array, NotAvailable


@dataclass(frozen=True, eq=False)
class MergedRows:
    """Which rows represent which, and what that makes of targets, scores and problems.

    If all rows differ they keep their order; `_ground.distinct_rows` sorts them by content.

    Parameters
    ----------
    kept : ndarray of int
        The rows of positive weight.
    first : ndarray of int
        For each distinct row, its first occurrence.
    inverse : ndarray of int, shape (len(kept),)
        Which distinct row each kept row is.
    weights : ndarray of shape (len(first),)
        Sums of the weights of equal rows.
    is_everything : bool
        Whether nothing was merged or dropped: `first` is all rows in their own order.
    """

    kept: Array
    first: Array
    inverse: Array
    weights: Array
    is_everything: bool

    @classmethod
    def of(cls, labels: Array, weights: Array) -> MergedRows:
        """Rows of equal labels 0, 1, … are equal; NotAvailable if all are."""
        distinct = cls.by(labels, weights)
        if len(distinct.first) < 2:
            raise NotAvailable("nothing would be left to learn from")
        return distinct

    @classmethod
    def by(cls, labels: Array, weights: Array) -> MergedRows:
        """The same for any number of distinct rows."""
        kept = np.flatnonzero(weights > 0)
        if len(kept) == len(labels) == labels.max() + 1:
            return cls(kept, kept, kept, weights, True)
        _, first, inverse = np.unique(labels[kept], return_index=True, return_inverse=True)
        return cls(kept, kept[first], inverse, np.bincount(inverse, weights[kept]), False)

    @classmethod
    def units(cls, problem: Problem, groups: Array | None = None) -> MergedRows:
        """The units of a problem to leave out; with groups 0, 1, …, what is merged in each."""
        labels = left_together(problem.design, problem.y, problem.weights > 0)
        if groups is not None:
            pairs = groups * (labels.max(initial=0) + 1) + labels
            labels = np.unique(pairs, return_inverse=True)[1]
        return cls.of(labels, problem.weights)

    def spread(self, of_distinct: Array, of_all: Array) -> Array:
        """Values of the distinct rows, spread to every row; rows of weight 0 keep theirs."""
        if self.is_everything:
            return of_distinct
        of_all = of_all.copy()
        of_all[self.kept] = of_distinct[self.inverse]
        return of_all

    def firsts(self, of_all: Array) -> Array:
        """Values of the distinct rows, from values that are the same for equal rows."""
        return of_all if self.is_everything else of_all[self.first]

    def sums(self, of_all: Array) -> Array:
        """Sums over equal rows of numbers (n,) or (n, K)."""
        if self.is_everything:
            return of_all
        return sums_by(self.inverse, of_all[self.kept])

    def means(self, of_all: Array, weights: Array) -> Array:
        """Means over equal rows under these weights, of numbers (n,) or (n, K)."""
        if self.is_everything:
            return of_all
        first = of_all[self.first]
        # Of the differences, which are exactly 0 if all are the same.
        other = (of_all[self.kept] - first[self.inverse]).T * weights[self.kept]
        return first + (sums_by(self.inverse, other.T).T / self.weights).T

    def rows(self, design: Design) -> Design:
        """The distinct rows."""
        return design if self.is_everything else design.rows(self.first)

    def merged(self, problem: Problem) -> Problem:
        """The problem with one row for all that are equal, its target the mean of theirs.

        Equivalent for the squared loss. For others only the rows and their weights are meaningful.
        """
        if self.is_everything:
            return problem
        is_squared = problem.loss.name == "squared"
        y = self.means(problem.y, problem.weights) if is_squared else problem.y[self.first]
        return replace(problem, design=self.rows(problem.design), y=y, weights=self.weights)


def left_together(design: Design, y: Array, is_counted: Array) -> Array:
    """Labels 0, 1, … of the rows, by content, the same for those that are left out together."""
    same = design.equal_x
    return design.equal_rows(y) if _is_one(same[is_counted]) else same


def _is_one(labels: Array) -> bool:
    return bool(np.all(labels == labels[:1]))


def sums_by(labels: Array, values: Array) -> Array:
    """Sums of values (n,) or (n, K) over the rows of each label 0, 1, …"""
    if values.ndim == 1:
        return np.bincount(labels, values)
    return np.stack([np.bincount(labels, column) for column in values.T], axis=1)


def mean_and_error(scores: Array, weights: Array, labels: Array | None = None) -> tuple[Any, Any]:
    """Weighted means of scores (n,) or (n, m) over rows, and their standard errors.

    Rows of different labels 0, 1, … are independent; without labels all are. Rows of weight 0 are
    ignored, whatever their scores and labels.
    """
    rows = weights > 0
    scores, weights = scores[rows], weights[rows]
    mean = np.average(scores, axis=0, weights=weights)
    off = ((scores - mean).T * weights).T
    if labels is not None:
        off = sums_by(labels[rows], off)
    spread = np.sum(off**2, axis=0) * len(off) / max(len(off) - 1, 1)
    return mean, np.sqrt(spread) / weights.sum()


def counted_labels(labels: Array, is_counted: Array) -> Array:
    """Labels 0, 1, … in the order of those given, of the rows with weight; −1 for the others."""
    numbered = np.full(len(labels), -1)
    numbered[is_counted] = np.unique(labels[is_counted], return_inverse=True)[1]
    return numbered


def units_of(same: Array, labels: Array, is_counted: Array) -> Array:
    """The units to leave out, distinct x: 0, 1, … by content; −1 for rows without weight.

    `same` and `labels` are the numbers of the rows x and (x, y). An x is ranked by the least of its
    labels among the rows with weight: the others must not matter.
    """
    if _is_one(same[is_counted]):
        return counted_labels(labels, is_counted)
    least = np.full(len(same), len(same))
    np.minimum.at(least, same[is_counted], labels[is_counted])
    return counted_labels(least[same], is_counted)


def by_appearance(labels: Array, is_counted: Array) -> tuple[Array, Array]:
    """Labels 0, 1, … of the rows with weight by first occurrence, else −1; and those positions.

    All numbers from 0 to the largest must occur.
    """
    counted = np.flatnonzero(is_counted)
    if len(counted) == len(labels) == labels.max(initial=-1) + 1:
        # Numbers 0 … n−1 that all occur are all different.
        return counted, counted
    _, first, inverse = np.unique(labels[counted], return_index=True, return_inverse=True)
    numbered = np.full(len(labels), -1)
    numbered[counted] = np.argsort(np.argsort(first))[inverse]
    return numbered, counted[np.sort(first)]
