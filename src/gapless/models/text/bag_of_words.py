"""Which words count and how much: limits of their frequency, and tf-idf, with weights of texts.

A text of weight 2 is two texts, in frequencies too, and one of weight 0 is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

Array = np.ndarray

# Sums of weights in another order may differ by this part.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Choice:
    """Which words are chosen, and how they are weighed; the names are scikit-learn's."""

    min_df: Any = 1
    max_df: Any = 1.0
    max_features: int | None = None
    is_tfidf: bool = False
    binary: bool = False
    sublinear_tf: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether words are counted, and no more than left out if they are in too few texts."""
        has_limits = self.max_df != 1.0 or isinstance(self.max_df, Integral) or self.max_features
        return isinstance(self.min_df, Integral) and not (
            self.is_tfidf or self.binary or has_limits
        )


@dataclass(frozen=True, eq=False)
class BagOfWords:
    """Chosen words and their weights.

    Parameters
    ----------
    choice : Choice
        By which they were chosen.
    columns : ndarray of int, shape (d,)
        The chosen columns of the counts, rising.
    idf : ndarray of shape (d,) or None
        Their inverse document frequencies, log((1 + n)/(1 + df)) + 1, with tf-idf.
    """

    choice: Choice
    columns: Array
    idf: Array | None

    @classmethod
    def learned(cls, counts: sp.csr_matrix, weights: Array, choice: Choice) -> BagOfWords:
        """Choose and weigh the words of texts with weights, given their counts (n, words)."""
        frequency, total = frequencies(counts, weights), float(weights.sum())
        columns = np.flatnonzero(_within(frequency, total, choice))
        limit = choice.max_features
        if limit is not None and len(columns) > limit:
            used = counts.sign() if choice.binary else counts
            often = np.asarray(weights @ used).ravel()[columns]
            columns = np.sort(columns[np.argsort(-often, kind="stable")[:limit]])
        _check_some(columns, frequency)
        if not choice.is_tfidf:
            return cls(choice, columns, None)
        return cls(choice, columns, np.log((1 + total) / (1 + frequency[columns])) + 1)

    def rows(self, counts: sp.csr_matrix) -> sp.csr_matrix:
        """The rows that a classifier is given, from counts of all words."""
        rows = counts
        if len(self.columns) < counts.shape[1]:
            rows = counts[:, self.columns]
        if not (self.choice.binary or self.choice.is_tfidf):
            return rows
        values = np.ones_like(rows.data) if self.choice.binary else rows.data
        if self.idf is not None:
            values = self._tfidf(values, rows)
        return sp.csr_matrix((values, rows.indices, rows.indptr), shape=rows.shape)

    def _tfidf(self, values: Array, rows: sp.csr_matrix) -> Array:
        """Counts times inverse document frequencies, each row of length 1."""
        assert self.idf is not None
        if self.choice.sublinear_tf:
            values = 1 + np.log(values)
        values = values * self.idf[rows.indices]
        of_entry = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        lengths = np.sqrt(np.bincount(of_entry, values**2, minlength=rows.shape[0]))
        return values / lengths[of_entry]


def frequencies(counts: sp.csr_matrix, weights: Array) -> Array:
    """The weight of the texts that each word is in."""
    of_entry = np.repeat(weights, np.diff(counts.indptr))
    return np.bincount(counts.indices, of_entry, minlength=counts.shape[1])


def _within(frequency: Array, total: float, choice: Choice) -> Array:
    """Which words are in some text, and in neither too few nor too many.

    min_df=1 asks for nothing more: weights may be parts of a text.
    """
    low, high = (
        limit if isinstance(limit, Integral) else limit * total
        for limit in (choice.min_df, choice.max_df)
    )
    if high < low:
        raise ValueError(
            f"max_df={choice.max_df} corresponds to < documents than min_df={choice.min_df}; lower "
            "min_df, or raise max_df."
        )
    asks = not (choice.min_df == 1 and isinstance(choice.min_df, Integral))
    low = low * (1 - ROUNDING) if asks else 0.0
    return (frequency > 0) & (frequency >= low) & (frequency <= high * (1 + ROUNDING))


def _check_some(columns: Array, frequency: Array) -> None:
    if len(columns):
        return
    if not np.any(frequency > 0):
        raise ValueError(
            "empty vocabulary: no text has a word, perhaps because all of them are stop words, or "
            "shorter than two characters; set stop_words=None, or another token_pattern, such as "
            r'r"(?u)\b\w+\b".'
        )
    raise ValueError(
        f"After pruning, no terms remain of {int(np.sum(frequency > 0))}: all are in fewer texts "
        "than min_df, or in more than max_df. Try a lower min_df or a higher max_df."
    )
