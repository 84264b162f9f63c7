"""Spellings: levels of a column that look like one and the same, such as Süd, süd and üd."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping

# Shorter words differ by a letter and are words all the same: S and XS, Aa and AA.
SHORTEST = 3
# From so many letters on, any one of them may be wrong; of fewer, none is exchanged for another.
LONG = 5
# A typing error is rare beside the level that was meant, and that has some rows.
RARE, FEWEST_MEANT = 0.05, 10
# Among more levels than this, words that differ by one letter are to be expected.
MOST_LEVELS = 300
SHOWN = 5


def alike(counts: Mapping[str, int]) -> list[tuple[str, ...]]:
    """Groups of levels that look like different spellings of one, the most frequent first.

    Parameters
    ----------
    counts : mapping of str to int
        The levels of a column and their rows.

    Returns
    -------
    list of tuple of str
        Levels that differ in case, accents, blanks or hyphens; and rare ones that differ from a
        frequent one by a letter. Codes such as A1 and A2 are all different.
    """
    same: dict[str, list[str]] = defaultdict(list)
    for level in sorted(counts, key=lambda level: (-counts[level], level)):
        same[_folded(level)].append(level)
    meant = _meant(same, {word: sum(counts[one] for one in same[word]) for word in same})
    groups = {word: levels for word, levels in same.items() if word not in meant}
    for word, right in meant.items():
        groups[right].extend(same[word])
    return [tuple(levels) for levels in groups.values() if len(levels) > 1]


def _folded(level: str) -> str:
    """A level without what people write in different ways; short ones and codes as they are."""
    # Accents stand on letters of their own after decomposition.
    plain = unicodedata.normalize("NFKD", level.casefold())
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    plain = re.sub(r"\s+", " ", plain).strip(" .,;:!")
    if not re.search(r"\d", plain):
        plain = re.sub(r"(?<=[^\W\d_])[\s_-]+(?=[^\W\d_])", "", plain)
    return plain if len(re.findall(r"[^\W\d_]", plain)) >= SHORTEST else level


def _meant(same: Mapping[str, list[str]], counts: Mapping[str, int]) -> dict[str, str]:
    """For each word that looks like a typing error, the frequent one that was meant."""
    words = [word for word in same if _is_word(same[word][0])]
    if len(words) > MOST_LEVELS:
        return {}
    found = {}
    for word in words:
        near = [
            other
            for other in words
            if counts[other] >= FEWEST_MEANT
            and counts[word] <= RARE * counts[other]
            and (is_slip(word, other) or _has_lost_capital(same[word][0], same[other][0]))
        ]
        if near:
            found[word] = max(near, key=lambda other: counts[other])
    # What was meant is no error itself.
    return {word: right for word, right in found.items() if right not in found}


def _is_word(level: str) -> bool:
    """Whether letters alone make it up, and not capitals, which are codes: XS, USA."""
    is_code = level.isupper() and len(level) < LONG
    return not is_code and re.fullmatch(r"[^\W\d_]{2,}(?:[\s-]+[^\W\d_]+)*", level) is not None


def is_slip(word: str, other: str) -> bool:
    """Whether two words differ by a letter behind the first: one too many, too few or wrong.

    Of short words, only letters in the wrong order are taken for an error: Jun and Jul are two.
    """
    if word == other or word[0] != other[0] or abs(len(word) - len(other)) > 1:
        return False
    start = 1
    while start < min(len(word), len(other)) and word[start] == other[start]:
        start += 1
    rest, its = word[start:], other[start:]
    if rest[1::-1] + rest[2:] == its and len(rest) > 1:
        return True
    is_long = max(len(word), len(other)) >= LONG
    return is_long and (rest[1:] == its[1:] or rest[1:] == its or rest == its[1:])


def _has_lost_capital(level: str, other: str) -> bool:
    """Whether one is the other without its first letter, a capital: üd for Süd."""
    return other[:1].isupper() and level == other[1:] and level.islower()


def in_words(groups: list[tuple[str, ...]]) -> Iterator[str]:
    """Each group as people would name it."""
    for levels in groups[:SHOWN]:
        yield " and ".join(repr(level) for level in levels[:SHOWN])
    if len(groups) > SHOWN:
        yield f"{len(groups) - SHOWN:,} more"
