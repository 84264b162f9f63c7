"""Numbers and names as written in sentences, tables and pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ..._ground.percent import enough_decimals, percent
from ...metrics import decimals, written
from .. import Candidate

# The most characters of a name in a sentence.
MOST_CHARACTERS = 60


def shortened(text: str, most: int) -> str:
    """A text in one line of at most this many characters."""
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[: most - 1]}…"


def squeezed(text: str, most: int) -> str:
    """A name in one line of at most this many characters; its end is kept, where levels differ."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    end = (most - 1) // 2
    return f"{line[: most - 1 - end]}…{line[-end:]}"


def distinguishable(names: Sequence[str], most: int) -> list[str]:
    """Names of at most this many characters; those that begin alike are cut where they differ."""
    lines = [" ".join(name.split()) for name in names]
    cut = [shortened(line, most) for line in lines]
    for text in {text for text in cut if cut.count(text) > 1}:
        alike = [k for k in range(len(cut)) if cut[k] == text]
        letters = zip(*(lines[k] for k in alike))
        begin = next((at for at, same in enumerate(letters) if len(set(same)) > 1), 0)
        for k in alike:
            cut[k] = shortened(f"…{lines[k][begin:]}", most)
    return cut


def quoted(text: str) -> str:
    """A name in a sentence: one line, not too long, quoted so that one sees where it ends."""
    return repr(shortened(text, MOST_CHARACTERS) if text.isprintable() else text[:MOST_CHARACTERS])


def joined(items: Sequence[str]) -> str:
    """Names as people list them: a, b and c."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def counted_roles(roles: Mapping[str, int]) -> str:
    """The columns in short, those that are used first: 22 numbers, 1 target, 1 id excluded."""
    plural = {"category": "categories", "dropped": "dropped"}
    aside = ("id", "constant")
    parts = []
    for role in sorted(roles, key=("target", *aside, "dropped").__contains__):
        noun = role if roles[role] == 1 else plural.get(role, f"{role}s")
        parts.append(f"{roles[role]:,} {noun}{' excluded' if role in aside else ''}")
    return ", ".join(parts)


def amount(value: float) -> str:
    """A quantity to three digits, without an exponent if that is readable."""
    if value and not 1e-4 <= abs(value) < 1e7:
        return f"{value:.3g}"
    digits = 2 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:,.{max(digits, 0)}f}"


def behind(one: Candidate) -> str:
    """How far a model is behind the best, with the standard error of that."""
    if one.behind is None:
        return "little"
    return f"{one.behind:.2g} ± {one.behind_error or 0.0:.2g}"


def rounded(value: float, low: float, high: float) -> tuple[str, str, str]:
    """A number and the ends of its interval, with as many decimals as the interval is worth."""
    digits = decimals(low, high, value)
    return written(value, digits), written(low, digits), written(high, digits)


def beside(value: float, low: float, high: float) -> str:
    """A number with as many decimals as the interval of another; a rounded zero has no sign."""
    digits = decimals(low, high, value)
    return written(round(value, digits) + 0.0, digits)


def shares(value: float, low: float, high: float) -> tuple[str, str, str]:
    """The same in percent, to a tenth if the interval is worth it, and never 100 % for less."""
    digits = min(max(decimals(low, high, value) - 2, 0), 1)
    digits = enough_decimals(value, low, high, least=digits)
    return percent(value, digits), percent(low, digits), percent(high, digits)
