"""Texts as rows: reading them, what a word is, which words count and how much.

A text of weight 2 counts as two texts, in frequencies too, and one of weight 0 not at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils._missing import is_pandas_na, is_scalar_nan

from ..._ground.tables import readable

Array = np.ndarray


def read_texts(X: Any) -> list[str]:
    """The texts of a list, an array, a series or a table of one column."""
    if isinstance(X, str | bytes):
        raise ValueError("X is a single text, but a list of texts is needed; pass [text].")
    texts = _column(X)
    if not texts:
        raise ValueError(
            "Found array with 0 sample(s) (shape=(0,)) while a minimum of 1 is required: X has no "
            "texts."
        )
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            shown = text.item() if isinstance(text, np.generic) else text
            raise ValueError(f"X has {shown!r} in row {row}, which is not text; {_cure(text)}.")
    return texts


def _column(X: Any) -> list[Any]:
    """The only column of X."""
    X = readable(X) if hasattr(type(X), "columns") else X
    shape = getattr(X, "shape", None)
    has_no_order = isinstance(X, Mapping | Set)
    if sp.issparse(X) or shape == () or has_no_order or not hasattr(X, "__iter__"):
        raise ValueError(
            f"X is a {type(X).__name__}, but texts are needed: a list or a column of strings."
        )
    if shape is None or len(shape) == 1:
        return list(X)
    if len(shape) != 2 or shape[1] != 1:
        raise ValueError(
            f"X has the shape {tuple(shape)}, but texts are one column; select one column, such "
            'as X["text"], or join the columns into one text for each row.'
        )
    return list(X[X.columns[0]] if hasattr(X, "columns") else X[:, 0])


def _cure(value: Any) -> str:
    """What to do about an entry that is not a string."""
    if isinstance(value, bytes):
        return 'decode it, e.g. with value.decode("utf-8")'
    if isinstance(value, list | tuple | np.ndarray):
        return "give one string for each row, such as its words joined by spaces"
    if value is None or is_pandas_na(value) or is_scalar_nan(value):
        return 'fill missing texts, e.g. with "", or drop the row'
    return "give strings, e.g. by str(value), or use a model for numbers"


def rules_of(model: Any, learns_counts: bool) -> WordRules:
    """Which words count, and how they are weighed, from the parameters of a classifier."""
    is_tfidf = model.weighting == "tfidf" or (model.weighting == "auto" and not learns_counts)
    if model.sublinear_tf and not is_tfidf:
        raise ValueError(
            'sublinear_tf=True needs tf-idf, but words are only counted; set weighting="tfidf", '
            "or sublinear_tf=False."
        )
    return WordRules(
        model.min_df,
        model.max_df,
        model.max_features,
        is_tfidf,
        model.binary,
        model.sublinear_tf,
    )


def tokenizer_of(model: Any) -> CountVectorizer:
    """What a word is.

    Warns, in scikit-learn's words, of parameters that the analyzer does not use, and of stop words
    that no text can have, such as capitalised ones where texts are lowercased.
    """
    _check_sizes(model.ngram_range)
    tokenizer = CountVectorizer(
        analyzer=model.analyzer,
        ngram_range=model.ngram_range,
        stop_words=model.stop_words,
        lowercase=model.lowercase,
        strip_accents=model.strip_accents,
        token_pattern=model.token_pattern,
    )
    tokenizer._warn_for_unused_params()
    try:
        tokenizer.build_analyzer()
    except re.error as reason:
        raise ValueError(
            f"token_pattern={model.token_pattern!r} is not a regular expression: {reason}."
        ) from None
    return tokenizer


def _check_sizes(sizes: tuple) -> None:
    are_whole = all(isinstance(size, Integral) for size in sizes)
    if len(sizes) != 2 or not are_whole or not 1 <= sizes[0] <= sizes[1]:
        raise ValueError(
            f"Invalid value for ngram_range={sizes} lower boundary larger than the upper "
            "boundary, or not whole numbers ≥ 1; give (shortest, longest), such as (1, 2)."
        )


# Sums of weights in another order may differ by this part.
ROUNDING = 1e-12


@dataclass(frozen=True)
class WordRules:
    """Which words count, and how they are weighed; the names are scikit-learn's."""

    min_df: Any = 1
    max_df: Any = 1.0
    max_features: int | None = None
    is_tfidf: bool = False
    binary: bool = False
    sublinear_tf: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether words are only counted, and at most dropped for being in too few texts."""
        has_limits = self.max_df != 1.0 or isinstance(self.max_df, Integral) or self.max_features
        return isinstance(self.min_df, Integral) and not (
            self.is_tfidf or self.binary or has_limits
        )


@dataclass(frozen=True, eq=False)
class BagOfWords:
    """Chosen words and their weights.

    Parameters
    ----------
    rules : WordRules
        By which they were chosen.
    columns : ndarray of int, shape (d,)
        The chosen columns of the counts, rising.
    idf : ndarray of shape (d,) or None
        Their inverse document frequencies, log((1 + n)/(1 + df)) + 1, with tf-idf.
    """

    rules: WordRules
    columns: Array
    idf: Array | None

    @classmethod
    def learned(cls, counts: sp.csr_matrix, weights: Array, rules: WordRules) -> BagOfWords:
        """Choose and weigh the words of texts with weights, given their counts (n, words)."""
        frequency, total = frequencies(counts, weights), float(weights.sum())
        columns = np.flatnonzero(_within(frequency, total, rules))
        limit = rules.max_features
        if limit is not None and len(columns) > limit:
            used = counts.sign() if rules.binary else counts
            often = np.asarray(weights @ used).ravel()[columns]
            columns = np.sort(columns[np.argsort(-often, kind="stable")[:limit]])
        _check_some(columns, frequency)
        if not rules.is_tfidf:
            return cls(rules, columns, None)
        return cls(rules, columns, np.log((1 + total) / (1 + frequency[columns])) + 1)

    def rows(self, counts: sp.csr_matrix) -> sp.csr_matrix:
        """The rows for a classifier, from counts of all words."""
        rows = counts
        if len(self.columns) < counts.shape[1]:
            rows = counts[:, self.columns]
        if not (self.rules.binary or self.rules.is_tfidf):
            return rows
        values = np.ones_like(rows.data) if self.rules.binary else rows.data
        if self.idf is not None:
            values = self._tfidf(values, rows)
        return sp.csr_matrix((values, rows.indices, rows.indptr), shape=rows.shape)

    def _tfidf(self, values: Array, rows: sp.csr_matrix) -> Array:
        """Counts times inverse document frequencies, each row of length 1."""
        assert self.idf is not None
        if self.rules.sublinear_tf:
            values = 1 + np.log(values)
        values = values * self.idf[rows.indices]
        of_entry = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        lengths = np.sqrt(np.bincount(of_entry, values**2, minlength=rows.shape[0]))
        return values / lengths[of_entry]


def frequencies(counts: sp.csr_matrix, weights: Array) -> Array:
    """The weight of the texts with each word."""
    of_entry = np.repeat(weights, np.diff(counts.indptr))
    return np.bincount(counts.indices, of_entry, minlength=counts.shape[1])


def _within(frequency: Array, total: float, rules: WordRules) -> Array:
    """Which words are in some text, and in neither too few nor too many.

    min_df=1 requires nothing more: weights may be parts of a text.
    """
    low, high = (
        limit if isinstance(limit, Integral) else limit * total
        for limit in (rules.min_df, rules.max_df)
    )
    if high < low:
        raise ValueError(
            f"max_df={rules.max_df} corresponds to < documents than min_df={rules.min_df}; lower "
            "min_df, or raise max_df."
        )
    asks = not (rules.min_df == 1 and isinstance(rules.min_df, Integral))
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
