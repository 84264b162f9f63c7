"""Texts to counts of their words, as scikit-learn's CountVectorizer counts them.

The common case, words by scikit-learn's usual pattern, is counted in the core; a custom pattern or
analyzer runs in Python.
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterable
from itertools import chain

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from . import core
from .interrupt import check, deadline
from .threads import thread_count

Array = np.ndarray

# scikit-learn's pattern: runs of two or more letters, digits or underscores.
USUAL_PATTERN = r"(?u)\b\w\w+\b"
ASCII = 128


def count_words(texts: list[str], wording: CountVectorizer) -> tuple[sp.csr_matrix, list[str]]:
    """How often each word occurs in each text, and the words of the columns, in order.

    `wording` defines a word by its analyzer, token_pattern, ngram_range, stop_words, lowercase and
    strip_accents.
    """
    check()
    if wording.analyzer == "word" and wording.token_pattern == USUAL_PATTERN:
        return _by_core(texts, wording)
    return _by_analyzer(texts, wording)


def in_columns(counts: sp.csr_matrix, words: list[str], columns: dict[str, int]) -> sp.csr_matrix:
    """The counts of some words in their columns; both are in the order of the words."""
    column = np.fromiter((columns.get(word, -1) for word in words), np.int32, len(words))
    at = column[counts.indices]
    is_known = at >= 0
    ends = np.concatenate([[0], np.cumsum(is_known)])[counts.indptr]
    shape = (counts.shape[0], len(columns))
    return sp.csr_matrix((counts.data[is_known], at[is_known], ends), shape=shape)


def _by_core(texts: list[str], wording: CountVectorizer) -> tuple[sp.csr_matrix, list[str]]:
    letters, start = _joined(map(wording.build_preprocessor(), texts))
    is_ascii = letters.max(initial=0) < ASCII
    counted = core.WordCounts(
        letters,
        start,
        _characters_of_words(ASCII if is_ascii else sys.maxunicode + 1),
        *_joined(sorted(wording.get_stop_words() or ())),
        tuple(map(int, wording.ngram_range)),
        thread_count(),
        deadline(),
    )
    start, index = np.empty(len(texts) + 1, np.int64), np.empty(counted.entries, np.int32)
    count, letters = np.empty(counted.entries), np.empty(counted.letters, np.uint8)
    counted.write(start, index, count, letters, thread_count(), deadline())
    words = letters.tobytes().decode("utf-8", "surrogatepass").split("\n")[:-1]
    return sp.csr_matrix((count, index, start), shape=(len(texts), len(words))), words


def _joined(texts: Iterable[str]) -> tuple[Array, Array]:
    """Texts in UTF-8, one after another, and where each begins and the last one ends."""
    parts = [text.encode("utf-8", "surrogatepass") for text in texts]
    start = np.zeros(len(parts) + 1, np.int64)
    np.cumsum([len(part) for part in parts], out=start[1:])
    return np.frombuffer(b"".join(parts), np.uint8), start


@functools.cache
def _characters_of_words(end: int) -> Array:
    """Ranges of the characters below `end` that Python's \\w matches, (r, 2).

    Found once: all of them take 0.1 seconds.
    """
    characters = "".join(map(chr, range(end)))
    return np.array([match.span() for match in re.finditer(r"\w+", characters)], np.int32)


def _by_analyzer(texts: list[str], wording: CountVectorizer) -> tuple[sp.csr_matrix, list[str]]:
    analyze = wording.build_analyzer()
    found = []
    for text in texts:
        check()
        found.append(list(analyze(text)))
    words = sorted(set(chain.from_iterable(found)))
    column = {word: k for k, word in enumerate(words)}
    index = np.fromiter((column[word] for word in chain.from_iterable(found)), np.int32)
    start = np.cumsum([0, *map(len, found)])
    counts = sp.csr_matrix((np.ones(len(index)), index, start), shape=(len(texts), len(words)))
    counts.sum_duplicates()
    return counts, words
