"""Numbers with a unit, such as 5 kg or R$ 3,50, and times such as 1:02:30."""

from __future__ import annotations

import re

import polars as pl

# So many texts show whether it is worth while to look at all.
LOOKED_AT = 1000
# A column has a unit, or times, if so large a share of its texts has.
SHARE = 0.95

# A unit follows the number; before it stands only what has a sign of money, since letters before a
# number make a code of it: A12.
NUMBER = r"[+-]?[\d.,]*\d(?:[\s'’]\d{3})*(?:[.,]\d+)?"
AFTER = rf"^({NUMBER})\s*([\p{{L}}°µ'\"][\p{{L}}°µ²³/'\"]{{0,11}})$"
BEFORE = rf"^([\p{{L}}]{{0,3}}\p{{Sc}})\s*({NUMBER})$"
TIME = r"^[+-]?\d+:[0-5]\d(?::[0-5]\d(?:[.,]\d+)?)?$"


def unit_of(texts: pl.Series) -> str | None:
    """The unit that nearly all texts have with their numbers; None if there is none."""
    few = _few(texts)
    for pattern, group in ((AFTER, 2), (BEFORE, 1)):
        counts = few.str.extract(pattern, group).drop_nulls().value_counts(sort=True)
        if counts.height and counts["count"][0] >= SHARE * len(few):
            return str(counts.to_series(0)[0])
    return None


def without_unit(texts: pl.Series, unit: str) -> pl.Series:
    """The numbers alone; a number that has no unit is taken to be of the same one."""
    return texts.str.replace(rf"^{re.escape(unit)}\s*|\s*{re.escape(unit)}$", "")


def are_times(texts: pl.Series) -> bool:
    """Whether nearly all texts are hours, minutes and perhaps seconds."""
    few = _few(texts)
    return len(few) > 0 and int(few.str.contains(TIME).sum()) >= SHARE * len(few)


def as_seconds(texts: pl.Series) -> pl.Series:
    """Times of three parts as seconds, of two in units of the second part; others are missing."""
    fits = texts.set(~texts.str.contains(TIME).fill_null(False), None)
    digits = fits.str.strip_chars("+-").str.replace(",", ".", literal=True)
    first, second, third = (
        part.cast(pl.Float64) for part in digits.str.split_exact(":", 2).struct.unnest()
    )
    total = 60 * first + second
    total = total.zip_with(third.is_null(), 60 * total + third.fill_null(0.0))
    return total.zip_with(~fits.str.starts_with("-").fill_null(False), -total).alias(texts.name)


def _few(texts: pl.Series) -> pl.Series:
    present = texts.drop_nulls()
    return present.gather_every(max(1, len(present) // LOOKED_AT))
