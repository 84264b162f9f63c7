"""What a model from a file may request, so that no prediction takes for ever or opens files.

Parameters that only a fit reads may be anything; predictions read these too. The same limits hold
for saving, so that what was saved can be loaded.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import Any

from ..unseen import GIVEN
from .container import ModelFileError

# The deepest nesting of models: what scikit-learn looks up in a pipeline of one step takes three
# times as long as in that step.
MOST_AROUND = 10
# Models of one file; each takes some microseconds.
MOST_MODELS = 100_000
# What a file of no size may request: columns that its transformers make of a row, bytes of its
# arrays, counted at each reference, and bytes of a text. A larger file may request more.
FREE_COLUMNS, FREE_BYTES, FREE_TEXT = 1 << 16, 64 << 20, 1 << 10
# How often, on average, a file may refer to the same array.
OFTEN = 16

# Processes that scikit-learn starts if a model requests them.
MOST_JOBS = 128
# Words or characters of an n-gram: a long text has as many as the square of its length.
LONGEST_NGRAM = 64
# Those of tables. Python would look for others by importing a module of that name.
ENCODINGS = ("utf-8", "utf8", "utf-16", "ascii", "latin-1", "latin1", "iso-8859-1", "cp1252")
# How much of an unexpected value is shown.
LONGEST_VALUE = 80

# ---- regular expressions -------------------------------------------------------------------------

# Python tries one way to match after another, so that (a+)+b takes for ever on a few dozen a's, and
# a+b a time that grows with the square of the text. A pattern of these takes time linear in the
# text, since nothing after a run of characters can make it try a shorter one, except for a word
# boundary; but then runs begin only at boundaries and end at the last one.
_ONE = r"(?:[^\\^$*+?{}\[\]|()]|\\[wWdDsS]|\\[^\w\s]|\[\^?(?:[^\\\[\]]|\\[wWdDsS]|\\[^\w\s])+\])"
_FIXED = rf"(?:{_ONE}(?:\?|\{{\d\d?\}})?){{0,7}}"
_RUN = rf"{_ONE}(?:[+*?]|\{{\d\d?(?:,(?:\d\d?)?)?\}})?"
_WORD = rf"(?:\\b)?{_FIXED}{_RUN}"
_WHOLE_WORD = rf"\\b{_FIXED}{_RUN}\\b"
_JOINED_WORDS = rf"(?:\\b)?{_RUN}\(\?:{_ONE}{_RUN}\)[*?]"
_ANY = rf"(?:{_WHOLE_WORD}|{_JOINED_WORDS}|{_WORD})"
LINEAR = re.compile(rf"(?:\(\?[iu]\))?{_ANY}(?:\|{_ANY}){{0,7}}")
LONGEST_PATTERN = 200


def is_linear(pattern: Any) -> bool:
    """Whether a regular expression takes time linear in the length of a text."""
    if pattern is None:
        return True
    is_short = isinstance(pattern, str) and len(pattern) <= LONGEST_PATTERN
    return is_short and LINEAR.fullmatch(pattern) is not None


# ---- parameters ----------------------------------------------------------------------------------


def _may_start(jobs: Any) -> bool:
    return not isinstance(jobs, int) or abs(jobs) <= MOST_JOBS


def _are_short(ngrams: Any) -> bool:
    is_pair = isinstance(ngrams, tuple | list) and len(ngrams) == 2
    are_whole = is_pair and all(isinstance(n, int) for n in ngrams)
    return are_whole and 1 <= ngrams[0] <= ngrams[1] <= LONGEST_NGRAM


LIMITS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "encoding": (
        lambda name: isinstance(name, str) and name.lower() in ENCODINGS,
        f"files allow the encodings {', '.join(ENCODINGS)}; decode the texts first",
    ),
    "input": (
        lambda kind: kind == "content",
        "models in files do not open other files; pass the texts themselves, input='content'",
    ),
    "memory": (
        lambda folder: folder is None,
        "models in files use no cache folder; set it to None before saving",
    ),
    "n_jobs": (
        _may_start,
        f"files allow at most {MOST_JOBS}, so that none can flood a computer with processes; set "
        "it to None or −1 before saving",
    ),
    "ngram_range": (
        _are_short,
        f"files allow two whole numbers up to {LONGEST_NGRAM}, the second not below the first",
    ),
    "token_pattern": (
        is_linear,
        "files allow only patterns that run in linear time, such as "
        r"'\\b\\w+\\b', '[a-z]{3,}', '\\w+|[!?]' or '\\w+(?:-\\w+)*'; find the words first, and "
        "join them with spaces",
    ),
}


@cache
def parameter_names(cls: Any) -> frozenset[str]:
    """The parameter names of a class, which scikit-learn recomputes each time."""
    return frozenset(cls._get_param_names())


def check_limits(model: Any, where: str) -> None:
    """Refuse a model whose parameters, now or at its fit, are beyond what files may hold."""
    cls: Any = type(model)
    limited = {name: getattr(model, name) for name in LIMITS.keys() & parameter_names(cls)}
    for parameters in (limited, vars(model).get(GIVEN) or {}):
        for name, (is_within, what) in LIMITS.items():
            if name in parameters and not is_within(parameters[name]):
                value = repr(parameters[name])[:LONGEST_VALUE]
                raise ModelFileError(f"{where}.{name} is {value}; {what}.")


# ---- what grows with the file --------------------------------------------------------------------


class Budget:
    """What a file may still request: the larger it is, the more.

    A model of a few kilobytes needs no gigabytes, neither to load nor to predict a row.
    """

    def __init__(self, file_bytes: int):
        self._text = max(FREE_TEXT, file_bytes)
        self._left = {
            "models": MOST_MODELS,
            "columns": FREE_COLUMNS + file_bytes,
            "bytes": FREE_BYTES + OFTEN * file_bytes,
        }

    def spend(self, amount: int, unit: str, where: str) -> None:
        """Subtract models, columns or bytes of arrays from what is left."""
        self._left[unit] -= amount
        if self._left[unit] < 0:
            raise ModelFileError(
                f"{where} needs {amount} {unit}, more than a file of this size may use."
            )

    def check_text(self, size: int, where: str) -> None:
        """Refuse texts with more bytes than a file of this size can have been fitted to."""
        if size > self._text:
            raise ModelFileError(f"{where} has texts of {size} bytes, more than the whole file.")
