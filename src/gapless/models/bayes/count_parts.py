"""Parts of naive Bayes that are counted: columns of categories, and the words of a column of texts.

A part is learned from rows (`of`), tells log p(x | y) of rows and classes (`log_likelihood`) and
the same without each row of a sample (`without`), and what it costs beside the best one (`costs`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..._ground.stored import Declaration, Each, Number, Numbers
from ._counts import products, sum_of_tables, sums_by_class
from .moments import Sample
from .priors import log_costs
from .rests import Entries, left_over, log_positive, log_ratio

Array = np.ndarray


@dataclass(frozen=True, eq=False)
class Categories:
    """Columns of categories.

    Parameters
    ----------
    counts : list of ndarray of shape (classes, levels)
        Weight of the rows of each class with each level, column by column; missing values are not
        counted.
    alpha : float
        Pseudo-count of each level.
    """

    _stored: ClassVar[Declaration] = {
        "counts": Each(Numbers("classes", None, low=0), least=1),
        "alpha": Number(low=0.0),
    }
    counts: list[Array]
    alpha: float

    @property
    def shape(self) -> tuple[int, int]:
        """How many classes, and columns."""
        return len(self.counts[0]), len(self.counts)

    @classmethod
    def of(cls, F: Array, y: Array, weights: Array, classes: int, alpha: float) -> Categories:
        """Count numbers of levels, NaN being missing."""
        counts = []
        for x in F.T:
            there = ~np.isnan(x)
            level = x[there].astype(np.int64)
            size = int(level.max(initial=-1)) + 1
            cells = np.bincount(y[there] * size + level, weights[there], classes * size)
            counts.append(cells.reshape(classes, size))
        return cls(counts, alpha)

    @cached_property
    def tables(self) -> list[Array]:
        """Log probabilities (classes, levels), column by column; 0 for levels that no row has."""
        return [_log_table(count, self.alpha) for count in self.counts]

    def log_likelihood(self, F: Array) -> Array:
        """Σ over the columns; a level that is missing or not known adds nothing."""
        z = np.zeros((len(F), len(self.counts[0])))
        for x, table in zip(F.T, self.tables):
            rows = np.flatnonzero(x < table.shape[1])
            z[rows] += table[:, x[rows].astype(np.int64)].T
        return z

    def without(self, F: Array, own: Array, sample: Sample) -> Array:
        """The same without each row; a level that no other row has adds nothing."""
        z = np.zeros(own.shape)
        for x, count, table in zip(F.T, self.counts, self.tables):
            rows = np.flatnonzero(~np.isnan(x))
            level, taken = x[rows].astype(np.int64), own[rows]
            terms = table[:, level].T
            at, of = np.nonzero(taken)
            w, levels = taken[at, of], np.count_nonzero(count.sum(axis=0))
            left = left_over(count[of, level[at]], w) + self.alpha
            total = left_over(count.sum(axis=1)[of], w) + self.alpha * levels
            terms[at, of] = log_ratio(left, total)
            is_gone = left_over(count.sum(axis=0)[level], taken.sum(axis=1)) == 0
            z[rows] += np.where(is_gone[:, None], 0.0, terms)
        return z

    def moved(self, places: list[Array]) -> Categories:
        """The same with levels at other places, column by column."""
        pairs = zip(self.counts, places)
        return Categories([_moved(count, to[: count.shape[1]]) for count, to in pairs], self.alpha)

    def merged(self, more: Categories) -> Categories:
        """Of two sets of rows together."""
        pairs = zip(self.counts, more.counts)
        return Categories([sum_of_tables(one, other) for one, other in pairs], more.alpha)

    def costs(self, best: Categories) -> tuple[float, float, float]:
        """What these probabilities cost for the counts of `best`, the least, and pseudo-counts."""
        primal = dual = pseudo = 0.0
        for count, stored, table in zip(best.counts, self.tables, best.tables):
            if stored.shape != table.shape:
                return np.inf, dual, pseudo
            raised = np.where(count.sum(axis=0) > 0, count + self.alpha, 0.0)
            more, least = _costs(raised, stored, table)
            primal, dual = primal + more, dual + least
            pseudo += self.alpha * count.size
        return primal, dual, pseudo


@dataclass(frozen=True, eq=False)
class Words:
    """The words of a column of texts.

    Parameters
    ----------
    count : ndarray of shape (classes, words)
        How often each word was counted in each class.
    alpha : float
        Pseudo-count of each word.
    """

    _stored: ClassVar[Declaration] = {
        "count": Numbers("classes", "words", low=0),
        "alpha": Number(low=0.0),
    }
    count: Array
    alpha: float

    @property
    def shape(self) -> tuple[int, int]:
        """How many classes, and words."""
        classes, words = self.count.shape
        return classes, words

    @classmethod
    def of(cls, X: Any, y: Array, weights: Array, classes: int, alpha: float) -> Words:
        """Count."""
        return cls(sums_by_class(X, y, weights, classes), alpha)

    @cached_property
    def log_prob(self) -> Array:
        """Log probabilities (classes, words); 0 for words that no text has."""
        return _log_table(self.count, self.alpha)

    def log_likelihood(self, X: Any) -> Array:
        """Σ over the words of each text."""
        is_possible = np.isfinite(self.log_prob)
        z = products(X, np.where(is_possible, self.log_prob, 0.0))
        if not np.all(is_possible):
            z[products(X, (~is_possible).astype(np.float64)) > 0] = -np.inf
        return z

    def without(self, X: Any, own: Array, sample: Sample) -> Array:
        """The same without each text; words that no other text has are not known."""
        n, alpha = own.shape[0], self.alpha
        entries = Entries.of(X)
        everywhere = self.count.sum(axis=0)
        taken = own.sum(axis=1)[entries.row] * entries.value
        is_known = left_over(everywhere[entries.column], taken) > 0
        vocabulary = np.count_nonzero(everywhere) - entries.sums((~is_known).astype(float), n)
        length = entries.sums(entries.value, n)
        known = entries.sums(np.where(is_known, entries.value, 0.0), n)
        z = np.empty(own.shape)
        for k, count in enumerate(self.count):
            w = own[:, k]
            left = left_over(count[entries.column], w[entries.row] * entries.value) + alpha
            terms = np.where(is_known, entries.value * log_positive(left), 0.0)
            total = left_over(np.full(n, count.sum()), w * length) + alpha * vocabulary
            with np.errstate(invalid="ignore"):
                score = entries.sums(terms, n) - np.where(known > 0, known * log_positive(total), 0)
            z[:, k] = np.where(np.isnan(score), -np.inf, score)
        return z

    def moved(self, places: Array) -> Words:
        """The same with words at other places."""
        return Words(_moved(self.count, places), self.alpha)

    def merged(self, more: Words) -> Words:
        """Of two sets of texts together."""
        return Words(sum_of_tables(self.count, more.count), more.alpha)

    def costs(self, best: Words) -> tuple[float, float, float]:
        """What these probabilities cost for the counts of `best`, the least, and pseudo-counts."""
        if self.count.shape != best.count.shape:
            return np.inf, 0.0, 0.0
        raised = np.where(best.count.sum(axis=0) > 0, best.count + self.alpha, 0.0)
        pseudo = float(self.alpha * raised.size)
        return *_costs(raised, self.log_prob, best.log_prob), pseudo


def _moved(count: Array, places: Array) -> Array:
    """Counts (classes, cells) at other, increasing places."""
    out = np.zeros((len(count), int(places.max(initial=-1)) + 1))
    out[:, places] = count
    return out


def _log_table(count: Array, alpha: float) -> Array:
    """Log shares of counts (classes, cells), smoothed; 0 in cells that all classes have none of."""
    is_known = count.sum(axis=0) > 0
    raised = np.where(is_known, count + alpha, 0.0)
    return np.where(is_known, log_ratio(raised, raised.sum(axis=1, keepdims=True)), 0.0)


def _costs(raised: Array, stored: Array, best: Array) -> tuple[float, float]:
    is_known = raised.sum(axis=0) > 0
    return log_costs(*(part[:, is_known] for part in (raised, stored, best)))
