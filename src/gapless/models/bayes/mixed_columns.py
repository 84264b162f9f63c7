"""Tables of all kinds of columns as one matrix: numbers, numbers of levels, and counts of words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from ..._ground.columns import is_table, levels_of, marked, number_of_level, numbers_of, series_of
from ..._ground.stored import Declaration, Each, Labels, Nothing, Places, Word
from ..._ground.validation import check_values
from ..._ground.word_counts import count_words, in_columns

Array = np.ndarray

NUMBER, CATEGORY, TEXT = "number", "category", "text"
# A column of strings holds texts if they have at least this many words on average, and at least
# this part of them is different.
FEWEST_WORDS, FEWEST_DIFFERENT = 3.0, 0.5


@dataclass(frozen=True)
class Unseen:
    """Categories that the fit has not seen: the column, the number of rows, and an example."""

    column: str
    rows: int
    example: Any


@dataclass(frozen=True, eq=False)
class MixedColumns:
    """What the columns of a table are.

    Parameters
    ----------
    kinds : tuple of {"number", "category", "text"}
        One for each column.
    known : tuple
        For each column: None for numbers, the categories in order, the words of texts
        with their numbers.
    """

    _stored: ClassVar[Declaration] = {
        "kinds": Each(Word(NUMBER, CATEGORY, TEXT), "features"),
        "known": Each(Nothing() | Labels(None, least=0) | Places(), "features"),
    }
    kinds: tuple[str, ...]
    known: tuple[Any, ...]

    @classmethod
    def read(cls, X: Any, is_counted: Array, categorical: Any, texts: Any) -> MixedColumns:
        """Find out, from the rows that count.

        Parameters
        ----------
        X : ndarray or pandas or polars data frame of shape (n, d)
            The table.
        is_counted : ndarray of bool, shape (n,)
            Which rows there are.
        categorical, texts : Any
            As the parameters `categorical_features` and `text_features` of `NaiveBayes`.
        """
        kinds = _kinds(X, is_counted, categorical, texts)
        known = (_known(X, j, kind, is_counted) for j, kind in enumerate(kinds))
        return cls(tuple(kinds), tuple(known))

    def of_kind(self, kind: str) -> list[int]:
        """The columns of a kind."""
        return [j for j, found in enumerate(self.kinds) if found == kind]

    @property
    def spans(self) -> Iterator[tuple[str, slice]]:
        """Where the parts are in the matrix: numbers, categories, each text column."""
        end = 0
        widths = [(kind, len(self.of_kind(kind))) for kind in (NUMBER, CATEGORY)]
        widths += [(TEXT, len(self.known[j])) for j in self.of_kind(TEXT)]
        for kind, width in widths:
            if width:
                yield kind, slice(end, end + width)
            end += width

    @property
    def firsts(self) -> list[int]:
        """The first column of each of the parts."""
        texts = [j for j in self.of_kind(TEXT) if self.known[j]]
        return [*self.of_kind(NUMBER)[:1], *self.of_kind(CATEGORY)[:1], *texts]

    def encode(self, X: Any) -> tuple[Any, list[Unseen]]:
        """The matrix, dense unless there are texts; NaN for missing or unknown values."""
        numbers = self.of_kind(NUMBER)
        F = np.empty((X.shape[0], len(numbers) + len(self.of_kind(CATEGORY))))
        F[:, : len(numbers)] = numbers_of(X, numbers)
        names = np.array(X.columns, dtype=object)[numbers].tolist() if is_table(X) else None
        found = F[:, : len(numbers)]
        check_values(np.where(np.isnan(found), 0.0, found), "X", names)
        unseen = []
        for k, j in enumerate(self.of_kind(CATEGORY), start=len(numbers)):
            series = series_of(X, j)
            values = series.values
            F[:, k] = number_of_level(self.known[j]).of(values)
            is_unseen = np.isnan(F[:, k]) & (values != None)  # noqa: E711 - entry by entry
            if np.any(is_unseen):
                found = values[is_unseen]
                unseen.append(Unseen(series.name, len(found), found[0]))
        texts = [self._count(X, j) for j in self.of_kind(TEXT)]
        return (sp.hstack([sp.csr_matrix(F), *texts], format="csr") if texts else F), unseen

    def _count(self, X: Any, j: int) -> Any:
        counts, words = count_words(_texts(series_of(X, j).values), CountVectorizer())
        return in_columns(counts, words, self.known[j])

    def with_more(self, X: Any, is_counted: Array) -> MixedColumns:
        """Columns of the same kinds, also with the levels and words of another part of the table.

        Parameters
        ----------
        X : ndarray or pandas or polars data frame of shape (n, d)
            The part.
        is_counted : ndarray of bool, shape (n,)
            Which of its rows there are.
        """
        known = list(self.known)
        for j, (kind, old) in enumerate(zip(self.kinds, self.known)):
            new = _known(X, j, kind, is_counted)
            if kind == CATEGORY:
                known[j] = levels_of(np.concatenate([old, new]))
            elif kind == TEXT:
                known[j] = {word: k for k, word in enumerate(sorted(old.keys() | new.keys()))}
        return MixedColumns(self.kinds, tuple(known))

    def places_in(self, other: MixedColumns, j: int) -> Array:
        """The positions of the levels or words of column j among more of them."""
        old, new = self.known[j], other.known[j]
        if self.kinds[j] == CATEGORY:
            return number_of_level(new).of(old).astype(np.int64)
        return np.fromiter((new[word] for word in old), np.int64, len(old))

    def is_same(self, other: MixedColumns) -> bool:
        """Whether the columns have the same kinds, levels and words."""
        pairs = zip(self.known, other.known)
        return self.kinds == other.kinds and all(
            one == two if isinstance(one, dict) else np.array_equal(one, two)
            for one, two in pairs
            if one is not None
        )


def _known(X: Any, j: int, kind: str, is_counted: Array) -> Any:
    """The levels or the words of a column; None for numbers."""
    if kind == NUMBER:
        return None
    values = series_of(X, j).values[is_counted]
    if kind == CATEGORY:
        return levels_of(values)
    words = count_words(_texts(values), CountVectorizer())[1]
    return {word: k for k, word in enumerate(words)}


def _kinds(X: Any, is_counted: Array, categorical: Any, texts: Any) -> list[str]:
    """The kinds of the columns, as given by the caller or by their types."""
    d = X.shape[1]
    names = tuple(map(str, X.columns)) if is_table(X) else None
    is_category = marked(categorical, d, names)
    is_auto = isinstance(texts, str) and texts == "auto"
    is_text = marked(None if is_auto else texts, d, names, "text_features")
    kinds = []
    for j in range(d):
        has_names = is_table(X) and series_of(X, j).is_category
        if is_text[j]:
            kinds.append(TEXT)
        elif is_category[j] or has_names:
            is_open = is_auto and not is_category[j] and has_names
            is_prose = is_open and _is_prose(series_of(X, j).values[is_counted])
            kinds.append(TEXT if is_prose else CATEGORY)
        else:
            kinds.append(NUMBER)
    return kinds


def _is_prose(values: Array) -> bool:
    """Whether strings are texts rather than names of categories."""
    texts = [value for value in values.tolist() if value is not None]
    if not texts or not all(isinstance(text, str) for text in texts):
        return False
    words = sum(len(text.split()) for text in texts) / len(texts)
    return words >= FEWEST_WORDS and len(set(texts)) >= FEWEST_DIFFERENT * len(texts)


def _texts(values: Array) -> list[str]:
    return ["" if value is None else str(value) for value in values.tolist()]
