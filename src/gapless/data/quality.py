"""Quality: warnings about a table before a fit: repeats, rare classes, gaps, totals, spellings."""

from __future__ import annotations

import itertools
import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from .._ground.percent import percent
from .columns import Column
from .findings import SHOWN, Finding, counted, found
from .headers import totals_row
from .tables import Table
from .target import Target

# The largest class has this many times the rows of the smallest.
IMBALANCE = 10.0
FEW_OF_A_CLASS = 10
MOSTLY_MISSING = 0.95
FEW_VALUES = "this is to be expected, because the columns have few distinct values"


def find_flaws(
    table: Table, columns: Sequence[Column], target: Target | None = None
) -> Iterator[Finding]:
    """What is unusual about the rows, the target, if there is one, and the columns of a table."""
    yield from _names_of_rows(columns)
    yield from _repeated(table, columns, target)
    if target is not None:
        yield from _about_target(table, target)
    yield from _about_columns(columns)
    yield from _of_totals(table)
    yield from _of_spellings(table, columns)


def _names_of_rows(columns: Sequence[Column]) -> Iterator[Finding]:
    for column in columns:
        if column.role == "id":
            yield found(
                "L102",
                "note",
                f"column {column.name!r} is excluded: {column.reason}.",
                (column.name,),
            )


def _repeated(table: Table, columns: Sequence[Column], target: Target | None) -> Iterator[Finding]:
    """Rows that are equal in all features, by their hashes."""
    names = [column.name for column in columns if column.is_feature]
    if not names:
        return
    features = table.frame.select(names).hash_rows(seed=0)
    of_target = [] if target is None else [target.name]
    whole = table.frame.select([*names, *of_target]).hash_rows(seed=0)
    again = np.flatnonzero((~whole.is_first_distinct()).to_numpy())
    if len(again):
        expected = f"; {FEW_VALUES}" if has_few_combinations(columns) else ""
        yield found(
            "D204",
            "note",
            f"{counted(len(again), 'row')} of {len(table):,} "
            f"{'equals' if len(again) == 1 else 'equal'} an earlier one{expected}.",
            (),
            again,
        )
    if target is not None:
        yield from _contradicting(features, whole, target)


def has_few_combinations(columns: Sequence[Column]) -> bool:
    """Whether rows must repeat because their columns have few values, and no column has many."""
    features = [column for column in columns if column.is_feature]
    counts = [column.distinct + (column.missing > 0) for column in features]
    rows = features[0].rows
    return max(counts) < 0.2 * rows and math.prod(counts) < 10 * rows


def _contradicting(features: pl.Series, whole: pl.Series, target: Target) -> Iterator[Finding]:
    """Rows with equal features and different classes: no model gets all of them right."""
    if target.task != "classification":
        return
    frame = pl.DataFrame({"x": features, "both": whole}).with_row_index("row")
    frame = frame.filter(pl.col("both").n_unique().over("x") > 1)
    if frame.height:
        yield found(
            "D205",
            "note",
            f"{counted(frame.height, 'row')} have the same features as a row of another class; no "
            "model can tell them apart.",
            (target.name,),
            frame["row"].to_numpy(),
        )


def _about_target(table: Table, target: Target) -> Iterator[Finding]:
    missing = np.flatnonzero(table.frame[target.name].is_null().to_numpy())
    if len(missing):
        yield found(
            "D201",
            "note",
            f"{target.name!r} is missing in {counted(len(missing), 'row')} of {len(table):,}, "
            "which are excluded.",
            (target.name,),
            missing,
        )
    if target.task != "classification":
        return
    labels, counts = np.unique(target.values, return_counts=True)
    few = counts < FEW_OF_A_CLASS
    if few.any():
        shown = [f"{label} ({count})" for label, count in zip(labels[few], counts[few])]
        yield found(
            "D207",
            "note",
            f"fewer than {FEW_OF_A_CLASS} rows each: {', '.join(shown[:5])}; estimates for these "
            "classes are rough.",
            (target.name,),
        )
    if counts.max() >= IMBALANCE * counts.min():
        yield found(
            "D203",
            "note",
            f"{percent(counts.max() / counts.sum(), 1)} of the rows are "
            f"{labels[counts.argmax()]!s}, and {percent(counts.min() / counts.sum(), 2)} are "
            f"{labels[counts.argmin()]!s}; accuracy alone "
            "means little, so check recall and precision.",
            (target.name,),
        )


def _about_columns(columns: Sequence[Column]) -> Iterator[Finding]:
    for column in columns:
        if column.role == "constant":
            yield found(
                "D202",
                "note",
                f"column {column.name!r} is excluded: {column.reason}.",
                (column.name,),
            )
        elif column.is_feature and column.missing > MOSTLY_MISSING * column.rows:
            yield found(
                "D206",
                "note",
                f"column {column.name!r} is missing in "
                f"{percent(column.missing / column.rows, 1)} of the "
                "rows.",
                (column.name,),
            )


def _of_totals(table: Table) -> Iterator[Finding]:
    row = totals_row(table.frame)
    if row is not None:
        yield found(
            "D209",
            "warning",
            f"row {row + 1:,}, the last one, contains totals of the rows above and is excluded; "
            "delete it from the table.",
            (),
            (row,),
        )


# ---- spellings ----------------------------------------------------------------------------------

# Shorter words that differ by a character are different words: S and XS, Aa and AA.
SHORTEST_WORD = 3
# From this many characters on, any one of them may be wrong; with fewer, none is exchanged for
# another.
LONG_WORD = 5
# Letters that people type or hear one for another: neighbours in a row of the keyboard (QWERTY,
# QWERTZ and AZERTY), and sounds. INLAND and ISLAND are two words.
KEYBOARD = (
    "qwertyuiop",
    "qwertzuiop",
    "azertyuiop",
    "asdfghjkl",
    "qsdfghjklm",
    "zxcvbnm",
    "yxcvbnm",
)
SOUNDS = ("aeiouy", "ck", "kq", "sz", "cs", "dt", "bp", "gk", "gj", "fv", "vw", "mn", "lr")
# A typing error is rare compared with the intended level, which has some rows.
RARE_SHARE, FEWEST_MEANT = 0.05, 10
# Among more levels than this, words that differ by one character are to be expected.
MOST_LEVELS = 300


def similar_spellings(counts: Mapping[str, int]) -> list[tuple[str, ...]]:
    """Groups of levels that look like different spellings of one, the most frequent first.

    Parameters
    ----------
    counts : mapping of str to int
        The levels of a column and their rows.

    Returns
    -------
    list of tuple of str
        Levels that differ in case, accents, spaces or hyphens; and rare ones that differ from a
        frequent one by a character. Codes such as A1 and A2 are all different.
    """
    same: dict[str, list[str]] = defaultdict(list)
    for level in sorted(counts, key=lambda level: (-counts[level], level)):
        same[_folded(level)].append(level)
    intended = _intended(same, {word: sum(counts[one] for one in same[word]) for word in same})
    groups = {word: levels for word, levels in same.items() if word not in intended}
    for word, right in intended.items():
        groups[right].extend(same[word])
    return [tuple(levels) for levels in groups.values() if len(levels) > 1]


def _folded(level: str) -> str:
    """A level without what people write in different ways; short ones and codes unchanged."""
    # After decomposition, accents are separate characters.
    plain = unicodedata.normalize("NFKD", level.casefold())
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    plain = re.sub(r"\s+", " ", plain).strip(" .,;:!")
    if not re.search(r"\d", plain):
        plain = re.sub(r"(?<=[^\W\d_])[\s_-]+(?=[^\W\d_])", "", plain)
    letters = len(re.findall(r"[^\W\d_]", plain))
    # A capital inside a short word is meant: hAd and had.
    is_meant = letters < LONG_WORD and level not in (level.lower(), level.upper(), level.title())
    return level if letters < SHORTEST_WORD or is_meant else plain


def _intended(same: Mapping[str, list[str]], counts: Mapping[str, int]) -> dict[str, str]:
    """For each word that looks like a typing error, the frequent one that was intended."""
    words = [word for word in same if _is_word(same[word][0])]
    if len(words) > MOST_LEVELS:
        return {}
    found = {}
    for word in words:
        near = [
            other
            for other in words
            if counts[other] >= FEWEST_MEANT
            and counts[word] <= RARE_SHARE * counts[other]
            and (is_typing_error(word, other) or _has_lost_capital(same[word][0], same[other][0]))
        ]
        if near:
            found[word] = max(near, key=lambda other: counts[other])
    # The intended word is not itself an error.
    return {word: right for word, right in found.items() if right not in found}


def _is_word(level: str) -> bool:
    """Whether it consists of letters alone, and not of capitals, which are codes: XS, USA."""
    is_code = level.isupper() and len(level) < LONG_WORD
    return not is_code and re.fullmatch(r"[^\W\d_]{2,}(?:[\s-]+[^\W\d_]+)*", level) is not None


def is_typing_error(word: str, other: str) -> bool:
    """Whether two words differ by a character after the first: one too many, too few or wrong.

    A wrong one is next to the right one on the keyboard, or sounds like it.
    For short words, only swapped characters count as an error: Jun and Jul are two words.
    """
    if word == other or word[0] != other[0] or abs(len(word) - len(other)) > 1:
        return False
    start = 1
    while start < min(len(word), len(other)) and word[start] == other[start]:
        start += 1
    rest, its = word[start:], other[start:]
    if rest[1::-1] + rest[2:] == its and len(rest) > 1:
        return True
    is_long = max(len(word), len(other)) >= LONG_WORD
    is_other = rest[1:] == its[1:] and _are_confused(rest[:1], its[:1])
    return is_long and (is_other or rest[1:] == its or rest == its[1:])


def _are_confused(letter: str, other: str) -> bool:
    """Whether one letter is easily typed or heard for the other."""
    pair = {letter, other}
    beside = ({a, b} for keys in KEYBOARD for a, b in itertools.pairwise(keys))
    return any(pair <= set(alike) for alike in SOUNDS) or pair in beside


def _has_lost_capital(level: str, other: str) -> bool:
    """Whether one is the other without its first letter, a capital: üd for Süd."""
    return other[:1].isupper() and level == other[1:] and level.islower()


def _in_words(groups: list[tuple[str, ...]]) -> Iterator[str]:
    """Each group in words."""
    for levels in groups[:SHOWN]:
        yield " and ".join(repr(level) for level in levels[:SHOWN])
    if len(groups) > SHOWN:
        yield f"{len(groups) - SHOWN:,} more"


def _of_spellings(table: Table, columns: Sequence[Column]) -> Iterator[Finding]:
    for column in columns:
        if column.role in ("category", "target") and column.dtype == "String":
            counts = table.frame[column.name].drop_nulls().value_counts()
            yield from spelling_findings(column, similar_spellings(dict(counts.iter_rows())))


def spelling_findings(column: Column, groups: list[tuple[str, ...]]) -> Iterator[Finding]:
    """The finding about categories that look like one; for classes it is a warning."""
    if groups:
        yield found(
            "D208",
            "warning" if column.role == "target" else "note",
            f"column {column.name!r}: {', '.join(_in_words(groups))} look like different spellings "
            "of one category; use one spelling.",
            (column.name,),
        )
